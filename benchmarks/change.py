"""Counts what is called changed without a change, and which changes are missed.

``python -m benchmarks.change``. *Noise* are pairs of pages of traps-html that people marked
as copies: they differ in counters, tokens, ads and dates. The others are pages of docs-html and the
same pages a release later; their truth is the words of the content of both, without dates. The
rivals are MD5 of the body, as Norconex, StormCrawler and Browsertrix have it, and the fingerprint
alone. Needs ../shared/data; takes two minutes.

A third set is made of the marked pages of some 400 sites. An edit changes one thing in the main
text: a word, a sentence, a number; in shops, a price. Noise changes what stands outside: each
number, three of its texts; or an age and a count under the heading. Nothing was chosen on it but
that prices and paragraphs beside the text count.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import lxml.html

from benchmarks.documents import DATA, html_of, lines_of
from benchmarks.measuring import Table
from benchmarks.recrawl import content
from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.offline.datasets import read_dataset
from scrapy_simhash.rule.state import is_same

RECIPE = named_recipe("default")
LATER = {"bullseye": "bookworm", "bookworm": "trixie"}
DATE = re.compile(
    r"(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)(?: \d{1,2})? \d{4}|\b\d{4} \d\d \d\d\b|\d{4}\s?年\s?\d+\s?月|\b\d{4} \d{4}\b"
)


@dataclass(frozen=True)
class Seen:
    """A page at one time."""

    html: str
    analysis: PageAnalysis

    @property
    def words(self) -> list[str]:
        text = content(self.html.encode("utf-8", "replace"))
        return DATE.sub(" ", text).split()


Pair = tuple[Seen, Seen]


def seen(html: str) -> Seen:
    return Seen(html, analyse_body(Body(html.encode("utf-8", "replace"), "utf-8"), RECIPE))


def apart(one: Seen, other: Seen) -> int:
    first, second = one.analysis.fingerprint, other.analysis.fingerprint
    assert first
    assert second
    return (first.value ^ second.value).bit_count()


def md5(page: Seen) -> bytes:
    return hashlib.md5(page.html.encode("utf-8", "replace"), usedforsecurity=False).digest()


RULES: dict[str, Callable[[Seen, Seen], bool]] = {
    "MD5 of the body": lambda one, other: md5(one) == md5(other),
    "the fingerprint alone": lambda one, other: apart(one, other) == 0,
    "is_same": lambda one, other: is_same(
        other.analysis.facts, one.analysis.facts, apart(one, other)
    ),
}


def pages_of(name: str) -> dict[str, Seen]:
    pages = {page.name: seen(html_of(page)) for page in read_dataset(DATA / name).documents}
    return {name: page for name, page in pages.items() if page.analysis.fingerprint}


def noise() -> Iterator[Pair]:
    pages = pages_of("traps-html")
    for (one, other), pair in read_dataset(DATA / "traps-html").pairs.items():
        if pair.label == "duplicate" and one in pages and other in pages:
            yield pages[one], pages[other]


def releases() -> Iterator[Pair]:
    pages = pages_of("docs-html")
    for name, page in pages.items():
        release, _, path = name.partition("/")
        later = pages.get(f"{LATER.get(release)}/{path}")
        if later:
            yield page, later


# The made pages.

SETS = ("articles-html", "types-html", "shops-html")
UNSEEN = ("script", "style", "noscript", "template", "textarea", "title", "option")
PRICE = re.compile(r"[$£€]\s?\d+(?:[.,]\d\d)?")
NUMBER = re.compile(r"(?<![\w.,])\d{1,6}(?![\w.,])")
WORD = re.compile(r"\b[a-z]{5,}\b")
SENTENCE = re.compile(r"(?<=[.!?] )[^.!?]{30,}[.!?]|(?<=[。！])[^。！]{10,}。")
# Shorter texts may stand in a menu as well; characters.
LONG = 20
PARSER = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
Edit = Callable[[str], str]


def parsed(html: str) -> Any:
    return lxml.html.document_fromstring(html.encode("utf-8", "replace"), PARSER)


def written(tree: Any) -> str:
    return str(lxml.html.tostring(tree, encoding="unicode"))


def changed(html: str, body: str, edit: Edit, *, inside: bool, most: int) -> str | None:
    """Return a page with up to so many texts in, or outside, its main text edited."""
    tree, left = parsed(html), most
    places = [] if tree.body is None else [*tree.body.iter("*")]
    for element, name in ((element, name) for element in places for name in ("text", "tail")):
        text = getattr(element, name) or ""
        line = " ".join(text.split())
        is_hidden = name == "text" and element.tag in UNSEEN
        if line and not is_hidden and left and (line in body) == inside:
            edited = edit(text) if len(line) >= LONG or not inside else text
            if edited != text:
                setattr(element, name, edited)
                left -= 1
    return None if left == most else written(tree)


def with_byline(html: str, line: str) -> str | None:
    """Return a page with a line under its first heading."""
    tree = parsed(html)
    heading = next(tree.iter("h1"), None)
    if heading is None:
        return None
    byline = lxml.html.fragment_fromstring(f"<div>{line}</div>")
    byline.tail, heading.tail = heading.tail, None
    heading.addnext(byline)
    return written(tree)


def once(pattern: re.Pattern[str], new: Edit, text: str) -> str:
    return pattern.sub(lambda match: new(match.group()), text, count=1)


def made(most: int = 100) -> Iterator[tuple[str, str, bool, str | None, str | None]]:
    """Yield set, what happened, whether it is a change, the page before, and after."""
    chance = random.Random(46)
    edits: dict[str, Edit] = {
        "a word": partial(once, WORD, lambda word: word[::-1]),
        "a sentence less": partial(once, SENTENCE, lambda _: ""),
        "a number": partial(once, NUMBER, lambda number: str(int(number) + 1)),
        "a price": partial(
            once, PRICE, lambda price: re.sub(r"\d", str(chance.randint(1, 9)), price) + "1"
        ),
    }
    around: dict[str, tuple[Edit, int]] = {
        "all numbers around it": (
            lambda text: NUMBER.sub(lambda match: str(int(match.group()) + 1), text),
            1000,
        ),
        "three texts around it": (
            lambda text: text if chance.random() < 0.9 else f"{text} anew",
            3,
        ),
    }
    bylines = "Posted 3 days ago · 1,234 views", "Posted 2 weeks ago · 1,302 views"
    for name in SETS:
        bodies = {line["id"]: " ".join((line.get("body") or "").split()) for line in lines_of(name)}
        documents = [page for page in read_dataset(DATA / name).documents if bodies[page.name]]
        for page in random.Random(name).sample(documents, min(most, len(documents))):
            html, body = html_of(page), bodies[page.name]
            before = written(parsed(html))
            for what, edit in edits.items():
                yield name, what, True, before, changed(html, body, edit, inside=True, most=1)
            for what, (edit, number) in around.items():
                after = changed(html, body, edit, inside=False, most=number)
                yield name, what, False, before, after
            one, other = (with_byline(html, line) for line in bylines)
            yield name, "an age and a count in it", False, one, other


def report_made() -> None:
    """Print what is called changed of pages that were edited, and of others."""
    called: dict[tuple[bool, str, str], dict[str, list[bool]]] = {}
    for name, what, is_change, before, after in made():
        if before and after:
            pair = seen(before), seen(after)
            if all(page.analysis.fingerprint for page in pair):
                key = (not is_change, what, name)
                row = called.setdefault(key, {rule: [] for rule in RULES})
                for rule, same in RULES.items():
                    row[rule].append(not same(*pair))
    table = Table("Made", "Is", *(f"Changed by {rule}" for rule in RULES))
    for (is_noise, what, name), row in sorted(called.items()):
        figures = [f"{sum(found)} of {len(found)}" for found in row.values()]
        table.row(f"{what}, {name}", "noise" if is_noise else "a change", *figures)


def main() -> None:
    copies, pairs = list(noise()), list(releases())
    unchanged = [pair for pair in pairs if pair[0].words == pair[1].words]
    others = [pair for pair in pairs if pair[0].words != pair[1].words]
    table = Table("Rule", "noise called changed", "false alarms", "changes missed")
    for name, same in RULES.items():
        called = [
            f"{sum(not same(*pair) for pair in some)} of {len(some)}"
            for some in (copies, unchanged)
        ]
        table.row(name, *called, f"{sum(same(*pair) for pair in others)} of {len(others)}")
    print()
    report_made()


if __name__ == "__main__":
    main()
