"""`scrapy simhash plan`: what an index of so many pages will take."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.stores import add_json_option, check_json, in_bytes, show

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.offline.sizing import Sizing

SUMMARY = "Predict memory, time and false drops for so many pages"

DESCRIPTION = """\
    scrapy simhash plan --pages 50M --workers 8
    scrapy simhash plan --pages 300k --recipe compact --address 90

Pages are originals: what is dropped takes nothing. Redis memory is that of the index
alone; give Redis half as much again. RAM is that of each crawler, beside what Scrapy
takes, where the buckets are there (buckets=local, SQLite). Times are CPU time for a new
page on one core of a recent server, without the network, extraction and fingerprint.
False drops are to be expected over all of the crawl, of pages of different sites; pages
of one site that differ in one word are a danger of their own, which "tune" measures.

exit status: 0, shown; 2, something given cannot be used.
"""

_RECIPES = ("default", "compact", "classic")
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
# Positions in the log are of four bytes.
_MOST = (1 << 32) - 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--pages", required=True, metavar="N", help="originals: 300000, 300k or 50M"
    )
    parser.add_argument("--workers", default="1", metavar="N", help="crawlers (1)")
    parser.add_argument(
        "--recipe", action="append", metavar="NAME", help="for this recipe (may be repeated)"
    )
    parser.add_argument("--distance", type=int, metavar="K", help="instead of the recipe's")
    parser.add_argument(
        "--address", type=int, default=60, metavar="BYTES", help="the length of a URL (60)"
    )
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Work it out, and print it."""
    from scrapy_simhash.offline.sizing import size_up

    check_json(options)
    pages = _number(options.pages, "--pages")
    workers = _number(options.workers, "--workers")
    if options.address < 1:
        raise UsageError("--address is a number of bytes")
    recipes = _recipes(options, settings)
    try:
        sized = [size_up(r.spec, r.bits, r.distance, pages, options.address) for r in recipes]
    except ValueError as error:
        raise UsageError(str(error)) from None
    found = {
        "pages": pages,
        "workers": workers,
        "recipes": [_plain(r, s, workers) for r, s in zip(recipes, sized, strict=True)],
    }
    show(options, _lines(found), found)


def _recipes(options: argparse.Namespace, settings: BaseSettings) -> list[Recipe]:
    from scrapy_simhash.fingerprint.recipe import named_recipe
    from scrapy_simhash.settings import recipe_from_settings

    try:
        own = recipe_from_settings(settings)
        names = dict.fromkeys(options.recipe or (own.name, *_RECIPES))
        recipes = [own if name == own.name else named_recipe(name) for name in names]
        if options.distance is None:
            return recipes
        return [replace(recipe, distance=options.distance) for recipe in recipes]
    except ValueError as error:
        raise UsageError(str(error)) from None


def _number(text: str, option: str) -> int:
    plain = text.lower().replace(",", "").replace("_", "")
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgb]?)", plain)
    number = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    if not 1 <= number <= _MOST:
        raise UsageError(f"{option} {text}: it must be like 300000, 300k or 50M, at most {_MOST:,}")
    return number


def _plain(recipe: Recipe, sizing: Sizing, workers: int) -> dict[str, Any]:
    return {
        "recipe": recipe.name,
        "bits": recipe.bits,
        "distance": recipe.distance,
        "layout": str(sizing.layout),
        "redis_bytes": {
            f"buckets={place}, keys={keys}": round(size)
            for (place, keys), size in sizing.redis.items()
        },
        "worker_bytes": round(sizing.worker),
        "all_workers_bytes": round(sizing.worker) * workers,
        "file_bytes": round(sizing.file),
        "worker_us": {place: round(us) for place, us in sizing.check.items()},
        "redis_read_bytes": round(sizing.read),
        "redis_us": {place: round(us) for place, us in sizing.redis_server.items()},
        "false_drops": sizing.false_drops,
    }


def _lines(found: dict[str, Any]) -> list[str]:
    recipes, workers = found["recipes"], found["workers"]
    plural = "s" * (workers != 1)
    rows: list[tuple[str, list[str]]] = [("", [one["recipe"] for one in recipes])]

    def row(name: str, cell: Any) -> None:
        rows.append((name, [cell(one) for one in recipes]))

    row("bits, distance", lambda one: f"{one['bits']}, {one['distance']}")
    row("blocks x width, probes", _layout)
    for name in recipes[0]["redis_bytes"]:
        row(f"Redis, {name}", lambda one, name=name: in_bytes(one["redis_bytes"][name]))
    row("RAM of a worker, buckets=local", lambda one: in_bytes(one["worker_bytes"]))
    row(f"  of {workers:,} worker{plural}", lambda one: in_bytes(one["all_workers_bytes"]))
    row("SQLite file", lambda one: in_bytes(one["file_bytes"]))
    for place in ("redis", "local"):
        row(
            f"CPU us a page, buckets={place}",
            lambda one, place=place: f"{one['worker_us'][place]} + {one['redis_us'][place]} Redis",
        )
    row(
        "pages/s that one Redis can take",
        lambda one: f"{1e6 / max(one['redis_us']['redis'], 1):,.0f}",
    )
    row("read from it for a page", lambda one: in_bytes(one["redis_read_bytes"]))
    row("false drops in all", lambda one: _chance(one["false_drops"]))
    wide = [max(len(cells[at]) for _, cells in rows) for at in range(len(recipes))]
    heads = max(len(name) for name, _ in rows)
    lines = [f"{found['pages']:,} pages, {workers:,} worker{plural}", ""]
    lines += [
        f"{name:<{heads}}  "
        + "  ".join(f"{cell:>{size}}" for cell, size in zip(cells, wide, strict=True))
        for name, cells in rows
    ]
    return lines


def _layout(one: dict[str, Any]) -> str:
    layout = dict(part.split("=") for part in one["layout"].split())
    return f"{layout['blocks']} x {layout['width']}, {layout['probes']}"


def _chance(expected: float | None) -> str:
    if expected is None:
        return "not measured"
    return f"{expected:,.0f}" if expected >= 10 else f"{expected:.2g}"
