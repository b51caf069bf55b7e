"""The documents of labelled sets, decoded."""

from __future__ import annotations

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.offline.pages import SavedPage


def html_of(page: SavedPage) -> str:
    return decode_html(page.body.data, page.body.charset)


def text_of(document: SavedPage) -> str:
    """Return the text of a document that is no page; empty for a page."""
    return document.body.data.decode("utf-8", "surrogatepass") if document.body.is_text else ""
