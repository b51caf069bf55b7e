"""List the pages that are new, changed, moved, missing or failed in a run, with what differs.

    scrapy simhash changes --log dedup.jsonl
    scrapy simhash changes --run 9 --log dedup.jsonl --json

Without --run, the command takes the last finished run; "scrapy simhash stats" lists them.
The index knows which pages are missing, and which failed, up to the run that sees them
again. Only the dedup log, which a crawl writes with SIMHASH_LOG, knows which are new,
changed or moved, and what differs.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import columns, show
from scrapy_simhash.commands.selection import (
    NO_RUN,
    add_shared_options,
    chosen_index,
    log_lines,
    log_paths,
    missing_pages,
)
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.log_table import CHANGES, LogTable, PageChange
from scrapy_simhash.report.words import moment

_CHANGE_FIELDS = ("change", "key", "url", "moved_from", "distance", "last_seen")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", type=int, metavar="N", help="the run; by default, the last one")
    add_shared_options(parser, "log", "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    with chosen_index(options, settings) as index:
        runs = index.runs()
        last = _asked_run(runs, options.run)
        unseen = {each.key: each for each in missing_pages(index, runs, last.number)}
    logged = _logged(options, settings, last)
    changes = sorted(((logged or {}) | unseen).values(), key=_order)
    kinds = ("missing", "failed") if logged is None else CHANGES
    values = {
        "run": last._asdict(),
        "known": kinds,
        "changes": [_as_values(each) for each in changes],
    }
    show(options, _run_lines(last, changes, kinds), values)
    return 0 if changes else 1


def _order(change: PageChange) -> tuple[int, str]:
    return CHANGES.index(change.change), change.url


def _as_values(change: PageChange) -> dict[str, Any]:
    return {name: getattr(change, name) for name in _CHANGE_FIELDS} | {"differs": change.differs()}


def _logged(
    options: argparse.Namespace, settings: BaseSettings, last: Run
) -> dict[str, PageChange] | None:
    """Return the changes of a run that the log has, by key; None, with a message, without any."""
    logs: list[str | Path] = []
    with suppress(UsageError):
        logs = log_paths(options.log, settings, options.index)
    table = LogTable(log_lines(logs))
    if last.number not in table.runs():
        what = f"the log has no page of run {last.number}, so" if logs else "without a dedup log,"
        sys.stderr.write(
            f"{what} only missing and failed pages are known; a crawl writes it with "
            "-s SIMHASH_LOG=dedup.jsonl\n"
        )
        return None
    return table.changes([last.number])


def _asked_run(runs: Sequence[Run], number: int | None) -> Run:
    if not runs:
        raise UsageError("the index has no runs: no crawl has used it, or it was emptied")
    finished = [run for run in runs if run.finished] or runs
    candidates = finished if number is None else [run for run in runs if run.number == number]
    if not candidates:
        raise UsageError(NO_RUN)
    return candidates[-1]


def _run_lines(last: Run, changes: Sequence[PageChange], kinds: Sequence[str]) -> Iterable[str]:
    numbers = Counter(each.change for each in changes)
    told = {**numbers, "missing": last.missing, "failed": last.failed}
    counts = ", ".join(f"{told.get(kind, 0):,} {kind}" for kind in kinds)
    yield f"run {last.number} of {last.spider}, {moment(last.begun)} UTC: {counts}"
    if later := last.missing + last.failed - numbers["missing"] - numbers["failed"]:
        yield f"         ({later:,} of the missing and failed came later, or left the index)"
    for each in changes:
        yield f"{each.change:<8} {each.url}"
        if each.moved_from:
            yield f"         from {each.moved_from}"
        if each.change == "missing" and each.last_seen:
            yield f"         last seen in the run of {moment(each.last_seen)} UTC"
        yield from (f"         {line}" for line in each.differs(columns()))
