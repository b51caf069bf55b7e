"""Labelled pages: what an evaluation reads.

A set is a folder with ``docs.jsonl`` or ``docs.jsonl.xz``, one JSON object a line::

    {"id": "a", "url": "http://example.com/a", "html": "<p>..."}
    {"id": "b", "html_base64": "PHA+..."}      the page's own bytes
    {"id": "c", "lang": "en", "text": "..."}   a text without a page

and ``pairs.tsv``, whose first line names the columns; others than these are passed over::

    a <tab> b <tab> label <tab> kind
    a       c       duplicate   mirror
    a       b       negative/template          the kind may stand behind the label
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.offline.packed import unpacked
from scrapy_simhash.offline.pages import Fields, PagesError, read_pages

Label = Literal["duplicate", "ambiguous"]

_DOCUMENTS = ("docs.jsonl.xz", "docs.jsonl")
_FIELDS = Fields(key=("id",))


@dataclass(frozen=True, slots=True)
class Document:
    """One page or text of a set; it has ``html`` or ``text``.

    Attributes:
        id: its name in the labels.
        html: the decoded page.
        text: the text, where the set has no pages.
        url: its address, where known.
        lang: its language, where known.
        body: the hand-made main text, where known.
    """

    id: str
    html: str | None = None
    text: str | None = None
    url: str | None = None
    lang: str | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """The label of two documents.

    Attributes:
        label: ``ambiguous`` pairs count neither way.
        kind: the kind of near-duplicate, where the set says so.
    """

    label: Label
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, and the pairs of them that are near-duplicates.

    Attributes:
        name: for tables.
        documents: in the order of the file.
        pairs: by the two ids, the lesser first; a pair that is not here is not a near-duplicate.
        negatives: pairs that are known not to be near-duplicates and are likely to be taken for
            such, by ids as above, with their kind.
    """

    name: str
    documents: list[Document]
    pairs: dict[tuple[str, str], Pair]
    negatives: dict[tuple[str, str], str]


def read_dataset(folder: str | Path, kind_column: str = "kind") -> Dataset:
    """Read a set of labelled pages; it is named after its folder.

    Args:
        folder: of the set.
        kind_column: the column of ``pairs.tsv`` that says of which kind a pair is.

    Raises:
        PagesError: the folder holds no set; the message says what is wrong and where.
    """
    folder = Path(folder)
    labels = folder / "pairs.tsv"
    if not folder.is_dir():
        raise PagesError(f"{folder}: there is no such folder")
    if not labels.is_file():
        raise PagesError(f"{labels}: there is no such file; it says which pages are duplicates")
    documents = {document.id: document for document in _documents(folder)}
    pairs, negatives = _read_labels(labels, set(documents), kind_column)
    return Dataset(folder.resolve().name, list(documents.values()), pairs, negatives)


def _documents(folder: Path) -> Iterator[Document]:
    path = next((folder / name for name in _DOCUMENTS if (folder / name).is_file()), None)
    if path is None:
        raise PagesError(f"{folder}: it holds neither {' nor '.join(_DOCUMENTS)}")
    seen: set[str] = set()
    for number, page in enumerate(read_pages(path, _FIELDS), 1):
        where = f"{path}, document {number}"
        if set(page.name) & set("\t\r\n"):
            raise PagesError(f"{where}: an id has no tabs and line breaks, unlike {page.name!r}")
        if page.name in seen:
            raise PagesError(f"{where}: the id {page.name} is there twice")
        seen.add(page.name)
        known = {name: page.line.get(name) for name in ("lang", "body", "body_html")}
        for name, value in known.items():
            if not isinstance(value, str | None):
                raise PagesError(f"{where}: {name} must be text, not {type(value).__name__}")
        body_html = known.pop("body_html")
        if body_html is not None:
            known["body"] = extract(body_html, "text").text
        yield Document(page.name, page.html, page.text, page.url, **known)
    if not seen:
        raise PagesError(f"{path}: it holds no document")


def _read_labels(
    path: Path, ids: set[str], kind_column: str
) -> tuple[dict[tuple[str, str], Pair], dict[tuple[str, str], str]]:
    pairs: dict[tuple[str, str], Pair] = {}
    negatives: dict[tuple[str, str], str] = {}
    for where, row in _rows(path):
        a, b = sorted((row["a"], row["b"]))
        for name in (a, b):
            if name not in ids:
                raise PagesError(f"{where}: there is no document {name!r}")
        if a == b:
            raise PagesError(f"{where}: {a} is paired with itself")
        label, _, kind = row["label"].partition("/")
        kind = kind or row.get(kind_column, "")
        before = "negative" if (a, b) in negatives else getattr(pairs.get((a, b)), "label", label)
        if before != label:
            raise PagesError(f"{where}: the pair {a} {b} is {label}, and {before} further up")
        if label == "negative":
            negatives[a, b] = kind or "negative"
        elif label == "duplicate":
            pairs[a, b] = Pair("duplicate", kind or None)
        elif label == "ambiguous":
            pairs[a, b] = Pair("ambiguous", kind or None)
        else:
            raise PagesError(
                f"{where}: the label {row['label']!r} must be duplicate, ambiguous or negative"
            )
    return pairs, negatives


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table by its columns, each with its place."""
    columns: list[str] = []
    with unpacked(path, PagesError) as (file, _):
        for number, line in enumerate(file, 1):
            where = f"{path}, line {number}"
            try:
                cells = line.decode().rstrip("\r\n").split("\t")
            except UnicodeDecodeError:
                raise PagesError(f"{where}: not UTF-8") from None
            if not columns:
                columns = cells
                if not {"a", "b", "label"} <= set(columns):
                    break
            elif line.strip():
                if len(cells) != len(columns):
                    raise PagesError(f"{where}: {len(cells)} columns, not {len(columns)}")
                yield where, dict(zip(columns, cells, strict=True))
    if not {"a", "b", "label"} <= set(columns):
        raise PagesError(f"{path}, line 1: the first line must name the columns a, b and label")
