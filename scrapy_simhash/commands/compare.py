"""Tell whether two pages are near-duplicates, and show what differs.

A and B are addresses, or files of a type that a crawl compares. With --text, files are
plain texts of any length, and an argument that is not a file is the text itself.

    scrapy simhash compare saved.html http://www.example.com/a
    scrapy simhash compare --text --recipe pypi --steps "How are you?" "How old are you?"

Pages are judged as a crawl with the settings of this project judges them.
"""

import argparse
import http.client
import mimetypes
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import numpy as np
from scrapy.exceptions import UsageError
from scrapy.http import HtmlResponse
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned, columns, say, sentence
from scrapy_simhash.commands.selection import add_shared_options
from scrapy_simhash.core.analysis import (
    PageAnalysis,
    SkipReason,
    analyse_text,
    body_of,
    located,
    read_body,
)
from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.keys import page_key
from scrapy_simhash.printable import first_lines
from scrapy_simhash.report.difference import Shown, difference_lines
from scrapy_simhash.report.words import clipped, count
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page
from scrapy_simhash.settings import FilterSettings

_LONGEST_TEXT = 60_000  # characters of a text that are compared word by word


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="address, file, or text")
    parser.add_argument("b", metavar="B", help="address, file, or text")
    parser.add_argument("--text", action="store_true", help="compare texts instead of pages")
    says = "show features, weights, sums, bits and block values"
    parser.add_argument("--steps", action="store_true", help=says)
    add_shared_options(parser, "recipe")


class _Side(NamedTuple):
    key: str
    extraction: Extraction
    analysis: PageAnalysis

    @property
    def shown(self) -> Shown:
        text = self.extraction.text
        details = self.extraction.details
        return Shown(text[:_LONGEST_TEXT], first_lines(details, _LONGEST_TEXT))


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    recipe = FilterSettings.from_settings(settings).recipe
    read = _text_side if options.text else partial(_page_side, settings=settings)
    a = read(options.a, recipe)
    b = read(options.b, recipe)
    is_copy, verdict = _verdict(a, b, recipe)
    lines = [
        f"A  {_shown_name(options.a)}",
        f"B  {_shown_name(options.b)}",
        "",
        *_table_of_sides(a, b, recipe.bits),
    ]
    lines += ["", *verdict]
    if differs := difference_lines(a.shown, b.shown, columns(), 40):
        lines += ["", "what differs: [-only A shows-]{+only B shows+}", *differs]
    elif not (a.analysis.reason or b.analysis.reason) and a.shown.text == b.shown.text:
        lines += ["", "Nothing that is compared differs."]
    if options.steps:
        lines += _steps([a, b], recipe)
    say(lines)
    return 0 if is_copy else 1


def _shown_name(name: str) -> str:
    return clipped(" ".join(name.split()), 90)


def _table_of_sides(a: _Side, b: _Side, bits: int) -> list[str]:
    words = [f"from bit {start}" if start else "fingerprint" for start in range(0, bits, 64)]
    table = [["", "characters", *words]]
    for letter, side in (("A", a), ("B", b)):
        digits = str(side.analysis.fingerprint or "").ljust(bits // 4, "-")
        table.append([letter, f"{len(side.extraction.text):,}", *wrap(digits, 16)])
    return aligned([*zip(*table, strict=True)])


def _verdict(a: _Side, b: _Side, recipe: Recipe) -> tuple[bool, list[str]]:
    """Return whether two pages are near-duplicates, and lines that say so, and why."""
    first = a.analysis.fingerprint
    second = b.analysis.fingerprint
    if not (first and second):
        return False, _not_compared(a, b)
    distance = hamming_distance(first.value, second.value)
    says = f"distance  {distance} of {recipe.bits} bits (k = {recipe.distance}): "
    if distance > recipe.reach:
        return False, [f"{says}not near-duplicates"]
    page = Page(b.key, b.analysis.facts)
    original = Page(a.key, a.analysis.facts)
    ruling = Rule(recipe.distance)(page, original, distance)
    because = f"because   {sentence(ruling.reason)}"
    return ruling.is_copy, [f"{says}{'' if ruling.is_copy else 'not '}near-duplicates", because]


def _not_compared(a: _Side, b: _Side) -> list[str]:
    lines = ["distance  not compared: not near-duplicates"]
    reasons = (("A", a.analysis.reason), ("B", b.analysis.reason))
    return lines + [f"{letter} is not compared ({reason})" for letter, reason in reasons if reason]


def _text_side(name: str, recipe: Recipe) -> _Side:
    is_file = os.path.exists(name)  # noqa: PTH110 - a text may be longer than any path
    text = Path(name).read_text("utf-8", "replace") if is_file else name
    # A text that somebody types is no item of a form: what other programs say is its distance.
    analysis = replace(analyse_text(text, replace(recipe, min_length=1)), facts=b"")
    return _Side(name, Extraction(text), analysis)


def _page_side(name: str, recipe: Recipe, settings: BaseSettings) -> _Side:
    """Analyse a page, unless a crawl would not."""
    key = name
    most = FilterSettings.from_settings(settings).max_body_size
    if name.startswith(("http://", "https://")):
        data, content_type, url = _fetch(name, most, settings["USER_AGENT"])
        key = page_key(url)
    elif Path(name).exists():
        data = Path(name).read_bytes()
        content_type = mimetypes.guess_type(name)[0] or ""
    else:
        raise UsageError(
            f"{name}: no such file; an address has http:// before it, a text needs --text"
        )
    # Scrapy looks at the content, too, and a saved page, such as index.php, may have any name.
    looks_like = responsetypes.from_args(filename=name, body=data[:5000])
    if issubclass(looks_like, HtmlResponse) or not content_type:
        content_type = f"text/html;{content_type.partition(';')[2]}"
    body = body_of(data, content_type, recipe)
    extraction = None
    reason: SkipReason = "too_large" if len(data) > most else "too_short" if body else "other_type"
    if body and reason != "too_large":
        extraction = read_body(located(body, key), recipe)
    if extraction is None:
        return _Side(key, Extraction(""), PageAnalysis(None, reason=reason))
    return _Side(key, extraction, analyse_text(extraction.text, recipe, 0, extraction))


def _fetch(url: str, most: int, agent: str) -> tuple[bytes, str, str]:
    """Return the body, up to a byte too many, its content type and the final address."""
    if "@" in url.split("/")[2]:
        # The address is not shown, because it may hold a password.
        raise UsageError("an address with a user or password is not fetched: save the page")
    try:
        request = urllib.request.Request(url, headers={"User-Agent": agent})  # noqa: S310 (checked)
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return answer.read(most + 1), answer.headers["Content-Type"] or "", answer.geturl()
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UsageError(f"{url}: {error}") from None


def _steps(sides: Sequence[_Side], recipe: Recipe) -> list[str]:
    """Return every step from both texts to their fingerprints."""
    texts = [side.extraction.to_fingerprint for side in sides]
    blocks = [np.frombuffer(recipe.fingerprint(*text).blocks, "<u4") for text in texts]
    lines: list[str] = []
    for letter, text, own, other in zip("AB", texts, blocks, blocks[::-1], strict=True):
        lines += ["", *_features(letter, text, recipe), *_sums(text, recipe)]
        lines.append(f"   block values of {recipe.blocks}; * stands at those that both have")
        lines += _in_rows(list(map(_block, own, other)))
    return lines


def _block(value: int, other: int) -> str:
    return f"{value:08x}{'*' if value == other else ' '} "


def _features(letter: str, text: tuple[str, tuple[int, ...]], recipe: Recipe) -> Iterator[str]:
    features = sorted(recipe.features(*text).items(), key=lambda feature: -feature[1])
    yield f"{letter}  {count(len(features), 'feature')}, with their weights"
    yield from (f"   {weight:>10.4g}  {name!r}" for name, weight in features)


def _in_rows(values: Sequence[str]) -> list[str]:
    return ["   " + "".join(values[n : n + 8]).rstrip() for n in range(0, len(values), 8)]


def _sums(text: tuple[str, tuple[int, ...]], recipe: Recipe) -> Iterator[str]:
    yield (
        f"   the sum of the weights for each bit, the bit below it: 1 if the sum is {recipe.sign} 0"
    )
    bits = f"{recipe.fingerprint(*text).value:0{recipe.bits}b}"
    sums = [f"{value:>8.4g}" for value in recipe.sums(*text).values]
    for start in range(0, recipe.bits, 8):
        yield f"   {start:>4}" + "".join(sums[start : start + 8])
        yield " " * 7 + "".join(f"{bit:>8}" for bit in bits[start : start + 8])
