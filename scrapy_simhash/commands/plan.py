"""`scrapy simhash plan`: the size of an index of many pages, from measured bytes a page."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned
from scrapy_simhash.commands.stores import add_shared_options, chosen_recipe, show
from scrapy_simhash.report.words import count, size

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe

SUMMARY = "Predict the size of an index, and its false drops"

DESCRIPTION = """\
    scrapy simhash plan --pages 50M
    scrapy simhash plan --pages 300k --recipe compact

Pages are those that are kept; a page that is dropped takes nothing. The command
multiplies measured bytes a page, with addresses of 60 characters: give a server half as
much again. RAM is that of each crawler, beside what Scrapy takes. False drops are
matches with unrelated pages of other sites in the whole crawl, by distance alone; the
rule, which also compares headings, drops fewer of them. "scrapy simhash tune" measures
how pages of one site fare.

exit status: 0, shown; 2, something given cannot be used.
"""

# ``python -m tests.benchmarks.sizing`` measures bytes a page, by the bits of a fingerprint.
_STORES = ("RAM, memory://", "RAM, sqlite://", "file, sqlite://", "Redis", "Redis, buckets=local")
_BYTES = {
    64: (190, 90, 135, 125, 70),
    128: (470, 325, 230, 240, 160),
    256: (490, 330, 245, 280, 185),
}
# ``python tests/benchmarks/false_drops.py`` measures the probability that two unrelated pages of
# different sites are within the distance, by features, bits and distance.
_UNRELATED_MATCH = {
    ("words 2 sqrt", 64, 3): 9.4e-15,
    ("characters 5 binary", 64, 3): 3e-14,
    ("characters 5 binary", 64, 8): 2e-9,
    ("characters 5 binary", 128, 22): 2e-12,
    ("characters 5 binary", 256, 48): 7e-16,
    ("characters 5 binary", 256, 56): 4e-13,
}
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
_MOST = (1 << 32) - 1  # positions in the log have four bytes


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--pages", required=True, metavar="N", help="pages that are kept: 300000, 300k or 50M"
    )
    add_shared_options(parser, "recipe", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Multiply, and print."""
    pages = _number(options.pages)
    recipe = chosen_recipe(options.recipe, settings)
    each = dict(zip(_STORES, _BYTES[recipe.bits], strict=True))
    wrong = _false_drops(recipe, pages)
    found = {
        "pages": pages,
        "recipe": recipe.name,
        "bits": recipe.bits,
        "distance": recipe.distance,
        "bytes": {store: number * pages for store, number in each.items()},
        "false_drops": wrong,
    }
    rows = [("", "in all", "a page")]
    rows += [(store, size(number * pages), size(number)) for store, number in each.items()]
    rows.append(("false drops", "not measured" if wrong is None else f"{wrong:.2g}", ""))
    head = (
        f"{count(pages, 'page')}, recipe {recipe.name}: {recipe.bits} bits, k = {recipe.distance}"
    )
    show(options, [head, "", *aligned(rows, left=1)], found)


def _false_drops(recipe: Recipe, pages: int) -> float | None:
    features = f"{recipe.spec.kind} {recipe.spec.n} {recipe.spec.weights}"
    rate = _UNRELATED_MATCH.get((features, recipe.bits, recipe.distance))
    # Each page meets those before it.
    return None if rate is None else rate * pages * pages / 2


def _number(text: str) -> int:
    found = re.fullmatch(r"(\d{1,20}(?:\.\d{1,20})?)([kmgb]?)", text.lower())
    number = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    if not 1 <= number <= _MOST:
        raise UsageError(f"--pages {text}: it must be like 300000, 300k or 50M, at most {_MOST:,}")
    return number
