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
from functools import partial
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import (
    NO_RUN,
    add_shared_options,
    index_url,
    log_lines,
    log_paths,
)
from scrapy_simhash.commands.output import columns, has_colours, say, show
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.changes import CHANGES, PageChange, logged_changes
from scrapy_simhash.report.words import moment


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
        for key, change in logged_changes(partial(log_lines, logs), wanted, columns()).items():
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
    if not runs:
        raise UsageError("the index has no runs: no crawl has used it, or it was emptied")
    if not some:
        raise UsageError(NO_RUN)
    return some[-1]


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
