"""Tells which lines of a page are its own, and which are the site's.

The subject of a page are the lines that are likely main text. Its region is the
smallest element that holds subject and heading. Content is what the region says outside
the site's parts, and what stands elsewhere and is no part of the site either. Each
function is a sentence of docs/decides.md.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, compress
from typing import NamedTuple

import numpy as np

from scrapy_simhash.extraction.main_text import is_thin as says_little
from scrapy_simhash.extraction.outline import Flags, Ints
from scrapy_simhash.extraction.page import Page
from scrapy_simhash.extraction.roles import (
    AGAINST_LINES,
    ASIDE,
    COMMENT,
    FOOTER,
    HIDDEN,
    HINTS,
    MAIN,
    NAMED_FOOTER,
    OUTER,
    SUBHEADING,
    TERM,
    TITLE,
)

#: The share of the subject that the region holds: a text may have a stray line, and a
#: table or a form has others beside it.
_MOST_OF_TEXT, _MOST_OF_FIELDS = 0.9, 0.6
#: Links are the subject where they are this many times all that the page says outside
#: links.
_MUCH = 4
#: Everything below the heading is content if it is this many times the rest of the
#: content.
_MOST = 2.5
#: Short lines made alike are fields from this number on; a clock or a cart is one or
#: two lines.
_ROW = 3
#: A line with four numbers has a street and a telephone; a date and an hour have three.
_MANY_NUMBERS = 4
#: Characters of a line that is a sentence, and no field; a Chinese one has some 40.
_LONG = 100
#: Characters of a text that a part of the site may have beside a table.
_NO_TEXT = 150
#: This many lines of links are a list if they have more characters than the rest of the
#: content.
LIST = 5
_PRICE = re.compile(
    r"[$\u00a3\u00a5\u20a0-\u20cf\uffe5]\s?\d|\d\s?(?:[\u00a3\u20a0-\u20cf]|\u5143|\u5186|\uc6d0|EUR|USD|kr\b|z\u0142"
    r"|\u0440\u0443\u0431)"
)
_DIGIT = re.compile(r"\d")
# No piece of an id, such as 4f3a9c21. To look for a digit first takes a third of the
# time.
_NUMBER = re.compile(r"\d(?<!\w\d)[\d.,:/-]*(?!\w)")
# Two in a line are the quote of a share, and what it gained.
_QUOTE = re.compile(r"\d(?<![\d.,]\d)\d*[.,]\d\d(?![.,]?\d)")
#: A count hardly ever has such a number by chance.
_ID = re.compile(r"\d{3,}")
_COLON = re.compile("[:\uff1a]")
_COUNT = re.compile(r"([^\d:\uff1a]{1,30})[:\uff1a]\s?\d[\d.,]*$")
# The sign behind a heading that links to it: "Milling \u00b6", "Milling#". Without it,
# a name such as "C#" is a letter, which any title has.
_PERMALINK = re.compile(r"(?<=\S\S)\s?[^\w\s]\Z")
_OFFERED = re.compile(r"(?:price|availability|amount|currency)$", re.IGNORECASE)


class Content(NamedTuple):
    """The lines of a page that are its own; each array has one value for each line.

    Attributes:
        own: the line is content.
        text: it is main text; no line is if no text stands out.
        is_list: links make up most of the content.
    """

    own: Flags
    text: Flags
    is_list: bool


class _Lines(NamedTuple):
    """The lines of a page; each array has one value for each line.

    Attributes:
        page: the page.
        is_said: the line stands outside links.
        is_long: it does, and is a sentence.
        site: the roles of the site's parts, as bits.
        is_sites: tags, attributes or plain names say that the line is a part of the
            site.
        is_plain: not even a hint says so.
    """

    page: Page
    is_said: Flags
    is_long: Flags
    site: int
    is_sites: Flags
    is_plain: Flags

    def size(self, which: Flags) -> float:
        """Return the characters of some lines."""
        return float(self.page.lengths @ which)

    def since(self, line: int) -> Flags:
        """Return the lines from one on that are plain, or in ``main`` and no part of the site."""
        since: Flags = self.is_plain | (~self.is_sites & (self.page.roles & MAIN != 0))
        since[:line] = False
        return since


def content_of(page: Page, is_likely: Flags) -> Content:
    """Return the content of a page.

    Args:
        page: a page.
        is_likely: for each line whether it is likely main text.
    """
    if not page.texts:
        return Content(is_likely, is_likely, False)
    lines = _lines_of(page, is_likely)
    own = _own(lines, is_likely)
    title = page.title.casefold()
    names = {_PERMALINK.sub("", name.casefold()) for name in page.headings}
    if not page.has_h1:
        names.discard(title)  # it may be the site's
    if not any(name in title for name in names):
        in_header = ~lines.is_long & (page.roles & (lines.site | FOOTER) == OUTER)
        own |= _may_be_name(lines, ~own & (in_header | ~lines.is_sites))
    is_list = _is_list(lines, own)
    # Another link is text where it stands between two lines of the text.
    text = is_likely & own & (is_list | lines.is_said)
    return Content(own, text, is_list)


def _own(lines: _Lines, is_likely: Flags) -> Flags:
    """Find the subject, what its region says outside the site's parts, and content elsewhere.

    All that stands below the heading is content if it is most of the page.
    """
    page = lines.page
    subject, is_thin = _subject(lines, is_likely)
    region = _region(lines, subject, _MOST_OF_FIELDS if is_thin else _MOST_OF_TEXT)
    branches = page.outline.branches(region)[page.places]
    own: Flags = subject | ((branches == region) & ~lines.is_sites)
    own |= _elsewhere(lines, branches, region, is_thin=is_thin)
    own[_counts_of_authors(lines, own)] = False
    heading = page.heading_line
    below = lines.since(int(subject.argmax()) if heading is None else heading)
    if lines.size(own) < max(_LONG, lines.size(below) / _MOST):
        own |= below
    return own


def _is_list(lines: _Lines, own: Flags) -> bool:
    """Return whether links make up most of the content."""
    links = own & ~lines.is_said
    return bool(
        links.sum() >= LIST and lines.size(links) > lines.size(own & lines.is_said)
    )


def _lines_of(page: Page, is_likely: Flags) -> _Lines:
    """Find the site's parts.

    They are navigation, asides, dialogs, notices, hidden elements, and the header and
    footer of the site, unless elements of such a kind hold most of the text. Beside
    ``main``, headers and footers of the site are its own whatever they hold.
    """
    roles, sizes = page.roles, page.lengths
    is_said = ~page.in_links
    text = is_said & is_likely
    if sizes @ text < _LONG:
        text = is_said
    believed = _believed(roles, sizes * (text & (roles & SUBHEADING == 0)))
    # A footer may say more than a list of links, and the header of a shop more than its
    # page. An element around the heading is neither.
    if page.heading_line is not None:
        believed |= NAMED_FOOTER
    if (roles & MAIN).any():
        believed |= OUTER
    site = believed & ~HINTS
    return _Lines(
        page=page,
        is_said=is_said,
        is_long=is_said & (sizes >= _LONG),
        site=site,
        is_sites=roles & site != 0,
        is_plain=roles & believed == 0,
    )


def _believed(roles: Ints, sizes: Ints) -> int:
    """Return the roles that speak against a line: such elements do not hold most of the text."""
    found = (roles[:, None] & AGAINST_LINES).astype(np.bool_)
    return int(AGAINST_LINES @ (sizes @ found <= max(_NO_TEXT, sizes.sum() / 2)))


def _subject(lines: _Lines, is_likely: Flags) -> tuple[Flags, bool]:
    """Return the lines that the page is about, and whether it is thin.

    They are the likely main text outside links and outside the site's parts. A page
    without it is thin, and is about what it says below its heading, or about the links
    there.
    """
    text = is_likely & lines.is_said & lines.is_plain
    if not says_little(lines.page, text):
        return text, False
    below = lines.since(lines.page.heading_line or 0)
    if (in_main := below & (lines.page.roles & MAIN != 0)).any():
        below = in_main
    said = below & lines.is_said
    if lines.size(below) > (_MUCH + 1) * lines.size(said):
        said = below
    for found in (said, below, lines.is_said):
        if found.any():
            return found, True
    return np.ones_like(said), True


def _region(lines: _Lines, subject: Flags, share: float) -> int:
    """Return the smallest element that holds the subject and the nearest ``h1`` above it."""
    page, outline = lines.page, lines.page.outline
    # The heading alone may be most of a page that says little.
    below = subject & (page.roles & TITLE == 0)
    said = below if below.any() else subject
    sums = outline.sums(
        np.bincount(page.places, page.lengths * said, len(outline.numbers))
    )
    region = int(np.flatnonzero(sums >= share * sums[0])[-1])
    if (heading := _heading(lines, subject)) is None:
        return region
    first, last = sorted((region, int(page.places[heading])))
    return int(np.flatnonzero(outline.holds(first, last))[-1])


def _heading(lines: _Lines, subject: Flags) -> int | None:
    """Return the line of the nearest ``h1`` above the subject, else of the first one."""
    headings = np.flatnonzero(lines.page.roles & TITLE)
    above = headings[headings <= subject.argmax()]
    return next(iter([*above[-1:], *headings[:1]]), None)


def _elsewhere(lines: _Lines, branches: Ints, region: int, *, is_thin: bool) -> Flags:
    """Find what no region holds, and is the page's own all the same.

    It is what ``main`` has, what readers write, long sentences, and fields, unless tags
    or names speak against them.
    """
    page = lines.page
    is_short = lines.is_said & ~lines.is_long
    # A line after a link belongs to a teaser, unless the link is in a menu.
    follows = is_short & (branches != region)
    follows[1:] &= page.in_links[:-1] & (branches[:-1] == branches[1:])
    follows[0] = False
    own: Flags = lines.is_plain & (lines.is_long | (page.roles & (MAIN | COMMENT) != 0))
    # Fields may be in an aside, or in a tab that is not open. A page that says little
    # may have them in any part that is seen.
    no_fields = lines.site & (HIDDEN if is_thin else ~(ASIDE | HIDDEN))
    rows = _rows(page, branches, is_short, follows)
    own[rows] |= page.roles[rows] & (no_fields | SUBHEADING) == 0
    single = is_short & ~follows & ~own & ~lines.is_sites
    terms = page.roles & TERM != 0
    own |= single & (terms | np.append(False, terms[:-1]))
    single &= ~own
    own[single] = [*map(_is_fact, page.lines(single))]
    return own


def _rows(page: Page, branches: Ints, is_short: Flags, follows: Flags) -> Ints:
    """Find rows of fields: three short lines or more, made alike, that stand together.

    They stand in one part of the page, and in elements of one, because the cells of a
    table stand in rows. They are no fields if most of them follow links.
    """
    parents = page.outline.parents
    numbers = np.flatnonzero(is_short & (page.places != branches))
    together = np.maximum(branches, parents[parents[parents[page.places]]])
    alike = (together * len(parents) + page.manners)[numbers]
    rows, after = Counter(alike.tolist()), Counter(alike[follows[numbers]].tolist())
    is_field = [rows[row] >= max(_ROW, 2 * after[row]) for row in alike.tolist()]
    return numbers[is_field]


def _may_be_name(lines: _Lines, others: Flags) -> Flags:
    """Return which other lines may be the name of a page whose title has no ``h1``.

    It may stand beside the text or in the site's header, as the name of a user stands
    beside teasers. A line with a number may be a clock or a count, unless it is a
    heading, or the address of the page has the number and that is no small one. A line
    with links or a colon is a label, and one in the header that the title has, such as
    "Category: Mills", is known as a heading.
    """
    page = lines.page
    in_site = others & lines.is_sites
    values = [_COLON.split(text)[-1].strip() for text in page.lines(in_site)]
    others[in_site] = [value not in page.title for value in values]
    is_heading = page.roles & SUBHEADING != 0
    others &= is_heading | (page.linked == 0)
    named = {*_ID.findall(page.target)}
    is_plain = others & ~is_heading
    others[is_plain] = [
        named.issuperset(_NUMBER.findall(text)) and not text.endswith((":", "\uff1a"))
        for text in page.lines(is_plain)
    ]
    return others


def _is_fact(text: str) -> bool:
    """Return whether a line is a field by itself: with a price, a quote or many numbers."""
    if not _DIGIT.search(text):
        return False
    is_long = len(_NUMBER.findall(text)) >= _MANY_NUMBERS
    return is_long or bool(_PRICE.search(text)) or len(_QUOTE.findall(text)) > 1


def _counts_of_authors(lines: _Lines, own: Flags) -> list[int]:
    """Return the lines such as "Posts: 17" of the authors of texts.

    They are made alike, and there are one or two of them beside each text. Fields of
    what the text is about are three or more.
    """
    labels = _labels_of_counts(lines, own)
    counts = [*labels]
    manners = lines.page.manners[counts].tolist()
    texts = _various(zip(manners, lines.is_long.cumsum()[counts].tolist(), strict=True))
    names = _various(zip(manners, labels.values(), strict=True))
    is_author = (texts[made] > 1 and names[made] < _ROW for made in manners)
    return [*compress(counts, is_author)]


def _labels_of_counts(lines: _Lines, own: Flags) -> dict[int, str]:
    """Return by its line the label of each count that stands in no element with a long text."""
    page = lines.page
    parents = page.outline.parents[page.places]
    texts = np.bincount(parents[lines.is_long], minlength=len(page.outline.numbers))
    short = np.flatnonzero(own & lines.is_said & (texts[parents] == 0)).tolist()
    return {
        line: match[1]
        for line in short
        if _COLON.search(page.texts[line]) and (match := _COUNT.match(page.texts[line]))
    }


def _various(pairs: Iterable[tuple[int, int | str]]) -> Counter[int]:
    """Return how many different values each key has."""
    return Counter(key for key, _ in {*pairs})


def offers(page: Page) -> Iterator[str]:
    """Yield the prices and stocks that a page names to search engines."""
    properties = (
        (meta.get("property", ""), meta.get("content", "")) for meta in page.metas
    )
    for name, value in chain(page.stated, properties):
        if _OFFERED.search(name[-20:]):
            yield f"{name[-20:]} {value[:99]}"
