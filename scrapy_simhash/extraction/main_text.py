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


def with_short_lines(page: Page, weights: Ints, own: Flags) -> Ints:
    """Return weights in which a short line between two long ones that are made alike has one.

    It is a part of the main text, such as an item of a list or a heading, and has the
    lesser of their weights.

    Args:
        page: the page.
        weights: of each line.
        own: for each line whether it is content.
    """
    long = np.flatnonzero(page.sizes >= MIN_LINE)
    manners = page.manners[long]
    alike = manners[:-1] == manners[1:]
    between = alike * np.minimum(weights[long[:-1]], weights[long[1:]])
    is_short: Flags = own & (page.sizes < MIN_LINE) & (2 * page.linked < page.lengths)
    short = np.flatnonzero(is_short & (page.roles & TITLE == 0))
    weights = weights.copy()
    weights[short] = np.concatenate(([0], between, [0]))[np.searchsorted(long, short)]
    return weights


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
