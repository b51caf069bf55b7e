"""`scrapy simhash evaluate`: precision and recall on labelled pages."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, progress, write_file

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.offline.datasets import Dataset
    from scrapy_simhash.offline.evaluation import Result
    from scrapy_simhash.offline.evaluation.rivals import Rival

SUMMARY = "Measure precision and recall on labelled pages"

DESCRIPTION = """\
A DATASET is a folder with docs.jsonl or docs.jsonl.xz: one JSON object a line,
with "id", one of "html", "html_base64" and "text", and "url" where known; and
with pairs.tsv: columns a, b, label, and kind where known, separated by tabs. A
label is duplicate, ambiguous (counts neither way) or negative; every pair that
is not listed is not a duplicate.

All pairs of documents are judged as a crawl judges them: pages without running
text repeat only the very same page, those that a crawl skips repeat none.

    scrapy simhash evaluate sets/news
    scrapy simhash evaluate sets/* --recipe default --recipe classic --plot pr.svg
    scrapy simhash evaluate sets/articles --kinds

In a project, its SIMHASH_... settings say what is measured, unless --recipe does.
The packages simhash and datasketch are measured beside it where installed:

    pip install "scrapy-simhash[evaluation]"

columns: k, the distance within which pages match; found, missed and false, pairs;
best F1, over all distances, and the distances that reach it; skipped, pages that
match nothing; exact, pages that match only the very same page; ms, CPU time a page,
median; kept, the share of the found pairs that an index for as many pages, and one
for a million, finds by its buckets.

exit status: 0, measured; 2, something given cannot be used; 130, interrupted.
"""

_PLOT_FORMATS = (".svg", ".png")


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
        "--kinds",
        action="store_true",
        help="measure near-duplicates of five kinds, and what is likely to be taken for such, "
        "made from the pages of each DATASET",
    )
    parser.add_argument(
        "--no-rivals", action="store_true", help="measure no other packages beside the recipes"
    )
    parser.add_argument(
        "--per-distance", action="store_true", help="print the scores at each distance too"
    )
    parser.add_argument(
        "--show",
        type=_count,
        default=0,
        metavar="N",
        help="name up to N false and N missed pairs of each",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write all results as JSON; - for standard output"
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw precision against recall, and how many pairs are how far apart: .svg or .png",
    )
    parser.add_argument(
        "--processes",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes that extract and fingerprint (default: %(default)s)",
    )


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Measure, and print, write and draw what was asked for."""
    from scrapy_simhash.offline.datasets import read_dataset
    from scrapy_simhash.offline.evaluation.rivals import RIVALS, is_installed
    from scrapy_simhash.offline.pages import PagesError

    _check_outputs(options)
    recipes = _recipes(options, settings)
    rivals = [] if options.no_rivals else [rival for rival in RIVALS if is_installed(rival)]
    results: list[Result] = []
    try:
        datasets = [read_dataset(folder) for folder in options.datasets]
    except PagesError as error:
        raise UsageError(str(error)) from None
    if options.kinds:
        datasets = [_kinds(dataset) for dataset in datasets]
    for dataset in datasets:
        results += _evaluated(dataset, recipes, rivals, options)
    if options.json != "-":
        _print(results, options)
    _write(results, options)


def _evaluated(
    dataset: Dataset, recipes: list[Recipe], rivals: list[Rival], options: argparse.Namespace
) -> list[Result]:
    from scrapy_simhash.offline.evaluation import evaluate

    with progress(dataset.name, len(dataset.documents)) as bar:

        def show(done: int, total: int) -> None:
            bar.update(done - bar.n)

        return evaluate(
            dataset,
            recipes,
            rivals,
            processes=options.processes,
            progress=show,
            listed=max(options.show, 20),
        )


def _kinds(dataset: Dataset) -> Dataset:
    from scrapy_simhash.kinds import make_kinds

    made = make_kinds(dataset.documents, name=f"{dataset.name}, kinds")
    if not made.documents:
        raise UsageError(f"{dataset.name}: none of its pages has a main text to make kinds from")
    return made


def _recipes(options: argparse.Namespace, settings: BaseSettings) -> list[Recipe]:
    from scrapy_simhash.exceptions import SettingError
    from scrapy_simhash.extraction.extractor import load_extractor
    from scrapy_simhash.fingerprint.recipe import named_recipe
    from scrapy_simhash.settings import recipe_from_settings

    given = {"distance": options.distance, "extractor": options.extractor}
    try:
        if options.recipe:
            recipes = [named_recipe(name, **given) for name in dict.fromkeys(options.recipe)]
        else:
            recipe = recipe_from_settings(settings)
            recipes = [replace(recipe, **{k: v for k, v in given.items() if v is not None})]
        for recipe in recipes:
            load_extractor(recipe.extractor)
    except (SettingError, ValueError) as error:
        raise UsageError(str(error)) from None
    return recipes


def _check_outputs(options: argparse.Namespace) -> None:
    if options.json not in (None, "-"):
        check_writable(options.json)
    if options.plot is not None:
        check_writable(options.plot)
        if Path(options.plot).suffix.lower() not in _PLOT_FORMATS:
            raise UsageError(f"--plot {options.plot}: a plot is {' or '.join(_PLOT_FORMATS)}")
        if find_spec("matplotlib") is None:
            raise UsageError("--plot needs matplotlib: pip install 'scrapy-simhash[evaluation]'")


def _print(results: list[Result], options: argparse.Namespace) -> None:
    from scrapy_simhash.offline.evaluation.rivals import RIVALS, is_installed
    from scrapy_simhash.offline.evaluation.table import distance_table, tables, wrong_pairs

    parts = [tables(results)]
    if options.per_distance:
        parts += [distance_table(r) for r in results if r.distance is not None]
    if options.show:
        parts += [pairs for r in results if (pairs := wrong_pairs(r))]
    notes = dict.fromkeys(f"{r.name}: {r.method}" for r in results)
    if not options.no_rivals:
        absent = [rival for rival in RIVALS if not is_installed(rival)]
        notes |= {f"{rival.name}: {rival.package} is not installed": None for rival in absent}
    parts.append("\n".join(notes))
    sys.stdout.write("\n\n".join(parts) + "\n")
    sys.stdout.flush()


def _write(results: list[Result], options: argparse.Namespace) -> None:
    from scrapy_simhash.offline.evaluation.table import plain

    if options.json is not None:
        text = json.dumps({"results": plain(results)}, indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            write_file(options.json, text.encode())
    if options.plot is not None:
        from scrapy_simhash.offline.evaluation.plot import draw

        write_file(options.plot, draw(results, Path(options.plot).suffix[1:].lower()))


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
