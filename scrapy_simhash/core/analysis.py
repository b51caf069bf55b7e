"""From the bytes of a page, or a text, to its analysis: all that the index has to know of it."""

import traceback
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from w3lib.encoding import http_content_type_encoding

from scrapy_simhash.extraction.charset import utf8_html
from scrapy_simhash.extraction.extractor import Extraction, extract
from scrapy_simhash.extraction.selectors import Selected, selected, selector_at
from scrapy_simhash.fingerprint.normalisation import heavier, normalise
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.printable import excerpt, first_lines
from scrapy_simhash.readers import (
    HTML,
    ITEM,
    kind_of,
    load_reader,
    reader_of,
    text_alone,
    whole_text,
)
from scrapy_simhash.rule.facts import facts_of

#: Why a page was not compared with any other.
SkipReason = Literal[
    # It has no text; the text is below the minimum length, or has nothing that the
    # recipe counts.
    "empty",
    "too_short",
    # The request's meta asks for it, or a component fetched it for itself.
    "opted_out",
    "no_callback",
    # Nothing reads its content type, or it is no good answer.
    "status",
    "other_type",
    "too_large",
    # It could not be compared, and is let through.
    "timeout",
    "slow_host",
    "memory",
    "crash",
    "extractor_error",
    "unavailable",
]


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """The fingerprint of a page and its facts, or the reason why the page is not compared.

    Attributes:
        fingerprint: of the main text; of a page without main text, of all that it
            shows.
        facts: 80 bytes by which the rule tells the page from others.
        reason: why there is no fingerprint.
        excerpt: a line of the main text, if it was asked for; below it, the first lines
            that tell the page from others.
        canonical: the address that the page declares canonical, resolved; or nothing.
        error: the line or traceback that a log has for a page that could not be
            compared.
        unmatched: the selectors of the recipe that match nothing on the page, by their
            names.
    """

    fingerprint: Fingerprint | None
    facts: bytes = b""
    reason: SkipReason | None = None
    excerpt: str = ""
    canonical: str = ""
    error: str = ""
    unmatched: tuple[str, ...] = ()


class Body(NamedTuple):
    """The bytes that are analysed.

    Attributes:
        data: the decompressed body of a response, or a text in UTF-8; the caller bounds
            its size.
        charset: that the Content-Type header declares, if it names one.
        reader: the name of its reader; see :mod:`scrapy_simhash.readers`.
        url: the address against which the addresses in it are resolved; see
            :func:`.base_address`.
    """

    data: bytes
    charset: str | None = None
    reader: str = HTML
    url: str = ""

    @property
    def is_text(self) -> bool:
        """True if all of the text is compared, as for an item, and nothing is extracted."""
        return self.reader == ITEM


def text_body(text: str) -> Body:
    return Body(text.encode("utf-8", "surrogatepass"), reader=ITEM)


def body_of(
    data: bytes | str,
    content_type: str,
    recipe: Recipe,
) -> Body | None:
    """Return the body of a document; None if nothing reads its content type.

    A str of plain text is compared whole.
    """
    kind = kind_of(content_type)
    if isinstance(data, str) and kind == "text/plain":
        return text_body(data)
    if (reader := reader_of(kind, recipe)) is None:
        return None
    if isinstance(data, str):
        return Body(data.encode("utf-8", "replace"), "utf-8", reader)
    return Body(data, http_content_type_encoding(content_type), reader)


def analyse_body(body: Body, recipe: Recipe, excerpt_length: int = 0) -> PageAnalysis:
    """Decode, extract and fingerprint; ``excerpt_length`` bounds the characters of the excerpt.

    It never raises, because anything may come from an extractor given by import path.
    """
    try:
        extraction = read_body(body, recipe)
        if extraction is None:
            return PageAnalysis(None, reason="too_short")
        analysis = analyse_text(extraction.text, recipe, excerpt_length, extraction)
        return replace(analysis, unmatched=extraction.unmatched)
    except MemoryError:
        return PageAnalysis(None, reason="memory", error="it takes too much memory")
    except Exception:  # noqa: BLE001 - it is reported
        report = traceback.format_exc()[-10_000:]  # it may have the whole page
        return PageAnalysis(None, reason="extractor_error", error=report)


def read_body(body: Body, recipe: Recipe) -> Extraction | None:
    """Return what the reader of a page finds; None if it says too little to be compared.

    Raises:
        TypeError: a reader of the project's own returned something else.
        Exception: whatever a reader or extractor given by import path raises.
    """
    if body.reader == HTML:
        page = Selected(utf8_html(body.data, body.charset))
        if recipe.content or recipe.ignore:
            content = selector_at(body.url, recipe.content)
            ignore = selector_at(body.url, recipe.ignore)
            page = selected(page.html, content, ignore)
        extraction = extract(
            page.html, recipe.extractor, body.url, is_content=page.is_content
        )
        return replace(extraction, unmatched=page.unmatched)
    if body.is_text:
        return whole_text(body.data.decode("utf-8", "surrogatepass"))
    result = load_reader(body.reader)(body.data, body.charset)
    if isinstance(result, str):
        return text_alone(result)
    if result is None or isinstance(result, Extraction):
        return result
    raise TypeError(
        f"the reader {body.reader} returned {type(result).__name__}, not a text"
    )


def analyse_text(
    text: str,
    recipe: Recipe,
    excerpt_length: int = 0,
    extraction: Extraction | None = None,
) -> PageAnalysis:
    """Fingerprint a text, unless it is shorter than the recipe's minimum length.

    ``extraction`` is what an extractor found on the page beside the text. A text
    without it is compared whole, as an item is.
    """
    extraction = extraction or whole_text(text)
    if not text.strip():
        return PageAnalysis(None, reason="empty")
    lines, weights = extraction.to_fingerprint
    normal_lines = normalise(lines, by_line=bool(weights))
    normal_text = (
        heavier(normal_lines, weights).replace("\n", "") if weights else normal_lines
    )
    beginning = _excerpt(extraction, excerpt_length)
    too_short = PageAnalysis(None, reason="too_short", excerpt=beginning)
    # Features that a project has made itself may need some text.
    if len(normal_text) < recipe.min_length:
        return too_short
    fingerprint = recipe.fingerprint(lines, weights, normal_lines)
    if fingerprint.value == recipe.nothing:
        return too_short
    return PageAnalysis(
        fingerprint,
        facts_of(extraction, recipe, normal_text),
        excerpt=beginning,
        canonical=extraction.canonical,
    )


def _excerpt(extraction: Extraction, length: int) -> str:
    """Return what people see of a page; nothing if the length is 0."""
    if not length:
        return ""
    # On many templates, half of these lines come before the first value of a record.
    details = () if extraction.alone else first_lines(extraction.details, 4 * length)
    return "\n".join([excerpt(extraction.text, length), *details])
