"""List the pages that are new, changed, moved, missing or failed in a run, with what differs.

    scrapy simhash changes --log dedup.jsonl
    scrapy simhash changes --run 9 --log dedup.jsonl --json

Without --run, the command takes the last finished run; "scrapy simhash stats" lists
them. The index knows which pages are missing and which failed, until a run sees them
again. Only the dedup log, which a crawl writes with SIMHASH_LOG, knows which are new,
changed or moved, and what differs.
"""

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from scrapy.exceptions import UsageError

from scrapy_simhash.commands.output import show
from scrapy_simhash.commands.selection import (
    NO_RUN,
    chosen_index,
    log_lines,
    log_paths,
    shared_options,
)
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.difference import difference_lines
from scrapy_simhash.report.log_table import CHANGES, LogTable, PageChange
from scrapy_simhash.report.words import moment

# At most this many differences of a page are shown.
_DIFFERENCES = 5


OPTIONS = {
    "--run": {"type": int, "metavar": "N", "help": "the run; by default, the last one"},
    **shared_options("log", "index", "json"),
}


def run(options: Namespace) -> int:
    with chosen_index(options) as index:
        runs = index.runs()
        chosen = _chosen_run(runs, options.run)
        unseen = {each.key: each for each in _unseen(index, runs, chosen)}
    logged = _logged(options, chosen)
    kinds = ("missing", "failed") if logged is None else CHANGES
    changes = sorted(
        ((logged or {}) | unseen).values(),
        key=lambda each: (CHANGES.index(each.change), each.url),
    )
    values = {
        "run": chosen._asdict(),
        "known": kinds,
        "changes": [
            asdict(each) | {"differs": difference_lines(each.differs, _DIFFERENCES)}
            for each in changes
        ],
    }
    show(options, _lines(chosen, changes, kinds), values)
    return 0 if changes else 1


def _chosen_run(runs: Sequence[Run], number: int | None) -> Run:
    """Return the run of a number, or else the last finished one."""
    if not runs:
        raise UsageError(
            "the index has no runs: no crawl has used it, or it was emptied"
        )
    if number is None:
        return ([run for run in runs if run.finished] or runs)[-1]
    for run in runs:
        if run.number == number:
            return run
    raise UsageError(NO_RUN)


def _unseen(
    index: Index,
    runs: Sequence[Run],
    chosen: Run,
) -> Iterator[PageChange]:
    """Yield the pages that a finished run missed, and those that failed in it.

    Pages that a later run has seen are not among them.
    """
    if chosen.finished:
        begun = {run.number: run.begun for run in runs}
        for entry in index.missing(chosen.number):
            yield PageChange(
                "missing",
                entry.key,
                entry.key,
                last_seen=begun.get(entry.run),
            )
        for entry in index.failed(chosen.number):
            yield PageChange("failed", entry.key, entry.key)


def _logged(options: Namespace, chosen: Run) -> dict[str, PageChange] | None:
    """Return the changes of a run that the log has, by key; None, with a message, without any."""
    logs: list[Path] = []
    with suppress(UsageError):
        logs = log_paths(options)
    table = LogTable(log_lines(logs))
    if chosen.number in table.runs():
        return table.changes([chosen.number])
    lack = (
        f"the log has no page of run {chosen.number}, so"
        if logs
        else "without --log dedup.jsonl,"
    )
    sys.stderr.write(
        f"{lack} only missing and failed pages are known; a crawl writes it with "
        "-s SIMHASH_LOG=dedup.jsonl\n"
    )
    return None


def _lines(
    chosen: Run,
    changes: Sequence[PageChange],
    kinds: Sequence[str],
) -> Iterator[str]:
    listed = Counter(each.change for each in changes)
    at_end = {"missing": chosen.missing, "failed": chosen.failed}
    counts = ", ".join(f"{at_end.get(kind, listed[kind]):,} {kind}" for kind in kinds)
    yield f"run {chosen.number} of {chosen.spider}, {moment(chosen.begun)} UTC: {counts}"
    if later := sum(at_end.values()) - listed["missing"] - listed["failed"]:
        yield f"         ({later:,} of the missing and failed came later, or left the index)"
    for each in changes:
        yield f"{each.change:<8} {each.url}"
        if each.moved_from:
            yield f"         from {each.moved_from}"
        if each.change == "missing" and each.last_seen:
            yield f"         last seen in the run of {moment(each.last_seen)} UTC"
        for line in difference_lines(each.differs, _DIFFERENCES):
            yield f"         {line}"
