"""Reading sets of labelled pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.offline.datasets import Pair, read_dataset
from scrapy_simhash.offline.files import FileError

PAGES = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": "three"}]
HEAD = "a\tb\tlabel\n"


def written(folder: Path, pages: list[Any], labels: str | bytes) -> Path:
    (folder / "docs.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    (folder / "pairs.tsv").write_bytes(labels.encode() if isinstance(labels, str) else labels)
    return folder


def test_labels_name_pairs_in_any_order_and_kinds_in_either_place(tmp_path: Path) -> None:
    labels = (
        "label\tb\ta\tkind\tjaccard\r\nduplicate/mirror\ta\tb\t\t0.9\r\n"
        "negative\tc\ta\ttemplate\t\r\n\r\nambiguous\tb\tc\t\t\r\n"
    )
    dataset = read_dataset(written(tmp_path, PAGES, labels))
    assert dataset.name == tmp_path.name
    assert [page.name for page in dataset.documents] == ["a", "b", "c"]
    assert dataset.pairs == {
        ("a", "b"): Pair("duplicate", "mirror"),
        ("a", "c"): Pair("negative", "template"),
        ("b", "c"): Pair("ambiguous"),
    }


def test_a_pair_may_stand_twice_with_one_label_and_have_any_name(tmp_path: Path) -> None:
    odd = "\ue000\u200b page"
    labels = f"{HEAD}{odd}\tb\tduplicate\nb\t{odd}\tduplicate\n"
    pages = [*PAGES, {"id": odd, "text": "x"}]
    assert [*read_dataset(written(tmp_path, pages, labels)).pairs] == [("b", odd)]


BAD_LABELS: list[tuple[str | bytes, str]] = [
    ("a\tb\tduplicate\na\tb\tx\n", "row 1: it must have the columns a, b, label"),
    (HEAD + "a\tb\n", "row 1: it must have the columns a, b, label"),
    (HEAD + "a\tz\tduplicate\n", "row 1: there is no document 'z'"),
    (HEAD + "a\tb\tsame\n", "must be duplicate, ambiguous, negative"),
    (HEAD.encode() + b"a\t\xff\tduplicate\n", "no table in UTF-8"),
]


@pytest.mark.parametrize(("labels", "says"), BAD_LABELS)
def test_a_bad_label_is_named_with_its_row(labels: str | bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(FileError) as error:
        read_dataset(written(tmp_path, PAGES, labels))
    assert says in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "pairs.tsv"))


def test_a_folder_must_have_labels_and_pages_with_names_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such folder"):
        read_dataset(tmp_path / "nowhere")
    with pytest.raises(FileError, match=r"no set of labelled pages, because it has no pairs"):
        read_dataset(tmp_path)
    (tmp_path / "pairs.tsv").write_text(HEAD)
    with pytest.raises(FileError, match="no file with pages"):
        read_dataset(tmp_path)
    with pytest.raises(FileError, match="the id a is there twice"):
        read_dataset(written(tmp_path, [PAGES[0], PAGES[0]], HEAD))
