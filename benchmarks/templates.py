"""A real page taken apart: the lines of its body, and the template around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lxml import etree

from benchmarks.documents import html_of, marks_of
from scrapy_simhash.extraction import roles
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.offline.saved_pages import SavedPage

#: Bodies of fewer letters and digits are left out: what is said of them is said of
#: short texts.
MIN_BODY = 200
#: A line belongs to the body if so much of it stands there.
MIN_SHARE = 0.7
#: So much of the body must be found in the page's lines, or it was not found.
MIN_FOUND = 0.8
#: A line of so many bytes is running text.
MIN_RUNNING = 80
#: A template that shows more than this of its own body once it is emptied is none.
MAX_LEFT = 0.05

_SHINGLE = 8  # letters; what two unrelated lines seldom share
_PHRASE = 20  # letters; what two texts on one topic seldom share
_HIDDEN_TAGS = frozenset(
    "iframe noscript object option select svg template textarea title".split()
)
INLINE_TAGS = frozenset((*roles.INLINE_TAGS, "a"))
HEADING_TAGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_NO_TEXT_TAGS = HEADING_TAGS | frozenset(
    "a button caption figcaption head html label th".split()
)

# Between a page's own title and the name of its site.
_SEPARATOR = re.compile(r"\s[-\u2013\u2014|\u00b7:\u00bb]\s|[|_\u00bb]|\u2014\u2014")

# What lxml reads but does not write.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


#: A text node: the place of its element in document order, and whether it is the
#: element's own text or the tail after it.
Node = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Line:
    """A line as a reader sees it: the text between two ends of blocks or line breaks.

    It starts with the text of its block, or with the tail of what ended the line
    before."""

    text: str
    start: Node
    nodes: tuple[Node, ...]


class Page:
    """A page whose body is known line by line; scripts, which hold copies of it, are gone.

    Attributes:
        body: the places in ``lines`` of those that make the body.
        slots: those of the places whose lines are set as most of the body is, in the
            same tag in the same class of element. Others are headings, captions,
            repetitions.
        left: the share of the body, from 0 to 1, that the page still shows without
            those lines.
        beside: the bytes of running text beside the body: comments, other articles.
        own_title: the first part of the title.
        site_name: the last part of the title, if it has several.
        headline: the ``h1`` of the article, or else its part of the title.
    """

    def __init__(
        self, document: SavedPage, root: Any, lines: list[Line], body: list[int]
    ) -> None:
        self.document = document
        self.lines = lines
        self.body = body
        self._root = root
        self.slots = self._slots()
        title = " ".join((root.findtext(".//title") or "").split())
        parts = [part.strip() for part in _SEPARATOR.split(title) if normalise(part)]
        self.own_title = parts[0] if parts else ""
        self.site_name = parts[-1] if len(parts) > 1 else ""
        self.heading_line = self._heading_line(parts[1:])
        heading = None if self.heading_line is None else lines[self.heading_line].text
        self.headline = heading or self.own_title
        wanted = shingles(self.text, _PHRASE)
        inside = set(body)
        rest = [line.text for at, line in enumerate(lines) if at not in inside]
        self.left = len(wanted & shingles("\n".join(rest), _PHRASE)) / max(
            1, len(wanted)
        )
        sizes = [len(text.encode("utf-8", "replace")) for text in rest]
        self.beside = sum(size for size in sizes if size >= MIN_RUNNING)

    @property
    def site(self) -> str:
        """The host of the page, or its name where the address is not known."""
        return urlsplit(self.document.url or "").hostname or self.document.name

    @property
    def paragraphs(self) -> list[str]:
        """The lines of the body."""
        return [self.lines[at].text for at in self.body]

    @property
    def text(self) -> str:
        """The body, one line per block."""
        return "\n".join(self.paragraphs)

    def takes(self, text: str) -> bool:
        """Return whether the page would be about a text that took the place of the body.

        It is not if it still shows its own body, or much other running text.
        """
        return (
            self.left <= MAX_LEFT
            and self.beside <= len(text.encode("utf-8", "replace")) / 2
        )

    def _slots(self) -> list[int]:
        elements = list(self._root.iter())
        groups: dict[object, list[int]] = {}
        seen = set()
        for at in self.body:
            line = self.lines[at]
            manner = _manner(elements, line.start)
            # Some pages show their body twice, for screens of two sizes.
            if manner is not None and line.text not in seen:
                groups.setdefault(manner, []).append(at)
            seen.add(line.text)
        return max(
            groups.values(),
            key=lambda places: sum(len(self.lines[at].text) for at in places),
            default=[],
        )

    def _heading_line(self, other_parts: Sequence[str]) -> int | None:
        """Return the place of the line in the article's ``h1``; themes have one for the site."""
        elements = list(self._root.iter())
        places = [
            at
            for at, line in enumerate(self.lines)
            if elements[line.start[0]].tag == "h1"
        ]
        site = shingles("\n".join(other_parts))
        own = shingles(self.own_title)
        for at in places:
            if _share(self.lines[at].text, own) >= MIN_SHARE:
                return at
        return next(
            (at for at in places if _share(self.lines[at].text, site) < MIN_SHARE), None
        )

    def draft(self) -> Draft:
        """Return a copy of the page to be changed."""
        return Draft(self, deepcopy(self._root))


class Draft:
    """A copy of a page under change; lines keep their places."""

    def __init__(self, page: Page, root: Any) -> None:
        self._page = page
        self._root = root
        self._elements = list(root.iter())

    def edit(self, line: int, change: Callable[[str], str]) -> None:
        """Change the text nodes of a line, each for itself; the markup around them stays."""
        for place, part in self._page.lines[line].nodes:
            element = self._elements[place]
            setattr(element, part, change(getattr(element, part)))

    def write(self, line: int, texts: Sequence[str]) -> None:
        """Put texts, each a block of its own, where a line was.

        They are made as the page makes its own lines: as more of the element that the
        line filled, or, where breaks part the lines, after more breaks.
        """
        for place, part in self._page.lines[line].nodes:
            setattr(self._elements[place], part, None)
        if not texts:
            return
        place, part = self._page.lines[line].start
        element = self._elements[place]
        setattr(element, part, texts[0])
        for text in reversed(texts[1:]):
            if part == "text" and _is_leaf(element):
                more = deepcopy(element)
                del more[:]
                more.text, more.tail = text, None
                more.attrib.pop("id", None)
                element.addnext(more)
            else:
                more = etree.Element("br")
                more.tail = text
                if part == "text":
                    element.insert(0, more)
                else:
                    element.addnext(more)

    def fill(self, paragraphs: Sequence[str]) -> None:
        """Replace the body by other paragraphs, spread over the places where its lines were."""
        slots = self._page.slots
        shares: dict[int, list[str]] = {at: [] for at in self._page.body}
        for at, text in enumerate(paragraphs):
            shares[slots[at * len(slots) // max(len(paragraphs), len(slots))]].append(
                text
            )
        for line, texts in shares.items():
            self.write(line, texts)

    def rename(self, title: str, headline: str) -> None:
        """Replace what the page calls itself: its ``h1``, and its title before the site's name."""
        page = self._page
        own = shingles(page.own_title) | shingles(page.headline)
        heading = page.heading_line
        body = set(page.body)
        for at, line in enumerate(page.lines):
            if at not in body and at != heading and _share(line.text, own) >= MIN_SHARE:
                is_heading = self._elements[line.start[0]].tag in HEADING_TAGS
                self.write(at, [headline] if is_heading and heading is None else [])
        if heading is not None:
            self.write(heading, [headline])
        for element in self._root.iter("title"):
            element.text = f"{title} | {page.site_name}" if page.site_name else title

    def html(self) -> str:
        """Return the page as HTML."""
        return str(etree.tostring(self._root, encoding="unicode", method="html"))


def own_text(document: SavedPage) -> str | None:
    """Return the main text of a page that stands in its line; None if there is none."""
    body, html = (marks_of(document).get(name) for name in ("body", "body_html"))
    return extract(html, "text").text if html else body


def take_apart(document: SavedPage) -> Page | None:
    """Find the body of a page in its tree: its own, or else what the extractor takes for it.

    Returns:
        None if there is no page, its body is short, most of the body is not to be found
        in it, or all of it is headings and links.
    """
    if document.body.is_text:
        return None
    body = normalise(own_text(document) or extract(html_of(document)).text)
    root = _parse(html_of(document))
    if len(body) < MIN_BODY or root is None:
        return None
    lines = _lines(root)
    elements = list(root.iter())
    wanted = shingles(body)
    places: list[int] = []
    gap: list[int] = []  # lines too short for shingles, which the body has too
    for at, line in enumerate(lines):
        if elements[line.start[0]].tag == "h1":  # an edited article keeps its headline
            continue
        if _share(line.text, wanted) >= MIN_SHARE:
            places += [*(gap if places else ()), at]
            gap = []
        elif len(letters := normalise(line.text)) < _SHINGLE and letters in body:
            gap.append(at)
        elif letters:
            gap = []
    if not places:
        return None
    page = Page(document, root, lines, places)
    found = _share(body, shingles(page.text)) >= MIN_FOUND
    return page if found and page.slots else None


def shingles(text: str, length: int = _SHINGLE) -> set[str]:
    """Return the runs of so many letters and digits of a text."""
    letters = normalise(text)
    return {letters[at : at + length] for at in range(len(letters) - length + 1)}


def _share(text: str, wanted: set[str]) -> float:
    """The share of a text's shingles that are wanted; 0 if it is too short for any."""
    own = shingles(text)
    return len(own & wanted) / max(1, len(own))


def _parse(html: str) -> Any:
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = etree.fromstring(
            _UNWRITABLE.sub("", html).encode("utf-8", "replace"), parser
        )
    except etree.LxmlError:
        return None
    if root is not None:
        etree.strip_elements(root, "script", "style", with_tail=False)
    return root


def _lines(root: Any) -> list[Line]:
    places = {element: at for at, element in enumerate(root.iter())}
    lines: list[Line] = []
    start: Node = (0, "text")
    nodes: list[tuple[Any, str]] = []

    def end_line(next_start: Node) -> None:
        nonlocal start
        text = " ".join("".join(getattr(el, part) for el, part in nodes).split())
        if text:
            lines.append(
                Line(text, start, tuple((places[el], part) for el, part in nodes))
            )
        nodes.clear()
        start = next_start

    walk = etree.iterwalk(root, events=("start", "end"))
    for event, el in walk:
        part = "text" if event == "start" else "tail"
        if el.tag not in INLINE_TAGS:
            end_line((places[el], part))
        if event == "start" and el.tag in _HIDDEN_TAGS:
            walk.skip_subtree()
        elif getattr(el, part):
            nodes.append((el, part))
    end_line(start)
    return lines


def _manner(elements: list[Any], start: Node) -> tuple[object, ...] | None:
    """Return how a line is set: by the element that it starts in, and the one around that.

    None if it is a link, a heading or the like, where no running text can go.
    """
    place, part = start
    el = elements[place] if part == "text" else elements[place].getparent()
    while el is not None and el.tag in INLINE_TAGS and el.tag != "a":
        el = el.getparent()
    if el is None or el.tag in _NO_TEXT_TAGS:
        return None
    around = el.getparent()
    return (el.tag,) if around is None else (el.tag, around.tag, around.get("class"))


def _is_leaf(element: Any) -> bool:
    """Whether an element can be repeated: it holds one line, and is no cell of a table."""
    return element.tag not in ("body", "td", "th") and all(
        el.tag in INLINE_TAGS for el in element
    )
