"""Finds the content of a page: the lines in which a change is one of the page, and of no other.

The main text is a part of it. The short lines between its lines belong to it as well (a label, a
price, a cell of a table), and lists of links beside it, but no menu, advertisement or sidebar.
"""

import re
from collections.abc import Iterator
from itertools import chain, compress

import numpy as np

from scrapy_simhash.extraction.outline import Ints, Outline
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
)

#: Tags and attributes say that a line is of the site, where names would only hint at it.
_OF_THE_SITE = NAVIGATION | FOOTER | NAMED_FOOTER | HEADER | ASIDE | DIALOG | HIDDEN | NOTICE
_PRICE = re.compile(
    r"[$\u00a3\u00a5\u20a0-\u20cf\uffe5]\s?\d|\d\s?(?:[\u00a3\u20a0-\u20cf]|\u5143|\u5186|\uc6d0|EUR|USD|kr\b|z\u0142"
    r"|\u0440\u0443\u0431)"
)
#: Characters of a line that is no label and no teaser; in Chinese, a sentence has some 40.
_LONG = 100
_OFFERED = re.compile(r"(?:price|availability|amount|currency)$", re.IGNORECASE)


def content(page: Page, outline: Outline, taken: Ints) -> tuple[str, list[int]]:
    """Return the lines of a page's content with what it offers, and where lists may stand.

    Beyond the main text, a line belongs to the content if nothing speaks against it, and it stands
    in the smallest element that holds all of the main text, or names a price, or is as long as a
    paragraph outside links. Where all of this has less than half of what nothing speaks against,
    the page is a list, and the rest belongs to the content, too. A list may stand on any line of
    what nothing speaks against, because its names may be fewer than the words above them.

    Args:
        page: the page.
        outline: of all its lines.
        taken: the numbers of the lines of its main text, at least one.
    """
    roles = outline.roles[outline.places]
    numbers, beyond = np.arange(len(roles)), roles & AGAINST == 0
    # A page of links has its longest lines in the footer.
    below = numbers[beyond & (numbers >= (page.heading_line or 0))]
    taken = next(filter(len, (taken[roles[taken] & _OF_THE_SITE == 0], below)), taken)
    first, last = taken[0], taken[-1]
    if page.heading_line is not None and page.heading_line < last:
        first = min(first, page.heading_line)
    near = (first <= numbers) & (numbers <= last) & (roles & _OF_THE_SITE == 0)
    near[taken] = True
    sizes = np.fromiter(map(len, page.texts), np.float64)
    in_text = np.bincount(outline.places[taken], sizes[taken], len(outline.parents))
    sums = outline.sums(in_text.astype(np.float64))
    area = int(np.flatnonzero(sums == sums[0])[-1])
    wide = near | (beyond & (first <= numbers))
    near |= beyond & (outline.distances(area)[outline.places] == 0)
    for line in np.flatnonzero(beyond & ~near).tolist():
        text = page.texts[line]
        near[line] = _PRICE.search(text) or (
            len(text) >= _LONG and 2 * page.linked[line] < len(text)
        )
    stays = near if 2 * sizes[near].sum() >= sizes[wide].sum() else wide
    text = "\n".join([*compress(page.texts, stays.tolist()), *offers(page)])
    return text, np.flatnonzero(wide).tolist()


def offers(page: Page) -> Iterator[str]:
    """Yield the prices and stocks that a page names to search engines."""
    properties = ((meta.get("property", ""), meta.get("content", "")) for meta in page.metas)
    for name, value in chain(page.stated, properties):
        if _OFFERED.search(name[-20:]):
            yield f"{name[-20:]} {value[:99]}"
