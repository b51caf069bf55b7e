"""Tells which lines of a page are its own, and which are the site's.

The page's are its main text; what stands in the element that holds the text and its heading; and
fields anywhere else: short lines that are made alike, or a price. The site's are menus, headers,
footers, teasers, and single lines elsewhere, such as a clock, a cart, a copyright. Fingerprint,
sketches and state are of the page's lines.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simhash.extraction.outline import Floats, Ints, Outline
from scrapy_simhash.extraction.page import Page
from scrapy_simhash.extraction.roles import (
    AGAINST,
    ASIDE,
    DIALOG,
    FOOTER,
    HEADER,
    HIDDEN,
    NAMED_FOOTER,
    NAVIGATION,
    NOTICE,
    TITLE,
)

Flags = npt.NDArray[np.bool_]

#: Tags and attributes say that a line is the site's, where names would only hint at it.
_AROUND = NAVIGATION | FOOTER | NAMED_FOOTER | HEADER | DIALOG | HIDDEN | NOTICE
_OF_THE_SITE = _AROUND | ASIDE
#: A text may have a stray line, so the element that holds it has this share of it.
_MOST_OF_TEXT = 0.9
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
_OFFERED = re.compile(r"(?:price|availability|amount|currency)$", re.IGNORECASE)


class Content(NamedTuple):
    """The lines of a page that are its own.

    Attributes:
        own: for each line of the page whether it is content.
        entries: numbers of the lines on which the entries of a list may stand. They are more than
            the content, because the names in a list may be fewer than the words above them.
        is_list: the page has its content in links.
    """

    own: list[bool]
    entries: list[int]
    is_list: bool


def content_of(page: Page, outline: Outline, text: Ints) -> Content:
    """Return the content of a page.

    Args:
        page: the page.
        outline: of all its lines.
        text: the numbers of the lines of its main text, at least one.
    """
    roles = outline.roles[outline.places]
    numbers, is_of_site = np.arange(len(roles)), roles & _OF_THE_SITE != 0
    sizes = np.fromiter(map(len, page.texts), np.float64)
    is_said = 2 * np.fromiter(page.linked, np.float64) <= sizes
    # A page of links has its longest lines in the footer.
    below = numbers[(roles & AGAINST == 0) & (numbers >= (page.heading_line or 0))]
    held = next(filter(len, (text[~is_of_site[text]], below, text)))
    area = _area(outline, held, sizes, roles)
    branches = outline.branches(area)[outline.places]
    within = branches == area
    is_short = is_said & (sizes < _LONG)
    # A line after a link belongs to a teaser, unless the link is that of a menu.
    is_after = np.append(False, ~is_said[:-1] & (branches[:-1] == branches[1:])) & ~within
    is_row = _in_rows(outline, is_short, is_short & is_after)
    # The head and the foot of an article may hold its fields, those of the site may not.
    is_field = is_row & (roles & np.where(within, NAVIGATION, _AROUND) == 0)
    own = within & ~is_of_site | is_field
    own |= is_said & (sizes >= _LONG) & (roles & AGAINST == 0)
    own[held] = True
    for line in np.flatnonzero(is_short & ~is_after & ~own & ~is_of_site).tolist():
        own[line] = _is_fact(page, line)
    first = held[0] if page.heading_line is None else min(held[0], page.heading_line)
    wide = (roles & AGAINST == 0) & (first <= numbers)
    if 2 * sizes[own].sum() < sizes[wide].sum():
        own |= wide
    links = sizes[own & ~is_said]
    is_list = 2 * sizes[text[~is_said[text]]].sum() > sizes[text].sum()
    is_list |= len(links) >= _LIST and links.sum() > sizes[text].sum()
    return Content(own.tolist(), np.flatnonzero(wide).tolist(), bool(is_list))


def _is_fact(page: Page, line: int) -> bool:
    """Return whether a line is a field by itself: by its tag, with a price or with many numbers."""
    is_named = any(holder.tag in _TERMS for holder in page.holders[max(0, line - 1) : line + 1])
    text = page.texts[line]
    return is_named or bool(_PRICE.search(text)) or len(_NUMBER.findall(text)) >= _NUMBERS


def _in_rows(outline: Outline, is_short: Flags, is_after: Flags) -> Flags:
    """Return which short lines are made alike, unless most of those stand after links."""
    manners = outline.manners[outline.places]
    alike, after = (
        np.bincount(manners[lines], minlength=len(outline.parents))[manners]
        for lines in (is_short, is_after)
    )
    rows: Flags = is_short & (alike >= _ROW) & (2 * after <= alike)
    return rows


def _area(outline: Outline, text: Ints, sizes: Floats, roles: Ints) -> int:
    """Return the smallest element that holds the main text and the nearest ``h1`` above it."""
    in_text = np.bincount(outline.places[text], sizes[text], len(outline.parents))
    sums = outline.sums(in_text.astype(np.float64))
    area = int(np.flatnonzero(sums >= _MOST_OF_TEXT * sums[0])[-1])
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
