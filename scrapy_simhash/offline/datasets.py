"""Labelled pages: what an evaluation reads.

A set is a folder with ``docs.jsonl`` or ``docs.jsonl.xz``, one JSON object a line::

    {"id": "a", "url": "http://example.com/a", "html": "<p>..."}
    {"id": "b", "html_base64": "PHA+..."}      the page's own bytes
    {"id": "c", "text": "..."}                 a text without a page

and ``pairs.tsv``, whose first line names the columns; others than these are passed over::

    a <tab> b <tab> label <tab> kind
    a       c       duplicate   mirror
    a       b       negative/template          the kind may stand behind the label
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scrapy_simhash.offline.files import FileError, table
from scrapy_simhash.offline.pages import Fields, SavedPage, read_pages

_DOCUMENTS = ("docs.jsonl.xz", "docs.jsonl")
_FIELDS = Fields(key=("id",))


@dataclass(frozen=True, slots=True)
class Pair:
    """The label of two documents.

    Attributes:
        label: ``duplicate``, or ``ambiguous``: such pairs count neither way.
        kind: the kind of near-duplicate, where the set says so.
    """

    label: str
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, and the pairs of them that are near-duplicates.

    Attributes:
        name: for tables.
        documents: in the order of the file, each with a name of its own.
        pairs: by the two names, the lesser first; a pair that is not here is not a near-duplicate.
        negatives: pairs that are known not to be near-duplicates and are likely to be taken for
            such, by names as above, with their kind.
    """

    name: str
    documents: list[SavedPage]
    pairs: dict[tuple[str, str], Pair]
    negatives: dict[tuple[str, str], str]


def read_dataset(folder: str | Path, kind_column: str = "kind") -> Dataset:
    """Read a set of labelled pages; it is named after its folder.

    Args:
        folder: of the set.
        kind_column: the column of ``pairs.tsv`` that says of which kind a pair is; the set may
            lack ``kind``, but no other.

    Raises:
        FileError: the folder holds no set; the message says what is wrong and where.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileError(f"{folder}: there is no such folder")
    path = next((folder / name for name in _DOCUMENTS if (folder / name).is_file()), None)
    if path is None:
        raise FileError(f"{folder}: it holds neither {' nor '.join(_DOCUMENTS)}")
    documents: dict[str, SavedPage] = {}
    for number, page in enumerate(read_pages(path, _FIELDS), 1):
        where = f"{path}, document {number}"
        if set(page.name) & set("\t\r\n"):
            raise FileError(f"{where}: an id has no tabs and line breaks, unlike {page.name!r}")
        if page.name in documents:
            raise FileError(f"{where}: the id {page.name} is there twice")
        documents[page.name] = page
    if not documents:
        raise FileError(f"{path}: it holds no document")
    dataset = Dataset(folder.resolve().name, list(documents.values()), {}, {})
    own = () if kind_column == "kind" else (kind_column,)
    for where, row in table(folder / "pairs.tsv", "a", "b", "label", *own):
        _add(dataset, documents, row, kind_column, where)
    return dataset


def _add(
    dataset: Dataset,
    documents: dict[str, SavedPage],
    row: dict[str, str],
    kind_column: str,
    where: str,
) -> None:
    """Add the label of a row."""
    a, b = pair = min(row["a"], row["b"]), max(row["a"], row["b"])
    for name in pair:
        if name not in documents:
            raise FileError(f"{where}: there is no document {name!r}")
    if a == b:
        raise FileError(f"{where}: {a} is paired with itself")
    label, _, kind = row["label"].partition("/")
    kind = kind or row.get(kind_column, "")
    known = dataset.pairs.get(pair)
    before = known.label if known else "negative" if pair in dataset.negatives else label
    if before != label:
        raise FileError(f"{where}: the pair {a} {b} is {label}, and {before} further up")
    if label == "negative":
        dataset.negatives[pair] = kind or label
    elif label in ("duplicate", "ambiguous"):
        dataset.pairs[pair] = Pair(label, kind or None)
    else:
        raise FileError(
            f"{where}: the label {row['label']!r} must be duplicate, ambiguous or negative"
        )
