"""Labelled pages: what an evaluation reads, and what a generator of near-duplicates makes.

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

import json
import lzma
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.extraction.extractor import extract

Label = Literal["duplicate", "ambiguous"]

_CONTENT = ("html", "html_base64", "text")
_PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})


class DatasetError(ValueError):
    """A set cannot be read; the message is one line that names the file and the line."""


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
    """What is known of two documents.

    Attributes:
        label: ``ambiguous`` pairs count neither way.
        kind: of which kind the near-duplicate is, where the set says so.
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


def read_dataset(folder: str | Path) -> Dataset:
    """Read a set of labelled pages; it is named after its folder.

    Raises:
        DatasetError: what is there is not a set; the message says what and where.
    """
    folder = Path(folder)
    labels = folder / "pairs.tsv"
    if not folder.is_dir():
        raise DatasetError(f"{folder}: there is no such folder")
    if not labels.is_file():
        raise DatasetError(f"{labels}: there is no such file; it says which pages are duplicates")
    documents = list(read_pages(_documents_of(folder)))
    pairs, negatives = _read_labels(labels, {document.id for document in documents})
    return Dataset(folder.resolve().name, documents, pairs, negatives)


def read_pages(path: str | Path) -> Iterator[Document]:
    """Yield the documents of a ``.jsonl`` or ``.jsonl.xz`` file, or of a folder.

    A folder holds ``docs.jsonl`` or ``docs.jsonl.xz``, or else HTML files at any depth, whose ids
    are their paths inside it.

    Raises:
        DatasetError: there is nothing that can be read; the message says what and where. Lines
            are checked as they are reached.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(f for f in path.rglob("*") if f.suffix.lower() in _PAGE_SUFFIXES)
        if files and not any((path / name).is_file() for name in _DOCUMENTS):
            return _files(path, files)
        return _documents(_documents_of(path))
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such file or folder")
    if not path.name.endswith((".jsonl", ".jsonl.xz")):
        raise DatasetError(f"{path}: neither a folder nor a .jsonl or .jsonl.xz file")
    return _documents(path)


_DOCUMENTS = ("docs.jsonl.xz", "docs.jsonl")


def _documents_of(folder: Path) -> Path:
    for name in _DOCUMENTS:
        if (folder / name).is_file():
            return folder / name
    raise DatasetError(f"{folder}: it holds neither {' nor '.join(_DOCUMENTS)}")


def _files(folder: Path, files: list[Path]) -> Iterator[Document]:
    for file in files:
        try:
            yield Document(file.relative_to(folder).as_posix(), decode_html(file.read_bytes()))
        except OSError as error:
            raise DatasetError(f"{file}: {error.strerror}") from None


def _documents(path: Path) -> Iterator[Document]:
    seen: set[str] = set()
    for where, line in _lines(path):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise DatasetError(f"{where}: not a JSON object") from None
        document = _document(entry, where)
        if document.id in seen:
            raise DatasetError(f"{where}: the id {document.id} is there twice")
        seen.add(document.id)
        yield document
    if not seen:
        raise DatasetError(f"{path}: it holds no document")


def _document(entry: Any, where: str) -> Document:
    if not isinstance(entry, dict):
        raise DatasetError(f"{where}: not a JSON object")
    for name in ("id", "url", "lang", "body", "body_html", *_CONTENT):
        if not isinstance(entry.get(name), str | None):
            raise DatasetError(f"{where}: {name} must be text, not {type(entry[name]).__name__}")
    if not (entry.get("id") or "").isprintable() or not entry.get("id"):
        raise DatasetError(f"{where}: a document needs an id in printable characters")
    content = [name for name in _CONTENT if entry.get(name) is not None]
    if len(content) != 1:
        has = " and ".join(content) or "none"
        raise DatasetError(f"{where}: a document needs one of {', '.join(_CONTENT)}, not {has}")
    html = entry.get("html")
    if content == ["html_base64"]:
        try:
            html = decode_html(b64decode(entry["html_base64"], validate=True))
        except ValueError:
            raise DatasetError(f"{where}: html_base64 is not base64") from None
    values = {name: entry.get(name) for name in ("text", "url", "lang", "body")}
    if entry.get("body_html") is not None:
        values["body"] = extract(entry["body_html"], "text").text
    return Document(entry["id"], html, **values)


def _read_labels(
    path: Path, ids: set[str]
) -> tuple[dict[tuple[str, str], Pair], dict[tuple[str, str], str]]:
    pairs: dict[tuple[str, str], Pair] = {}
    negatives: dict[tuple[str, str], str] = {}
    lines = ((where, line.rstrip("\r\n").split("\t")) for where, line in _lines(path))
    where, columns = next(lines, (f"{path}, line 1", []))
    if not {"a", "b", "label"} <= set(columns):
        raise DatasetError(f"{where}: the first line must name the columns a, b and label")
    for where, cells in lines:
        if len(cells) != len(columns):
            raise DatasetError(f"{where}: {len(cells)} columns, not {len(columns)}")
        row = dict(zip(columns, cells, strict=True))
        a, b = sorted((row["a"], row["b"]))
        for name in (a, b):
            if name not in ids:
                raise DatasetError(f"{where}: there is no document {name!r}")
        if a == b:
            raise DatasetError(f"{where}: {a} is paired with itself")
        if (a, b) in pairs or (a, b) in negatives:
            raise DatasetError(f"{where}: the pair {a} {b} is there twice")
        label, _, kind = row["label"].partition("/")
        kind = kind or row.get("kind", "")
        if label == "negative":
            negatives[a, b] = kind or "negative"
        elif label == "duplicate":
            pairs[a, b] = Pair("duplicate", kind or None)
        elif label == "ambiguous":
            pairs[a, b] = Pair("ambiguous", kind or None)
        else:
            raise DatasetError(
                f"{where}: the label must be duplicate, ambiguous or negative, not {label!r}"
            )
    return pairs, negatives


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text file that may be packed, each with where it stands."""
    number = 0
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}, line {number}", line
    except UnicodeDecodeError:
        raise DatasetError(f"{path}, after line {number}: not UTF-8") from None
    except (lzma.LZMAError, EOFError) as error:
        raise DatasetError(f"{path}, after line {number}: damaged ({error})") from None
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror or error}") from None


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")
