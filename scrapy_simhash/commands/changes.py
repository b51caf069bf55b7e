"""List the pages that are new, changed, moved or missing in a run, with what differs.

    scrapy simhash changes --log dedup.jsonl
    scrapy simhash changes --run 9 --since 4 --log dedup.jsonl --json

Without --run, it is the last finished run of the index, or of --spider. With --since, it
is everything that has happened since that run. The index knows which pages are missing.
Only the dedup log, which a crawl writes with SIMHASH_LOG, knows which pages are new,
changed or moved, and the words that differ.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import columns, has_colours, show
from scrapy_simhash.commands.selection import (
    NO_RUN,
    add_shared_options,
    chosen_index,
    log_lines,
    log_paths,
)
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.log_table import CHANGES, LogTable, PageChange
from scrapy_simhash.report.words import moment

_FIELDS = ("change", "key", "url", "moved_from", "distance", "last_seen")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", type=int, metavar="N", help="the run; by default, the last one")
    parser.add_argument("--since", type=int, metavar="N", help="since this run of the spider")
    parser.add_argument("--spider", metavar="NAME", help="the last run of this spider")
    add_shared_options(parser, "log", "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    logs: list[str | Path] = []
    with suppress(UsageError):
        logs = log_paths(options.log, settings)
    with chosen_index(options, settings) as index:
        runs = index.runs()
        last = _chosen(runs, options)
        begun = {run.number: run.begun for run in runs if run.spider == last.spider}
        if options.since is not None and not (
            options.since in begun and options.since < last.number
        ):
            raise UsageError(f"--since {options.since}: {NO_RUN}")
        first = options.since or 0
        missing = {
            entry.key: PageChange("missing", entry.key, entry.key, last_seen=begun.get(entry.run))
            for entry in (index.missing(last.number) if last.finished else ())
            if entry.run >= first
        }
    after = last.number - 1 if options.since is None else options.since
    numbers = {number for number in begun if after < number <= last.number}
    table = LogTable(log_lines(logs) if logs else ())
    is_logged = not numbers.isdisjoint(table.runs())
    changes = missing
    if is_logged:
        logged = table.changes(numbers)
        # A page that came and went in between is neither new nor missing.
        came = {key for key, change in logged.items() if change.change == "new"}
        fleeting = came & missing.keys()
        changes = {key: each for key, each in (logged | missing).items() if key not in fleeting}
    if not is_logged:
        what = f"the log has no page of run {last.number}, so" if logs else "without a dedup log,"
        sys.stderr.write(
            f"{what} only missing pages are known; a crawl writes it with "
            "-s SIMHASH_LOG=dedup.jsonl\n"
        )
    ordered = sorted(changes.values(), key=lambda each: (CHANGES.index(each.change), each.url))
    kinds = CHANGES if is_logged else ("missing",)
    show(options, _lines(last, ordered, kinds), _as_json(last, ordered, kinds))
    return 0 if changes else 1


def _chosen(runs: Sequence[Run], options: argparse.Namespace) -> Run:
    if not runs:
        raise UsageError("the index has no runs: no crawl has used it, or it was emptied")
    if options.run is not None:
        candidates = [run for run in runs if run.number == options.run]
    else:
        candidates = [run for run in runs if options.spider in (None, run.spider)]
        candidates = [run for run in candidates if run.finished] or candidates
    if not candidates:
        raise UsageError(NO_RUN)
    return candidates[-1]


def _lines(last: Run, changes: Sequence[PageChange], kinds: Sequence[str]) -> Iterable[str]:
    numbers = [sum(each.change == kind for each in changes) for kind in kinds]
    said = ", ".join(f"{number:,} {kind}" for number, kind in zip(numbers, kinds, strict=True))
    yield f"run {last.number} of {last.spider}, {moment(last.begun)} UTC: {said}"
    mark = "\x1b[1m{}\x1b[0m" if has_colours() else "{}"
    for each in changes:
        yield f"{mark.format(f'{each.change:<8}')} {each.url}"
        if each.moved_from:
            yield f"         from {each.moved_from}"
        if each.change == "missing" and each.last_seen:
            yield f"         last seen in the run of {moment(each.last_seen)} UTC"
        for line in each.differs(columns()):
            yield f"         {line}"


def _as_json(last: Run, changes: Sequence[PageChange], kinds: Sequence[str]) -> dict[str, object]:
    rows = [
        {name: getattr(each, name) for name in _FIELDS} | {"differs": each.differs()}
        for each in changes
    ]
    return {"run": last._asdict(), "known": kinds, "changes": rows}
