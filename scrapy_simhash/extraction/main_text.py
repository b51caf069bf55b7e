"""Finds the main text of a page: the lines that are likely to be of it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from scrapy_simhash.extraction.likelihood import Lines, likelihoods
from scrapy_simhash.extraction.outline import Flags, Ints, Outline
from scrapy_simhash.extraction.page import Page, is_picture, sizes_of
from scrapy_simhash.extraction.roles import FIELD, TITLE

# Sizes are UTF-8 bytes, not characters: 80 bytes are about 80 Latin letters or 27 Han characters,
# which say about as much.
#: A shorter line may be a label, a byline, a date: templates have others in their place.
MIN_LINE = 20
#: How far from 0 the log odds are of a line that surely is main text, or surely is not.
DOUBT = 2.0
#: The weight of a line that surely is main text, and the least of one that is taken for it.
SURE, TAKEN = 3, 2
#: A text of fewer bytes is no main text. One of fewer than the second number is none, either, if it
#: is less than this share of all that the page shows.
THIN_BYTES = 150
THIN_BYTES_OF_MUCH = 450
THIN_SHARE = 0.1
_MARK = re.compile("[,.;:!?，、。；：！？]")
_ENDS = tuple('.:!?。；：！？…"”’」』')


class MainText(NamedTuple):
    """The lines that may be a page's main text, by their numbers, and their weights."""

    lines: Ints
    weights: Ints

    @property
    def taken(self) -> Ints:
        """The numbers of the lines that are taken for it."""
        return self.lines[self.weights >= TAKEN]

    def of(self, text: Ints) -> "MainText":
        """Return a main text that keeps only some of the lines that were taken for it."""
        stays = (self.weights < TAKEN) | np.isin(self.lines, text)
        return MainText(self.lines[stays], self.weights[stays])

    def with_short_lines(self, page: Page, outline: Outline, own: Flags) -> "MainText":
        """Return a main text with the short lines between two long ones that are made alike.

        They are a part of it, such as an item of a list or a heading, and have the lesser weight.

        Args:
            page: the page.
            outline: of all its lines.
            own: for each line whether it is content.
        """
        weights = np.zeros(len(own), np.intp)
        weights[self.lines] = self.weights
        long = np.flatnonzero(page.sizes >= MIN_LINE)
        manners = outline.manners[outline.places[long]]
        alike = manners[:-1] == manners[1:]
        between = alike * np.minimum(weights[long[:-1]], weights[long[1:]])
        is_short: Flags = own & (page.sizes < MIN_LINE) & (2 * page.linked < page.lengths)
        is_short &= outline.roles[outline.places] & (TITLE | FIELD) == 0
        short = np.flatnonzero(is_short)
        weights[short] = np.concatenate(([0], between, [0]))[np.searchsorted(long, short)]
        lines = np.flatnonzero(weights)
        return MainText(lines, weights[lines])


def main_text(page: Page, outline: Outline) -> MainText:
    """Return the lines that may be a page's main text.

    The main text is made of the lines of the weight ``TAKEN`` or more. In another template the odds
    of a line are others, but few lines go from the least weight to the greatest.

    Args:
        page: the page.
        outline: of all its lines.
    """
    lines = candidates(page, outline)
    if lines is None:
        return MainText(*2 * [np.empty(0, np.intp)])
    doubt = likelihoods(lines, outline) / DOUBT
    weights = np.rint(SURE * (doubt.clip(-1, 1) + 1) / 2).astype(np.intp)
    may_be = weights > 0
    return MainText(lines.numbers[may_be], weights[may_be])


def is_thin(page: Page, text: Ints | Flags) -> bool:
    """Return whether no main text stands out, but at most some lines of a page."""
    sizes = page.sizes
    size = int(sizes[text].sum())
    return size < THIN_BYTES or size < min(THIN_BYTES_OF_MUCH, THIN_SHARE * int(sizes.sum()))


def candidates(page: Page, outline: Outline) -> Lines | None:
    """Return the lines that may be main text, if there are any."""
    sizes = page.sizes
    numbers = np.flatnonzero(sizes >= MIN_LINE)
    numbers = numbers[outline.roles[outline.places[numbers]] & (TITLE | FIELD) == 0]
    if not len(numbers):
        return None
    texts = [page.texts[number] for number in numbers.tolist()]
    heading = page.heading_line
    linked = page.linked[numbers] / page.lengths[numbers]
    return Lines(
        numbers,
        outline.places[numbers],
        sizes[numbers].astype(np.float64),
        np.minimum(linked, 1),
        np.array([len(_MARK.findall(text)) for text in texts]),
        np.array([text.endswith(_ENDS) for text in texts]),
        numbers >= (len(sizes) if heading is None else heading),
        numbers < (heading or 0),
    )


def thin_text(page: Page, lines: Iterable[str]) -> str:
    """Return what a page without main text shows: its lines, and pictures by their names."""
    names = [address.rpartition("/")[2] for address in page.pictures]
    text = "\n".join(lines)
    # A page that shows nothing repeats none, because all pages of a program have the same trackers.
    shows = sizes_of(text).sum() >= MIN_LINE
    return "\n".join(filter(None, [text, *(name for name in names if shows or is_picture(name))]))
