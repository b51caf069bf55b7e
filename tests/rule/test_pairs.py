"""How the rule decides on made pages: pairs for each of its rows.

``python -m tests.rule.test_pairs`` prints the table of the documentation.
"""

from pathlib import Path
from typing import NamedTuple

from scrapy_simhash.rule.rule import REASONS
from scrapy_simhash.rule.ruling import Ruling
from tests.pages import article, distance_of, edited, framed, judged, paragraphs

DECIDES = Path(__file__).parents[2] / "docs" / "decides.md"


class Pair(NamedTuple):
    """Two addresses, in words what differs, and the HTML of the original and of the new page."""

    addresses: str
    differs: str
    original: str
    new: str

    def keys(self) -> list[str]:
        return [f"http://{address}" for address in self.addresses.split()]


def page(
    text: str,
    name: str = "The old mill",
    *,
    rooms: str = "",
    menu: str = "News Sport Weather Contact",
    below: str = "",
    canonical: str = "",
) -> str:
    """Return a page: a menu above and below, a heading, a value, a text, and a line below it."""
    table = f"<table><tr><th>Rooms<td>{rooms}</table>" if rooms else ""
    head = f"<link rel=canonical href={canonical}>" if canonical else ""
    return framed(
        table + paragraphs(text), name, links=menu.split(), head=head, foot=f"<p>{menu}<p>{below}"
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
MILL, ROOMS = page(TEXT), "`Rooms: 3` and `Rooms: 4`"
THREE, FOUR = (page(TEXT, rooms=number) for number in "34")
NEWS = "a.example/news/7 a.example/archive/mill"
SITES = "a.example/mill b.example/7"
GALLERIES = "a.example/g/1 a.example/g/2"

#: In the order of the kinships.
PAIRS = (
    Pair(
        "a.example/list a.example/list?sort=name",
        "the menu, and a line below the text",
        page(TEXT),
        page(TEXT, menu=MENU, below="Read 71 times this week."),
    ),
    Pair("a.example/flat a.example/flat?floor=second", ROOMS, THREE, FOUR),
    Pair(
        "a.example/story a.example/story?view=short", "the last third of the text", MILL, page(CUT)
    ),
    Pair(
        "a.example/mill a.example/q/7",
        "a count in the text; both declare `/mill` canonical",
        *(page(f"{TEXT} It has {n} votes so far.", canonical="/mill") for n in (7, 8)),
    ),
    Pair("a.example/flat/7 a.example/flat/8", ROOMS, THREE, FOUR),
    Pair(
        "a.example/mail/7 a.example/mail/8",
        "a sentence before the mail that is quoted",
        MILL,
        page("I do not think so at all, dear friends. " + TEXT),
    ),
    Pair(NEWS, "one word in two hundred", MILL, page(edited(TEXT, 4, 0.005))),
    Pair(NEWS, "nothing", MILL, MILL),
    Pair(
        "a.example/en-us/mill a.example/de-de/mill",
        "the heading, which is translated",
        MILL,
        page(TEXT, "Die alte Mühle"),
    ),
    Pair(
        "a.example/4.2/mill a.example/3.0/mill",
        "a notice above the text of the old release",
        MILL,
        page("You are reading about an old release of this mill. " + TEXT),
    ),
    Pair(
        "a.example/4.2/note a.example/3.0/note",
        "the heading of a text of forty words",
        page(SHORT),
        page(SHORT, "The new mill"),
    ),
    Pair(
        "www.a.example/mill old.a.example/mill",
        "one word in forty",
        page(SHORT),
        page(edited(SHORT, 4, 0.03), menu=MENU),
    ),
    Pair(
        "a.example/flat/7 b.example/flat/8",
        f"the menu; {ROOMS}",
        THREE,
        page(TEXT, rooms="4", menu=MENU),
    ),
    Pair(SITES, "the menu; one word in twelve", MILL, page(edited(TEXT, 4, 0.08), menu=MENU)),
    Pair(SITES, "a fifth of the sentences", MILL, page(replaced(TEXT, 7), menu=MENU)),
    Pair(SITES, "a third of the sentences", MILL, page(replaced(TEXT, 12), menu=MENU)),
    Pair(SITES, "more than half of the sentences", MILL, page(replaced(TEXT, 20), menu=MENU)),
    Pair(
        SITES,
        "heading, menu, and a sentence that names the source",
        MILL,
        page(f"The mill news first had this. {TEXT}", "Of the old river", menu=MENU),
    ),
    Pair(GALLERIES, "nothing", gallery("/p"), gallery("/p")),
    Pair(GALLERIES, "where the links lead", gallery("/p"), gallery("/q")),
)


def ruled(pair: Pair) -> tuple[int, Ruling]:
    """Return the distance of the pages in bits, and what the rule says of the new one."""
    one, other = pair.keys()
    return distance_of(pair.original, pair.new), judged((other, pair.new), (one, pair.original))


def table() -> str:
    lines = ["| Original, and new page | What differs | Bits | The new page is |"]
    lines.append("| --- | --- | ---: | --- |")
    for pair in PAIRS:
        distance, (is_copy, reason) = ruled(pair)
        shown = (f"`{address}`" for address in pair.addresses.split())
        verdict = f"{'dropped' if is_copy else 'kept'}: `{reason}`"
        cells = "<br>".join(shown), pair.differs, str(distance), verdict
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_how_it_decides_has_the_pairs_as_the_rule_judges_them():
    assert f"\n{table()}\n" in DECIDES.read_text("utf-8")


def test_each_sentence_of_the_rule_decides_a_pair_but_those_of_rare_pages():
    decided = {ruled(pair)[1].reason for pair in PAIRS}
    assert {*REASONS} - decided == {"distance"}


if __name__ == "__main__":
    print(table())
