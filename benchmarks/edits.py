"""Makes pages of two days of real ones: edits of their main text, and noise around it.

People marked the main text of these pages (articles-html, types-html, shops-html). An edit changes
one thing in it: a word, a sentence, a number; in shops, a price. Noise changes what stands outside:
each number, three of its texts; or an age and a count under the heading.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import lxml.html

from benchmarks.documents import DATA, html_of, lines_of
from scrapy_simhash.offline.datasets import read_dataset

SETS = ("articles-html", "types-html", "shops-html")
UNSEEN = ("script", "style", "noscript", "template", "textarea", "title", "option")
PRICE = re.compile(r"[$£€]\s?\d+(?:[.,]\d\d)?")
NUMBER = re.compile(r"(?<![\w.,])\d{1,6}(?![\w.,])")
WORD = re.compile(r"\b[a-z]{5,}\b")
SENTENCE = re.compile(r"(?<=[.!?] )[^.!?]{30,}[.!?]|(?<=[。！])[^。！]{10,}。")
#: Shorter texts may stand in a menu as well; characters.
LONG = 20
Place = tuple[Any, str]  # an element, and its attribute: text or tail


class Marked:
    """A page whose main text is known."""

    def __init__(self, html: str, body: str) -> None:
        self.html = html
        self.body = " ".join(body.split())

    def changed(self, edit: Callable[[str], str], *, inside: bool, most: int) -> str | None:
        """Return the page with up to so many texts in, or outside, its main text edited."""
        tree = lxml.html.document_fromstring(self.html.encode("utf-8", "replace"), PARSER)
        left = most
        for el, name in places(tree):
            text = getattr(el, name)
            line = " ".join(text.split())
            if left and (line in self.body) == inside and (len(line) >= LONG or not inside):
                edited = edit(text)
                if edited != text:
                    setattr(el, name, edited)
                    left -= 1
        return None if left == most else str(lxml.html.tostring(tree, encoding="unicode"))

    def again(self) -> str:
        """Return the page as it is, written as the others are."""
        tree = lxml.html.document_fromstring(self.html.encode("utf-8", "replace"), PARSER)
        return str(lxml.html.tostring(tree, encoding="unicode"))

    def with_byline(self, line: str) -> str | None:
        """Return the page with a line under its first heading."""
        tree = lxml.html.document_fromstring(self.html.encode("utf-8", "replace"), PARSER)
        heading = next(tree.iter("h1"), None)
        if heading is None:
            return None
        byline = lxml.html.fragment_fromstring(f"<div>{line}</div>")
        byline.tail, heading.tail = heading.tail, None
        heading.addnext(byline)
        return str(lxml.html.tostring(tree, encoding="unicode"))


PARSER = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)


def places(tree: Any) -> Iterator[Place]:
    """Yield what a page shows, in document order."""
    for el in tree.body.iter("*") if tree.body is not None else ():
        if el.tag not in UNSEEN and (el.text or "").strip():
            yield el, "text"
        if (el.tail or "").strip():
            yield el, "tail"


def edits(chance: random.Random) -> dict[str, Callable[[str], str]]:
    """Return what may happen to a text of the main text, by name."""

    def once(pattern: re.Pattern[str], new: Callable[[str], str]) -> Callable[[str], str]:
        return lambda text: pattern.sub(lambda found: new(found.group()), text, count=1)

    return {
        "a word": once(WORD, lambda word: word[::-1]),
        "a sentence less": once(SENTENCE, lambda _: ""),
        "a number": once(NUMBER, lambda number: str(int(number) + 1)),
        "a price": once(PRICE, lambda price: re.sub(r"\d", str(chance.randint(1, 9)), price) + "1"),
    }


def pages(most: int) -> Iterator[tuple[str, Marked]]:
    """Yield some pages of each set."""
    for name in SETS:
        bodies = {line["id"]: line.get("body") or "" for line in lines_of(name)}
        documents = [page for page in read_dataset(DATA / name).documents if bodies[page.name]]
        for page in random.Random(name).sample(documents, min(most, len(documents))):
            yield name, Marked(html_of(page), bodies[page.name])


def made(most: int = 100) -> Iterator[tuple[str, str, bool, str, str]]:
    """Yield set, what happened, whether it is a change, the page before, and after."""
    chance = random.Random(46)
    for name, page in pages(most):
        before = page.again()
        for what, edit in edits(chance).items():
            after = page.changed(edit, inside=True, most=1)
            if after:
                yield name, what, True, before, after
        after = page.changed(
            lambda text: NUMBER.sub(lambda found: str(int(found.group()) + 1), text),
            inside=False,
            most=1000,
        )
        if after:
            yield name, "all numbers around it", False, before, after
        after = page.changed(
            lambda text: text if chance.random() < 0.9 else f"{text} anew", inside=False, most=3
        )
        if after:
            yield name, "three texts around it", False, before, after
        lines = "Posted 3 days ago · 1,234 views", "Posted 2 weeks ago · 1,302 views"
        one, other = map(page.with_byline, lines)
        if one and other:
            yield name, "an age and a count in it", False, one, other
