"""Finds the main text of a page: the lines that are likely to be of it."""

from collections.abc import Iterable

import numpy as np

from scrapy_simhash.extraction.likelihood import likelihoods
from scrapy_simhash.extraction.outline import Flags, Ints
from scrapy_simhash.extraction.page import Page, is_picture, sizes_of
from scrapy_simhash.extraction.roles import SUBHEADING, TITLE

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
    weights = np.zeros_like(page.lengths)
    numbers = candidates(page)
    if numbers.size:
        doubt = likelihoods(page, numbers) / DOUBT
        weights[numbers] = np.rint(SURE * (doubt + 1) / 2).clip(0, SURE)
    return weights


def with_lines_between(page: Page, weights: Ints, own: Flags, text: Flags) -> Ints:
    """Return weights by which a line between two of the main text has the lesser of theirs.

    A heading has it. A short line, such as an item of a list, has it between two that
    are made alike. A link has no more than its own weight: it is main text in a text,
    but not below it, where links to the next mail stand.

    Args:
        page: the page.
        weights: of each line.
        own: for each line whether it is content.
        text: for each line whether it is main text, whatever stands beside it.
    """
    is_long = (page.sizes >= MIN_LINE) & (text | ~page.in_links)
    weighed = weights * (text | (weights < TAKEN))
    lines = np.flatnonzero(own & ~is_long & (page.roles & TITLE == 0))
    around = _around(weighed[is_long], page.manners[is_long])
    around = around[:, is_long.cumsum()[lines]]
    weighed[lines] = np.where(
        page.in_links[lines], np.minimum(around[0], weights[lines]), around[1]
    )
    # Beside lines that are less sure, a heading may be left over from a list.
    is_heading = (around[0] >= TAKEN) & (page.roles[lines] & SUBHEADING != 0)
    weighed[lines[is_heading]] = around[0, is_heading]
    return weighed


def _around(weights: Ints, manners: Ints) -> Ints:
    """Return weights before each long line and after the last: of any line, and of short ones."""
    between = np.minimum(np.append(0, weights), np.append(weights, 0))
    alike = np.append(0, manners) == np.append(manners, 0)
    return np.stack((between, between * alike))


def is_thin(page: Page, text: Flags) -> bool:
    """Return whether no main text stands out, but at most some lines of a page."""
    sizes = page.sizes
    least = min(THIN_BYTES_OF_MUCH, THIN_SHARE * sizes.sum())
    return bool(sizes[text].sum() < max(THIN_BYTES, least))


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
