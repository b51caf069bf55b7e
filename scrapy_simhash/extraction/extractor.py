"""From HTML to the text that is fingerprinted, by extractors that have names.

Markup never makes a named extractor raise: a page that it cannot read has an empty text. Callers
bound the size of a page, because time and memory grow with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from itertools import count, islice
from typing import Any

from lxml import etree

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.extraction.prose import THIN_BYTES, main_lines, main_text, size, visible_text

__all__ = ["EXTRACTORS", "Extraction", "decode_html", "extract", "load_extractor"]

logger = logging.getLogger(__name__)

#: The extractors that have names; any other is given by import path.
EXTRACTORS = ("prose", "trafilatura", "text")
#: Those that take a page about as long as Scrapy does.
FAST_EXTRACTORS = ("prose", "text")

#: So much text in the element that is marked as the main one, in UTF-8 bytes, is more than what a
#: template repeats there, prose or not.
LIST_BYTES = 700

_PAGES_PER_CACHE_RESET = 1000


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text of a page, one line per block.

    Args:
        text: what to fingerprint; may be empty.
        thin: the extractor found too little to call it the main text. Then ``text`` is all that
            the page shows.
        shown: all text that the page shows.
        title: the text of its ``title``.
        headings: the texts of its first three ``h1``.
    """

    text: str
    thin: bool = False
    shown: str = ""
    title: str = ""
    headings: tuple[str, ...] = ()


def extract(html: str, extractor: str = "prose", url: str | None = None) -> Extraction:
    """Return the text of a page.

    Args:
        html: the decoded page.
        extractor: one of ``EXTRACTORS``, or the import path of a callable.
        url: the page's address, to be named when a callable returns what is no text.

    Raises:
        ValueError: there is no such extractor.
        TypeError: a callable returned neither a str nor an Extraction.
        Exception: whatever a callable given by import path raises.
    """
    result = load_extractor(extractor)(html)
    if isinstance(result, str):
        seen = _visible(html)
        return replace(seen, text=result)
    if isinstance(result, Extraction):
        return result
    raise TypeError(f"the extractor {extractor} returned a {type(result).__name__} for {url}")


@lru_cache(maxsize=16)
def load_extractor(name: str) -> Callable[[str], str | Extraction]:
    """Return an extractor by its name, in this or any other process.

    Args:
        name: one of ``EXTRACTORS``, or the import path (``package.module.function``) of a
            callable that takes the HTML and returns a str or an Extraction.

    Raises:
        ValueError: there is no such extractor.
    """
    if name == "prose":
        return _prose
    if name == "trafilatura":
        return _trafilatura()
    if name == "text":
        return _visible
    module, _, attribute = name.rpartition(".")
    try:
        found: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"no extractor {name!r} ({error}): use {', '.join(EXTRACTORS)}"
            " or the import path of a callable"
        ) from error
    if not callable(found):
        raise ValueError(f"the extractor {name!r} is a {type(found).__name__}, not a callable")
    return found  # type: ignore[no-any-return]


def _prose(html: str) -> Extraction:
    root = _parse(html)
    if root is None:
        return Extraction("", thin=True)
    shown = visible_text(root)
    names = _title(root), _headings(root)
    lines = main_lines(root)
    if sum(map(size, lines)) >= THIN_BYTES:
        return Extraction("\n".join(lines), False, shown, *names)
    text = main_text(root)
    if size(text) >= LIST_BYTES:
        return Extraction(text, False, shown, *names)
    return Extraction(shown, True, shown, *names)


def _title(root: Any) -> str:
    return _words(root.find(".//title"))


def _headings(root: Any) -> tuple[str, ...]:
    return tuple(map(_words, islice(root.iter("h1"), 3)))


def _words(el: Any) -> str:
    return "" if el is None else " ".join("".join(el.itertext()).split())


def _visible(html: str) -> Extraction:
    root = _parse(html)
    if root is None:
        return Extraction("")
    text = visible_text(root)
    return Extraction(text, False, text, _title(root), _headings(root))


def _trafilatura() -> Callable[[str], Extraction]:
    # Deferred: it takes half a second to import, and the default does not need it.
    import trafilatura
    from trafilatura.meta import reset_caches

    pages = count(1)

    def extract_article(html: str) -> Extraction:
        if next(pages) % _PAGES_PER_CACHE_RESET == 0:
            reset_caches()  # they grow with every page
        try:
            # Always from a string: from a parsed tree, a third of the pages get another text.
            text = trafilatura.extract(
                _encoded(html).decode("utf-8"),
                fast=True,
                include_comments=False,
                include_tables=False,
            )
        except Exception as error:  # noqa: BLE001 - a page that it trips over has no text
            logger.debug("trafilatura failed: %r", error)
            text = None
        return replace(_visible(html), text=text or "")

    return extract_article


def _parse(html: str) -> Any:
    """Return the root of the tree, or None where there is no element at all."""
    # A parser of its own for each page: one that threads share would make them wait.
    parser = etree.HTMLParser(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
        collect_ids=False,
    )
    try:
        return etree.fromstring(_encoded(html), parser)
    except etree.LxmlError:
        return None


def _encoded(html: str) -> bytes:
    """Return the page without what no parser takes: NUL characters and lone surrogates."""
    return html.encode("utf-8", "replace").replace(b"\0", b"")
