"""Finds the main text of a page: the lines that are likely to be of it."""

import re
from itertools import compress
from typing import NamedTuple

import numpy as np

from scrapy_simhash.extraction.likelihood import Lines, likelihoods
from scrapy_simhash.extraction.outline import Floats, Ints, Outline
from scrapy_simhash.extraction.page import Page, single_spaced
from scrapy_simhash.extraction.roles import FIELD, FOOTER, HEADER, NAVIGATION, TITLE, Element
from scrapy_simhash.extraction.units import is_picture, picture

# Sizes are UTF-8 bytes, not characters: 80 bytes are about 80 Latin letters or 27 Han characters,
# which say about as much.
#: A shorter line is a label, a byline, a date: templates have others in their place.
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

# A script that begins with data: window.__INITIAL_STATE__ = {..., self.__next_f.push([..., or, as
# Nuxt has it, window.__NUXT__=(function(a,b){return {...
_STATE = re.compile(
    r"\s*(?:(?:var|let|const)\s{1,9})?[\w.$]{1,99}(?:\[['\"]\w{1,99}['\"]\])?\s{0,9}(?:\.push\(\[|"
    r"=\s{0,9}(?:[{\[]|JSON\.parse\(|\(function\([\w$, ]{0,9999}\)\s{0,9}\{return))"
)


class MainText(NamedTuple):
    """The lines that may be a page's main text, by their numbers, and their weights."""

    lines: Ints
    weights: Ints

    @property
    def taken(self) -> Ints:
        """The numbers of the lines that are taken for it."""
        return self.lines[self.weights >= TAKEN]


def main_text(page: Page, outline: Outline) -> MainText | None:
    """Return the lines that may be a page's main text; None if none stands out.

    The main text is made of the lines of the weight ``TAKEN`` or more. In another template the odds
    of a line are others, but few lines go from the least weight to the greatest.

    Args:
        page: the page.
        outline: of all its lines.
    """
    lines = candidates(page, outline)
    if lines is None:
        return None
    doubt = likelihoods(lines, outline) / DOUBT
    weights = np.rint(SURE * (doubt.clip(-1, 1) + 1) / 2).astype(np.intp)
    size = lines.sizes[weights >= TAKEN].sum()
    if size < THIN_BYTES_OF_MUCH and (
        size < THIN_BYTES or size < THIN_SHARE * _sizes_of(page.shown).sum()
    ):
        return None
    may_be = weights > 0
    return MainText(lines.numbers[may_be], weights[may_be])


def candidates(page: Page, outline: Outline) -> Lines | None:
    """Return the lines that may be main text, if there are any."""
    sizes = _sizes_of(page.shown)
    numbers = np.flatnonzero(sizes >= MIN_LINE)
    numbers = numbers[outline.roles[outline.places[numbers]] & (TITLE | FIELD) == 0]
    if not len(numbers):
        return None
    texts = [page.texts[number] for number in numbers.tolist()]
    heading = page.heading_line
    linked = np.array(page.linked)[numbers] / np.fromiter(map(len, texts), np.intp)
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


def _sizes_of(text: str) -> Ints:
    """Return how many bytes each line of a text has without spaces."""
    codes = np.frombuffer(f"\n{text}\n".encode("utf-8", "surrogatepass"), np.uint8)
    breaks = np.flatnonzero(codes == ord("\n"))
    return np.add.reduceat(codes > ord(" "), breaks[:-1], dtype=np.intp)


def shown_text(page: Page) -> tuple[str, list[bool]]:
    """Return all that a page shows outside navigation, header and footer by tag, and which lines.

    Each of them stays where it holds most of the text outside links. An image counts by the name
    of its file: a gallery shows little else. Where a page shows hardly anything, scripts make it
    of data in other scripts or in attributes, which counts then.
    """
    texts = page.texts
    outline = Outline(page, [*page.holders, *(image.getparent() for image in page.images)])
    roles = outline.roles[outline.places]
    gone = NAVIGATION | HEADER | FOOTER
    if texts:
        lengths = np.array(list(map(len, texts)))
        own = np.where(2 * np.array(page.linked) > lengths, 0, _sizes_of(page.shown))
        gone = _believed(roles[: len(texts)], own)
    stays = (roles & gone == 0).tolist()
    shown = map(picture, compress(page.images, stays[len(texts) :]))
    names = [address.rpartition("/")[2] for address in shown]
    lines = stays[: len(texts)]
    texts = [*compress(texts, lines)]
    # A page that shows nothing repeats none, because all pages of a program have the same trackers
    # and settings.
    shows = _sizes_of("\n".join(texts)).sum() >= MIN_LINE
    texts += [name for name in names if shows or is_picture(name)]
    if _sizes_of("\n".join(texts)).sum() < THIN_BYTES:
        scripts = [(el.text or "", _is_json(el)) for el in page.scripts]
        texts += [single_spaced(text) for text, is_json in scripts if is_json]
        if shows:
            states = [text for text, is_json in scripts if not is_json and _STATE.match(text)]
            values = [value for el in page.elements for value in el.values()]
            states += [value for value in values if value.startswith(("{", "["))]
            texts += map(single_spaced, states)
    return "\n".join(filter(None, texts)), lines


def _is_json(script: Element) -> bool:
    return script.get("type", "").endswith("json")  # type: ignore[no-any-return]


def _believed(roles: Ints, sizes: Ints | Floats) -> int:
    """Return those tags' roles that hold no more than half of the text outside links."""
    return sum(
        kind
        for kind in (NAVIGATION, HEADER, FOOTER)
        if 2 * sizes[(roles & kind) > 0].sum() <= sizes.sum()
    )
