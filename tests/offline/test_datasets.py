"""Reading sets of labelled pages."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.offline.datasets import Pair, read_dataset
from scrapy_simhash.offline.files import FileError

GOOD = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": "three"}]


def write_set(
    folder: Path, documents: list[Any] | bytes, labels: str | bytes = "a\tb\tlabel\n"
) -> Path:
    if not isinstance(documents, bytes):
        documents = "".join(json.dumps(document) + "\n" for document in documents).encode()
    (folder / "docs.jsonl").write_bytes(documents)
    (folder / "pairs.tsv").write_bytes(labels.encode() if isinstance(labels, str) else labels)
    return folder


def test_pages_and_texts_are_named_by_their_ids(tmp_path: Path) -> None:
    full = {"id": "a", "html": "<p>x", "url": "http://a.test/", "lang": "en"}
    raw = {"id": "b", "html_base64": b64encode("<p>你好，世界".encode("gb18030")).decode()}
    text = {"id": "c", "text": "words", "url": None, "more": [1]}
    dataset = read_dataset(write_set(tmp_path, [full, raw, text]))
    assert dataset.name == tmp_path.name
    assert [page.name for page in dataset.documents] == ["a", "b", "c"]
    assert [page.url for page in dataset.documents] == ["http://a.test/", None, None]
    assert [page.body.is_text for page in dataset.documents] == [False, False, True]


LABELS = (
    "label\tb\ta\tkind\tjaccard\r\n"
    "duplicate/mirror\ta\tb\t\t0.9\r\n"
    "negative\tc\ta\ttemplate\t\r\n"
    "\r\n"
    "ambiguous\tb\tc\t\t\r\n"
)


def test_labels_name_pairs_in_any_order_and_kinds_in_either_place(tmp_path: Path) -> None:
    dataset = read_dataset(write_set(tmp_path, GOOD, LABELS))
    assert dataset.pairs == {
        ("a", "b"): Pair("duplicate", "mirror"),
        ("b", "c"): Pair("ambiguous"),
    }
    assert dataset.negatives == {("a", "c"): "template"}


def test_pair_may_stand_twice_with_the_same_label(tmp_path: Path) -> None:
    labels = HEAD + "a\tb\tduplicate\nb\ta\tduplicate\na\tc\tnegative\nc\ta\tnegative\n"
    dataset = read_dataset(write_set(tmp_path, GOOD, labels))
    assert (len(dataset.pairs), len(dataset.negatives)) == (1, 1)


def test_id_may_have_any_character_that_a_table_can_hold(tmp_path: Path) -> None:
    odd = [{"id": "\ue000\u200b page", "text": "x"}, {"id": "b", "text": "y"}]
    dataset = read_dataset(write_set(tmp_path, odd, HEAD + "\ue000\u200b page\tb\tduplicate\n"))
    assert list(dataset.pairs) == [("b", "\ue000\u200b page")]


BAD_DOCUMENTS: dict[str, tuple[Any, str]] = {
    "not JSON": (b'{"id": "a", "text": "x"}\n{nothing}\n', "line 2: not a JSON object"),
    "id twice": ([GOOD[0], GOOD[0]], ": the id a is there twice"),
}


@pytest.mark.parametrize("documents", BAD_DOCUMENTS)
def test_bad_document_is_named_with_its_place(tmp_path: Path, documents: str) -> None:
    content, complaint = BAD_DOCUMENTS[documents]
    with pytest.raises(FileError) as error:
        read_dataset(write_set(tmp_path, content))
    assert complaint in str(error.value)
    assert str(error.value).startswith(str(tmp_path))
    assert "\n" not in str(error.value)


HEAD = "a\tb\tlabel\n"
BAD_LABELS: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "line 1: the first line must name the columns a, b, label"),
    "no header": ("a\tb\tduplicate\n", "line 1: the first line must name the columns"),
    "missing column": (HEAD + "a\tb\n", "line 2: not as many columns as in the first line"),
    "unknown document": (HEAD + "a\tz\tduplicate\n", "line 2: there is no document 'z'"),
    "unknown label": (HEAD + "a\tb\tsame\n", "must be duplicate, ambiguous, negative"),
    "with itself": (HEAD + "a\ta\tduplicate\n", "line 2: a is paired with itself"),
    "with two labels": (
        HEAD + "a\tb\tduplicate\nb\ta\tnegative/x\n",
        "line 3: the pair a b is negative, and duplicate further up",
    ),
    "not UTF-8": (HEAD.encode() + b"a\t\xff\tduplicate\n", "line 2: no row in UTF-8"),
}


@pytest.mark.parametrize("labels", BAD_LABELS)
def test_bad_label_is_named_with_its_line(tmp_path: Path, labels: str) -> None:
    content, complaint = BAD_LABELS[labels]
    with pytest.raises(FileError) as error:
        read_dataset(write_set(tmp_path, GOOD, content))
    assert complaint in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "pairs.tsv"))


def test_folder_without_documents_or_labels_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FileError, match=r"no set of labelled pages, because it has no pairs"):
            read_dataset(folder)
    (tmp_path / "pairs.tsv").write_text(HEAD)
    with pytest.raises(FileError, match="no file with pages"):
        read_dataset(tmp_path)
