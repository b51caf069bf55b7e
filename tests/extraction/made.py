"""Pages made of parts, of which each knows whether it is the page's own or the site's."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from tests.pages import article

#: Elements around the parts, with and without HTML's own words for them.
WORDS = {word: word for word in ("header", "nav", "main", "article", "aside", "footer")}
NAMES = {
    "header": "div class=header",
    "nav": "div class=menu",
    "main": "div id=content",
    "article": "div class=post",
    "aside": "div class=sidebar",
    "footer": "div class=footer",
}


@dataclass(frozen=True)
class Part:
    """A part of a page: where it stands, its lines, and whether they are the page's own."""

    place: str
    is_own: bool
    markup: Callable[[list[str]], str]
    lines: Callable[[int], list[str]]

    @property
    def says_what_the_page_is(self) -> bool:
        return self.is_own and self.place in ("article", "beside", "after")


def said(words: int, count: int = 1) -> Callable[[int], list[str]]:
    return lambda seed: [article(100 * seed + number, words) for number in range(count)]


def each(pattern: str, around: str = "{}") -> Callable[[list[str]], str]:
    """Return markup that has each line in an element of its own."""
    return lambda lines: around.format("".join(pattern.format(line) for line in lines))


def fields(seed: int) -> list[str]:
    return [f"Rooms: {seed + 3}", f"Area: {seed + 60}", f"Rent: {seed + 800}"]


def clock(seed: int) -> list[str]:
    return [f"It is {seed % 24}:03 now"]


def names(words: int, count: int) -> Callable[[int], list[str]]:
    return lambda seed: [
        article(100 * seed + number, words).removesuffix(".") for number in range(count)
    ]


LINKS = each("<li><a href='/{0}'>{0}</a></li>", "<ul>{}</ul>")
PARAGRAPHS = each("<p>{}</p>")
PARTS = {
    "logo": Part("header", False, each("<div class=logo>{}</div>"), names(2, 1)),
    "clock": Part("header", False, each("<div>{}</div>"), clock),
    "menu": Part("nav", False, LINKS, names(2, 6)),
    "text": Part("article", True, PARAGRAPHS, said(45, 3)),
    "byline": Part("article header", True, PARAGRAPHS, names(4, 1)),
    "table": Part("article", True, each("<tr><td>{}</td></tr>", "<table>{}</table>"), fields),
    "fields apart": Part("beside", True, each("<div>{}</div>", "<div>{}</div>"), fields),
    "price apart": Part("article", True, PARAGRAPHS, lambda seed: [f"From {seed + 12} €"]),
    "caption": Part("article footer", True, each("<figcaption>{}</figcaption>"), names(4, 1)),
    "links in the text": Part("article", True, LINKS, names(7, 6)),
    "pager": Part("article footer", False, each("<nav>{}</nav>"), names(2, 1)),
    "hidden": Part("article", False, each("<p hidden>{}</p>"), said(9)),
    "dialog": Part("outside", False, each("<p role=dialog>{}</p>"), said(9)),
    "promotion": Part("outside", False, each("<p class=promo>{}</p>"), said(20)),
    "weather": Part(
        "outside", False, each("<p>{}</p>"), lambda seed: [f"Rain, {seed % 30} degrees"]
    ),
    "date": Part("outside", False, PARAGRAPHS, lambda seed: [f"Sat {seed % 28} Oct 2014 12:03"]),
    "dated teasers": Part(
        "outside", False, each("<p><a href=/{0}>{0}</a></p><div>{0}, May</div>"), names(3, 3)
    ),
    "price": Part("outside", True, each("<div>{}</div>"), lambda seed: [f"From {seed + 12} €"]),
    "address": Part("outside", True, PARAGRAPHS, lambda seed: [f"Mill {seed}, 8501, 05 44"]),
    "row outside": Part("outside", True, each("<td>{}</td>", "<table><tr>{}</table>"), fields),
    "terms": Part(
        "outside", True, each("<dt>Rent<dd>{}", "<dl>{}</dl>"), lambda seed: [f"by {seed}"]
    ),
    "letter": Part("outside", True, PARAGRAPHS, said(20)),
    "entries": Part("article", True, each("<li>{}</li>", "<ul>{}</ul>"), names(6, 5)),
    "last words": Part("article footer", True, PARAGRAPHS, said(12)),
    "comments": Part("after", True, each("<li><b>Ann</b><p>{}</p>", "<ol>{}</ol>"), said(18, 3)),
    "teasers": Part("aside", False, LINKS, names(5, 5)),
    "headlines": Part("aside", False, each("<h4>{}</h4>"), names(6, 4)),
    "tip": Part("aside", False, PARAGRAPHS, said(16)),
    "guests": Part("footer", False, each("<p>{}</p>"), lambda seed: [f"Guests online: {seed}"]),
    "imprint": Part("footer", False, PARAGRAPHS, said(18)),
}


def differing(line: str, word: str) -> str:
    """Return the line with other digits, or with a word more in its middle."""
    if re.search(r"\d", line):
        return re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), line)
    words = line.split(" ")
    return " ".join([*words[: len(words) // 2], word, *words[len(words) // 2 :]])


def made_page(
    names: Iterable[str],
    seed: int,
    elements: dict[str, str],
    differ: Collection[str] = (),
    word: str = "",
) -> tuple[str, set[str], set[str]]:
    """Return a page of some parts, its own lines, and the site's; the last of some differ."""
    places = defaultdict[str, str](str)
    lines = defaultdict[bool, set[str]](set)
    for number, name in enumerate(names):
        part = PARTS[name]
        texts = part.lines(20 * seed + number)
        if name in differ:
            texts[-1] = differing(texts[-1], word)
        markup = part.markup(texts)
        places[part.place] += f"<div>{markup}</div>" if part.place == "outside" else markup
        lines[part.is_own] |= set(texts)

    def element(name: str, *inner: str) -> str:
        opening = elements[name]
        return f"<{opening}>{''.join(inner)}</{opening.partition(' ')[0]}>" if any(inner) else ""

    # Without HTML's own words, nothing but the place tells whose header it is.
    inside = elements if elements is WORDS else {"header": "div", "footer": "div"}
    heading = article(7000 + seed, 3)
    lines[True].add(heading)
    text = (
        f"<{inside['header']}>{places['article header']}</{inside['header']}>"
        f"<h1>{heading}</h1>{places['article']}"
        f"<{inside['footer']}>{places['article footer']}</{inside['footer']}>"
    )
    body = (
        element("header", places["header"])
        + element("nav", places["nav"])
        + places["outside"]
        + element("main", element("article", text), places["beside"], places["after"])
        + element("aside", places["aside"])
        + element("footer", places["footer"])
    )
    html = f"<html><head><title>{heading}</title></head><body>{body}</body></html>"
    return html, lines[True], lines[False]
