"""Tell whether two pages are near-duplicates, and show what differs.

A and B are addresses, or files of a type that a crawl compares. With --text, files are
plain texts of any length, and an argument that is not a file is the text itself; --steps
shows how the fingerprints of texts come about.

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
    analyse_body,
    analyse_text,
    body_of,
    located,
)
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.keys import page_key
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
    says = "of texts, show features, weights, sums, bits and block values"
    parser.add_argument("--steps", action="store_true", help=says)
    add_shared_options(parser, "recipe")


class _Side(NamedTuple):
    """One of the two pages, with its key and how it is shown."""

    key: str
    analysis: PageAnalysis

    @property
    def shown(self) -> Shown:
        return Shown.of(self.analysis.excerpt)


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    chosen = FilterSettings.from_settings(settings)
    recipe = chosen.recipe
    names = (options.a, options.b)
    texts = [_text(name) for name in names] if options.text or options.steps else []
    if texts:
        a, b = (_Side(text, _analysed(text, recipe)) for text in texts)
    else:
        agent = settings["USER_AGENT"]
        a, b = (_page_side(name, chosen, agent) for name in names)
    is_copy, verdict = _verdict(a, b, recipe)
    shown_names = [clipped(" ".join(name.split()), 90) for name in names]
    lines = [f"{letter}  {name}" for letter, name in zip("AB", shown_names, strict=True)]
    lines += ["", *_table(a, b, recipe.bits), "", *verdict]
    if differs := difference_lines(a.shown, b.shown, columns(), 40):
        lines += ["", "what differs: [-only A shows-]{+only B shows+}", *differs]
    elif a.analysis.fingerprint and b.analysis.fingerprint and a.shown.text == b.shown.text:
        lines += ["", "Nothing that is compared differs."]
    if options.steps:
        lines += _steps(texts, recipe)
    say(lines)
    return 0 if is_copy else 1


def _text(name: str) -> str:
    is_file = os.path.exists(name)  # noqa: PTH110 - a text may be longer than any path
    return Path(name).read_text("utf-8", "replace") if is_file else name


def _analysed(text: str, recipe: Recipe) -> PageAnalysis:
    # A text that somebody types is no item of a form: what other programs say is its distance.
    return replace(analyse_text(text, replace(recipe, min_length=1), _LONGEST_TEXT), facts=b"")


def _page_side(name: str, chosen: FilterSettings, agent: str) -> _Side:
    """Analyse a page, unless a crawl would not."""
    key = name
    if name.startswith(("http://", "https://")):
        data, content_type, url = _fetch(name, chosen.max_body_size, agent)
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
    body = body_of(data, content_type, chosen.recipe)
    if len(data) > chosen.max_body_size:
        return _Side(key, PageAnalysis(None, reason="too_large"))
    if body is None:
        return _Side(key, PageAnalysis(None, reason="other_type"))
    return _Side(key, analyse_body(located(body, key), chosen.recipe, _LONGEST_TEXT))


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


def _table(a: _Side, b: _Side, bits: int) -> list[str]:
    words = [f"from bit {start}" if start else "fingerprint" for start in range(0, bits, 64)]
    columns = [["", "characters", *words]]
    for letter, side in (("A", a), ("B", b)):
        digits = str(side.analysis.fingerprint or "").ljust(bits // 4, "-")
        columns.append([letter, f"{len(side.shown.text):,}", *wrap(digits, 16)])
    return aligned([*zip(*columns, strict=True)])


def _verdict(a: _Side, b: _Side, recipe: Recipe) -> tuple[bool, list[str]]:
    """Return whether two pages are near-duplicates, and lines that say so, and why."""
    first = a.analysis.fingerprint
    second = b.analysis.fingerprint
    if not (first and second):
        reasons = (("A", a.analysis.reason), ("B", b.analysis.reason))
        lacking = [f"{letter} is not compared ({reason})" for letter, reason in reasons if reason]
        return False, ["distance  not compared: not near-duplicates", *lacking]
    distance = hamming_distance(first.value, second.value)
    says = f"distance  {distance} of {recipe.bits} bits (k = {recipe.distance}): "
    if distance > recipe.reach:
        return False, [f"{says}not near-duplicates"]
    page = Page(b.key, b.analysis.facts)
    ruling = Rule(recipe.distance)(page, Page(a.key, a.analysis.facts), distance)
    because = f"because   {sentence(ruling.reason)}"
    return ruling.is_copy, [f"{says}{'' if ruling.is_copy else 'not '}near-duplicates", because]


def _steps(texts: Sequence[str], recipe: Recipe) -> Iterator[str]:
    """Yield every step from both texts to their fingerprints."""
    blocks = [np.frombuffer(recipe.fingerprint(text).blocks, "<u4") for text in texts]
    for letter, text, own, other in zip("AB", texts, blocks, blocks[::-1], strict=True):
        features = sorted(recipe.features(text).items(), key=lambda feature: -feature[1])
        yield from ("", f"{letter}  {count(len(features), 'feature')}, with their weights")
        yield from (f"   {weight:>10.4g}  {name!r}" for name, weight in features)
        yield (
            "   the sum of the weights for each bit, the bit below it: "
            f"1 if the sum is {recipe.sign} 0"
        )
        sums = [f"{value:>8.4g}" for value in recipe.sums(text).values]
        bits = [f"{bit:>8}" for bit in f"{recipe.fingerprint(text).value:0{recipe.bits}b}"]
        for start in range(0, recipe.bits, 8):
            yield f"   {start:>4}" + "".join(sums[start : start + 8])
            yield " " * 7 + "".join(bits[start : start + 8])
        yield f"   block values of {recipe.blocks}; * stands at those that both have"
        marked = [f"{a:08x}{'* ' if a == b else '  '}" for a, b in zip(own, other, strict=True)]
        for start in range(0, len(marked), 8):
            yield f"   {''.join(marked[start : start + 8])}".rstrip()
