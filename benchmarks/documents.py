"""The documents of labelled sets, decoded, and what people marked in them."""

import json
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.evaluation import Dataset, read_dataset
from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.offline.saved_pages import SavedPage

DATA = Path(__file__).parents[2] / "shared" / "data"


def lines_of(name: str) -> Iterator[dict[str, Any]]:
    """Yield what the lines of a set say, as they stand there."""
    with lzma.open(DATA / name / "docs.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@dataclass(frozen=True, slots=True)
class MarkedPage(SavedPage):
    """A page with the other fields of its line, such as its language and its main text."""

    line: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


def read_marked(name: str) -> Dataset:
    """Read a set whose lines say more of each page."""
    dataset = read_dataset(DATA / name)
    documents: list[SavedPage] = [
        MarkedPage(page.name, page.key, page.body, page.url, line)
        for page, line in zip(dataset.documents, lines_of(name), strict=True)
    ]
    return replace(dataset, documents=documents)


def marks_of(page: SavedPage) -> Mapping[str, Any]:
    return page.line if isinstance(page, MarkedPage) else {}


def html_of(page: SavedPage) -> str:
    return decode_html(page.body.data, page.body.charset)


def text_of(document: SavedPage) -> str:
    """Return the text of a document that is no page; empty for a page."""
    return (
        document.body.data.decode("utf-8", "surrogatepass")
        if document.body.is_text
        else ""
    )
