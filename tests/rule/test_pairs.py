"""How the rule decides on made pages: a pair or more for each of its rows.

``python -m tests.rule.test_pairs`` prints the table of the documentation.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import NamedTuple

from scrapy_simhash.rule.rule import REASONS
from scrapy_simhash.rule.ruling import Ruling
from tests.pages import article, distance_of, edited, judged

DECIDES = Path(__file__).parents[2] / "docs" / "decides.md"


class Pair(NamedTuple):
    """Two pages by their addresses and their HTML, and in words what differs."""

    one: str
    other: str
    differs: str
    html: tuple[str, str]


def page(
    text: str,
    name: str = "The old mill",
    *,
    title: str = "",
    rooms: str = "",
    menu: str = "News Sport Weather Contact",
    below: str = "",
) -> str:
    """Return a page: a menu, a heading, a value in a table, a text, and a line below it."""
    sentences = text.split(". ")
    paragraphs = "".join(
        f"<p>{'. '.join(sentences[at : at + 4])}.</p>" for at in range(0, len(sentences), 4)
    )
    links = "".join(f"<li><a href=/{word.lower()}>{word}</a></li>" for word in menu.split())
    table = f"<table><tr><th>Rooms<td>{rooms}</table>" if rooms else ""
    return (
        f"<!doctype html><title>{title or name}</title><nav><ul>{links}</ul></nav>"
        f"<main><h1>{name}</h1>{table}{paragraphs}</main><footer>{below}</footer>"
    )


def gallery(folder: str) -> str:
    """Return a page of pictures and links, without a text."""
    pictures = (f"<a href={folder}/{n}><img src={folder}/{n}.jpg></a>" for n in range(12))
    return f"<!doctype html><title>Gallery</title><h1>Gallery</h1>{''.join(pictures)}"


def replaced(text: str, number: int) -> str:
    """Return the text with so many sentences of another one, behind its first sentence."""
    own, others = text.split(". "), article(5, 400).split(". ")
    return ". ".join([own[0], *others[:number], *own[number + 1 :]])


TEXT = "The old mill stands at the river. " + article(1, 400)
SHORT = article(2, 40)
CUT = ". ".join(TEXT.split(". ")[:25]) + "."
MENU = "Home Products Company Imprint Press"
A, B = "http://a.example", "http://b.example"

#: By the rows of the rule.
PAIRS: dict[str, list[Pair]] = {
    "alike; one page, or two views of it": [
        Pair(
            *(A + "/list", A + "/list?sort=name", "the menu, and a line below the text"),
            (page(TEXT), page(TEXT, menu=MENU, below="Read 71 times this week.")),
        ),
        Pair(
            *(A + "/story", A + "/story?view=short", "the last third of the text"),
            (page(TEXT), page(CUT)),
        ),
    ],
    "alike; perhaps two records": [
        Pair(
            *(A + "/flat/7", A + "/flat/8", "`Rooms: 3` and `Rooms: 4`"),
            (page(TEXT, rooms="3"), page(TEXT, rooms="4")),
        ),
        Pair(
            *(A + "/mail/7", A + "/mail/8", "a sentence before the mail that is quoted"),
            (page(TEXT), page("I do not think so at all, dear friends. " + TEXT)),
        ),
        Pair(
            *(A + "/news/7", A + "/archive/mill", "one word in fifty"),
            (page(TEXT), page(edited(TEXT, 4, 0.02))),
        ),
        Pair(A + "/news/7", A + "/archive/mill", "nothing", (page(TEXT), page(TEXT))),
        Pair(
            *("http://www.a.example/mill", "http://old.a.example/7", "the menu; one word in fifty"),
            (page(TEXT), page(edited(TEXT, 4, 0.02), menu=MENU)),
        ),
    ],
    "alike; one path on two hosts of one site, or in two releases": [
        Pair(
            *(A + "/4.2/mill", A + "/3.0/mill", "a notice above the text of the old release"),
            (page(TEXT), page("You are reading about an old release of this mill. " + TEXT)),
        ),
        Pair(
            *("http://www.a.example/mill", "http://old.a.example/mill", "two words in forty"),
            (page(SHORT), page(edited(SHORT, 4, 0.05), menu=MENU)),
        ),
    ],
    "alike; two sites": [
        Pair(
            *(A + "/flat/7", B + "/flat/8", "the menu; `Rooms: 3` and `Rooms: 4`"),
            (page(SHORT, rooms="3"), page(SHORT, rooms="4", menu=MENU)),
        ),
        Pair(
            *(A + "/mill", B + "/7", "the menu; one word in twelve"),
            (page(TEXT), page(edited(TEXT, 4, 0.08), menu=MENU)),
        ),
        Pair(
            *(A + "/mill", B + "/7", "a third of the sentences"),
            (page(TEXT), page(replaced(TEXT, 12), menu=MENU)),
        ),
        Pair(
            *(A + "/mill", B + "/7", "more than half of the sentences"),
            (page(TEXT), page(replaced(TEXT, 20), menu=MENU)),
        ),
    ],
    "alike; without main text": [
        Pair(A + "/g/1", A + "/g/2", "nothing", (gallery("/p"), gallery("/p"))),
        Pair(A + "/g/1", A + "/g/2", "where the links lead", (gallery("/p"), gallery("/q"))),
    ],
    "other; one path on two hosts of a site": [
        Pair(
            *("http://v3.a.example/mill.html", "http://v4.a.example/mill.html"),
            "the heading; one word in fifty",
            (page(TEXT), page(edited(TEXT, 4, 0.02), "The mill today")),
        )
    ],
    "other; one story in two publications": [
        Pair(
            *(A + "/mill", B + "/7", "heading, menu, and one word in fifty"),
            (page(TEXT), page(edited(TEXT, 4, 0.02), "A mill finds a buyer", menu=MENU)),
        )
    ],
    "other; long texts": [
        Pair(
            *(A + "/guide/mill", A + "/new-guide/mill", "the release in the title; two words"),
            (
                page(TEXT, title="The old mill - Guide 3.1"),
                page(edited(TEXT, 4, 0.005), title="The old mill - Guide 3.2"),
            ),
        ),
        Pair(
            *(A + "/en/mill", A + "/de/mill", "the heading, which is translated"),
            (page(TEXT), page(TEXT, "Die alte Mühle")),
        ),
    ],
}


def ruled(pair: Pair) -> tuple[int, Ruling]:
    """Return the distance of the pages in bits, and what the rule says of the second one."""
    one, other = pair.html
    return distance_of(one, other), judged((pair.other, other), (pair.one, one))


def table() -> str:
    lines = ["| Original, and new page | What differs | Bits | The new page is |"]
    lines.append("| --- | --- | ---: | --- |")
    for pair in chain(*PAIRS.values()):
        distance, (is_copy, reason) = ruled(pair)
        shown = (f"`{url.removeprefix('http://')}`" for url in (pair.one, pair.other))
        verdict = f"{'dropped' if is_copy else 'kept'}: `{reason}`"
        cells = "<br>".join(shown), pair.differs, str(distance), verdict
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_how_it_decides_has_the_pairs_as_the_rule_judges_them() -> None:
    assert f"\n{table()}\n" in DECIDES.read_text("utf-8")


def test_each_sentence_of_the_rule_decides_a_pair_but_those_of_rare_pages() -> None:
    decided = {ruled(pair)[1].reason for pairs in PAIRS.values() for pair in pairs}
    assert {*REASONS} - decided == {"distance"}


if __name__ == "__main__":
    print(table())
