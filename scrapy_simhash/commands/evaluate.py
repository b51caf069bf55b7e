"""`scrapy simhash evaluate`: precision and recall on labelled pages."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, progress, write_file
from scrapy_simhash.commands.stores import chosen_recipe, usage_errors

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.offline.datasets import Dataset
    from scrapy_simhash.offline.evaluation import Result

SUMMARY = "Measure precision and recall on labelled pages"

DESCRIPTION = """\
A DATASET is a folder with docs.jsonl or docs.jsonl.xz: one JSON object a line,
with "id", one of "html", "html_base64" and "text", and "url" where known; and
with pairs.tsv: columns a, b, label, and kind where known, separated by tabs. A
label is duplicate, ambiguous (counts neither way) or negative; every pair that
is not listed is not a duplicate.

All pairs of documents are judged as a crawl judges them: those within the
distance by the rule. A crawl compares a page with the pages that it kept before;
it is replayed in the order of the file and in five random ones.

    scrapy simhash evaluate sets/news
    scrapy simhash evaluate sets/* --recipe default --recipe classic --show 10

In a project, its SIMHASH_... settings say what is measured, unless --recipe does.

columns: k, the distance; skipped, pages that are not compared; like-headed, recall
without the pairs of one host whose headings differ; found, missed and false, pairs;
dropped, pages; wrong/1000, dropped pages of which no copy was kept, in 1,000
distinct pages; shuffled, the same in random orders.

exit status: 0, measured; 2, something given cannot be used; 130, interrupted.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("datasets", nargs="+", metavar="DATASET", help="folder of labelled pages")
    parser.add_argument(
        "--recipe",
        action="append",
        metavar="NAME",
        help="measure this recipe (may be repeated)",
    )
    parser.add_argument(
        "--distance", type=int, metavar="K", help="the distance, instead of the recipe's"
    )
    parser.add_argument(
        "--extractor", metavar="NAME", help="the extractor, instead of the recipe's"
    )
    parser.add_argument(
        "--kind-column",
        default="kind",
        metavar="NAME",
        help="the column of pairs.tsv that says of which kind a pair is (kind)",
    )
    parser.add_argument(
        "--show",
        type=_count,
        default=0,
        metavar="N",
        help="name up to N wrong drops, false pairs and missed pairs of each",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write all results as JSON; - for standard output"
    )
    parser.add_argument(
        "--processes",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes that extract and fingerprint (default: %(default)s)",
    )


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Measure, and print and write what was asked for."""
    from scrapy_simhash.offline.datasets import read_dataset

    if options.json not in (None, "-"):
        check_writable(options.json)
    recipes = _recipes(options, settings)
    with usage_errors():
        datasets = [read_dataset(folder, options.kind_column) for folder in options.datasets]
    results = [_evaluated(dataset, recipe, options) for dataset in datasets for recipe in recipes]
    if options.json != "-":
        _print(results, options)
    if options.json is not None:
        _write(results, options.json)


def _evaluated(dataset: Dataset, recipe: Recipe, options: argparse.Namespace) -> Result:
    from scrapy_simhash.offline.evaluation import evaluate

    with progress(dataset.name, len(dataset.documents)) as bar:
        return evaluate(
            dataset,
            recipe,
            processes=options.processes,
            progress=bar.update,
            listed=max(options.show, 20),
        )


def _recipes(options: argparse.Namespace, settings: BaseSettings) -> list[Recipe]:
    from scrapy_simhash.extraction.extractor import load_extractor

    given = {"distance": options.distance, "extractor": options.extractor}
    changes = {name: value for name, value in given.items() if value is not None}
    names = dict.fromkeys(options.recipe or [None])
    with usage_errors():
        recipes = [replace(chosen_recipe(name, settings), **changes) for name in names]
        for recipe in recipes:
            load_extractor(recipe.extractor)
    return recipes


def _print(results: list[Result], options: argparse.Namespace) -> None:
    from scrapy_simhash.offline.evaluation.table import tables, wrong_pairs

    parts = [tables(results)]
    if options.show:
        parts += [pairs for r in results if (pairs := wrong_pairs(r))]
    parts.append("\n".join(dict.fromkeys(f"{r.name}: {r.method}" for r in results)))
    sys.stdout.write("\n\n".join(parts) + "\n")
    sys.stdout.flush()


def _write(results: list[Result], path: str) -> None:
    from scrapy_simhash.offline.evaluation.table import plain

    text = json.dumps({"results": plain(results)}, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(path, text.encode())


def _count(text: str) -> int:
    return _whole(text, 0)


def _positive(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return number
