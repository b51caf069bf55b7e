"""Show the pages of an index, its size and its runs; with --check, whether it is whole.

    scrapy simhash stats --index redis://localhost/0
    scrapy simhash stats --index /var/lib/crawl/pages.sqlite --check

Counts are exact; sizes of a large index in Redis are estimated from a sample of its keys.
Pages in progress are those whose callback has not finished. A run has the pages that it saw,
and the pages of earlier runs that were missing or failed, at its end. A run that is "not counted"
lost too much to bring a page closer to leaving the index.

--check reads the whole index, and prints a line for everything that is missing or cannot
be read. "scrapy simhash import" takes what can be read into a new index.
"""

import argparse
from collections.abc import Iterator, Sequence

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned, show
from scrapy_simhash.commands.selection import add_shared_options, chosen_index
from scrapy_simhash.index.values import Census, IndexSpec, Run
from scrapy_simhash.report.words import moment, size


def add_options(parser: argparse.ArgumentParser) -> None:
    says = "read the whole index, and tell what is damaged"
    parser.add_argument("--check", action="store_true", help=says)
    add_shared_options(parser, "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    with chosen_index(options, settings) as index:
        census = index.census()
        spec = index.spec
        runs = index.runs()
        damages = index.check() if options.check else []
    rows = _facts(census, spec)
    rows += [("damaged", text) for text in damages]
    rows += [("whole", "yes")] if options.check and not damages else []
    values = {
        "pages": census.pages,
        "in_progress": census.provisional,
        "recipe": spec.recipe,
        "bits": spec.bits,
        "distance": spec.distance,
        "blocks": spec.blocks,
        "bytes": census.size,
        "runs": [each._asdict() for each in runs],
        **({"damaged": damages} if options.check else {}),
    }
    show(options, [*aligned(rows), *_table_of_runs(runs)], values)
    return 1 if damages else 0


def _facts(census: Census, spec: IndexSpec) -> list[tuple[str, str]]:
    per_page = f", {size(census.size / census.pages)} a page" if census.pages else ""
    return [
        ("pages", f"{census.pages:,}"),
        ("in progress", f"{census.provisional:,}"),
        ("recipe", spec.recipe),
        ("distance", f"{spec.distance} of {spec.bits} bits"),
        ("found by", f"{spec.blocks} block values a page"),
        ("size", size(census.size) + per_page if census.size else "the server does not tell"),
    ]


def _table_of_runs(runs: Sequence[Run]) -> Iterator[str]:
    if not runs:
        return
    last = {run.spider: run for run in runs}
    names = ("run", "spider", "begun (UTC)", "ended (UTC)", "state", "seen", "missing", "failed")
    rows = [names]
    for run in runs:
        row = (
            str(run.number),
            run.spider,
            moment(run.begun),
            moment(run.ended) if run.ended else "-",
            _state(run, is_last=run is last[run.spider]),
            f"{run.seen:,}",
            f"{run.missing:,}",
            f"{run.failed:,}",
        )
        rows.append(row)
    yield from ("", *aligned(rows))


def _state(run: Run, *, is_last: bool) -> str:
    """Return how a run has ended, in a word or two.

    The last one of a spider may have been killed, and seem to run. An earlier one does not run,
    because a crawler takes part in its spider's run while others of it live; but a job may go on.
    """
    if run.ended is None:
        return "running" if is_last else "unfinished"
    if run.finished:
        return "finished" if run.counts else "not counted"
    return "stopped"
