"""A page as lines of text in document order, from one parse and one pass over the tree."""

import re
from collections.abc import Iterable
from functools import cached_property
from html import unescape
from itertools import chain, compress, islice
from typing import Any

import numpy as np
from lxml import etree

from scrapy_simhash.extraction.addresses import Folder, absolute, path_of
from scrapy_simhash.extraction.declared import (
    LONGEST_VALUE,
    MOST,
    canonical_address,
    stated,
)
from scrapy_simhash.extraction.moments import with_moments
from scrapy_simhash.extraction.outline import Flags, Ints, Outline
from scrapy_simhash.extraction.roles import INLINE_TAGS, UNSEEN_TAGS, Element

#: Elements of a page that are looked at; what comes after them is not part of its text.
MAX_ELEMENTS = 50_000
_INSIDE_LINES = frozenset(("a", "img", *INLINE_TAGS))
#: Stripped tags leave the text around them in pieces, which lxml joins in quadratic
#: time.
_MAX_STRIPPED = 20_000
#: A tag is looked at in pieces of so many bytes, and is cut where those without its end
#: have more words than this: the parser takes quadratic time for the attributes of one
#: element.
_LONG_TAG = 4096
_MANY_WORDS = 1000
#: Values in a piece that may hold a ``>``.
_MANY_VALUES = 20
#: Tags that are looked at before they are stripped, or that stand in a head, and kinds
#: of them.
_MARKED = {
    **{tag: tag for tag in ("base", "link", "meta", "script", "template")},
    **dict.fromkeys(("svg", "math"), "drawing"),
    **dict.fromkeys(("input", "option"), "field"),
    **dict.fromkeys(("i", "span", "td"), "icon"),
    **dict.fromkeys(
        ("frame", "iframe", "embed", "object", "video", "audio", "source"), "embedded"
    ),
}
_IN_HEAD = ("base", "link", "meta", "noscript", "script", "style", "template", "title")
# These attributes name the file of an image. Before a script has run, the "src" of a
# lazy one is that of all others.
_SOURCES = (
    "data-src",
    "data-original",
    "data-lazy-src",
    "data-srcset",
    "src",
    "srcset",
    "data",
)
_PICTURES = (".avif", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")
_LONGEST_HEAD = 200_000  # bytes
_MAX_HEADINGS = 9  # of a sort that are looked at, because some are empty
# A reader neither sees nor chooses what other fields hold, such as tokens.
_WRITTEN = frozenset(
    ("text", "email", "tel", "number", "url", "date", "time", "month", "week")
)
# Characters that lxml reads but does not take; they become spaces.
_NOT_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), " ")
#: The front page of a site, as a link to it is resolved.
_HOME = re.compile(r"(?://[^/?]{1,255})?/(?:index\.\w{1,5})?")
#: Parts of the site, of which an article has its own header and footer, and elements
#: that have them.
_PARTS = frozenset("nav aside header footer article main section".split())


class Page:
    """The lines of a page and what it calls itself.

    The three lists of lines run side by side: a page has some hundred lines, and an
    object for each would cost as much as all the rest.

    Attributes:
        body: the root of all that is shown, without inline elements but links and
            images.
        path: of its own address, as a text shows it.
        target: its own address, as :attr:`folder` resolves a link to it.
        folder: from which the relative addresses in it start.
        texts: the text of each line, with moments in UTC; runs of spaces are those of
            the source.
        shown: all lines.
        sizes: how many bytes each line has without spaces.
        holders: the element that a line stands in, or the link that it begins with.
        lengths: how many characters each line has.
        linked: how many of these stand in links.
        in_links: whether these are more than half of a line.
        embedded: the addresses of what frames and players show, outside menus, headers,
            footers and asides.
        images: the elements ``img``.
        told: what fields of forms, icons and pictures say in words, such as a number of
            stars.
        metas: the attributes of the elements ``meta``.
        scripts: all elements of this name.
        stated: names and values that the page states for programs, see
            :mod:`.declared`.
        canonical: the address that it declares canonical, resolved; or nothing.
        canonical_folder: the folder of this address, if that is on the page's host and
            no front page; else :attr:`folder`.
        titles: all elements from ``h1`` to ``h4``, each with how many lines come before
            it.
        has_h1: there is an ``h1`` in its source.
        title: the text of ``<title>``.
        elements: all elements that are looked at, in document order.
        outline: those that stand around lines.
        places: the block that a line stands in, by its number in the outline.
        roles: the roles of that and of all around it, as bits.
        manners: for each line a number that all lines share which are made alike.
    """

    def __init__(self, html: str | bytes, url: str = "") -> None:
        data = with_short_tags(encoded(html))
        root = parse(data)
        self.body = _body(root)
        words = self._read_unseen(_marked(root), data, url)
        _strip(self.body, data)
        # The title of a drawing is stripped by now.
        self.title = next(map(inner_text, root.iter("title")), "")
        # They are freed last, and from the end: whenever lxml frees an element, it
        # climbs to the nearest ancestor that is still held, which far down a page is
        # quadratic work.
        self.elements = [*islice(self.body.iter(), MAX_ELEMENTS)]
        self.titles: dict[str, list[tuple[int, Element]]]
        self.titles = {"h1": [], "h2": [], "h3": [], "h4": []}
        self._read_lines()
        self.has_h1 = bool(self.titles["h1"])
        if self.title and not self.has_h1:
            _head(self)
        _rename(self)
        headings = [el for _, el in self.titles["h1"][:3]]
        self.outline = Outline(self.body, self.holders, headings)
        self.places = self.outline.places
        self.roles = self.outline.roles[self.places]
        self.manners = self.outline.manners[self.places]
        # Words of pictures in links belong to teasers.
        named = (
            el for el in self.images if el.get("alt") and el.getparent().tag != "a"
        )
        words += [el.get("alt") for el in named if _is_shown(el)]
        self.told = [
            single_spaced(text) for text in words if 0 < len(text) < LONGEST_VALUE
        ]

    def _read_unseen(
        self, marked: dict[str, list[Element]], data: bytes, url: str
    ) -> list[str]:
        """Read what is stripped later, and return what fields and icons say in words.

        lxml takes longer to strip what is still held.
        """
        _show_shadows(marked["template"])
        _close_drawings(marked["drawing"])
        base = next((el.get("href", "")[:LONGEST_VALUE] for el in marked["base"]), "")
        base = absolute(base, url) or url
        self.folder = Folder(base)
        self.path = path_of(url)
        self.target = self.folder.resolved(url)
        self.canonical = absolute(canonical_address(marked["link"]), base)
        is_apart = self.folder.resolved(self.canonical)[:2] in ("", "/", "//")
        self.canonical_folder = self.folder if is_apart else Folder(self.canonical)
        self.metas = [dict(el.items()) for el in marked["meta"][:MOST]]
        self.scripts = marked["script"]
        self.stated = [*stated(self.metas, self.scripts)]
        # A picture itself has one of its sources.
        embedded = (el for el in marked["embedded"] if el.getparent().tag != "picture")
        shown = filter(_is_shown, islice(embedded, MOST))
        self.embedded = [
            *filter(None, (_picture_address(el, self.folder) for el in shown))
        ]
        empty = (el for el in marked["icon"] if not (el.text or len(el)))
        icons = islice(filter(None, map(_icon_name, empty)), MOST)
        return [*map(_value, marked["field"][:MOST]), *icons]

    def _read_lines(self) -> None:
        """Find the lines and the pictures."""
        pieces: list[str] = []  # a line begins with NUL, which no text has
        linked: list[int] = []
        self.holders: list[Element] = []
        self.images: list[Element] = []
        # Tails, by the element they stand before.
        late: dict[Element, list[tuple[Element, str]]] = {}
        is_open = False  # whether what comes next continues the last line

        def begin(holder: Element, text: str) -> None:
            pieces.append(f"\0{text}")
            linked.append(len(text) if holder.tag == "a" else 0)
            self.holders.append(holder)

        # The one loop over all elements; calls for each of them would double its time.
        for el in self.elements:
            if late and el in late:
                for holder, text in late.pop(el):
                    begin(holder, text)
                is_open = True
            tag, text, tail = el.tag, el.text, el.tail
            # Unknown elements are inline: those of components and of word processors.
            if tag in _INSIDE_LINES or not tag.isalnum():
                if tag == "img":
                    self.images.append(el)
                elif text and is_open:
                    pieces.append(text)
                    if tag == "a":
                        linked[-1] += len(text)
                elif text and not text.isspace():
                    begin(el, text)
                    is_open = True
                if tail and is_open and not len(el):
                    pieces.append(tail)
                    if tag == "img" and el.getparent().tag == "a":
                        linked[-1] += len(tail)
                    continue
            else:
                if tag in self.titles:
                    self.titles[tag].append((len(linked), el))
                is_open = False
                if text and not text.isspace():
                    begin(el, text)
                    is_open = True
            if tail and not tail.isspace():
                following = _following(el) if len(el) else None
                if following is None:
                    begin(el.getparent(), tail)
                    is_open = True
                else:
                    late.setdefault(following, []).insert(0, (el.getparent(), tail))
        self.images = self.images[:MOST]
        # All at once, because a call for each line takes longer than what it does.
        texts = unescape("".join(pieces)).replace("\n", " ").split("\0")[1:]
        texts = [text.strip() for text in texts]
        self.texts = [with_moments(text) if ":" in text else text for text in texts]
        self.lengths = np.fromiter(map(len, self.texts), np.intp)
        self.linked = np.fromiter(linked, np.intp)
        self.in_links = 2 * self.linked > self.lengths
        self.shown = "\n".join(self.texts)
        self.sizes = sizes_of(self.shown)

    def lines(self, which: Flags) -> list[str]:
        """Return the texts of some lines."""
        return [*compress(self.texts, which.tolist())]

    @cached_property
    def pictures(self) -> list[str]:
        """The addresses of pictures, and of what frames and players show.

        Few pages are asked for them, so they are not looked for before.
        """
        images = (
            _picture_address(el, self.folder) for el in self.images if _is_shown(el)
        )
        return [*self.embedded, *images]

    @property
    def gallery(self) -> list[str]:
        """The addresses of pictures that are no teasers, which are links to another page."""
        shown = (el for el in self.images if not _leads_on(el) and _is_shown(el))
        return [_picture_address(el, self.folder) for el in shown]

    @property
    def heading_line(self) -> int | None:
        """How many lines come before the first ``<h1>``, if there is one."""
        return next((line for line, _ in self.titles["h1"]), None)

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The texts of the first three ``<h1>`` that have any.

        A page without them is called by its first element of the class ``title``, too,
        as doxygen's are.
        """
        found = _texts((el for _, el in self.titles["h1"][:12]), 3)
        if found and self.has_h1:
            return found
        named = (el for el in self.elements if "title" in el.get("class", "").split())
        return (*dict.fromkeys(found + _texts(islice(named, _MAX_HEADINGS), 1)),)


def _texts(elements: Iterable[Element], most: int) -> tuple[str, ...]:
    return tuple(islice(filter(None, map(inner_text, elements)), most))


def inner_text(el: Element) -> str:
    """Return the text in an element on one line."""
    # Most have none in them, and an iterator takes longer than all the rest.
    # Some programs escape a text twice.
    return single_spaced(unescape("".join(el.itertext()) if len(el) else el.text or ""))


def single_spaced(text: str) -> str:
    """Return a text on one line, with single spaces between its words."""
    return " ".join(text.split())


def parse(data: bytes) -> Element:
    """Return the root of a page's tree; an empty one where there is no element at all.

    The page is as :func:`encoded` and :func:`with_short_tags` return it.
    """
    # A parser of its own for each page: one that threads share would make them wait.
    parser = etree.HTMLParser(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
        collect_ids=False,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.LxmlError:
        root = None
    return etree.Element("html") if root is None else root


def declared_address(html: str | bytes) -> str:
    """Return the address that the head of a page declares canonical, or nothing."""
    head = encoded(html)[:_LONGEST_HEAD].partition(b"</head")[0]
    return canonical_address(parse(with_short_tags(head)).iter("link"))


def encoded(html: str | bytes) -> bytes:
    """Return the page in UTF-8, without what no parser takes: NUL and lone surrogates."""
    data = html.encode("utf-8", "replace") if isinstance(html, str) else html
    return data.replace(b"\0", b"")


def with_short_tags(data: bytes) -> bytes:
    """Return the page with every tag cut that has more attributes than any page needs."""
    pieces = []
    in_tag = False
    words = 0
    for start in range(0, len(data), _LONG_TAG):
        piece = data[start : start + _LONG_TAG]
        end, outside = _last_end(data, start, start + len(piece))
        words = words + _words(outside) if in_tag and end < 0 else 0
        # Inside the quotes of one long value, a cut changes nothing but the value.
        if words > _MANY_WORDS:
            pieces.append(b">")
            words = 0
        in_tag = b"<" in piece[max(end - start, 0) :] or (in_tag and end < 0)
        pieces.append(piece)
    return b"".join(pieces)


def _last_end(data: bytes, start: int, stop: int) -> tuple[int, bytes]:
    """Return where the last ``>`` in a part of a page is that may end a tag, or -1, and the rest.

    A value holds one that comes after a quote with an equals sign before it, wherever
    the page has its values. The rest is what such values do not hold.
    """
    rest = b""
    for _ in range(_MANY_VALUES):
        end = data.rfind(b">", start, stop)
        if end < 0:
            break
        quotes = (data.rfind(quote, 0, end) for quote in (b'"', b"'"))
        opened = [at for at in quotes if at > 0 and _opens_value(data, at)]
        if not opened:
            return end, rest
        rest += data[end:stop]
        stop = max(opened)
    return -1, rest + data[start : max(start, stop)]


def _opens_value(data: bytes, quote: int) -> bool:
    # No page has more spaces here; a sign may stand before them.
    before = data[max(quote - 64, 0) : quote]
    return before.rstrip()[-1:] in (b"=", b"")


def _words(tag: bytes) -> int:
    """Return how many words a part of a tag has, at most; quotes and slashes part them, too."""
    return len(tag.split()) + sum(map(tag.count, (b'"', b"'", b"/")))


def _body(root: Element) -> Element:
    """Return the body of a page, with all that browsers show in it."""
    body = next(root.iterchildren("body"), root)
    # A body whose tag is left out begins with its first element; this parser knows few
    # of them.
    for head in root.iterchildren("head") if body is not root else ():
        body[:0] = [el for el in head if el.tag not in _IN_HEAD]
    # Browsers show what comes after the end of a body or of a page, and templates end
    # them early.
    if body.tail:
        etree.SubElement(body, "p").text = body.tail.translate(_NOT_XML)
        body.tail = None
    # All of them first: one that has moved into a root without a body would come again
    # and again.
    body.extend(
        [*islice(chain(body.itersiblings(), root.itersiblings()), MAX_ELEMENTS)]
    )
    return body


def _show_shadows(templates: Iterable[Element]) -> None:
    """Make elements of a page of the templates that browsers show at once.

    Components that a server renders have their text in them.
    """
    for template in templates:
        if template.get("shadowrootmode"):
            template.tag = "div"


def _strip(body: Element, data: bytes) -> None:
    """Take unseen elements out of a body, and the tags that stand inside lines."""
    # In C, and far faster than to look at each of them.
    etree.strip_elements(body, *UNSEEN_TAGS, with_tail=False)
    # NumPy counts in half of the time of the bytes themselves.
    if np.count_nonzero(np.frombuffer(data, np.uint8) == ord("<")) <= _MAX_STRIPPED:
        etree.strip_tags(body, *INLINE_TAGS)


def _marked(root: Element) -> dict[str, list[Element]]:
    """Return the elements of a page by their kind, each in document order."""
    found: dict[str, list[Element]] = {kind: [] for kind in _MARKED.values()}
    # One pass over the tree for all of them, because each takes a tenth of the time of
    # the parse.
    for el in root.iter(*_MARKED):
        found[_MARKED[el.tag]].append(el)
    return found


def _value(el: Element) -> str:
    """Return what a field holds that a reader writes into or chooses.

    What was written into a form that asks for a page is the question, and no value of
    the answer.
    """
    if el.tag == "option":
        return single_spaced(el.text or "") if "selected" in el.attrib else ""
    kind, value = el.get("type", "text").lower(), el.get("value", "")
    if "checked" in el.attrib:
        # All boxes of a form may have one value, and those that only show something
        # have none.
        value = f"[x] {el.get('name', '')[:LONGEST_VALUE]} {value} {el.tail or ''}"
    elif kind not in _WRITTEN or _is_asked(el):
        return ""
    return single_spaced(value[:LONGEST_VALUE])


def _is_asked(field: Element) -> bool:
    """Return whether a reader may write into a field of a form that says that it asks for a page.

    A form without a method may hold data for a script.
    """
    if "readonly" in field.attrib or "disabled" in field.attrib:
        return False
    form = next(field.iterancestors("form"), None)
    return form is not None and form.get("method", "").lower() == "get"


def _icon_name(el: Element) -> str:
    """Return what an element without text says that it shows; in a link it belongs to a teaser."""
    name: str = el.get("aria-label") or el.get("title", "")
    return name if name and el.getparent().tag != "a" else ""


def _is_shown(picture: Element) -> bool:
    """Return whether a picture is no part of the site; one of a pixel or two is a counter."""
    # To have them found by their names takes longer.
    around = [el.tag for el in picture.iterancestors() if el.tag in _PARTS]
    is_counter = {picture.get("width"), picture.get("height")} <= {"1", "2"}
    is_apart = "nav" in around or "aside" in around
    return not (is_counter or is_apart or around[-1:] in (["header"], ["footer"]))


def _picture_address(picture: Element, folder: Folder) -> str:
    """Return the address of a picture, with its query unless the file is named as a picture is.

    A file of another name is a program, such as ``thumb.php?id=7``: its query may be
    all that differs. The query of a picture tells its version or its size.
    """
    address = folder.resolved(next(filter(None, map(picture.get, _SOURCES)), ""))
    path = address.partition("?")[0]
    return path if is_picture(path) else address


def is_picture(name: str) -> bool:
    return name.lower().endswith(_PICTURES)


def _leads_on(picture: Element) -> bool:
    """Return whether a picture stands in a link to another page; one to a picture enlarges it."""
    link = next(picture.iterancestors("a"), None)
    return link is not None and not is_picture(link.get("href", "").partition("?")[0])


def _close_drawings(drawings: Iterable[Element]) -> None:
    """Make elements of a page of the drawings and formulas that were left open.

    HTML ends them in a browser; in this parser all that comes after them stands in
    them.
    """
    for el in islice(drawings, MOST):
        inside = el.iter("p", "div", "h1", "h2", "ul", "table", "foreignobject")
        first = next(inside, None)
        if first is not None and first.tag != "foreignobject":
            el.tag = "div"


def _head(page: Page) -> None:
    """Make an ``h1`` of the first line that is the whole title, but no link.

    It stands in the first half of what is said, because nothing above a heading may count.
    """
    title = page.title.casefold()
    said = np.flatnonzero(~page.in_links)
    upper = said[: len(said) // 2]
    lines = upper[page.lengths[upper] == len(page.title)].tolist()
    alike = [line for line in lines if page.texts[line].casefold() == title]
    for line in alike[:_MAX_HEADINGS]:
        el = page.holders[line]
        if inner_text(el).casefold() == title:
            el.tag = "h1"
            page.titles["h1"] = [(line, el)]
            break


def _rename(page: Page) -> None:
    """Make another heading the ``h1`` if the ``h1`` is the name of the site.

    It leads to the front page, and the other heading stands in the title. That may be
    the heading of a box beside the page, so the page begins where it did.
    """
    sites = [el for _, el in page.titles["h1"] if _leads_home(el, page.folder)]
    names = {"", *map(inner_text, sites)}
    for _, heading in chain.from_iterable(page.titles.values()) if sites else ():
        name = inner_text(heading)
        if name in page.title and name not in names:
            for el in sites:
                el.tag = "div"
            heading.tag = "h1"
            page.titles["h1"] = [(page.heading_line or 0, heading)]
            break


def _leads_home(heading: Element, folder: Folder) -> bool:
    """Return whether all of a heading is a link to the front page of a site."""
    if len(heading) != 1 or inner_text(heading) != inner_text(heading[0]):
        return False
    return bool(_HOME.fullmatch(folder.resolved(heading[0].get("href", ""))))


def sizes_of(text: str) -> Ints:
    """Return how many bytes each line of a text has without spaces."""
    codes = np.frombuffer(f"\n{text}\n".encode("utf-8", "surrogatepass"), np.uint8)
    breaks = np.flatnonzero(codes == ord("\n"))
    return np.add.reduceat(codes > ord(" "), breaks[:-1], dtype=np.intp)


def _following(el: Any) -> Any:
    """Return the element after all that is in this one, if it is not far up the tree."""
    for _ in range(16):
        following = el.getnext()
        if following is not None:
            return following
        el = el.getparent()
        if el is None:
            return None
    return None
