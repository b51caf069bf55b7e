"""Tells which lines of a page are its own, and which are the site's.

The page's are its main text; what stands in the element that holds the text and its heading; and
fields anywhere else: short lines that are made alike, or a price. The site's are menus, headers,
footers, teasers, and single lines elsewhere, such as a clock, a cart, a copyright. Fingerprint,
sketches and state are of the page's lines.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simhash.extraction.main_text import is_thin
from scrapy_simhash.extraction.outline import Floats, Ints, Outline
from scrapy_simhash.extraction.page import Page
from scrapy_simhash.extraction.roles import (
    ASIDE,
    CAPTION,
    COMMENT,
    DIALOG,
    DOUBTFUL,
    HIDDEN,
    MAIN,
    NAMED_FOOTER,
    NAVIGATION,
    NOTICE,
    OUTER,
    TITLE,
    UNLIKELY,
)

Flags = npt.NDArray[np.bool_]

#: Tags and attributes say that a line is the site's, where names would only hint at it.
_KINDS = (NAVIGATION, OUTER, NAMED_FOOTER, DIALOG, HIDDEN, NOTICE, ASIDE)
_HINTS = DOUBTFUL | UNLIKELY | CAPTION
#: A text may have a stray line, so the element that holds it has this share of it.
_MOST_OF_TEXT = 0.9
#: A table or a form has others beside it, such as the line of a copyright.
_MOST_OF_FIELDS = 0.6
#: Links are the page itself if they are so many times all that it says outside links.
_MUCH = 4
#: What is below the heading is content if it is so many times the rest of it.
_MOST = 2.5
#: Short lines that are made alike are fields from this number on; a clock or a cart is one or two.
_ROW = 3
#: A line of so many numbers has a street and telephone; one of a date and an hour has three.
_NUMBERS = 4
#: The names of fields; the line after one is its value.
_TERMS = frozenset(("dt", "th"))
#: Characters of a line that is a sentence, and no field; in Chinese, one has some 40.
_LONG = 100
#: Lines of links are a list from this number on, if they have more characters than the main text.
_LIST = 5
_PRICE = re.compile(
    r"[$\u00a3\u00a5\u20a0-\u20cf\uffe5]\s?\d|\d\s?(?:[\u00a3\u20a0-\u20cf]|\u5143|\u5186|\uc6d0|EUR|USD|kr\b|z\u0142"
    r"|\u0440\u0443\u0431)"
)
# No piece of an id, such as 4f3a9c21.
_NUMBER = re.compile(r"(?<!\w)\d[\d.,:/-]*(?!\w)")
#: The levels between the lines of a row and the element that holds it.
_LEVELS = 3
_QUOTE = re.compile(r"(?<![\d.,])\d+[.,]\d\d(?![.,]?\d)")
_COUNT = re.compile(r"[^\d:\uff1a]{1,30}[:\uff1a]\s?\d[\d.,]*$")
_OFFERED = re.compile(r"(?:price|availability|amount|currency)$", re.IGNORECASE)


class Content(NamedTuple):
    """The lines of a page that are its own.

    Attributes:
        own: for each line of the page whether it is content.
        text: the numbers of the lines of the main text; there are none if none stands out.
        entries: numbers of the lines on which the entries of a list may stand. They are more than
            the content, because the names in a list may be fewer than the words above them.
        is_list: the page has its content in links.
    """

    own: list[bool]
    text: Ints
    entries: list[int]
    is_list: bool


def content_of(page: Page, outline: Outline, likely: Ints) -> Content:
    """Return the content of a page.

    Args:
        page: the page, which has lines.
        outline: of all of them.
        likely: the numbers of those that are likely main text.
    """
    roles = outline.roles[outline.places]
    numbers = np.arange(len(roles))
    sizes = np.fromiter(map(len, page.texts), np.float64)
    is_said = 2 * np.fromiter(page.linked, np.float64) <= sizes
    text = likely[is_said[likely]]
    text = text if sizes[text].sum() >= _LONG else numbers[is_said]
    site = _believed(roles[text], sizes[text])
    is_of_site, is_plain = roles & site != 0, roles & (site | _HINTS) == 0
    heading = page.heading_line or 0
    candidates = likely[is_said[likely] & ~is_of_site[likely]]
    held = candidates[is_plain[candidates]]
    if 2 * sizes[held].sum() < sizes[candidates].sum():
        held = candidates
    thin, share = is_thin(page, held), _MOST_OF_TEXT
    if thin:
        # A table, a form, a list: what is said below the heading, or else the links there.
        below = numbers[is_plain & (numbers >= heading)]
        inner = below[roles[below] & MAIN != 0]
        below = inner if len(inner) else below
        said, links = below[is_said[below]], below[~is_said[below]]
        if sizes[links].sum() > _MUCH * sizes[said].sum():
            said = below
        else:
            share = _MOST_OF_FIELDS
        held = next(filter(len, (said, below, numbers[is_said], numbers)))
    area = _area(outline, held, sizes, roles, share)
    branches = outline.branches(area)[outline.places]
    within = branches == area
    is_short, is_long = is_said & (sizes < _LONG), is_said & (sizes >= _LONG)
    # A line after a link belongs to a teaser, unless the link is that of a menu.
    is_after = np.append(False, ~is_said[:-1] & (branches[:-1] == branches[1:])) & ~within
    is_row = _in_rows(outline, is_short, is_short & is_after)
    # The head and the foot of an article may hold its fields, those of the site may not.
    apart = np.where(within, NAVIGATION, HIDDEN if thin else ~ASIDE) & site
    is_field = is_row & (roles & apart == 0)
    own = within & ~is_of_site | is_field
    own |= is_long & is_plain
    own |= (roles & MAIN != 0) & is_plain
    own |= (roles & COMMENT != 0) & (roles & (site | DOUBTFUL) == 0)
    own[held] = True
    own[_counts_beside_texts(page, outline, is_long, is_short & within)] = False
    for line in np.flatnonzero(is_short & ~is_after & ~own & ~is_of_site).tolist():
        own[line] = _is_fact(page, line)
    first = min(held[0], heading) if thin or heading else held[0]
    wide = is_plain & (first <= numbers)
    if _MOST * sizes[own].sum() < sizes[wide].sum() or (thin and sizes[own].sum() < _LONG):
        own |= wide
    text = likely[own[likely]]
    is_list = 2 * sizes[text[~is_said[text]]].sum() > sizes[text].sum()
    links = sizes[own & ~is_said]
    is_list |= len(links) >= _LIST and links.sum() > sizes[own & is_said].sum()
    return Content(own.tolist(), text, np.flatnonzero(wide).tolist(), bool(is_list))


def _is_fact(page: Page, line: int) -> bool:
    """Return whether a line is a field by itself: by its tag, with a price or with many numbers."""
    is_named = any(holder.tag in _TERMS for holder in page.holders[max(0, line - 1) : line + 1])
    text = page.texts[line]
    return (
        is_named
        or bool(_PRICE.search(text))
        or len(_NUMBER.findall(text)) >= _NUMBERS
        or len(_QUOTE.findall(text)) > 1
    )


def _believed(roles: Ints, sizes: Floats) -> int:
    """Return the kinds of elements that hold no more than half of a text."""
    return sum(kind for kind in _KINDS if 2 * sizes[roles & kind != 0].sum() <= sizes.sum())


def _in_rows(outline: Outline, is_short: Flags, is_after: Flags) -> Flags:
    """Return which short lines are made alike, and stand together, unless most come after links."""
    manners = outline.manners[outline.places]
    alike, after = (
        np.bincount(manners[lines], minlength=len(outline.parents))[manners]
        for lines in (is_short, is_after)
    )
    rows: Flags = is_short & (alike >= _ROW) & (2 * after <= alike)
    lines = np.flatnonzero(rows)
    # In one element, or in elements of one; the cells of a table stand in rows.
    parents, most = np.fromiter(outline.parents, np.intp), 0
    around = outline.places[lines]
    for _ in range(_LEVELS):
        around = parents[around]
        made = around * len(parents) + manners[lines]
        _, ranks, counts = np.unique(made, return_inverse=True, return_counts=True)
        most = np.maximum(most, counts[ranks])
    rows[lines] = most >= _ROW
    return rows


def _counts_beside_texts(
    page: Page, outline: Outline, is_long: Flags, is_short: Flags
) -> list[int]:
    """Return the lines that count something of the author of a text, one or two beside each.

    They are made alike, such as "Posts: 17", and stand in another element than the text. Fields of
    what the text is about are three or more.
    """
    parents, manners = outline.parents, outline.manners[outline.places].tolist()
    places, before = outline.places.tolist(), is_long.cumsum().tolist()
    holders = {parents[places[line]] for line in np.flatnonzero(is_long).tolist()}
    alike = defaultdict[int, Counter[int]](Counter)
    found = []
    for line in np.flatnonzero(is_short).tolist():
        if parents[places[line]] not in holders and _COUNT.match(page.texts[line]):
            alike[manners[line]][before[line]] += 1
            found.append(line)
    return [
        line
        for line in found
        if len(texts := alike[manners[line]]) > 1 and max(texts.values()) < _ROW
    ]


def _area(outline: Outline, text: Ints, sizes: Floats, roles: Ints, share: float) -> int:
    """Return the smallest element that holds the main text and the nearest ``h1`` above it."""
    in_text = np.bincount(outline.places[text], sizes[text], len(outline.parents))
    sums = outline.sums(in_text.astype(np.float64))
    area = int(np.flatnonzero(sums >= share * sums[0])[-1])
    headings = np.flatnonzero(roles & TITLE)
    if len(headings):
        above = headings[headings <= text[0]]
        place = int(outline.places[above[-1] if len(above) else headings[0]])
        around = {*outline.way(place)}
        area = next(each for each in outline.way(area) if each in around)
    return area


def offers(page: Page) -> Iterator[str]:
    """Yield the prices and stocks that a page names to search engines."""
    properties = ((meta.get("property", ""), meta.get("content", "")) for meta in page.metas)
    for name, value in chain(page.stated, properties):
        if _OFFERED.search(name[-20:]):
            yield f"{name[-20:]} {value[:99]}"
