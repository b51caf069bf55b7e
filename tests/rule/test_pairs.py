"""How the rule decides on made pages: pairs for each of its rows.

``python -m tests.rule.test_pairs`` prints the table of the documentation.
"""

from __future__ import annotations

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
    html: tuple[str, ...]


def page(
    text: str,
    name: str = "The old mill",
    *,
    rooms: str = "",
    menu: str = "News Sport Weather Contact",
    below: str = "",
    canonical: str = "",
) -> str:
    """Return a page: a menu, a heading, a value in a table, a text, and a line below it."""
    sentences = text.split(". ")
    paragraphs = "".join(
        f"<p>{'. '.join(sentences[at : at + 4])}.</p>" for at in range(0, len(sentences), 4)
    )
    links = "".join(f"<li><a href=/{word.lower()}>{word}</a></li>" for word in menu.split())
    table = f"<table><tr><th>Rooms<td>{rooms}</table>" if rooms else ""
    link = f"<link rel=canonical href={canonical}>" if canonical else ""
    return (
        f"<!doctype html><title>{name}</title>{link}<nav><ul>{links}</ul></nav>"
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

#: In the order of the kinships.
PAIRS = (
    Pair(
        one=A + "/list",
        other=A + "/list?sort=name",
        differs="the menu, and a line below the text",
        html=(page(TEXT), page(TEXT, menu=MENU, below="Read 71 times this week.")),
    ),
    Pair(
        one=A + "/flat",
        other=A + "/flat?floor=second",
        differs="`Rooms: 3` and `Rooms: 4`",
        html=(page(TEXT, rooms="3"), page(TEXT, rooms="4")),
    ),
    Pair(
        one=A + "/story",
        other=A + "/story?view=short",
        differs="the last third of the text",
        html=(page(TEXT), page(CUT)),
    ),
    Pair(
        one=A + "/mill",
        other=A + "/q/7",
        differs="a count in the text; both declare `/mill` canonical",
        html=tuple(page(f"{TEXT} It has {n} votes so far.", canonical=A + "/mill") for n in (7, 8)),
    ),
    Pair(
        one=A + "/flat/7",
        other=A + "/flat/8",
        differs="`Rooms: 3` and `Rooms: 4`",
        html=(page(TEXT, rooms="3"), page(TEXT, rooms="4")),
    ),
    Pair(
        one=A + "/mail/7",
        other=A + "/mail/8",
        differs="a sentence before the mail that is quoted",
        html=(page(TEXT), page("I do not think so at all, dear friends. " + TEXT)),
    ),
    Pair(
        one=A + "/news/7",
        other=A + "/archive/mill",
        differs="one word in two hundred",
        html=(page(TEXT), page(edited(TEXT, 4, 0.005))),
    ),
    Pair(
        one=A + "/news/7",
        other=A + "/archive/mill",
        differs="nothing",
        html=(page(TEXT), page(TEXT)),
    ),
    Pair(
        one=A + "/en/mill",
        other=A + "/de/mill",
        differs="the heading, which is translated",
        html=(page(TEXT), page(TEXT, "Die alte Mühle")),
    ),
    Pair(
        one=A + "/4.2/mill",
        other=A + "/3.0/mill",
        differs="a notice above the text of the old release",
        html=(page(TEXT), page("You are reading about an old release of this mill. " + TEXT)),
    ),
    Pair(
        one=A + "/4.2/note",
        other=A + "/3.0/note",
        differs="the heading of a text of forty words",
        html=(page(SHORT), page(SHORT, "The new mill")),
    ),
    Pair(
        one="http://www.a.example/mill",
        other="http://old.a.example/mill",
        differs="one word in forty",
        html=(page(SHORT), page(edited(SHORT, 4, 0.03), menu=MENU)),
    ),
    Pair(
        one=A + "/flat/7",
        other=B + "/flat/8",
        differs="the menu; `Rooms: 3` and `Rooms: 4`",
        html=(page(TEXT, rooms="3"), page(TEXT, rooms="4", menu=MENU)),
    ),
    Pair(
        one=A + "/mill",
        other=B + "/7",
        differs="the menu; one word in twelve",
        html=(page(TEXT), page(edited(TEXT, 4, 0.08), menu=MENU)),
    ),
    Pair(
        one=A + "/mill",
        other=B + "/7",
        differs="a third of the sentences",
        html=(page(TEXT), page(replaced(TEXT, 12), menu=MENU)),
    ),
    Pair(
        one=A + "/mill",
        other=B + "/7",
        differs="more than half of the sentences",
        html=(page(TEXT), page(replaced(TEXT, 20), menu=MENU)),
    ),
    Pair(
        one=A + "/mill",
        other=B + "/7",
        differs="heading, menu, and a sentence that names the source",
        html=(
            page(TEXT),
            page(f"The mill news first had this. {TEXT}", "Of the old river", menu=MENU),
        ),
    ),
    Pair(
        one=A + "/g/1",
        other=A + "/g/2",
        differs="nothing",
        html=(gallery("/p"), gallery("/p")),
    ),
    Pair(
        one=A + "/g/1",
        other=A + "/g/2",
        differs="where the links lead",
        html=(gallery("/p"), gallery("/q")),
    ),
)


def ruled(pair: Pair) -> tuple[int, Ruling]:
    """Return the distance of the pages in bits, and what the rule says of the second one."""
    one, other = pair.html
    return distance_of(one, other), judged((pair.other, other), (pair.one, one))


def table() -> str:
    lines = ["| Original, and new page | What differs | Bits | The new page is |"]
    lines.append("| --- | --- | ---: | --- |")
    for pair in PAIRS:
        distance, (is_copy, reason) = ruled(pair)
        shown = (f"`{url.removeprefix('http://')}`" for url in (pair.one, pair.other))
        verdict = f"{'dropped' if is_copy else 'kept'}: `{reason}`"
        cells = "<br>".join(shown), pair.differs, str(distance), verdict
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_how_it_decides_has_the_pairs_as_the_rule_judges_them() -> None:
    assert f"\n{table()}\n" in DECIDES.read_text("utf-8")


def test_each_sentence_of_the_rule_decides_a_pair_but_those_of_rare_pages() -> None:
    decided = {ruled(pair)[1].reason for pair in PAIRS}
    assert {*REASONS} - decided == {"distance"}


if __name__ == "__main__":
    print(table())
