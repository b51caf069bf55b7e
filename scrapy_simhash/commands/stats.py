"""Show the pages of an index and its runs; with --check, whether it is whole.

    scrapy simhash stats --index redis://localhost/0
    scrapy simhash stats --index /var/lib/crawl/pages.sqlite --check

Pages in progress are those whose callback has not finished. A run that goes on has "-"
for its end. Seen are the pages of a run; missing and failed are pages of earlier runs,
at the end of this run. A run that lost too much is "not counted": it brings no page
closer to leaving the index.

--check reads the whole index, and prints a line for everything that is missing or
cannot be read. "scrapy simhash import" takes what can be read into a new index.
"""

from argparse import Namespace
from typing import Any

from scrapy_simhash.commands.output import aligned, show
from scrapy_simhash.commands.selection import chosen_index, shared_options
from scrapy_simhash.index.values import Run
from scrapy_simhash.report.words import moment

OPTIONS = {
    "--check": {
        "action": "store_true",
        "help": "read the whole index, and tell what is damaged",
    },
    **shared_options("index", "json"),
}


def run(options: Namespace) -> int:
    with chosen_index(options) as index:
        facts: dict[str, Any] = {
            "pages": len(index),
            "in_progress": index.counts().provisional,
            "recipe": index.spec.recipe,
            "bits": index.spec.bits,
            "distance": index.spec.distance,
            "blocks": index.spec.blocks,
        }
        runs = _table_of_runs(index.runs())
        damages = index.check() if options.check else []
    lines = [
        f"{name.replace('_', ' '):<11} {_shown(value)}" for name, value in facts.items()
    ]
    lines += [f"damaged     {damage}" for damage in damages]
    values = facts | {"runs": runs}
    if options.check:
        values["damaged"] = damages
        lines += [] if damages else ["whole       yes"]
    lines += _lines_of_runs(runs)
    show(options, lines, values)
    return 1 if damages else 0


def _lines_of_runs(runs: list[dict[str, Any]]) -> list[str]:
    rows = [[_shown(value) for value in run.values()] for run in runs]
    return ["", *aligned([[*runs[0]], *rows])] if runs else []


def _shown(value: str | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else value


def _table_of_runs(runs: list[Run]) -> list[dict[str, Any]]:
    """Return a row for each run, with its times in UTC."""
    last = {run.spider: run.number for run in runs}
    return [
        {
            "run": run.number,
            "spider": run.spider,
            "begun": f"{moment(run.begun)}Z",
            "ended": f"{moment(run.ended)}Z" if run.ended else None,
            "state": _state(run, is_last=run.number == last[run.spider]),
            "seen": run.seen,
            "missing": run.missing,
            "failed": run.failed,
        }
        for run in runs
    ]


def _state(run: Run, *, is_last: bool) -> str:
    """Return how a run has ended, in a word or two.

    The last one of a spider may have been killed, and seem to run. An earlier one does
    not run, because a crawler takes part in its spider's run while others of it live;
    but a job may go on.
    """
    if run.ended is None:
        return "running" if is_last else "unfinished"
    if run.finished:
        return "finished" if run.counts else "not counted"
    return "stopped"
