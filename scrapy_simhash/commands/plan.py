"""`scrapy simhash plan`: the size of an index of many pages."""

from __future__ import annotations

import argparse
import re
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned
from scrapy_simhash.commands.stores import (
    add_json_option,
    add_recipe_option,
    check_json,
    chosen_recipe,
    show,
)
from scrapy_simhash.report.words import count, size

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

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
# Positions in the log have four bytes.
_MOST = (1 << 32) - 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--pages", required=True, metavar="N", help="pages that are kept: 300000, 300k or 50M"
    )
    add_recipe_option(parser)
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Multiply, and print."""
    from scrapy_simhash.offline.sizing import bytes_of, false_drops

    check_json(options)
    pages = _number(options.pages)
    recipe = chosen_recipe(options.recipe, settings)
    sizes, wrong = bytes_of(recipe, pages), false_drops(recipe, pages)
    found: dict[str, Any] = {
        "pages": pages,
        "recipe": recipe.name,
        "bits": recipe.bits,
        "distance": recipe.distance,
        "bytes": sizes,
        "false_drops": wrong,
    }
    expected = (
        "not measured" if wrong is None else f"{wrong:,.0f}" if wrong >= 10 else f"{wrong:.2g}"
    )
    rows = [("", "in all", "a page")]
    rows += [(store, size(total), size(total / pages)) for store, total in sizes.items()]
    rows.append(("false drops", expected, ""))
    head = (
        f"{count(pages, 'page')}, recipe {recipe.name}: {recipe.bits} bits, k = {recipe.distance}"
    )
    show(options, [head, "", *aligned(rows, right=True)], found)


def _number(text: str) -> int:
    plain = text.lower().replace(",", "").replace("_", "")
    found = re.fullmatch(r"(\d{1,20}(?:\.\d{1,20})?)([kmgb]?)", plain)
    number = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    if not 1 <= number <= _MOST:
        raise UsageError(f"--pages {text}: it must be like 300000, 300k or 50M, at most {_MOST:,}")
    return number
