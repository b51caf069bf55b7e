"""Takes the content of a page by hand: CSS selectors say what it is, and what does not count.

They make another page of a page before an extractor sees it, so that any extractor
follows them. The time of XPath may grow with the square of a page, or faster: a worker
process bounds it.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from cssselect import SelectorError
from lxml import etree
from lxml.cssselect import CSSSelector

from scrapy_simhash.extraction.page import encoded, parse, with_short_tags
from scrapy_simhash.extraction.roles import Element
from scrapy_simhash.keys import split_address

#: Stands for any host that has no selector of its own.
ANY_HOST = ""
# The text of such an element is never part of a page.
_UNSEEN = "style"
_HOST = re.compile(r"[\w.-]*")


class Selected(NamedTuple):
    """The part of a page that selectors leave.

    Attributes:
        html: in UTF-8; all that the page shows is its content if ``content`` matched.
        is_content: whether ``content`` matched.
        unmatched: the names of the selectors that matched nothing, ``content`` and
            ``ignore``.
    """

    html: bytes
    is_content: bool = False
    unmatched: tuple[str, ...] = ()


def selected(html: bytes, content: str | None, ignore: str | None) -> Selected:
    """Return a page without the elements to ignore, and with no others than its content.

    Its head stays. A selector that matches nothing changes nothing.

    Args:
        html: the page, in UTF-8.
        content: a selector of the elements that are its content, if there is one.
        ignore: a selector of the elements that do not count, if there is one.
    """
    root = parse(with_short_tags(encoded(html)))
    ignored = _matched(ignore, root)
    for el in ignored:
        el.tag = _UNSEEN
    etree.strip_elements(root, _UNSEEN, with_tail=False)
    chosen = _outermost(_matched(content, root))
    parts = [*root.iterchildren("head"), *chosen] if chosen else [root]
    found = {"content": (content, chosen), "ignore": (ignore, ignored)}
    return Selected(
        b"\n".join(map(_source, parts)) if chosen or ignored else html,
        bool(chosen),
        tuple(name for name, (selector, els) in found.items() if selector and not els),
    )


def _matched(selector: str | None, root: Element) -> list[Element]:
    # Browsers show nothing of the root but its body, and no selector may take the root
    # away.
    return (
        [el for el in _compiled(selector)(root) if el is not root] if selector else []
    )


def _outermost(elements: list[Element]) -> list[Element]:
    """Return those of some elements in document order that stand in none of the others."""
    outermost = list[Element]()
    inside = set[Element]()
    for el in elements:
        if el not in inside:
            outermost.append(el)
            inside.update(el.iter())
    return outermost


def _source(el: Element) -> bytes:
    source: bytes = etree.tostring(el, encoding="utf-8", method="html", with_tail=False)
    return source


def selector_at(url: str, selectors: Mapping[str, str]) -> str | None:
    """Return the selector for an address, of those that :func:`checked_selectors` returns."""
    address = split_address(url)
    host = _known_as(address.hostname or "") if address else ANY_HOST
    return selectors.get(host, selectors.get(ANY_HOST))


def _known_as(host: str) -> str:
    return host.lower().removeprefix("www.")


def checked_selectors(value: str | Mapping[str, str]) -> dict[str, str]:
    """Return selectors by the hosts for which they are, without ``www.``.

    Args:
        value: a selector for all hosts, or selectors by hosts, which may be written as
            JSON.

    Raises:
        ValueError: it is neither, or one of them is no selector.
    """
    if isinstance(value, str):
        value = json.loads(value) if value.startswith("{") else {ANY_HOST: value}
    if not isinstance(value, Mapping):
        raise ValueError(
            f"{value!r:.80} is neither a CSS selector nor selectors by hosts"
        )
    for host, selector in value.items():
        if not _HOST.fullmatch(host):
            raise ValueError(f"{host!r:.80} is no host such as shop.example")
        if not isinstance(selector, str):
            raise ValueError(f"{selector!r:.80} is no CSS selector")
        _compiled(selector)
    return {_known_as(host): selector for host, selector in value.items()}


@lru_cache(maxsize=1024)
def _compiled(selector: str) -> Any:
    """Return a function from a root to the elements that a selector matches.

    Raises:
        ValueError: it is no selector.
    """
    try:
        compiled = CSSSelector(selector, translator="html")
        compiled(etree.Element("html"))  # some names are looked up only now
    except (SelectorError, etree.LxmlError) as error:
        raise ValueError(f"{selector!r:.80} is no CSS selector: {error}") from error
    return compiled
