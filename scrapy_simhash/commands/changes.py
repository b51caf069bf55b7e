"""List the pages that are new, changed, moved or missing in a run, with what differs.

    scrapy simhash changes --log dedup.jsonl
    scrapy simhash changes --run 9 --since 4 --log dedup.jsonl --csv > changes.csv

Without --run, it is the last finished run of the index, or of --spider. With --since, it
is all that has happened since that run. The dedup log, which a crawl writes with
SIMHASH_LOG, tells of pages that are new, changed or moved, and of the words that differ;
the index tells of those that are missing.
"""

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, index_url, log_lines, log_paths
from scrapy_simhash.commands.output import columns, has_colours, say, show
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.dedup_log import Line, LogLine
from scrapy_simhash.report.difference import change_lines
from scrapy_simhash.report.words import moment

CHANGES = ("new", "changed", "moved", "missing")
# Lines that show what differs, of each page.
_LINES = 3


@dataclass(slots=True)
class PageChange:
    """A page that is not as it was; ``last_seen`` is in seconds since the Unix epoch."""

    change: str
    key: str
    url: str
    moved_from: str | None = None
    distance: int | None = None
    last_seen: float | None = None
    differs: list[str] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", type=int, metavar="N", help="the run; by default, the last one")
    parser.add_argument("--since", type=int, metavar="N", help="since this run of the spider")
    parser.add_argument("--spider", metavar="NAME", help="the last run of this spider")
    parser.add_argument("--csv", action="store_true", help="print the result as CSV")
    add_shared_options(parser, "log", "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    logs: list[str | Path] = []
    with suppress(UsageError):
        logs = log_paths(options.log, settings)
    with closing(open_existing(index_url(options, settings))) as index:
        runs = index.runs()
        last = _chosen(runs, options)
        own = [one for one in runs if one.spider == last.spider and one.number <= last.number]
        since = last.number - 1 if options.since is None else options.since
        wanted = {one.number for one in own if one.number > since}
        begun = {one.number: one.begun for one in own}
        found: dict[str, PageChange] = {}
        if last.finished:
            first = 0 if options.since is None else options.since
            for entry in index.missing(last.number):
                if entry.run >= first:
                    seen = begun.get(entry.run)
                    found[entry.key] = PageChange("missing", entry.key, entry.key, last_seen=seen)
    if logs:
        logged = _logged(log_lines(logs), wanted)
        _compare(logged, log_lines(logs), wanted)
        for key, change in logged.items():
            # A page that came and went in between is neither new nor missing.
            if key not in found:
                found[key] = change
            elif change.change == "new":
                del found[key]
    else:
        sys.stderr.write(
            "without a dedup log, which a crawl writes with -s SIMHASH_LOG=dedup.jsonl, only "
            "missing pages are known\n"
        )
    changes = sorted(found.values(), key=lambda one: (CHANGES.index(one.change), one.url))
    if options.csv:
        _say_csv(changes)
    else:
        show(options, _lines(last, changes), _as_json(last, changes))
    return 0 if changes else 1


def _chosen(runs: Sequence[Run], options: argparse.Namespace) -> Run:
    if options.run is not None:
        some = [one for one in runs if one.number == options.run]
    else:
        some = [one for one in runs if options.spider in (None, one.spider)]
        some = [one for one in some if one.finished] or some
    if not some:
        raise UsageError('there is no such run; "scrapy simhash runs" lists them')
    return some[-1]


def _logged(lines: Iterable[Line | None], wanted: set[int]) -> dict[str, PageChange]:
    """Return the pages that are new, changed or moved in some runs, by their keys."""
    found: dict[str, PageChange] = {}
    for line in lines:
        if not (isinstance(line, LogLine) and line.run in wanted and line.change in CHANGES):
            continue
        earlier = found.get(line.key)
        if earlier is None:
            distance = None if line.change == "new" else line.distance
            change = PageChange(line.change, line.key, line.url, line.moved_from, distance)
            found[line.key] = change
            change.differs = [line.text]
        elif earlier.change != "moved":  # a new page that has changed is new
            earlier.differs = [line.text]
    return found


def _compare(found: dict[str, PageChange], lines: Iterable[Line | None], wanted: set[int]) -> None:
    """Fill in what differs from the texts that the pages had before these runs."""
    known_as = {one.moved_from or key: one for key, one in found.items() if one.change != "new"}
    before: dict[str, str] = {}
    for line in lines:
        if not isinstance(line, LogLine) or line.key not in known_as:
            continue
        if line.verdict == "unique" and line.text and (line.run or 0) < min(wanted):
            before[line.key] = line.text
            known_as[line.key].last_seen = line.time
    for name, one in known_as.items():
        text, one.differs = one.differs[0] if one.differs else "", []
        if text and before.get(name) and text != before[name]:
            one.differs = change_lines(before[name], text, columns(), _LINES, colour=False)
    for one in found.values():
        if one.change == "new":
            one.differs = []


def _lines(last: Run, changes: Sequence[PageChange]) -> Iterable[str]:
    numbers = [sum(one.change == name for one in changes) for name in CHANGES]
    told = ", ".join(f"{n:,} {name}" for n, name in zip(numbers, CHANGES, strict=True))
    yield f"run {last.number} of {last.spider}, {moment(last.begun)} UTC: {told}"
    mark = "\x1b[1m{}\x1b[0m" if has_colours() else "{}"
    for one in changes:
        yield f"{mark.format(f'{one.change:<8}')} {one.url}"
        if one.moved_from:
            yield f"         from {one.moved_from}"
        if one.change == "missing" and one.last_seen:
            yield f"         last seen in the run of {moment(one.last_seen)} UTC"
        for line in one.differs:
            yield f"         {line}"


def _as_json(last: Run, changes: Sequence[PageChange]) -> dict[str, object]:
    rows = [{name: getattr(one, name) for name in PageChange.__slots__} for one in changes]
    return {"run": last._asdict(), "changes": rows}


def _say_csv(changes: Sequence[PageChange]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(PageChange.__slots__)
    for one in changes:
        values = [getattr(one, name) for name in PageChange.__slots__]
        writer.writerow([*values[:-1], " | ".join(one.differs)])
    say(text.getvalue().splitlines())
