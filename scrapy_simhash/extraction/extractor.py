"""From HTML to the text that is fingerprinted, by extractors that have names.

Markup never makes a named extractor raise: a page that it cannot read has an empty
text. Callers bound the size of a page, because time and memory grow with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, islice
from typing import Any

import numpy as np

from scrapy_simhash.extraction.addresses import absolute, without_path
from scrapy_simhash.extraction.content import LIST, Content, content_of, offers
from scrapy_simhash.extraction.declared import held, site_name
from scrapy_simhash.extraction.main_text import (
    TAKEN,
    is_thin,
    main_text,
    thin_text,
    with_lines_between,
)
from scrapy_simhash.extraction.marks import (
    SHELL,
    listed,
    marks,
    pairs,
    said,
    shown_bytes,
)
from scrapy_simhash.extraction.page import Page, declared_address, encoded
from scrapy_simhash.loading import load
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

#: The extractors that have names; any other is given by import path.
EXTRACTORS = ("main", "trafilatura", "text")
#: Extractors that take about as long for a page as Scrapy does.
FAST_EXTRACTORS = ("main", "text")

# Characters; longer lines of the main text are sentences.
_SHORT = 60


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text of a page, and what else it shows.

    Attributes:
        text: the main text, one line per block, each once; may be empty.
        thin: no main text stands out. Then ``text`` is all that the page shows outside
            navigation, header and footer.
        shown: all visible text of the page, one line per block.
        title: the text of ``<title>``.
        headings: the texts of the first three ``<h1>`` that have any; where there is
            none, that of the first element of the class ``title``.
        weighed: the lines of the text among others that may be main text, too; empty
            where all of the text is equally sure.
        weights: of each of these lines, from 1; those of the text have more than half
            of the most.
        content: the lines of the content, see :mod:`.content`, that are not mostly
            links, the values of its fields, and the prices that it names to programs.
            The path of the page itself is left out.
        own: all lines of the content, and the prices that the page names to programs.
        template: the lines outside links that are the site's.
        marks: what tells the page from others whose texts are the same, see
            :mod:`.marks`.
        canonical: the address that the page declares canonical, resolved against its
            URL.
        listed: the entries of its lists, see :func:`.marks.listed`.
        pairs: the labels of the content with their values, such as ("Rooms", "3").
        site_name: the name of the site, as the page tells programs (``og:site_name``).
        unmatched: the selectors of the recipe that match nothing on the page, by their
            names.
        alone: whether it is a text that is no page.
    """

    text: str
    thin: bool = False
    shown: str = ""
    title: str = ""
    headings: tuple[str, ...] = ()
    weighed: str = ""
    weights: tuple[int, ...] = ()
    content: str = ""
    own: str = ""
    template: str = ""
    marks: tuple[str, ...] = ()
    listed: frozenset[str] = frozenset()
    canonical: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    site_name: str = ""
    unmatched: tuple[str, ...] = ()
    alone: bool = False

    @property
    def to_fingerprint(self) -> tuple[str, tuple[int, ...]]:
        """The text to fingerprint, and the weights of its lines, if they have any."""
        return (self.weighed, self.weights) if self.weights else (self.text, ())

    @property
    def details(self) -> list[str]:
        """Lines that tell the page from others: title, ``h1``, and of the content the short ones.

        Its marks come last.
        """
        names, text = {self.title, *self.headings}, set(self.text.split("\n"))
        heads = [f"title: {self.title}"] * bool(self.title)
        heads += [f"h1: {heading}" for heading in self.headings]
        lines = [line for line in self.content.split("\n") if line not in names]
        short = [
            line for line in lines if line and (line not in text or len(line) < _SHORT)
        ]
        return [*heads, *short, *self.marks]


def extract(
    html: str | bytes,
    extractor: str = "main",
    url: str = "",
    *,
    is_content: bool = False,
) -> Extraction:
    """Return the text of a page.

    Args:
        html: the decoded page, or its bytes in UTF-8.
        url: the address of the page, or its folder, against which its addresses are
            resolved.
        extractor: one of ``EXTRACTORS``, or the import path of a callable. Where that
            returns the text alone, what else the page shows is found here.
        is_content: whether all that the page shows is its content.

    Raises:
        ValueError: there is no such extractor.
        TypeError: a callable returned neither a str nor an Extraction.
        Exception: whatever a callable given by import path raises.
    """
    if extractor in FAST_EXTRACTORS:
        page = Page(html, url)
        if extractor == "text":
            return _whole(page, page.shown)
        return _main(page, is_content=is_content)
    text = html if isinstance(html, str) else html.decode("utf-8", "replace")
    result = load_extractor(extractor)(text)
    if isinstance(result, Extraction):
        canonical = result.canonical or declared_address(html)
        return replace(result, canonical=absolute(canonical, url))
    if isinstance(result, str):
        return _whole(Page(html, url), result)
    raise TypeError(
        f"the extractor {extractor} returned {type(result).__name__}, not a text"
    )


@lru_cache(maxsize=16)
def load_extractor(name: str) -> Callable[[Any], str | Extraction]:
    """Return an extractor by its name, in this or any other process.

    Args:
        name: one of ``EXTRACTORS``, or the import path (``package.module.function``) of
            a callable that takes the HTML and returns a str or an Extraction.

    Raises:
        ValueError: there is no such extractor.
    """
    if name in FAST_EXTRACTORS:
        return lambda html: extract(html, name)
    if name == "trafilatura":
        return _trafilatura()
    try:
        extractor: Any = load(name)
    except ValueError as error:
        raise ValueError(
            f"no extractor {name!r} ({error}): use {', '.join(EXTRACTORS)}"
            " or the import path of a callable"
        ) from error
    if not callable(extractor):
        raise ValueError(
            f"the extractor {name!r} is a {type(extractor).__name__}, not a callable"
        )
    return extractor  # type: ignore[no-any-return]


def _extraction(
    page: Page,
    text: str,
    content: Content,
    values: Sequence[str] = (),
    *,
    thin: bool = False,
) -> Extraction:
    """Return what is taken from a page."""
    own, is_said = content.own, said(page)
    few = thin or content.is_list
    values = [*offers(page), *values]
    lines = [*page.lines(own & is_said), *page.told]
    return Extraction(
        text,
        thin,
        page.shown,
        page.title,
        page.headings,
        content="\n".join(
            [*without_path(lines, page.path, (page.title, *page.headings)), *values]
        ),
        own="\n".join([*page.lines(own), *values]),
        template="\n".join(page.lines(is_said & ~own)),
        marks=marks(page, own, few, thin),
        listed=frozenset(listed(page, own, few)) - {""},
        canonical=page.canonical,
        pairs=tuple(islice(pairs(page, own & is_said), 64)),
        site_name=site_name(page.metas),
    )


def _whole(page: Page, text: str) -> Extraction:
    """Return what is taken from a page of which nothing tells where its lists are."""
    every = np.ones(len(page.texts), np.bool_)
    content = Content(every, every, False)
    return replace(_extraction(page, text, content), listed=frozenset())


def _main(page: Page, *, is_content: bool) -> Extraction:
    weights = main_text(page)
    content = content_of(page, weights >= TAKEN)
    if is_content:
        content = content._replace(own=np.ones_like(content.own), text=weights >= TAKEN)
    is_shell = shown_bytes(page, content.own) < SHELL
    values = held(page.scripts, page.elements) if is_shell else []
    if is_thin(page, content.text):
        said = content.own & ~page.in_links
        # A link or two may lead to the next picture of a gallery.
        has_list = content.own.sum() - said.sum() >= LIST or not said.any()
        lines = page.lines(content.own if has_list else said)
        return _extraction(
            page, thin_text(page, lines + values), content, values, thin=True
        )
    weights = with_lines_between(page, weights, content.own, content.text)
    # A line counts once in the fingerprint, however often a page says it.
    text = dict.fromkeys(page.lines(weights >= TAKEN))
    return replace(
        _extraction(page, "\n".join(text), content, values),
        weighed="\n".join(page.lines(weights > 0)),
        weights=tuple(weights[weights > 0].tolist()),
    )


def _trafilatura() -> Callable[[str], str]:
    # Deferred: it takes half a second to import, and the default does not need it.
    import trafilatura
    from trafilatura.meta import reset_caches

    pages = count(1)

    def extract_article(html: str) -> str:
        if next(pages) % 1000 == 0:
            reset_caches()  # they grow with every page
        try:
            # Always from a string: from a parsed tree, a third of the pages get another
            # text.
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
