"""The prose container: finds the element that holds a page's running text.

A fingerprint needs other text than a reader does. The same article in another site's template
must give nearly the same text, and two articles in one template must not look alike. So lines
that read like prose vote for the elements around them, and what stands under the winner is the
main text. The search works on one parsed tree and climbs or iterates, never recurses, so depth
does it no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml import etree

from scrapy_simhash.extraction.roles import INLINE_TAGS, Element, Roles

#: Text directly inside these makes no block: it is not shown, or it is a label or a link.
SILENT_TAGS = frozenset("a br button hr img noscript option script style textarea title".split())
HIDDEN_TAGS = frozenset("noscript script style template title".split())
HEADING_TAGS = frozenset("h1 h2 h3 h4 h5 h6".split())

# Sizes are UTF-8 bytes, not words or characters: 80 bytes are about 80 Latin letters or 27 Han
# characters, which say about as much.
MIN_TEXT_NODE = 20  # characters; a block needs one such text node to be looked at
MIN_LINE = 25
#: (bytes, needs a mark): what a line needs to vote; the next is tried when too little is found.
VOTER_RULES = ((80, True), (40, False), (MIN_LINE, False))
# Lines of less than this share of what a vote needs are labels, bylines, cells and links. Another
# site sets them otherwise or leaves them out, so they go where longer ones make most of the text.
LONG_SHARE = 0.75
RUNNING_SHARE = 0.6
#: Three lines that vote; less may well be a notice of the template's own.
THIN_BYTES = 250
LEGAL_NOTICE = 600  # characters; a longer block is about more than the rights in the page

MAX_LINK_SHARE = 0.4
VOTE_LEVELS = 3
VOTE_DECAY = 0.6
MENDING_LEVELS = 9
DOUBT = 0.3  # what a vote for doubtful text is worth

#: What marks the main element where none is a ``main``. The classes are those of manuals.
MAIN_IDS = frozenset("content main main-content maincontent bodycontent page-content".split())
MAIN_CLASSES = frozenset("article book document".split())
BEFORE_HEADING = 200  # characters

_CUT = "\0"  # the end of a line; no parsed tree contains it
_MARK = re.compile(r"""[。！？；，]|, |[.!?](?=[\s"'”’»)\]]|$)""")
_LEGAL = (
    *("©", "(c)", "copyright", "rights reserved", "public license", "any warranty"),
    *("licensed under", "版权所有", "著作权", "未经许可", "未经授权", "免责声明", "转载请"),
)


class Line(NamedTuple):
    """A line of text and its size in UTF-8 bytes."""

    size: int
    text: str


class Block(NamedTuple):
    """An element with lines of its own."""

    element: Element
    lines: list[Line]
    doubtful: bool


def main_lines(root: Element) -> list[str]:
    """Return the lines of a page's main text, in document order; none if there is no such text.

    Args:
        root: the root of a page parsed by lxml, without comments and processing instructions.
    """
    body = _body(root)
    holders, headings = _text_holders(body)
    roles = Roles(headings)
    blocks = _blocks(holders, roles)
    lines: list[Line] = []
    for least, needs_mark in VOTER_RULES:
        lines = _container_lines(blocks, roles, least, needs_mark)
        if _total(lines) >= THIN_BYTES:
            break
    return [text for _, text in lines]


def visible_text(root: Element, *, furniture: bool = True) -> str:
    """Return all text that a page shows, or what it shows outside the page's furniture.

    Args:
        root: the root of a page parsed by lxml, without comments and processing instructions.
        furniture: whether navigation, footers, forms and the like are wanted; without them, an
            image counts as text: its file's name.
    """
    body = _body(root)
    roles = Roles(body.iter("h1"))
    pieces: list[str] = []
    walk = etree.iterwalk(body, events=("start", "end"))
    for event, el in walk:
        if event == "end":
            if el.tag not in INLINE_TAGS:
                pieces.append(_CUT)
            if el.tail:
                pieces.append(el.tail)
        elif el.tag in HIDDEN_TAGS or (not furniture and any(roles.of(el)[:2])):
            walk.skip_subtree()
        else:
            if el.tag not in INLINE_TAGS:
                pieces.append(_CUT)
            if el.text:
                pieces.append(el.text)
            if el.tag == "img" and not furniture:
                pieces += _CUT, _file_name(el.get("src", "")), _CUT
    lines = (" ".join(line.split()) for line in "".join(pieces).split(_CUT))
    return "\n".join(filter(None, lines))


def _file_name(address: str) -> str:
    try:
        return urlsplit(address).path.rsplit("/", 1)[-1]
    except ValueError:  # no address at all, such as http://[
        return address


def main_text(root: Element) -> str:
    """Return all text in the element that a page marks as its main one; empty if there is none.

    Tables of contents, indexes and lists of goods have no prose. What they list stands in such an
    element, under the heading of the page. Where much text comes before that heading, the element
    holds more than the list, and does not count.

    Args:
        root: the root of a page parsed by lxml, without comments and processing instructions.
    """
    main = None
    for el in _body(root).iter("main", "div", "section"):
        if el.tag == "main" or el.get("role") == "main":
            main = el
            break
        if main is None and (
            el.get("id", "").lower() in MAIN_IDS
            or not MAIN_CLASSES.isdisjoint(el.get("class", "").split())
        ):
            main = el
    heading = None if main is None else main.find(".//h1")
    if heading is None:
        return ""
    text = visible_text(main, furniture=False)
    title = " ".join("".join(heading.itertext()).split())
    return text if 0 <= text.find(title) <= BEFORE_HEADING else ""


def size(line: str) -> int:
    """Return the length of a line in UTF-8 bytes."""
    return len(line) if line.isascii() else len(line.encode("utf-8", "replace"))


def _body(root: Element) -> Element:
    body = root.find("body")
    return root if body is None else body


def _total(lines: Iterable[Line]) -> int:
    return sum(line.size for line in lines)


def _blocks(holders: Iterable[Element], roles: Roles) -> list[Block]:
    blocks = []
    for el in holders:
        role = roles.of(el)
        if role.furniture:
            continue
        lines = [Line(size(text), text) for text in _lines(el)]
        if lines := [line for line in lines if line.size >= MIN_LINE]:
            blocks.append(Block(el, lines, role.doubtful))
    return _without_legal_notices(blocks)


def _text_holders(body: Element) -> tuple[dict[Element, None], list[Element]]:
    """The elements that directly or inline hold a text node of some size; and, apart, the ``h1``.

    A dict serves as an ordered set. It also keeps lxml's proxies alive, so that an element stays
    the same key.
    """
    least = MIN_TEXT_NODE
    silent = SILENT_TAGS
    found: dict[Element, None] = {}
    headings = []
    # The one loop over all elements. Most long text nodes are indentation, hence isspace().
    for el in body.iter():
        tag = el.tag
        if tag == "h1":
            headings.append(el)
        if tag not in silent:
            text = el.text
            if text and len(text) >= least and not text.isspace() and len(text.strip()) >= least:
                found[el] = None
        text = el.tail
        if text and len(text) >= least and not text.isspace() and len(text.strip()) >= least:
            up = el.getparent()
            if up.tag not in silent:
                found[up] = None
    holders: dict[Element, None] = {}
    for el in found:
        while el is not None and el.tag in INLINE_TAGS:
            el = None if el.tag == "a" else el.getparent()
        if el is not None and el.tag not in HEADING_TAGS:
            holders[el] = None
    return holders, headings


def _lines(block: Element) -> list[str]:
    """A block's own text with that of its inline children, cut at breaks and nested blocks."""
    if not len(block):
        return [" ".join(block.text.split())]
    pieces = [block.text or ""]
    linked = 0  # characters inside links
    links = 0  # links that are open here
    levels = [iter(block)]
    ends: list[Element] = []  # the inline elements that are open here
    while levels:
        for el in levels[-1]:
            tag = el.tag
            if tag in INLINE_TAGS:
                if text := el.text:
                    pieces.append(text)
                    if links or tag == "a":
                        linked += len(text)
                if len(el):
                    links += tag == "a"
                    levels.append(iter(el))
                    ends.append(el)
                    break
            elif tag == "br" or tag not in SILENT_TAGS:
                pieces.append(_CUT)
            if text := el.tail:
                pieces.append(text)
                if links:
                    linked += len(text)
        else:
            levels.pop()
            if ends:
                el = ends.pop()
                links -= el.tag == "a"
                if text := el.tail:
                    pieces.append(text)
                    if links:
                        linked += len(text)
    joined = "".join(pieces)
    if linked and linked > MAX_LINK_SHARE * sum(map(len, joined.split())):
        return []
    return [" ".join(line.split()) for line in joined.split(_CUT)]


def _without_legal_notices(blocks: list[Block]) -> list[Block]:
    texts = [" ".join([line.text for line in block.lines]) for block in blocks]
    texts = [text.lower() if len(text) <= LEGAL_NOTICE else "" for text in texts]
    page = "\n".join(texts)
    found = [words for words in _LEGAL if words in page]  # most pages have none or one of them
    if not found:
        return blocks
    return [
        block
        for block, text in zip(blocks, texts, strict=True)
        if not any(words in text for words in found)
    ]


def _container_lines(blocks: list[Block], roles: Roles, least: int, needs_mark: bool) -> list[Line]:
    voters: dict[Element, list[Line]] = {}
    for block in blocks:
        if block.doubtful and not needs_mark:
            continue
        lines = [
            line
            for line in block.lines
            if line.size >= least and (not needs_mark or _MARK.search(line.text))
        ]
        if lines:
            voters[block.element] = lines
    winner = _elect(voters, roles)
    if winner is None:
        return []
    # An article that advertisements split has its parts beside the winner, made alike.
    *_, top = winner, *islice(winner.iterancestors(), MENDING_LEVELS)
    places = {top: "beside", winner: "inside"}
    for block in blocks:
        _find_place(block.element, places)
    beside = [el for el in voters if places[el] == "beside"]
    alike = {_signature(el) for el in voters if places[el] == "inside"} if beside else set()
    parts = {el for el in beside if _signature(el) in alike}
    doubtful_too = roles.of(winner).doubtful
    found: list[Line] = []
    for block in blocks:
        if block.doubtful and not doubtful_too:
            continue
        if block.element in parts:
            found += voters[block.element]
        elif places[block.element] == "inside":
            found += block.lines
    long = [line for line in found if line.size >= LONG_SHARE * least]
    return long if _total(long) >= RUNNING_SHARE * _total(found) else found


def _elect(voters: dict[Element, list[Line]], roles: Roles) -> Element | None:
    votes: dict[Element, float] = {}
    above: dict[Element, list[Element]] = {}
    for voter, lines in voters.items():
        start = voter if len(lines) > 1 else voter.getparent()
        if start not in above:
            above[start] = list(islice(_containers(start, roles), VOTE_LEVELS))
        vote = float(_total(lines))
        for el in above[start]:
            votes[el] = votes.get(el, 0.0) + vote
            vote *= VOTE_DECAY

    def strength(el: Element) -> float:
        role = roles.of(el)
        return votes[el] * role.prior * (DOUBT if role.doubtful else 1.0)

    return max(votes, key=strength, default=None)


def _containers(el: Element | None, roles: Roles) -> Iterator[Element]:
    """An element and those around it, but for what only shapes running text."""
    while el is not None:
        if not roles.of(el).flow:
            yield el
        el = el.getparent()


def _find_place(el: Element | None, places: dict[Element, str]) -> None:
    """Note in ``places`` where an element lies, and all on the way to one that is there."""
    path = []
    while el is not None and el not in places:
        path.append(el)
        el = el.getparent()
    if path:
        places.update(dict.fromkeys(path, "outside" if el is None else places[el]))


def _signature(el: Element) -> tuple[str, ...]:
    """What two parts of one article have in common: the tags and first classes that hold them."""
    holders = (up for up in el.iterancestors() if up.tag not in INLINE_TAGS)
    signature = [el.tag]
    for up in islice(holders, 2):
        signature += (up.tag, *up.get("class", "").split()[:1])
    return tuple(signature)
