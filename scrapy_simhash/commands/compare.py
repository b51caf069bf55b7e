"""Tell whether two pages are near-duplicates, and show what differs.

A and B are addresses, or files of a type that a crawl compares. With --text, files are
plain texts of any length, and an argument that is not a file is the text itself; then
--steps shows how their fingerprints come about.

    scrapy simhash compare saved.html http://www.example.com/a
    scrapy simhash compare --text --recipe pypi --steps "How are you?" "Are you old?"

Pages are judged as a crawl with the settings of this project judges them.
"""

import http.client
import mimetypes
import os
import urllib.error
import urllib.request
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scrapy.exceptions import UsageError
from scrapy.http import HtmlResponse
from scrapy.responsetypes import responsetypes

from scrapy_simhash.commands.output import say, sentence
from scrapy_simhash.commands.selection import chosen_settings, shared_options
from scrapy_simhash.core.analysis import (
    PageAnalysis,
    analyse_body,
    analyse_text,
    body_of,
)
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.keys import base_address, page_key
from scrapy_simhash.printable import CUT
from scrapy_simhash.report.difference import difference_lines, differences
from scrapy_simhash.report.words import clipped, count
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page
from scrapy_simhash.settings import FilterSettings

_MOST_COMPARED = 60_000  # characters of a text that are compared word by word


OPTIONS = {
    "a": {"metavar": "A", "help": "address, file, or text"},
    "b": {"metavar": "B", "help": "address, file, or text"},
    "--text": {"action": "store_true", "help": "compare texts instead of pages"},
    "--steps": {
        "action": "store_true",
        "help": "with --text, show features, weights, sums, bits and block values",
    },
    **shared_options("recipe"),
}


class _Side(NamedTuple):
    """One of the two pages with its key, or a text, which is its own."""

    key: str
    analysis: PageAnalysis

    @property
    def shown(self) -> list[str]:
        return self.analysis.excerpt.split("\n")

    @property
    def fingerprint(self) -> str:
        """The fingerprint, or why there is none."""
        return str(
            self.analysis.fingerprint or f"not compared ({self.analysis.reason})"
        )


def run(options: Namespace) -> int:
    if options.steps and not options.text:
        raise UsageError(
            "--steps shows how fingerprints of texts come about: add --text"
        )
    chosen = chosen_settings(options)
    agent = options.settings["USER_AGENT"]
    a, b = (
        _text_side(name, chosen) if options.text else _page_side(name, chosen, agent)
        for name in (options.a, options.b)
    )
    is_copy, verdict = _verdict(a, b, chosen.recipe)
    lines = [
        f"A  {_with_length(options.a, a)}",
        f"B  {_with_length(options.b, b)}",
        "",
        f"A  {a.fingerprint}",
        f"B  {b.fingerprint}",
        "",
        *verdict,
    ]
    if differs := differences(a.shown, b.shown):
        lines += ["", "what differs: [-only A shows-]{+only B shows+}"]
        lines += difference_lines(differs, most=40)
    if options.steps:
        lines += _steps([a.key, b.key], chosen.recipe)
    say(*lines)
    return 0 if is_copy else 1


def _with_length(name: str, side: _Side) -> str:
    """Return a page or text, with its length, on one line."""
    text = side.shown[0]
    # A text with the mark of a cut may be longer.
    least = "at least " if CUT in text else ""
    length = count(len(text), "character")
    return f"{clipped(' '.join(name.split()), 70)} ({least}{length})"


def _text_side(name: str, chosen: FilterSettings) -> _Side:
    text = name
    if os.path.exists(name):  # noqa: PTH110 - a text may be longer than any path
        text = Path(name).read_text("utf-8", "replace")
    analysis = analyse_text(text, replace(chosen.recipe, min_length=1), _MOST_COMPARED)
    # A text that somebody types is no item of a form: what other programs say is its
    # distance.
    return _Side(text, replace(analysis, facts=b""))


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
    # Scrapy looks at the content, too, and a saved page, such as index.php, may have
    # any name.
    looks_like = responsetypes.from_args(filename=name, body=data[:5000])
    if issubclass(looks_like, HtmlResponse) or not content_type:
        content_type = f"text/html;{content_type.partition(';')[2]}"
    body = body_of(data, content_type, chosen.recipe)
    if len(data) > chosen.max_body_size:
        return _Side(key, PageAnalysis(None, reason="too_large"))
    if body is None:
        return _Side(key, PageAnalysis(None, reason="other_type"))
    body = body._replace(url=base_address(key, data))
    return _Side(key, analyse_body(body, chosen.recipe, _MOST_COMPARED))


def _fetch(
    url: str,
    most: int,
    agent: str,
) -> tuple[bytes, str, str]:
    """Return the body, up to a byte too many, its content type and the final address."""
    if "@" in url.split("/")[2]:
        # The address is not shown, because it may hold a password.
        raise UsageError(
            "an address with a user or password is not fetched: save the page"
        )
    try:
        request = urllib.request.Request(url, headers={"User-Agent": agent})  # noqa: S310 (checked)
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return (
                answer.read(most + 1),
                answer.headers["Content-Type"] or "",
                answer.geturl(),
            )
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UsageError(f"{url}: {error}") from None


def _verdict(
    a: _Side,
    b: _Side,
    recipe: Recipe,
) -> tuple[bool, list[str]]:
    """Return whether two pages are near-duplicates, and lines that say so, and why."""
    first = a.analysis.fingerprint
    second = b.analysis.fingerprint
    if not (first and second):
        return False, ["distance  not compared: not near-duplicates"]
    distance = hamming_distance(first.value, second.value)
    says = f"distance  {distance} of {recipe.bits} bits (k = {recipe.distance}): "
    if distance > recipe.reach:
        return False, [f"{says}not near-duplicates"]
    page = Page(b.key, b.analysis.facts)
    original = Page(a.key, a.analysis.facts)
    ruling = Rule(recipe.distance)(page, original, distance)
    lines = [
        f"{says}{'' if ruling.is_copy else 'not '}near-duplicates",
        f"because   {sentence(ruling.reason)}",
    ]
    return ruling.is_copy, lines


def _steps(texts: Sequence[str], recipe: Recipe) -> Iterator[str]:
    """Yield every step from both texts to their fingerprints."""
    blocks = [np.frombuffer(recipe.fingerprint(text).blocks, "<u4") for text in texts]
    marks = np.where(np.equal(*blocks), "* ", "  ")
    for letter, text, values in zip("AB", texts, blocks, strict=True):
        yield ""
        yield from _features_and_sums(letter, text, recipe)
        yield f"   block values of {recipe.blocks}; * stands at those that both have"
        cells = [
            f"{value:08x}{mark}" for value, mark in zip(values, marks, strict=True)
        ]
        yield from (f"   {''.join(row)}".rstrip() for row in _in_eights(cells))


def _features_and_sums(
    letter: str,
    text: str,
    recipe: Recipe,
) -> Iterator[str]:
    features = recipe.features(text)
    yield f"{letter}  {count(len(features), 'feature')}, with their weights"
    for name in sorted(features, key=lambda name: -features[name]):
        yield f"   {features[name]:>10.4g}  {name!r}"

    yield (
        f"   the sum of the weights for each bit, the bit below it: 1 if the sum is {recipe.sign} 0"
    )
    sums = [f"{value:>8.4g}" for value in recipe.sums(text).values]
    bits = [f"{bit:>8}" for bit in f"{recipe.fingerprint(text).value:0{recipe.bits}b}"]
    for number, row in enumerate(_in_eights(sums)):
        yield f"   {8 * number:>4}{''.join(row)}"
        yield " " * 7 + "".join(bits[8 * number : 8 * number + 8])


def _in_eights(cells: Sequence[str]) -> list[Sequence[str]]:
    return [cells[start : start + 8] for start in range(0, len(cells), 8)]
