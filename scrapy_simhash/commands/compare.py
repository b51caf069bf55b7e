"""`scrapy simhash compare`: whether two pages are near-duplicates, and what differs."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.stores import add_json_option, check_json, show

if TYPE_CHECKING:
    from scrapy_simhash.detector import PageAnalysis
    from scrapy_simhash.fingerprint.recipe import Recipe

SUMMARY = "Tell whether two pages are near-duplicates, and show what differs"

DESCRIPTION = """\
A and B are addresses, HTML or .txt files, or - for standard input; with --text, files
are plain texts, and what is no file is the text itself.

    scrapy simhash compare http://www.example.com/a http://mirror.example.org/a
    scrapy simhash compare saved.html http://www.example.com/a
    scrapy simhash compare --text "one text" "another text"

They are judged as a crawl with the settings of this project would. Jaccard is the share
of the recipe's features that both have, cosine that of their words by TF-IDF.

exit status: 0, near-duplicates; 1, not; 2, something given cannot be used.
"""

_CHANGES = 40  # lines
_LONGEST = 60_000  # characters of a text that are compared word by word
_SECONDS = 20.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="address, file, text, or -")
    parser.add_argument("b", metavar="B", help="address, file, text, or -")
    parser.add_argument("--text", action="store_true", help="they are texts, not pages")
    parser.add_argument("--recipe", metavar="NAME", help="the recipe, instead of the setting's")
    add_json_option(parser)


@dataclass(frozen=True)
class _Side:
    name: str
    text: str
    analysis: PageAnalysis


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Get the two, judge them, and show what was found."""
    check_json(options)
    if options.a == options.b == "-":
        raise UsageError("only one of the two can come from standard input")
    recipe = _recipe(options, settings)
    one, other = (_side(name, options.text, recipe, settings) for name in (options.a, options.b))
    found = _compared(one, other, recipe)
    show(options, _lines(one, other, found, recipe), found)
    return 0 if found["near_duplicates"] else 1


def _recipe(options: argparse.Namespace, settings: BaseSettings) -> Recipe:
    from scrapy_simhash.fingerprint.recipe import named_recipe
    from scrapy_simhash.settings import recipe_from_settings

    try:
        return named_recipe(options.recipe) if options.recipe else recipe_from_settings(settings)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _side(name: str, as_text: bool, recipe: Recipe, settings: BaseSettings) -> _Side:
    from scrapy_simhash.detector import analyse_extraction, analyse_text
    from scrapy_simhash.extraction.charset import decode_html
    from scrapy_simhash.extraction.extractor import extract

    url, declared = None, None
    if name.startswith(("http://", "https://")):
        body, declared, url = _fetched(name, settings)
    elif name == "-":
        body = sys.stdin.buffer.read()
    elif _is_file(name):
        body = Path(name).read_bytes()
    elif as_text:
        return _Side(_short(name), name, analyse_text(name, recipe))
    else:
        raise UsageError(f"{name}: no such file (for a text, give --text)")
    if as_text or name.endswith(".txt"):
        text = body.decode(errors="replace")
        return _Side(name, text, analyse_text(text, recipe))
    html = decode_html(body, declared)
    extraction = extract(html, recipe.extractor, url=url)
    return _Side(name, extraction.text, analyse_extraction(extraction, recipe))


def _is_file(name: str) -> bool:
    # A text may be longer than any name of a file.
    with contextlib.suppress(OSError, ValueError):
        return Path(name).is_file()
    return False


def _fetched(url: str, settings: BaseSettings) -> tuple[bytes, str | None, str]:
    import http.client
    import urllib.error
    import urllib.request

    agent = settings.get("USER_AGENT") or "scrapy-simhash"
    most = settings.getint("SIMHASH_MAX_BODY_SIZE", 4 << 20)
    request = urllib.request.Request(url, headers={"User-Agent": agent})  # noqa: S310 (checked)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            body = answer.read(most + 1)
            declared, final = answer.headers.get_content_charset(), answer.geturl()
    except urllib.error.HTTPError as error:
        raise UsageError(f"{url}: status {error.code}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UsageError(f"{url}: {getattr(error, 'reason', error)}") from None
    if len(body) > most:
        raise UsageError(f"{url}: larger than SIMHASH_MAX_BODY_SIZE, {most:,} bytes")
    return body, declared, final


def _compared(one: _Side, other: _Side, recipe: Recipe) -> dict[str, Any]:
    from scrapy_simhash.fingerprint.simhash import hamming_distance
    from scrapy_simhash.offline.likeness import jaccard, tfidf_cosine

    first, second = one.analysis.fingerprint, other.analysis.fingerprint
    distance = hamming_distance(first.value, second.value) if first and second else None
    return {
        "pages": [
            {
                "name": side.name,
                "characters": len(side.text),
                "fingerprint": str(own) if (own := side.analysis.fingerprint) else None,
                "exact": side.analysis.exact,
                "reason": side.analysis.reason,
            }
            for side in (one, other)
        ],
        "recipe": recipe.identity,
        "bits": recipe.bits,
        "k": recipe.distance,
        "distance": distance,
        "near_duplicates": distance is not None and distance <= recipe.distance,
        "jaccard": jaccard(recipe.features(one.text), recipe.features(other.text)),
        "cosine": tfidf_cosine(one.text, other.text),
    }


def _lines(one: _Side, other: _Side, found: dict[str, Any], recipe: Recipe) -> list[str]:
    from scrapy_simhash.report.difference import difference, paint

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    columns = min(shutil.get_terminal_size().columns, 120)
    lines = []
    for letter, side in zip("AB", (one, other), strict=True):
        fingerprint = side.analysis.fingerprint
        lines.append(f"{letter}  {paint(side.name, '1', colour)}")
        lines.append(f"   main text    {len(side.text):,} characters")
        lines.append(f"   fingerprint  {fingerprint or _REASONS[str(side.analysis.reason)]}")
        if side.analysis.exact:
            lines.append("                little running text: it repeats only the very same page")
    verdict = "near-duplicates" if found["near_duplicates"] else "not near-duplicates"
    apart = "not compared"
    if found["distance"] is not None:
        apart = f"{found['distance']} of {recipe.bits} bits (k = {recipe.distance})"
    lines += [
        "",
        f"distance  {apart}: {paint(verdict, '1', colour)}",
        f"Jaccard   {found['jaccard']:.3f}, of the features of the recipe {recipe.name}",
        f"cosine    {found['cosine']:.3f}, of the words, by TF-IDF",
    ]
    texts = [" ".join(side.text.split()) for side in (one, other)]
    if texts[0] == texts[1]:
        return [*lines, "", "The two texts are the same."]
    changes = difference(texts[0][:_LONGEST], texts[1][:_LONGEST], columns, _CHANGES, colour)
    return [*lines, "", *changes]


_REASONS = {
    "empty": "none: there is nothing to read",
    "too_short": "none: too short; only pages with an address repeat each other if so short",
}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
