"""A page as lines of text in document order, from one parse and one pass over the tree."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt
from lxml import etree

from scrapy_simhash.extraction.addresses import Folder, absolute
from scrapy_simhash.extraction.declared import LONGEST_VALUE, MOST, canonical_address, stated
from scrapy_simhash.extraction.moments import with_moments
from scrapy_simhash.extraction.roles import INLINE_TAGS, UNSEEN_TAGS, Element

Ints = npt.NDArray[np.intp]

#: Elements of a page that are looked at; what comes after them is not part of its text.
MAX_ELEMENTS = 50_000
_INSIDE_LINES = frozenset(("a", "img", *INLINE_TAGS))
#: Stripped tags leave the text around them in pieces, which lxml joins in quadratic time.
_MAX_STRIPPED = 20_000
#: Bytes without ``>`` and words in them from which on a tag is cut: the parser takes quadratic
#: time for the attributes of one element.
_LONG_TAG = 4096
_MANY_WORDS = 400
#: Tags that are looked at before they are stripped, or that stand in a head, and kinds of them.
_MARKED = {
    **{tag: tag for tag in ("base", "meta", "script", "title", "template")},
    **dict.fromkeys(("svg", "math"), "drawing"),
    **dict.fromkeys(("input", "option"), "field"),
    **dict.fromkeys(("frame", "iframe", "embed", "object", "video", "audio"), "embedded"),
}
_FRAMES = ("frame", "iframe")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4"))
_MAX_HEADINGS = 9  # of a sort that are looked at, because some are empty
_MAX_LABELS = 10
_MAX_LABEL = 40  # bytes
_MAX_OPEN_DRAWINGS = 30
# A reader neither sees nor chooses what other fields hold, such as tokens.
_WRITTEN = frozenset(("text", "email", "tel", "number", "url", "date", "time", "month", "week"))
_CHOSEN = frozenset(("checkbox", "radio"))
# Characters that lxml reads but does not take; they become spaces.
_NOT_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), " ")
# In these an element without text says what it shows; that of a link belongs to a teaser.
_TOLD = [
    etree.XPath(
        f"descendant::*/@{name}[. != '' and string-length() < {LONGEST_VALUE}]"
        "[not(../node() or ../self::img or ../self::input or ../self::link)]"
        "[not(../self::frame or ../self::iframe)]"
        "[not(../self::a or ../../self::a)]",
        smart_strings=False,
    )
    for name in ("aria-label", "title")
]


@dataclass(slots=True)
class Page:
    """The lines of a page and what it calls itself.

    The three lists of lines run side by side: a page has some hundred lines, and an object for
    each would cost as much as all the rest.

    Attributes:
        body: the root of all that is shown, without inline elements but links and images.
        folder: from which the relative addresses in it start.
        texts: the text of each line, with moments in UTC; runs of spaces are those of the source.
        shown: all lines.
        sizes: how many bytes each line has without spaces.
        holders: the element that a line stands in, or the link that it begins with.
        lengths: how many characters each line has.
        linked: how many of these stand in links.
        in_links: whether these are more than half of a line.
        images: the images outside unseen elements, and one for each frame or player, which is known
            by its address as they are.
        metas: the attributes of the elements ``meta``.
        scripts: all elements of this name.
        stated: names and values that the page states for programs, see :mod:`.declared`.
        canonical: the address that it declares canonical, resolved; or nothing.
        fields: what is written into the fields of forms, and the options that are chosen in them.
        frames: the addresses of frames.
        icons: what empty elements outside links say in words, such as a number of stars.
        heading_elements: all elements ``h1``.
        heading_line: how many lines come before the first of them; None if there is none.
        subheadings: all elements ``h2``, each with how many lines come before it.
        title: the text of ``<title>``.
        elements: all elements that are looked at, in document order.
    """

    body: Element
    title: str
    folder: Folder
    texts: list[str] = field(default_factory=list)
    shown: str = ""
    sizes: Ints = field(default_factory=lambda: np.zeros(0, np.intp))
    holders: list[Element] = field(default_factory=list)
    lengths: Ints = field(default_factory=lambda: np.zeros(0, np.intp))
    linked: Ints = field(default_factory=lambda: np.zeros(0, np.intp))
    in_links: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    images: list[Element] = field(default_factory=list)
    metas: list[dict[str, str]] = field(default_factory=list)
    scripts: list[Element] = field(default_factory=list)
    stated: list[tuple[str, str]] = field(default_factory=list)
    canonical: str = ""
    fields: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    icons: list[str] = field(default_factory=list)
    heading_elements: list[Element] = field(default_factory=list)
    heading_line: int | None = None
    subheadings: list[tuple[int, Element]] = field(default_factory=list)
    # The last field, because it is freed last, and from its end: whenever lxml frees an element, it
    # climbs to the nearest ancestor that is still held, which far down a page is quadratic work.
    elements: list[Element] = field(default_factory=list)

    @property
    def headings(self) -> tuple[str, ...]:
        """The texts of the first three ``<h1>`` that have any.

        A page without them is called by its first element of the class ``title``, as doxygen's are.
        """
        found = _texts(self.heading_elements[:12], 3)
        if found:
            return found
        named = (
            el
            for el in islice(self.body.iter(), 1000)
            if "title" in (names := el.get("class", "")) and "title" in names.split()
        )
        return _texts(islice(named, _MAX_HEADINGS), 1)

    def subheading(self, text: str) -> str:
        """Return the last ``<h2>`` above the first long line of a main text, else the first one."""
        if not self.subheadings:
            return ""
        end = self._first_long_line(text)
        above = [el for line, el in self.subheadings if line < end][::-1]
        first = [el for _, el in self.subheadings[:_MAX_HEADINGS]]
        return "".join(_texts([*above[:_MAX_HEADINGS], *first], 1))

    def labels(self, text: str) -> tuple[str, ...]:
        """Return the last short lines above the first long one of a main text.

        A page without headings has its name in one of them.
        """
        above = zip(self.texts[: self._first_long_line(text)], self.in_links.tolist(), strict=False)
        short = [line for line, in_links in above if _is_short(line) and not in_links]
        return tuple(short[-_MAX_LABELS:])

    def _first_long_line(self, text: str) -> int:
        """Return how many lines come before a text's first long one that is no heading, or 0."""
        long = islice((line for line in text.split("\n") if not _is_short(line)), _MAX_LABELS)
        places = (self.texts.index(line) for line in long if line in self.texts)
        return next((at for at in places if _heading_around(self.holders[at]) is None), 0)


def _heading_around(el: Any) -> Any:
    """Return the heading that the holder of a line is or stands in, if there is one."""
    for _ in range(3):
        if el is None or el.tag in _HEADINGS:
            return el
        el = el.getparent()
    return None


def _texts(elements: Iterable[Element], most: int) -> tuple[str, ...]:
    return tuple(islice(filter(None, map(inner_text, elements)), most))


def inner_text(el: Element) -> str:
    """Return the text in an element on one line."""
    # Most have none in them, and an iterator takes longer than all the rest.
    # Some programs escape a text twice.
    return single_spaced(unescape("".join(el.itertext()) if len(el) else el.text or ""))


def _is_short(line: str) -> bool:
    return len(line) < _MAX_LABEL and len(line.encode("utf-8", "surrogatepass")) < _MAX_LABEL


def single_spaced(text: str) -> str:
    """Return a text on one line, with single spaces between its words."""
    return " ".join(text.split())


def parse(data: bytes) -> Element:
    """Return the root of a page's tree; an empty one where there is no element at all.

    The page is as :func:`encoded` and :func:`with_short_tags` return it.
    """
    # A parser of its own for each page: one that threads share would make them wait.
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True, collect_ids=False
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.LxmlError:
        root = None
    return etree.Element("html") if root is None else root


def encoded(html: str | bytes) -> bytes:
    """Return the page in UTF-8, without what no parser takes: NUL and lone surrogates."""
    data = html.encode("utf-8", "replace") if isinstance(html, str) else html
    return data.replace(b"\0", b"")


def with_short_tags(data: bytes) -> bytes:
    """Return the page with every tag cut that has more attributes than any page needs."""
    cuts = []
    in_tag = False
    for start in range(0, len(data), _LONG_TAG):
        end = start + _LONG_TAG
        closed = data.rfind(b">", start, end)
        if closed >= 0:
            in_tag = data.find(b"<", closed, end) >= 0
            continue
        # Inside the quotes of one long value, a cut changes nothing but the value.
        if in_tag:
            part = data[start:end]
            if len(part.split()) + sum(map(part.count, (b'"', b"'", b"/"))) > _MANY_WORDS:
                cuts.append(start)
        in_tag = in_tag or data.find(b"<", start, end) >= 0
    if not cuts:
        return data
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return b">".join(pieces)


def read_page(html: str | bytes, url: str = "") -> Page:
    """Return the lines of a page at a URL; bytes are taken as UTF-8."""
    data = with_short_tags(encoded(html))
    body, before = _body(parse(data))
    # One pass over the tree for all of them, because each takes a tenth of the time of the parse.
    head = _marked(chain.from_iterable(el.iter(*_MARKED) for el in before))
    marked = _marked(body.iter(*_MARKED))
    # Browsers show such a template at once; components that a server renders have their text in it.
    for template in marked["template"]:
        if template.get("shadowrootmode"):
            template.tag = "div"
    _close_drawings(marked["drawing"])
    _show_embedded(marked["embedded"])
    base = next((el.get("href", "")[:LONGEST_VALUE] for el in head["base"]), "")
    url = absolute(base, url) or url
    page = Page(body, "", Folder(url))
    page.fields = [*islice(filter(None, map(_value, marked["field"])), MOST)]
    framed = (el for el in head["embedded"] + marked["embedded"] if el.tag in _FRAMES)
    page.frames = [el.get("src") or "" for el in islice(framed, MOST)]
    told = chain.from_iterable(find(body) for find in _TOLD)
    page.icons = [*map(single_spaced, islice(told, MOST))]
    page.metas = [dict(el.items()) for el in (head["meta"] + marked["meta"])[:MOST]]
    page.scripts = head["script"] + marked["script"]
    page.stated = [*stated(page.metas, page.scripts)]
    page.canonical = absolute(canonical_address(data), url)
    # lxml takes longer to strip what is still held.
    del marked, framed
    _strip(body, data)
    # A title in the body may be that of a drawing, which is stripped by now.
    page.title = next(map(inner_text, chain(head["title"], body.iter("title"))), "")
    page.elements = [*islice(body.iter(), MAX_ELEMENTS)]
    _read_lines(page)
    return page


def _body(root: Element) -> tuple[Element, list[Element]]:
    """Return the body of a page, with all that browsers show in it, and the elements before it."""
    body = next(root.iterchildren("body"), root)
    # Browsers show what comes after the end of a body or of a page, and templates end them early.
    if body.tail:
        etree.SubElement(body, "p").text = body.tail.translate(_NOT_XML)
        body.tail = None
    # All of them first: one that has moved into a root without a body would come again and again.
    behind = [*islice(chain(body.itersiblings(), root.itersiblings()), MAX_ELEMENTS)]
    body.extend(behind)
    return body, [*body.itersiblings(preceding=True)]


def _show_embedded(embedded: Iterable[Element]) -> None:
    """Put an image with the address of a player or of what a frame shows before each of them."""
    for el in islice((el for el in embedded if el.tag != "frame"), MOST):
        sources = el.iterchildren("source")
        address = el.get("data-src") or el.get("src") or el.get("data")
        address = address or next((source.get("src") for source in islice(sources, 1)), "")
        if address:
            el.addprevious(etree.Element("img", src=address.translate(_NOT_XML)))


def _strip(body: Element, data: bytes) -> None:
    """Take unseen elements out of a body, and the tags that stand inside lines."""
    # In C, and far faster than to look at each of them.
    etree.strip_elements(body, *UNSEEN_TAGS, with_tail=False)
    # NumPy counts in half of the time of the bytes themselves.
    if np.count_nonzero(np.frombuffer(data, np.uint8) == ord("<")) <= _MAX_STRIPPED:
        etree.strip_tags(body, *INLINE_TAGS)


def _marked(elements: Iterable[Element]) -> dict[str, list[Element]]:
    """Return the elements by their kind, each in document order."""
    found: dict[str, list[Element]] = {kind: [] for kind in _MARKED.values()}
    for el in elements:
        found[_MARKED[el.tag]].append(el)
    return found


def _value(el: Element) -> str:
    """Return what a field holds that a reader writes into or chooses."""
    if el.tag == "option":
        return single_spaced(el.text or "") if "selected" in el.attrib else ""
    kind, value = el.get("type", "text").lower(), el.get("value", "")
    if kind in _CHOSEN and "checked" in el.attrib:
        # All boxes of a form may have one value, and those that only show something have none.
        value = f"[x] {el.get('name', '')[:LONGEST_VALUE]} {value} {el.tail or ''}"
    elif kind not in _WRITTEN:
        return ""
    return single_spaced(value[:LONGEST_VALUE])


def _close_drawings(found: Iterable[Element]) -> None:
    """Make elements of a page of the drawings and formulas that were left open.

    HTML ends them in a browser; in this parser all that comes after them stands in them.
    """
    drawings = iter(found)
    left = _MAX_OPEN_DRAWINGS
    for el in drawings:
        first = next(el.iter("p", "div", "h1", "h2", "ul", "table", "foreignobject"), None)
        if first is None:
            # The drawings in it have none either; to look at them again is quadratic work.
            for _ in islice(el.iter("svg", "math"), 1, None):
                next(drawings)
        elif first.tag != "foreignobject":
            el.tag = "div"
            left -= 1
            if not left:
                break


def _read_lines(page: Page) -> None:
    lines: list[list[str]] = []  # the pieces of each
    holders, linked = page.holders, list[int]()
    open_line = False  # whether what comes next continues the last line
    late: dict[Element, list[tuple[Element, str]]] = {}  # tails, by the element they stand before
    # The one loop over all elements; calls in it would double its time.
    for el in page.elements:
        if late and el in late:
            for holder, text in late.pop(el):
                lines.append([text])
                holders.append(holder)
                linked.append(0)
            open_line = True
        tag, text, tail = el.tag, el.text, el.tail
        if tag in _INSIDE_LINES:
            if tag == "img":
                # An image of one pixel is a counter.
                if el.get("width") != "1" or el.get("height") != "1":
                    page.images.append(el)
            elif text:
                if not open_line and not text.isspace():
                    lines.append([])
                    holders.append(el)
                    linked.append(0)
                    open_line = True
                if open_line:
                    lines[-1].append(text)
                    if tag == "a":
                        linked[-1] += len(text)
            if tail and open_line and not len(el):
                lines[-1].append(tail)
                if tag == "img" and el.getparent().tag == "a":
                    linked[-1] += len(tail)
                continue
        else:
            if tag == "h1":
                page.heading_elements.append(el)
                if page.heading_line is None:
                    page.heading_line = len(lines)
            elif tag == "h2":
                page.subheadings.append((len(lines), el))
            open_line = False
            if text and not text.isspace():
                lines.append([text])
                holders.append(el)
                linked.append(0)
                open_line = True
        if tail and not tail.isspace():
            following = _following(el) if len(el) else None
            holder = el.getparent()
            if following is None:
                lines.append([tail])
                holders.append(holder)
                linked.append(len(tail) if holder.tag == "a" else 0)
                open_line = True
            else:
                late.setdefault(following, []).insert(0, (holder, tail))
    for tails in late.values():
        lines += [[text] for _, text in tails]
        holders += [holder for holder, _ in tails]
        linked += [0 for _ in tails]
    page.texts = [
        with_moments(unescape("".join(pieces)).strip().replace("\n", " ")) for pieces in lines
    ]
    page.lengths = np.fromiter(map(len, page.texts), np.intp)
    page.linked = np.fromiter(linked, np.intp)
    page.in_links = 2 * page.linked > page.lengths
    page.shown = "\n".join(page.texts)
    page.sizes = sizes_of(page.shown)


def sizes_of(text: str) -> npt.NDArray[np.intp]:
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
