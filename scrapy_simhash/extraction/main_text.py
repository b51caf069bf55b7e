"""Finds the main text of a page: the lines that are likely to be of it."""

from collections.abc import Iterable

import numpy as np

from scrapy_simhash.extraction.likelihood import likelihoods
from scrapy_simhash.extraction.outline import Flags, Ints
from scrapy_simhash.extraction.page import Page, is_picture, sizes_of
from scrapy_simhash.extraction.roles import TITLE

# Sizes are UTF-8 bytes, not characters: 80 bytes are about 80 Latin letters or 27 Han
# characters, which say about as much.
#: A shorter line may be a label, a byline, a date: templates have others in their
#: place.
MIN_LINE = 20
#: How far from 0 the log odds are of a line that surely is main text, or surely is not.
DOUBT = 2.0
#: The weight of a line that surely is main text, and the least of one that is taken for
#: it.
SURE, TAKEN = 3, 2
#: A text of fewer bytes is no main text. One of fewer than the second number is none,
#: either, if it is less than this share of all that the page shows.
THIN_BYTES = 150
THIN_BYTES_OF_MUCH = 450
THIN_SHARE = 0.1


def main_text(page: Page) -> Ints:
    """Return for each line of a page how surely it is main text; 0 if it is not.

    The main text is made of the lines of the weight ``TAKEN`` or more. In another
    template the odds of a line are others, but few lines go from the least weight to
    the greatest.
    """
    weights = np.zeros(len(page.texts), np.intp)
    numbers = candidates(page)
    if len(numbers):
        doubt = likelihoods(page, numbers) / DOUBT
        weights[numbers] = np.rint(SURE * (doubt.clip(-1, 1) + 1) / 2)
    return weights


def with_lines_between(page: Page, weights: Ints, own: Flags, text: Flags) -> Ints:
    """Return weights by which a line between two of the main text has the lesser of theirs.

    A short line, such as a heading or an item of a list, has it between two that are
    made alike. A link has no more than its own weight: it is main text in a text, but
    not below it, where links to the next mail stand.

    Args:
        page: the page.
        weights: of each line.
        own: for each line whether it is content.
        text: for each line whether it is main text, whatever stands beside it.
    """
    is_long = (page.sizes >= MIN_LINE) & (text | ~page.in_links)
    weighed = np.where(text | (weights < TAKEN), weights, 0)
    long = np.flatnonzero(is_long)
    lines = np.flatnonzero(own & ~is_long & (page.roles & TITLE == 0))
    around = _around(weighed[long], page.manners[long])
    around = around[:, np.searchsorted(long, lines)]
    weighed[lines] = np.where(
        page.in_links[lines], np.minimum(around[0], weights[lines]), around[1]
    )
    return weighed


def _around(weights: Ints, manners: Ints) -> Ints:
    """Return the weights of links, and of short lines, before each long line and after the last."""
    around = np.zeros((2, len(weights) + 1), np.intp)
    around[:, 1:-1] = np.minimum(weights[:-1], weights[1:])
    around[1, 1:-1] *= manners[:-1] == manners[1:]
    return around


def is_thin(page: Page, text: Flags) -> bool:
    """Return whether no main text stands out, but at most some lines of a page."""
    sizes = page.sizes
    size = int(sizes[text].sum())
    return size < THIN_BYTES or size < min(
        THIN_BYTES_OF_MUCH, THIN_SHARE * int(sizes.sum())
    )


def candidates(page: Page) -> Ints:
    """Return the numbers of the lines that may be main text."""
    return np.flatnonzero((page.sizes >= MIN_LINE) & (page.roles & TITLE == 0))


def thin_text(page: Page, lines: Iterable[str]) -> str:
    """Return what a page without main text shows: its lines, and pictures by their names."""
    names = [address.rpartition("/")[2] for address in page.pictures]
    text = "\n".join(lines)
    # A page that shows nothing repeats none, because all pages of a program have the
    # same trackers.
    shows = sizes_of(text).sum() >= MIN_LINE
    return "\n".join(
        filter(None, [text, *(name for name in names if shows or is_picture(name))])
    )
