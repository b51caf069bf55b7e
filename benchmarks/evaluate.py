"""Measures precision and recall on labelled pages, and what a crawl of them would lose.

A DATASET is a folder with pages, as "scrapy simhash dedupe" reads them, and pairs.tsv,
a table with the columns a, b and label, separated by tabs. a and b are the "id" of
pages. A label is duplicate, ambiguous (counts neither way) or negative, perhaps with a
kind, such as negative/template. A pair that is not listed is no duplicate.

    python -m benchmarks.evaluate sets/news
    python -m benchmarks.evaluate sets/* --recipe classic --show 10
    python -m benchmarks.evaluate sets/news --distance 40

Columns: k, the distance; skipped, pages that are not compared; found, missed and false,
pairs; dropped, pages; wrong/1000, distinct pages of which no copy was kept, in 1,000.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.evaluation import Result, WrongPair, evaluate, read_dataset
from benchmarks.measuring import Table
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.offline.files import FileError

COLUMNS = (
    *("set", "recipe", "k", "pages", "skipped", "precision", "recall"),
    *("found", "missed", "false", "dropped", "wrong/1000"),
)


def share(value: float | None) -> str:
    # Rounded down: 1.0000 is for what is without any fault.
    return "–" if value is None else f"{int(value * 10_000) / 10_000:.4f}"


def row(result: Result) -> list[object]:
    missed = len(result.missed)
    return [
        result.dataset,
        result.name,
        result.distance,
        result.documents,
        sum(result.skipped.values()),
        share(result.precision),
        share(result.recall),
        result.labelled - missed,
        missed,
        len(result.false),
        result.dropped,
        f"{result.wrong_per_thousand:.2f}",
    ]


def wrong_pairs(result: Result, most: int) -> Iterator[str]:
    """Yield lines about the pairs that were judged wrongly, at most so many of each sort."""
    sorts = {
        "wrong drops": result.wrong_drops,
        "false pairs": result.false,
        "missed pairs": result.missed,
    }
    for sort, pairs in sorts.items():
        if pairs[:most]:
            yield f"\n{result.dataset}, {result.name}: {sort}"
            yield from map(line, pairs[:most])


def line(pair: WrongPair) -> str:
    known = (pair.a, pair.b, pair.distance, pair.reason, pair.kind)
    return "  ".join("–" if value is None else str(value) for value in known)


def chosen_recipe(name: str, distance: int | None) -> Recipe:
    recipe = named_recipe(name)
    return recipe if distance is None else replace(recipe, distance=distance)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.evaluate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "datasets", nargs="+", metavar="DATASET", help="folder of labelled pages"
    )
    parser.add_argument(
        "--recipe", default="default", metavar="NAME", help="a recipe by name"
    )
    parser.add_argument(
        "--distance", type=int, metavar="K", help="another distance than its own"
    )
    says = "name up to N wrong pairs of each sort"
    parser.add_argument("--show", type=int, default=0, metavar="N", help=says)
    options = parser.parse_args()
    try:
        recipe = chosen_recipe(options.recipe, options.distance)
        datasets = [read_dataset(folder) for folder in options.datasets]
    except (FileError, ValueError) as error:
        sys.exit(f"{parser.prog}: error: {error}")
    table = Table(*COLUMNS)
    results = [evaluate(dataset, recipe) for dataset in datasets]
    for result in results:
        table.row(*row(result))
    for result in results:
        print(*wrong_pairs(result, options.show), sep="\n")


if __name__ == "__main__":
    main()
