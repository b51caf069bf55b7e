"""Takes from a page the lines outside links, and the marks that it is known by or leads to."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from scrapy_simhash.extraction.page import Page, single_spaced
from scrapy_simhash.extraction.targets import MOST, pictures, targets

_LONGEST = 300  # characters of a mark
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_TERMS = frozenset(("th", "td", "dt"))
#: A longer line is no name of a field, and no value that is a link; characters.
_LONGEST_FIELD = 40
_APART = frozenset(("nav", "header", "footer", "aside"))
#: Bytes of text outside links: few, and hardly any.
_FEW, _SHELL = 500, 200
_NAMING = frozenset(("og:title", "og:description", "description"))
# Two visits of one page are told different dates and counts.
_CHANGING = re.compile("date|time|count|modified|published", re.IGNORECASE)


def said(page: Page) -> list[str]:
    """Return the lines of a page that are not mostly links, and the values of its fields.

    The value of a field may be a link, such as the author of a book; teasers and menus are links
    as well, and are another list on each visit.
    """
    pairs = enumerate(zip(page.texts, page.linked, strict=True))
    lines = [text for at, (text, linked) in pairs if 2 * linked <= len(text) or _is_value(page, at)]
    return [*lines, *page.fields, *_told_by_pictures(page), *page.icons]


def _told_by_pictures(page: Page) -> Iterator[str]:
    """Yield what pictures say in words, such as the weather or a number of stars.

    Those of links belong to teasers and menus.
    """
    for el in islice(page.images, MOST):
        words = el.get("alt", "")[:_LONGEST]
        if words and el.getparent().tag != "a":
            yield single_spaced(words)


def _is_value(page: Page, at: int) -> bool:
    """Return whether a short line of links has a label: before a colon, or alone before the link.

    A heading is none, because teasers stand under it, and nor is a line with a number, which may
    be the date of the teaser before.
    """
    text, holder = page.texts[at], page.holders[at]
    if len(text) >= _LONGEST_FIELD or not at:
        return False
    if holder.tag == "a" or (":" not in text and "\uff1a" not in text):
        label, above = page.texts[at - 1], page.holders[at - 1].tag
        if page.linked[at - 1] or len(label) >= _LONGEST_FIELD or _DIGIT.search(label):
            return False
        # A value may be several links in a table, or in a list of terms.
        after = at + 1 < len(page.texts) and 2 * page.linked[at + 1] > len(page.texts[at + 1])
        if above in _HEADINGS or (after and above not in _TERMS):
            return False
    return next(holder.iterancestors(*_APART), None) is None


def marks(page: Page, said: str, few: bool) -> tuple[str, ...]:
    """Return what tells pages apart whose texts do not.

    These are what its head calls it, and what it states for programs, which readers do not see. Of
    a page with few words, also the addresses of its images and frames; if it has no main text, or
    one of links, the targets of links; if it says hardly anything, its own address, and those in
    what it states.

    Args:
        page: the page.
        said: its lines outside links.
        few: whether it has no main text, or one that stands in links.
    """
    size = len(said[:_FEW].encode("utf-8", "surrogatepass"))
    is_shell = few and size < _SHELL
    stated = (
        f"{name} {value}"
        for name, value in page.stated
        if not _CHANGING.search(name) and (is_shell or "://" not in value)
    )
    found = [*islice(chain(_named(page), stated), MOST)]
    if few or size < _FEW:
        found += [f"frame {address}"[:_LONGEST] for address in page.frames]
        found += pictures(page)
    if few:
        found += islice(targets(page), MOST)
    return (*found, page.canonical) if is_shell else tuple(found)


def listed(page: Page, lines: Iterable[int]) -> Iterator[str]:
    """Yield the names of the links in some lines of a page, and the addresses of its pictures.

    A count may stand in the name of a link, so the names are without digits.
    """
    found = [page.holders[at] for at in lines if 2 * page.linked[at] > len(page.texts[at])]
    # One line may have many links, of which it begins with the first, and one element many lines.
    holders = dict.fromkeys(el.getparent() if el.tag == "a" else el for el in found)
    links = chain.from_iterable(el.iter("a") for el in holders)
    for link in islice(links, MOST):
        name = "".join(link.itertext()) if len(link) else link.text or ""
        yield _DIGITS.sub("", name[:_LONGEST]).strip()
    yield from pictures(page)


def _named(page: Page) -> Iterator[str]:
    for meta in page.metas:
        name = (meta.get("name") or meta.get("property") or "").lower()
        if name in _NAMING:
            yield f"{name} {meta.get('content', '')[:_LONGEST]}"
