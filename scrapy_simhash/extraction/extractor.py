"""From HTML to the text that is fingerprinted, by extractors that have names.

Markup never makes a named extractor raise: a page that it cannot read has an empty text. Callers
bound the size of a page, because time and memory grow with it.
"""

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Any

from scrapy_simhash.extraction.content import offers
from scrapy_simhash.extraction.declared import canonical_address
from scrapy_simhash.extraction.main_text import TAKEN, main_text, shown_text
from scrapy_simhash.extraction.page import Page, encoded, read_page
from scrapy_simhash.extraction.units import listed, marks, said
from scrapy_simhash.loading import load
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

#: The extractors that have names; any other is given by import path.
EXTRACTORS = ("main", "trafilatura", "text")
#: Extractors that take about as long for a page as Scrapy does.
FAST_EXTRACTORS = ("main", "text")

_PAGES_PER_CACHE_RESET = 1000
# Characters; longer lines of the main text are sentences.
_SHORT = 60
# Links of a list; fewer are those of a page's own text.
_LIST = 5


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text of a page, and what else it shows.

    Attributes:
        text: the main text, one line per block; may be empty.
        thin: no main text stands out. Then ``text`` is all that the page shows outside navigation,
            header and footer.
        shown: all visible text of the page, one line per block.
        title: the text of ``<title>``.
        headings: the texts of the first three ``<h1>`` that have any; where there is none, that of
            the first element of the class ``title``.
        subheading: the text of the last ``<h2>`` above the main text; else of the first that has
            any.
        labels: the short lines above the main text of a page without any of these headings.
        weighed: the lines of the text among others that may be main text, too; empty where all of
            the text is equally sure.
        weights: of each of these lines, from 1; those of the text have more than half of the most.
        content: the lines in which a change is one of the page, see :mod:`.content`; where it is
            empty, these are the lines of the text.
        said: the lines of the page that are not mostly links, and the values of its fields.
        marks: what tells the page from others whose texts are the same, see :mod:`.units`.
        canonical: the address that the page declares canonical, which may be relative.
        listed: the names of links where a list may stand, without digits, and the addresses of
            pictures.
    """

    text: str
    thin: bool = False
    shown: str = ""
    title: str = ""
    headings: tuple[str, ...] = ()
    subheading: str = ""
    labels: tuple[str, ...] = ()
    weighed: str = ""
    weights: tuple[int, ...] = ()
    content: str = ""
    said: str = ""
    marks: tuple[str, ...] = ()
    listed: frozenset[str] = frozenset()
    canonical: str = ""

    @property
    def to_fingerprint(self) -> tuple[str, tuple[int, ...]]:
        """The text to fingerprint, and the weights of its lines, if they have any."""
        return (self.weighed, self.weights) if self.weights else (self.text, ())

    @property
    def details(self) -> list[str]:
        """Lines that tell the page from others: title, ``h1``, short lines, those beside the text.

        Its marks come last.
        """
        names, text = {self.title, *self.headings}, set(self.text.split("\n"))
        heads = [f"title: {self.title}"] * bool(self.title)
        heads += [f"h1: {heading}" for heading in self.headings]
        lines = [line for line in self.said.split("\n") if line not in names]
        short = [line for line in lines if line and (line not in text or len(line) < _SHORT)]
        return [*heads, *short, *self.marks]


def extract(html: str | bytes, extractor: str = "main") -> Extraction:
    """Return the text of a page.

    Args:
        html: the decoded page, or its bytes in UTF-8.
        extractor: one of ``EXTRACTORS``, or the import path of a callable. Where that returns the
            text alone, what else the page shows is found here.

    Raises:
        ValueError: there is no such extractor.
        TypeError: a callable returned neither a str nor an Extraction.
        Exception: whatever a callable given by import path raises.
    """
    if isinstance(html, bytes) and extractor not in FAST_EXTRACTORS:
        html = html.decode("utf-8", "replace")
    result = load_extractor(extractor)(html)
    if isinstance(result, Extraction):
        if extractor in EXTRACTORS or result.canonical:
            return result
        return replace(result, canonical=canonical_address(encoded(html)))
    if isinstance(result, str):
        return _extraction(result, read_page(html))
    raise TypeError(f"the extractor {extractor} returned {type(result).__name__}, not a text")


@lru_cache(maxsize=16)
def load_extractor(name: str) -> Callable[[Any], str | Extraction]:
    """Return an extractor by its name, in this or any other process.

    Args:
        name: one of ``EXTRACTORS``, or the import path (``package.module.function``) of a
            callable that takes the HTML and returns a str or an Extraction.

    Raises:
        ValueError: there is no such extractor.
    """
    if name == "main":
        return _main
    if name == "trafilatura":
        return _trafilatura()
    if name == "text":
        return _shown
    try:
        found: Any = load(name)
    except ValueError as error:
        raise ValueError(
            f"no extractor {name!r} ({error}): use {', '.join(EXTRACTORS)}"
            " or the import path of a callable"
        ) from error
    if not callable(found):
        raise ValueError(f"the extractor {name!r} is a {type(found).__name__}, not a callable")
    return found  # type: ignore[no-any-return]


def _extraction(
    text: str,
    page: Page,
    *,
    thin: bool = False,
    weighed: str = "",
    weights: tuple[int, ...] = (),
    content: str = "",
    open_lines: Iterable[int] = (),
) -> Extraction:
    headings, subheading = page.headings, page.subheading(text)
    labels = () if thin or headings or subheading else page.labels(text)
    lines = said(page)
    in_links = thin or _is_in_links(text, content, set(page.texts).difference(lines))
    joined = "\n".join(lines)
    return Extraction(
        text,
        thin,
        page.shown,
        page.title,
        headings,
        subheading,
        labels,
        weighed=weighed,
        weights=weights,
        content=content,
        said=joined,
        marks=marks(page, joined, in_links),
        listed=frozenset(() if thin else listed(page, open_lines)),
        canonical=page.canonical,
    )


def _is_in_links(text: str, content: str, in_links: Set[str]) -> bool:
    """Return whether half of a text are lines of links, or a list of links beside it is longer.

    A shop has a text of its own above each page of a category, and the names of products in links.
    """
    # Another extractor may have lines of its own, which are none of the page.
    if 2 * sum(len(line) for line in text.split("\n") if line in in_links) > len(text):
        return True
    links = [len(line) for line in content.split("\n") if line in in_links]
    return len(links) >= _LIST and sum(links) > len(text)


def _main(html: str | bytes) -> Extraction:
    page = read_page(html)
    found = main_text(page)
    if found is None:
        text = shown_text(page)
        return _extraction(text, page, thin=True, content="\n".join([text, *offers(page)]))
    lines, weights, changing, open_lines = found
    pairs = zip(lines, weights, strict=True)
    return _extraction(
        "\n".join([line for line, weight in pairs if weight >= TAKEN]),
        page,
        weighed="\n".join(lines),
        weights=tuple(weights),
        content=changing,
        open_lines=open_lines,
    )


def _shown(html: str | bytes) -> Extraction:
    page = read_page(html)
    return _extraction(page.shown, page)


def _trafilatura() -> Callable[[str], str]:
    # Deferred: it takes half a second to import, and the default does not need it.
    import trafilatura
    from trafilatura.meta import reset_caches

    pages = count(1)

    def extract_article(html: str) -> str:
        if next(pages) % _PAGES_PER_CACHE_RESET == 0:
            reset_caches()  # they grow with every page
        try:
            # Always from a string: from a parsed tree, a third of the pages get another text.
            text = trafilatura.extract(
                encoded(html).decode("utf-8"),
                fast=True,
                include_comments=False,
                include_tables=False,
            )
        except Exception as error:  # noqa: BLE001 - a page that it trips over has no text
            logger.debug("trafilatura failed: %s", repr(error))
            text = None
        return text or ""

    return extract_article
