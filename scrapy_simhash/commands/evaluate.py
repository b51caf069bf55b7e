"""Measure precision and recall on labelled pages, and what a crawl of them would lose.

A DATASET is a folder with pages, as "scrapy simhash dedupe" reads them, and pairs.tsv, a
table with the columns a, b and label, separated by tabs. a and b are the "id" of pages. A
label is duplicate, ambiguous (counts neither way) or negative, perhaps with a kind, such
as negative/template. A pair that is not listed is no duplicate.

    scrapy simhash evaluate sets/news
    scrapy simhash evaluate sets/* --recipe classic --show 10
    scrapy simhash evaluate sets/news -s SIMHASH_DISTANCE=40

columns: k, the distance; skipped, pages that are not compared; found, missed and false,
pairs; dropped, pages; wrong/1000, distinct pages of which no copy was kept, in 1,000.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned, progress, show
from scrapy_simhash.commands.selection import add_shared_options
from scrapy_simhash.offline.evaluation import Result, evaluate, read_dataset
from scrapy_simhash.settings import FilterSettings

_QUALITY = (
    *("set", "recipe", "k", "pages", "skipped", "precision", "recall"),
    *("found", "missed", "false", "dropped", "wrong/1000"),
)
_PAIRS = ("a", "b", "distance", "reason", "kind")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("datasets", nargs="+", metavar="DATASET", help="folder of labelled pages")
    says = "name up to N wrong pairs of each sort"
    parser.add_argument("--show", type=int, default=0, metavar="N", help=says)
    add_shared_options(parser, "recipe", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    recipe, results = FilterSettings.from_settings(settings).recipe, []
    for dataset in [read_dataset(folder) for folder in options.datasets]:
        with progress(dataset.name, len(dataset.documents)) as bar:
            results.append(evaluate(dataset, recipe, bar.update))
    lines = _table(_QUALITY, map(_quality, results))
    for result in results:
        lines += wrong_pairs(result, options.show)
    show(options, lines, {"results": [asdict(result) for result in results]})


def _quality(result: Result) -> Sequence[object]:
    missed = len(result.missed)
    return (
        *(result.dataset, result.name, result.distance, result.documents),
        *(sum(result.skipped.values()), _share(result.precision), _share(result.recall)),
        *(result.labelled - missed, missed, len(result.false)),
        *(result.dropped, f"{result.wrong_per_thousand:.2f}"),
    )


def wrong_pairs(result: Result, most: int) -> Iterator[str]:
    """Yield tables of pairs that were judged wrongly, up to so many of each sort."""
    for what, pairs in (
        ("wrong drops", result.wrong_drops),
        ("false pairs", result.false),
        ("missed pairs", result.missed),
    ):
        if pairs[:most]:
            yield from ("", f"{result.dataset}, {result.name}: {what}")
            yield from _table(_PAIRS, map(astuple, pairs[:most]))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [["–" if cell is None else str(cell) for cell in row] for row in rows]
    return aligned([head, *cells])


def _share(value: float | None) -> str | None:
    # Rounded down: 1.0000 is for what is without any fault.
    return None if value is None else f"{int(value * 10_000) / 10_000:.4f}"
