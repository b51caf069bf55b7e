"""Labelled pages, which an evaluation reads; "scrapy simhash evaluate --help" has the format."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.saved_pages import PageReader, SavedPage

_COLUMNS = ("a", "b", "label")
_LABELS = ("duplicate", "ambiguous", "negative")


class Pair(NamedTuple):
    """The label of two documents: duplicate, negative, or ambiguous, which counts neither way."""

    label: str
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, and the pairs of them that are near-duplicates.

    Attributes:
        documents: in the order of the file, each with a name of its own.
        pairs: by the two names, the lesser first; a pair that is not here is ``negative``.
    """

    name: str
    documents: list[SavedPage]
    pairs: dict[tuple[str, str], Pair]


def read_dataset(folder: str | Path) -> Dataset:
    """Read a set, named after its folder; a FileError says what is wrong, and where.

    The kind of a pair stands behind its label, as in ``negative/template``, or in a column
    ``kind``.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileError(f"{folder}: there is no such folder")
    if not (folder / "pairs.tsv").is_file():
        raise FileError(f"{folder}: no set of labelled pages, because it has no pairs.tsv")
    documents: dict[str, SavedPage] = {}
    for page in PageReader().read(folder):
        if page.name in documents:
            raise FileError(f"{folder}: the id {page.name} is there twice")
        documents[page.name] = page
    labels: dict[tuple[str, str], Pair] = {}
    path = folder / "pairs.tsv"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path}: no table in UTF-8 ({error})") from None
    for number, row in enumerate(rows, 1):
        where = f"{path}, row {number}"
        if not all(map(row.get, _COLUMNS)):
            raise FileError(f"{where}: it must have the columns {', '.join(_COLUMNS)}")
        pair = min(row["a"], row["b"]), max(row["a"], row["b"])
        label, _, kind = row["label"].partition("/")
        if unknown := set(pair) - documents.keys():
            raise FileError(f"{where}: there is no document {unknown.pop()!r}")
        if label not in _LABELS:
            raise FileError(f"{where}: the label {label!r} must be {', '.join(_LABELS)}")
        labels[pair] = Pair(label, kind or row.get("kind") or None)
    return Dataset(folder.resolve().name, list(documents.values()), labels)
