"""Counts what is called changed without a change, and which changes are missed.

``python -m benchmarks.change`` prints for each kind of pair how many are called
changed. The rivals are MD5 of the body, as Norconex, StormCrawler and Browsertrix have
it, and the fingerprint alone. Needs ../shared/data; takes two minutes.

- Pairs of traps-html that people marked as copies differ in counters, tokens, ads and
  dates only.
- Pages of docs-html have changed in the next release if the words of their content
  have, without dates.
- Marked pages of some 400 sites are edited. An edit changes one thing in the main text:
  a word, a sentence, a number; in shops, a price. Noise changes what stands outside:
  each number, three of its texts; or an age and a count under the heading. Nothing was
  chosen on these but that prices and paragraphs beside the text count.
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import lxml.html

from benchmarks.documents import DATA, html_of, lines_of
from benchmarks.evaluation import read_dataset
from benchmarks.measuring import Table
from benchmarks.recrawl import content
from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.fingerprint.recipe import named_recipe
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


# What happened to a page of a set, whether that is a change, the page before, and
# after.
Case = tuple[str, bool, Seen, Seen]


def seen(html: str, url: str | None) -> Seen:
    body = Body(html.encode("utf-8", "replace"), "utf-8", url=url or "")
    return Seen(html, analyse_body(body, RECIPE))


def apart(one: Seen, other: Seen) -> int:
    first, second = one.analysis.fingerprint, other.analysis.fingerprint
    assert first
    assert second
    return (first.value ^ second.value).bit_count()


def md5(page: Seen) -> bytes:
    return hashlib.md5(
        page.html.encode("utf-8", "replace"), usedforsecurity=False
    ).digest()


# By these rules a page says the same as before.
RULES: dict[str, Callable[[Seen, Seen], bool]] = {
    "MD5 of the body": lambda one, other: md5(one) == md5(other),
    "the fingerprint alone": lambda one, other: apart(one, other) == 0,
    "is_same": lambda one, other: is_same(
        other.analysis.facts, one.analysis.facts, apart(one, other)
    ),
}


def pages_of(name: str) -> dict[str, Seen]:
    pages = {
        page.name: seen(html_of(page), page.url)
        for page in read_dataset(DATA / name).documents
    }
    return {name: page for name, page in pages.items() if page.analysis.fingerprint}


def copies() -> Iterator[Case]:
    pages = pages_of("traps-html")
    for names, pair in read_dataset(DATA / "traps-html").pairs.items():
        if pair.label == "duplicate" and pages.keys() >= {*names}:
            before, after = (pages[name] for name in names)
            yield "a copy, traps-html", False, before, after


def releases() -> Iterator[Case]:
    pages = pages_of("docs-html")
    for name, page in pages.items():
        release, _, path = name.partition("/")
        later = pages.get(f"{LATER.get(release)}/{path}")
        if later:
            is_change = page.words != later.words
            what = "other words" if is_change else "the same words"
            yield f"{what} in the next release, docs-html", is_change, page, later


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
    for element, name in (
        (element, name) for element in places for name in ("text", "tail")
    ):
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


def more(number: str) -> str:
    return str(int(number) + 1)


def repriced(price: str, chance: random.Random) -> str:
    return re.sub(r"\d", str(chance.randint(1, 9)), price) + "1"


def edits(count: int = 100) -> Iterator[Case]:
    chance = random.Random(46)
    # What is edited, whether that is a change, in so many texts at most.
    kinds: list[tuple[str, bool, int, Edit]] = [
        ("a word", True, 1, partial(once, WORD, lambda word: word[::-1])),
        ("a sentence less", True, 1, partial(once, SENTENCE, lambda _: "")),
        ("a number", True, 1, partial(once, NUMBER, more)),
        (
            "a price",
            True,
            1,
            partial(once, PRICE, lambda price: repriced(price, chance)),
        ),
        (
            "all numbers around it",
            False,
            1000,
            partial(NUMBER.sub, lambda m: more(m.group())),
        ),
        (
            *("three texts around it", False, 3),
            lambda text: text if chance.random() < 0.9 else f"{text} anew",
        ),
    ]
    bylines = "Posted 3 days ago · 1,234 views", "Posted 2 weeks ago · 1,302 views"
    for name in SETS:
        bodies = {
            line["id"]: " ".join((line.get("body") or "").split())
            for line in lines_of(name)
        }
        documents = [
            page for page in read_dataset(DATA / name).documents if bodies[page.name]
        ]
        for page in random.Random(name).sample(documents, min(count, len(documents))):
            html, body = html_of(page), bodies[page.name]
            before = written(parsed(html))
            made = [
                (
                    what,
                    is_change,
                    before,
                    changed(html, body, edit, inside=is_change, most=most),
                )
                for what, is_change, most, edit in kinds
            ]
            first, second = (with_byline(html, line) for line in bylines)
            made.append(("an age and a count in it", False, first or "", second))
            for what, is_change, old, new in made:
                pair = (seen(old, page.url), seen(new, page.url)) if new else ()
                if pair and all(page.analysis.fingerprint for page in pair):
                    yield f"{what}, {name}", is_change, *pair


def main() -> None:
    called: dict[tuple[str, bool], list[list[bool]]] = {}
    for what, is_change, *pair in chain(copies(), releases(), edits()):
        called.setdefault((what, is_change), []).append(
            [not is_equal(*pair) for is_equal in RULES.values()]
        )
    table = Table("What happened", "It is", *(f"Changed by {rule}" for rule in RULES))
    for (what, is_change), rows in sorted(
        called.items(), key=lambda item: not item[0][1]
    ):
        figures = [
            f"{sum(column)} of {len(column)}" for column in zip(*rows, strict=True)
        ]
        table.row(what, "a change" if is_change else "noise", *figures)


if __name__ == "__main__":
    main()
