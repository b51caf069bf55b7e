"""`scrapy simhash compare`: two pages, judged as a crawl judges them, and what differs."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned
from scrapy_simhash.commands.stores import add_shared_options, chosen_recipe, show

if TYPE_CHECKING:
    from email.message import Message

    from scrapy_simhash.analysis.page import PageAnalysis
    from scrapy_simhash.extraction.extractor import Extraction
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.fingerprint.simhash import Fingerprint
    from scrapy_simhash.index import Ruling

SUMMARY = "Tell whether two pages are near-duplicates, and show what differs"

DESCRIPTION = """\
A and B are addresses, HTML or .txt files, or - for standard input. With --text, files
are plain texts, and an argument that is no file is the text itself.

    scrapy simhash compare http://www.example.com/a http://mirror.example.org/a
    scrapy simhash compare saved.html http://www.example.com/a
    scrapy simhash compare --text "one text" "another text"
    scrapy simhash compare --text --recipe pypi --steps "How are you?" "How old are you?"

The command judges pages as a crawl with the settings of this project does, and says
which sentence of the rule decided. Texts of --text may have any length. Jaccard is the
share of the recipe's features that both texts have.

exit status: 0, near-duplicates; 1, not; 2, something given cannot be used.
"""

_CHANGES = 40  # lines
_LONGEST = 60_000  # characters of a text that are compared word by word
_FEATURES = 40  # that --steps shows
_SUMS = 8  # that --steps shows in a line
_SECONDS = 20.0
_MOST = 4 << 20  # bytes

_REASONS = {
    "empty": "there is nothing to read",
    "too_short": "its text is shorter than the recipe's minimum",
    "not_html": "it is no HTML page, so a crawl does not compare it",
    "too_large": "it is larger than SIMHASH_MAX_BODY_SIZE",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="address, file, text, or -")
    parser.add_argument("b", metavar="B", help="address, file, text, or -")
    parser.add_argument("--text", action="store_true", help="compare texts instead of pages")
    parser.add_argument(
        "--steps",
        action="store_true",
        help="show features, weights, sums, bits and block values of both",
    )
    add_shared_options(parser, "recipe", "json")


@dataclass(frozen=True)
class _Side:
    """One of the two: its name, its key in an index, and what was made of it."""

    name: str
    key: str
    extraction: Extraction
    analysis: PageAnalysis

    @property
    def text(self) -> str:
        return self.extraction.text


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Get the two, judge them, and show the result."""
    if options.a == options.b == "-":
        raise UsageError("only one of the two can come from standard input")
    recipe = chosen_recipe(options.recipe, settings)
    one, other = (_side(name, options.text, recipe, settings) for name in (options.a, options.b))
    ruling, distance = _ruling(one, other, recipe)
    found = _found(one, other, recipe, ruling, distance)
    lines = _lines(one, other, found, recipe)
    if options.steps:
        lines += _steps_of_both(one, other, recipe)
    show(options, lines, found)
    return 0 if found["near_duplicates"] else 1


def _side(name: str, as_text: bool, recipe: Recipe, settings: BaseSettings) -> _Side:
    from scrapy.http import Headers

    from scrapy_simhash.keys import page_key

    if name.startswith(("http://", "https://")):
        body, headers, url = _fetched(name, settings)
        charset = headers.get_content_charset()
        told = {"headers": Headers(headers.items()), "url": url}
        return _page(name, page_key(url), body, recipe, charset, **told)
    if name == "-":
        body = sys.stdin.buffer.read()
    elif _is_file(name):
        body = Path(name).read_bytes()
    elif as_text:
        return _text(_short(name), name, recipe)
    else:
        raise UsageError(f"{name}: no such file (for a text, give --text)")
    if as_text or name.endswith(".txt"):
        return _text(name, body.decode(errors="replace"), recipe)
    return _page(name, name, body, recipe, filename=None if name == "-" else name)


def _text(name: str, text: str, recipe: Recipe) -> _Side:
    """Fingerprint a text of any length."""
    from scrapy_simhash.analysis.page import analyse_text
    from scrapy_simhash.extraction.extractor import Extraction

    return _Side(name, name, Extraction(text), analyse_text(text, replace(recipe, min_length=1)))


def _page(
    name: str, key: str, body: bytes, recipe: Recipe, charset: str | None = None, **told: Any
) -> _Side:
    """Analyse a page, unless a crawl would not."""
    from scrapy.http import HtmlResponse, TextResponse
    from scrapy.responsetypes import responsetypes

    from scrapy_simhash.analysis.page import PageAnalysis, analyse_extraction
    from scrapy_simhash.extraction.charset import decode_html
    from scrapy_simhash.extraction.extractor import Extraction, extract

    kind = responsetypes.from_args(body=body[:5000], **told)
    # A saved page says less of itself than a server does.
    is_saved = kind is TextResponse and "url" not in told
    if not issubclass(kind, HtmlResponse) and not is_saved:
        return _Side(name, key, Extraction(""), PageAnalysis(None, reason="not_html"))
    extraction = extract(decode_html(body, charset), recipe.extractor)
    return _Side(name, key, extraction, analyse_extraction(extraction, recipe))


def _is_file(name: str) -> bool:
    # A text may be longer than any name of a file.
    with contextlib.suppress(OSError, ValueError):
        return Path(name).is_file()
    return False


def _fetched(url: str, settings: BaseSettings) -> tuple[bytes, Message, str]:
    import http.client
    import urllib.error
    import urllib.request

    agent = settings.get("USER_AGENT") or "scrapy-simhash"
    most = settings.getint("SIMHASH_MAX_BODY_SIZE", _MOST)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": agent})  # noqa: S310 (checked)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            body = answer.read(most + 1)
            headers, final = answer.headers, answer.geturl()
    except urllib.error.HTTPError as error:
        raise UsageError(f"{url}: status {error.code}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UsageError(f"{url}: {getattr(error, 'reason', error)}") from None
    if len(body) > most:
        raise UsageError(f"{url}: larger than SIMHASH_MAX_BODY_SIZE, {most:,} bytes")
    return body, headers, final


def _ruling(one: _Side, other: _Side, recipe: Recipe) -> tuple[Ruling | None, int | None]:
    """Return what the rule says of the two if they are near, and how far apart they are."""
    from scrapy_simhash.fingerprint.rule import Rule
    from scrapy_simhash.fingerprint.simhash import hamming_distance

    first, second = one.analysis.fingerprint, other.analysis.fingerprint
    if first is None or second is None:
        return None, None
    distance = hamming_distance(first.value, second.value)
    if distance > recipe.distance:
        return None, distance
    pages = (other.key, other.analysis.facts, one.key, one.analysis.facts)
    return Rule(recipe.distance)(*pages, distance), distance


def _found(
    one: _Side, other: _Side, recipe: Recipe, ruling: Ruling | None, distance: int | None
) -> dict[str, Any]:
    from scrapy_simhash.fingerprint.rule import REASONS

    features, others = set(recipe.features(one.text)), set(recipe.features(other.text))
    return {
        "pages": [_plain(one), _plain(other)],
        "recipe": recipe.identity,
        "bits": recipe.bits,
        "k": recipe.distance,
        "distance": distance,
        "near_duplicates": ruling is not None and ruling.is_copy,
        "reason": ruling.reason if ruling else None,
        "because": REASONS[ruling.reason] if ruling else None,
        "jaccard": len(features & others) / max(len(features | others), 1),
    }


def _plain(side: _Side) -> dict[str, Any]:
    from scrapy_simhash.fingerprint.facts import Facts

    own, facts = side.analysis.fingerprint, side.analysis.facts
    known = Facts.from_bytes(facts) if facts else None
    return {
        "name": side.name,
        "characters": len(side.text),
        "fingerprint": str(own) if own else None,
        "reason": side.analysis.reason,
        "title": side.extraction.title or None,
        "headings": list(side.extraction.headings),
        "text_bytes": round(known.text_bytes) if known else None,
        "page_bytes": round(known.page_bytes) if known else None,
        "thin": side.extraction.thin,
    }


def _lines(one: _Side, other: _Side, found: dict[str, Any], recipe: Recipe) -> list[str]:
    from scrapy_simhash.report.difference import differences, paint

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    columns = min(shutil.get_terminal_size().columns, 120)
    lines = [
        *(f"{letter}  {side.name}" for letter, side in (("A", one), ("B", other))),
        "",
        *aligned([("", "A", "B"), *_rows(*found["pages"])]),
    ]
    verdict = "near-duplicates" if found["near_duplicates"] else "not near-duplicates"
    apart = "not compared"
    if found["distance"] is not None:
        apart = f"{found['distance']} of {recipe.bits} bits (k = {recipe.distance})"
    lines += ["", f"distance  {apart}: {paint(verdict, '1', colour)}"]
    if found["because"]:
        lines.append(f"because   {found['because']} ({found['reason']})")
    lines.append(f"Jaccard   {found['jaccard']:.3f}, of the features of the recipe {recipe.name}")
    for letter, page in zip("AB", found["pages"], strict=True):
        if page["reason"]:
            lines.append(f"{letter} has no fingerprint: {_REASONS[page['reason']]}")
        elif page["characters"] < recipe.min_length:
            lines.append(f"{letter} is shorter than {recipe.min_length}: a crawl skips such texts")
    texts = [" ".join(side.text.split()) for side in (one, other)]
    if texts[0] == texts[1]:
        return [*lines, "", "The two texts are the same."]
    changes = differences(texts[0][:_LONGEST], texts[1][:_LONGEST])
    return [*lines, "", *changes.lines(columns, _CHANGES, colour)]


def _rows(*pages: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the facts of both pages, side by side."""
    rows = [("main text", *(f"{page['characters']:,} characters" for page in pages))]
    if any(page["text_bytes"] for page in pages):
        sizes = ((page["text_bytes"] or 0, page["page_bytes"] or 0) for page in pages)
        rows += [
            ("of what it shows", *(f"about {text:,} of {all_:,} bytes" for text, all_ in sizes)),
            ("main text stands out", *("no" if page["thin"] else "yes" for page in pages)),
            ("title", *(_short(page["title"] or "-", 40) for page in pages)),
            ("h1", *(_short(" | ".join(page["headings"]) or "-", 40) for page in pages)),
        ]
    for part in range(4):
        prints = [str(page["fingerprint"] or "")[16 * part :][:16] for page in pages]
        rows += [("fingerprint" if part == 0 else "", *prints)] if any(prints) else []
    return rows


def _steps_of_both(one: _Side, other: _Side, recipe: Recipe) -> list[str]:
    """Return every step from both texts to their fingerprints."""
    steps = [recipe.steps(side.text) for side in (one, other)]
    known = [_blocks(each.fingerprint) for each in steps]
    lines: list[str] = []
    for letter, each, blocks in zip("AB", steps, known, strict=True):
        features = sorted(each.features.items(), key=lambda feature: -feature[1])
        lines += ["", f"{letter}  {len(features):,} features, with their weights"]
        lines += [f"   {weight:>10.4g}  {name!r}" for name, weight in features[:_FEATURES]]
        lines += [f"   and {len(features) - _FEATURES:,} more"] * (len(features) > _FEATURES)
        lines += ["   the sum of the weights for each bit, the bit below it: 1 if the sum is > 0"]
        bits = f"{each.fingerprint.value:0{recipe.bits}b}"
        for start in range(0, recipe.bits, _SUMS):
            sums = each.sums[start : start + _SUMS]
            lines.append(f"   {start:>4}" + "".join(f"{value:>8.4g}" for value in sums))
            lines.append(" " * 7 + "".join(f"{bit:>8}" for bit in bits[start : start + _SUMS]))
        lines.append(f"   fingerprint {each.fingerprint}")
        same = [a == b for a, b in zip(*known, strict=True)]
        lines.append(f"   block values of {recipe.blocks}; * stands at those that both have")
        row = [f"{value:08x}{'*' * both}" for value, both in zip(blocks, same, strict=True)]
        lines += [
            "   " + "".join(f"{value:<10}" for value in row[start : start + 8]).rstrip()
            for start in range(0, len(row), 8)
        ]
    return lines


def _blocks(fingerprint: Fingerprint) -> list[int]:
    values = fingerprint.blocks
    return [int.from_bytes(values[n : n + 4], "little") for n in range(0, len(values), 4)]


def _short(text: str, length: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 3]}..."
