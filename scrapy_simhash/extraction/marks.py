"""Takes from a page the marks that it is known by, and the entries and labels of its content."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise

import numpy as np

from scrapy_simhash.extraction.declared import LONGEST_VALUE, MOST, TOKEN
from scrapy_simhash.extraction.outline import Flags, Ints
from scrapy_simhash.extraction.page import Page
from scrapy_simhash.extraction.roles import CODE, SUBHEADING, TERM, Element

_DIGIT = re.compile(r"\d")
#: Bytes, without spaces, of a page that shows little, and of one that shows hardly
#: anything.
_FEW, SHELL = 500, 200
_NAMING = frozenset(("og:title", "og:description", "description"))
# Under these names a page tells programs its headings, or the name of its site.
_NAMES = frozenset(
    "@type alternativeHeadline caption headline keywords name title".split()
)
# Two visits of one page are told different dates and counts.
_CHANGING = re.compile("date|time|count|modified|published", re.IGNORECASE)
_ADDRESS = re.compile(r"/|\w+://")
# "Rooms: 3", but no hour, and no address.
_LABEL = re.compile(r"([^\d:\uff1a]{2,60})(?::(?!//|\d\d)|\uff1a)")
_LONGEST_PART = 60
#: An archive may have all of its texts in one list, and differ in the last of them.
_MOST_LINKS = 4000
# "Edition", but no sentence, and nothing with a number.
_NAME = re.compile(r"(?=.*[^\W_])[^\d.!?\u3002\uff01\uff1f]{2,40}")
# A link to such a file leads to no page; the address of the file may be all that
# differs.
_FILES = frozenset(
    "csv doc docx epub gz iso mobi mp3 mp4 odp ods odt ogg pdf ppt pptx ps rar rtf xls xlsx xz zip"
    " 7z".split()
)


def said(page: Page) -> Flags:
    """Return of each line whether it stands outside links, or is the value of a label.

    A value may be a link, such as a telephone number. A heading is no value of the line
    before it, but the name of the page if it leads to the page itself. Names of entries
    are told without digits, because teasers and menus count in them.
    """
    is_heading = page.roles & SUBHEADING != 0
    short = page.in_links & (page.lengths <= _LONGEST_PART)
    found: Flags = ~page.in_links
    found[1:] |= _after_labels(page, short & ~is_heading)
    for line in np.flatnonzero(short & ~found).tolist():
        holder = page.holders[line]
        if is_heading[line]:
            found[line] = page.folder.resolved(holder.get("href", "")) == page.target
        elif _label(page.texts[line]):
            found[line] = holder.tag != "a"
    return found


def _after_labels(page: Page, links: Flags) -> Flags:
    """Return of each line but the first whether it is one of some links, and has a label before it.

    That is a term, or a name before a lone link.
    """
    terms = page.roles & TERM != 0
    labels = ~page.in_links & (page.roles & SUBHEADING == 0)
    if page.has_h1 and (heading := page.heading_line) is not None:
        labels[heading : heading + 1] = False
    follows = links[1:] & labels[:-1]
    found: Flags = follows & terms[:-1] & ~terms[1:]
    follows[:-1] &= ~page.in_links[2:]
    for before in np.flatnonzero(follows & ~found).tolist():
        found[before] = bool(_NAME.fullmatch(page.texts[before]))
    return found


def _label(text: str) -> re.Match[str] | None:
    """Return the label before a colon with which a text begins."""
    # To look for a colon takes a tenth of the time.
    return _LABEL.match(text) if ":" in text or "\uff1a" in text else None


def shown_bytes(page: Page, own: Flags) -> int:
    """Return how many bytes the content of a page has, without spaces."""
    return int(page.sizes[own].sum())


def marks(page: Page, own: Flags, few: bool, thin: bool) -> tuple[str, ...]:
    """Return what tells pages apart whose texts do not.

    These are the values that it states for programs, which readers do not see. Of a
    page that shows little, they are also the addresses of its images and frames; if it
    has no main text, or one of links, the targets of its links; if it shows hardly
    anything, its own address, what its head calls it, and names and addresses in what
    it states.

    Args:
        page: the page.
        own: for each of its lines whether it is content.
        few: whether it has no main text, or one that stands in links.
        thin: whether it has no main text.
    """
    shown = shown_bytes(page, own)
    is_shell = few and shown < SHELL
    stated = (
        f"{name} {value}"
        for name, value in page.stated
        if not _CHANGING.search(name)
        and (is_shell or not (name in _NAMES or _ADDRESS.match(value)))
    )
    found = [*islice(chain(_named(page) if is_shell else (), stated), MOST)]
    if few or shown < _FEW:
        found += page.pictures
    if few:
        found += islice(targets(page, own, thin), _MOST_LINKS)
    return (*found, page.canonical) if is_shell else tuple(found)


def pairs(page: Page, own: Flags) -> Iterator[tuple[str, str]]:
    """Yield the labels in the content with their values, such as ("Rooms", "3").

    A label is a term of a list or the head of a row in a table, or has a colon behind
    it. A program below a label is no value of it.
    """
    texts = pairwise([*page.lines(own), ""])
    roles = pairwise([*page.roles[own].tolist(), 0])
    for (text, following), (role, role_below) in zip(texts, roles, strict=True):
        name = text if role & TERM else ""
        value = following if name or not role_below & CODE else ""
        if label := _label(text):
            name, value = label[1], text[label.end() :].strip() or value
        if name and value and max(len(name), len(value)) <= _LONGEST_PART:
            yield name.strip(), value


def listed(page: Page, own: Flags, few: bool) -> Iterator[str]:
    """Yield the entries of the lists of a page: the names of links in its content.

    A count may stand in a name, so the names are without digits. The entry of a link to
    a file has its address as well. What frames and players show is an entry, too.
    Beside a text, a link to another page of the folder in which the page is, or is
    declared to be, is a teaser. A page that shows little may show no more than
    pictures, and so may one that has more of them than lines.

    Args:
        page: the page.
        own: for each of its lines whether it is content.
        few: whether it has no main text, or one that stands in links.
    """
    # One line may have many links, and one element many lines.
    blocks = _blocks(page, page.places[own & page.in_links])
    links = [*islice(chain.from_iterable(el.iter("a") for el in blocks), _MOST_LINKS)]
    # All at once, because a call for each name takes longer than what it does.
    names = _DIGIT.sub("", "\0".join(map(_name_of, links))).split("\0")
    for link, name in zip(links, names, strict=False):
        target = page.folder.resolved(link.get("href", "")).partition("?")[0]
        if target.rpartition(".")[2].lower() in _FILES:
            yield f"{target} {name.strip()}"
        elif few or not page.canonical_folder.has(target):
            yield name.strip()
    if few:
        yield from page.pictures
        return
    # The query of a player says how it plays, and that of a frame which advertisement
    # it shows.
    yield from (address.partition("?")[0] for address in page.embedded)
    lines = len({*page.lines(own)})
    if len(page.images) > lines and len({*page.gallery}) > lines:
        yield from page.gallery


def _named(page: Page) -> Iterator[str]:
    for meta in page.metas:
        name = (meta.get("name") or meta.get("property") or "").lower()
        if name in _NAMING:
            yield f"{name} {meta.get('content', '')[:LONGEST_VALUE]}"


def targets(page: Page, own: Flags, thin: bool) -> Iterator[str]:
    """Yield where links of the content and a redirection lead, but not to other parts of a list.

    Beside a main text, the name of a link tells where it leads. Links that sort a list
    or turn its pages have its path, and all parameters of the page itself. So a path
    that several targets with other parameters share is left out, and what all of them
    have.
    """
    yield from _redirections(page)
    links = islice(_links(page, own), _MOST_LINKS)
    resolved = (
        TOKEN.sub("*", page.folder.resolved(link.get("href", "")))
        for link in (links if thin else _untold(links))
    )
    for path, queries in _by_path(resolved).items():
        common = set.intersection(*queries)
        if len(queries) == 1:
            yield "?".join((path, *sorted(common)))
        else:
            yield from ("&".join(sorted(query - common)) for query in queries)


def _redirections(page: Page) -> Iterator[str]:
    # Scrapy follows no redirection that waits long, and saved pages are not followed at
    # all.
    for meta in page.metas:
        if meta.get("http-equiv", "").lower() == "refresh":
            yield meta.get("content", "")[:LONGEST_VALUE]


def _by_path(addresses: Iterable[str]) -> dict[str, list[set[str]]]:
    """Return the parameters of each of several addresses, by their paths."""
    queries = defaultdict[str, list[set[str]]](list)
    for address in filter(None, dict.fromkeys(addresses)):
        path, _, query = address.partition("?")
        queries[path].append({*filter(None, query.split("&"))})
    return queries


def _untold(links: Iterable[Element]) -> Iterator[Element]:
    """Yield the links that no name of their own tells apart: none, a number, or one of several."""
    named = defaultdict[str, list[Element]](list)
    for link in links:
        named[_name_of(link)].append(link)
    for name, found in named.items():
        if (
            not name
            or _DIGIT.search(name)
            or len({link.get("href") for link in found}) > 1
        ):
            yield from found


def _name_of(link: Element) -> str:
    """Return the name of a link."""
    # Links that are left open all hold the rest of the page.
    name = (
        "".join(islice(link.itertext(), LONGEST_VALUE))
        if len(link)
        else link.text or ""
    )
    return name[:LONGEST_VALUE].strip()


def _links(page: Page, own: Flags) -> Iterator[Element]:
    """Return the links of a page that do not stand in its template alone."""
    apart = {*_blocks(page, np.setdiff1d(page.places[~own], page.places[own]))}
    return (el for el in page.body.iter("a") if el.getparent() not in apart)


def _blocks(page: Page, places: Ints) -> list[Element]:
    """Return the elements at some places, each once, in the order of the page."""
    return [page.outline.elements[place] for place in sorted({*places.tolist()})]
