"""Finds the element that covers the main text of a page.

Each line weighs as many bytes as it has; lines that stand in one element together add up, and each
sum is raised to a power, so that running text outweighs as much text in many small boxes. From
the body the search goes down while one element holds most of the weight, and then up again while
elements beside it are made alike (sections, posts, answers), or the one around it has many lines
of its own. All lines there are the main text, so
a paragraph more or less moves nothing.

What tags and names tell against an element counts only if little enough goes by it. The search
never recurses, so depth does it no harm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scrapy_simhash.extraction.page import Page, single_spaced
from scrapy_simhash.extraction.roles import (
    AGAINST,
    DOUBTFUL,
    FLOW_TAGS,
    FOOTER,
    FURNITURE,
    HEADER,
    INLINE_TAGS,
    LINK,
    NAVIGATION,
    NOTICE,
    TITLE,
    Element,
    role_of,
)

# Sizes are UTF-8 bytes, not characters: 80 bytes are about 80 Latin letters or 27 Han characters,
# which say about as much.
MIN_LINE = 10
#: A shorter line weighs less than its bytes: it may be a label, a byline, a link.
FULL_LINE = 80
#: Lines below this go where longer ones make most of the text: another site sets them otherwise.
LONG_LINE = 60
LONG_SHARE = 0.6
LONG_BYTES = 500

MAX_LINK_SHARE = 0.5
#: What a kind of furniture may hold of the text outside links; beyond that it is none.
MAX_FURNITURE = 0.5
#: The same for what names alone tell.
MAX_NAMED = 0.4
DOUBT = 0.3  # what a line in a doubtful element weighs
POWER = 1.5
#: A shorter text goes up to what holds the heading as well.
SHORT_TEXT = 800
#: So much text makes an element count that is made like the one beside it.
ALIKE_BYTES = 80
ALIKE_LEVELS = 6
#: Elements beside a place count if they have such a share of its weight.
ALIKE_SHARE = 0.25
#: An element that holds such a share of a part's text in lines of its own goes on beyond the part:
#: behind "read more" stands the rest of what began before it.
OWN_SHARE = 0.25

#: Less is no main text; nor is less than the second that is a small share of what the page shows.
THIN_BYTES = 150
THIN_BYTES_OF_MUCH = 450
THIN_SHARE = 0.1


_INLINE = frozenset(("a", *INLINE_TAGS))


class Block(NamedTuple):
    """A line that may be main text: its place in the outline, its size and its text."""

    place: int
    size: int
    text: str


class Outline:
    """The elements around the lines of a page, numbered so that each comes after its parent.

    Attributes:
        elements: the elements; the first is the body.
        parents: the number of each one's parent; of the body, 0.
        roles: the roles of each and of all around it, as bits.
    """

    def __init__(self, page: Page) -> None:
        self.elements: list[Element] = [page.body]
        self.parents = [0]
        self.roles = [0]
        self._places: dict[Element, int] = {page.body: 0}
        self._around_heading: set[Element] = set()
        for el in page.heading_elements[:3]:
            while el is not None and el not in self._around_heading:
                self._around_heading.add(el)
                el = el.getparent()

    def place(self, el: Element) -> int:
        """Return the number of an element that lines stand in."""
        places = self._places
        if el in places:
            return places[el]
        path = []
        while el not in places:
            path.append(el)
            el = el.getparent()
        place = places[el]
        for el in reversed(path):
            role = role_of(el)
            # Names such as "with-sidebar" stand on wrappers of all that there is.
            if role & AGAINST and el in self._around_heading:
                role &= ~AGAINST
            self.parents.append(place)
            self.roles.append(self.roles[place] | role)
            place = len(self.elements)
            self.elements.append(el)
            places[el] = place
        return place

    def holds_heading(self, place: int) -> bool:
        """Return whether an element holds one of the page's headings."""
        return self.elements[place] in self._around_heading

    def sums(self, values: Iterable[tuple[int, float]]) -> list[float]:
        """Return for each element the sum of the values in it, at any depth."""
        sums = [0.0] * len(self.elements)
        for place, value in values:
            sums[place] += value
        for place in range(len(sums) - 1, 0, -1):
            sums[self.parents[place]] += sums[place]
        return sums


def main_text(page: Page) -> str | None:
    """Return the lines of a page's main text, or None if none stands out."""
    outline = Outline(page)
    blocks = _without_furniture(_blocks(page, outline), outline)
    if not blocks:
        return None
    area = _area(page, outline, blocks)
    found = _inside(area, outline, blocks)
    text = sum(block.size for block in found)
    if text < THIN_BYTES_OF_MUCH and (
        text < THIN_BYTES or text < THIN_SHARE * sum(map(_size, page.texts))
    ):
        return None
    return "\n".join([block.text for block in found])


def shown_text(page: Page) -> str:
    """Return all that a page shows outside navigation, header and footer by tag.

    Each of them stays where it holds most of the text outside links. An image counts by the name
    of its file: a gallery shows little else. Where a page shows hardly anything, scripts make it
    of the data in it, which counts then.
    """
    outline = Outline(page)
    lines = [
        Block(outline.place(_holder(holder)), 0 if 2 * links > len(text) else _size(text), text)
        for holder, links, text in zip(page.holders, page.linked, page.texts, strict=True)
    ]
    gone = _believed((NAVIGATION, HEADER, FOOTER), outline, lines)
    texts = [line.text for line in lines if not outline.roles[line.place] & gone]
    texts += [
        image.get("src", "").partition("?")[0].rpartition("/")[2]
        for image in page.images
        if not outline.roles[outline.place(image.getparent())] & gone
    ]
    if sum(map(_size, texts)) < THIN_BYTES:
        texts += [single_spaced(el.text or "") for el in page.data]
    return "\n".join(filter(None, texts))


def _size(text: str) -> int:
    """Return the bytes of a text in UTF-8, but for its spaces: those are a matter of layout."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size - text.count(" ") - text.count("\t")


def _holder(el: Element) -> Element:
    """Return what a line stands in that a link or another inline element begins."""
    while el.tag in _INLINE and (parent := el.getparent()) is not None:
        el = parent
    return el


def _blocks(page: Page, outline: Outline) -> list[Block]:
    blocks = []
    for holder, links, text in zip(page.holders, page.linked, page.texts, strict=True):
        if links > MAX_LINK_SHARE * len(text) or (size := _size(text)) < MIN_LINE:
            continue
        place = outline.place(_holder(holder))
        if not outline.roles[place] & (LINK | TITLE):
            blocks.append(Block(place, size, text))
    return blocks


def _believed(kinds: Iterable[int], outline: Outline, blocks: list[Block]) -> int:
    """Return those roles that take away no more than their share of the text."""
    sizes: dict[int, int] = defaultdict(int)
    for block in blocks:
        sizes[outline.roles[block.place]] += block.size
    total = sum(sizes.values())
    believed = 0
    for kind in kinds:
        if sum(size for role, size in sizes.items() if role & kind) <= MAX_FURNITURE * total:
            believed |= kind
    return believed


def _without_furniture(blocks: list[Block], outline: Outline) -> list[Block]:
    gone = _believed(FURNITURE, outline, blocks)
    blocks = [block for block in blocks if not outline.roles[block.place] & gone]
    return _without_named(NOTICE, blocks, outline)


def _without_named(role: int, blocks: list[Block], outline: Outline) -> list[Block]:
    left = [block for block in blocks if not outline.roles[block.place] & role]
    if sum(block.size for block in left) < (1 - MAX_NAMED) * sum(block.size for block in blocks):
        return blocks
    return left


def _area(page: Page, outline: Outline, blocks: list[Block]) -> int:
    """Return the element that covers the main text."""
    sums: dict[int, float] = defaultdict(float)
    alone = _alone(blocks)
    for place, size, _ in blocks:
        weight = size if size >= FULL_LINE else size * size / FULL_LINE
        if outline.roles[place] & DOUBTFUL:
            weight *= DOUBT
        sums[_together(place, alone, outline)] += weight
    weights = outline.sums((place, weight**POWER) for place, weight in sums.items())
    # Elements with more than half of the weight lie in each other; the last one is the innermost.
    area = max(place for place, weight in enumerate(weights) if weight > weights[0] / 2)
    sizes = outline.sums((block.place, block.size) for block in blocks)
    while area and outline.elements[area].tag in ("li", "td"):
        area = outline.parents[area]
    if sizes[area] < SHORT_TEXT and page.heading_elements:
        wider = area
        while wider and not outline.holds_heading(wider):
            wider = outline.parents[wider]
        area = wider or area
    return _whole(area, outline, sizes, weights, sums)


def _together(place: int, alone: set[int], outline: Outline) -> int:
    """Return the element that a line's block stands in together with others like it."""
    elements, parents = outline.elements, outline.parents
    if place in alone and elements[place].tag != "li":
        place = parents[place]
    while place and _shapes_text(elements[place]):
        place = parents[place]
    return place


def _shapes_text(el: Element) -> bool:
    """Return whether an element only shapes running text; many manuals have no tag for sections."""
    return el.tag in FLOW_TAGS or (el.tag == "div" and el.get("class", "").startswith("sect"))


def _alone(blocks: list[Block]) -> set[int]:
    """Return the elements that have one line of their own."""
    once: set[int] = set()
    again: set[int] = set()
    for block in blocks:
        (again if block.place in once else once).add(block.place)
    return once - again


def _whole(
    area: int,
    outline: Outline,
    sizes: list[float],
    weights: list[float],
    own: Mapping[int, float],
) -> int:
    """Return the element around an area and what belongs to it.

    That is all the elements beside it that are made alike, and the lines that the element around it
    has of its own, if they are many.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for place in range(1, len(outline.parents)):
        if sizes[place] >= ALIKE_BYTES:
            children[outline.parents[place]].append(place)
    place = area
    levels = ALIKE_LEVELS
    while place and levels:
        parent = outline.parents[place]
        made = _manner(outline.elements[place])
        alike = sum(
            weights[other]
            for other in children[parent]
            if other != place and _manner(outline.elements[other]) == made
        )
        levels -= 1
        goes_on = own.get(parent, 0) >= OWN_SHARE * sizes[place]
        if goes_on or (alike > 0 and alike >= ALIKE_SHARE * weights[place]):
            area = parent
            levels = ALIKE_LEVELS
        place = parent
    return area


def _manner(el: Element) -> tuple[str, str]:
    """Return what two parts of one text have in common: the tag and the first class."""
    first, *_ = el.get("class", "").split(None, 1) or [""]
    return el.tag, first


def _inside(area: int, outline: Outline, blocks: list[Block]) -> list[Block]:
    inside = [False] * len(outline.elements)
    inside[area] = True
    for place in range(area + 1, len(inside)):
        inside[place] = inside[outline.parents[place]]
    found = [block for block in blocks if inside[block.place]]
    if not outline.roles[area] & DOUBTFUL:
        found = _without_named(DOUBTFUL, found, outline)
    long = [block for block in found if block.size >= LONG_LINE]
    size = sum(block.size for block in long)
    if size >= max(LONG_BYTES, LONG_SHARE * sum(block.size for block in found)):
        return long
    return found
