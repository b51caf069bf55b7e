"""Reading sets of labelled pages."""

from __future__ import annotations

import json
import lzma
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.offline.datasets import DatasetError, Document, Pair, read_dataset, read_pages

GOOD = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": "three"}]


def write_set(
    folder: Path, documents: list[Any] | bytes, labels: str | bytes = "a\tb\tlabel\n"
) -> Path:
    if not isinstance(documents, bytes):
        documents = "".join(json.dumps(document) + "\n" for document in documents).encode()
    (folder / "docs.jsonl").write_bytes(documents)
    (folder / "pairs.tsv").write_bytes(labels.encode() if isinstance(labels, str) else labels)
    return folder


def test_every_field_of_a_document_is_read(tmp_path: Path) -> None:
    full = {"id": "a", "html": "<p>x", "url": "http://a.test/", "lang": "en", "body": "x"}
    raw = {"id": "b", "html_base64": b64encode("<p>你好，世界".encode("gb18030")).decode()}
    text = {"id": "c", "text": "words", "url": None, "more": [1]}
    dataset = read_dataset(write_set(tmp_path, [full, raw, text]))
    assert dataset.name == tmp_path.name
    assert dataset.documents[0] == Document(**full)
    assert dataset.documents[1].html is not None
    assert dataset.documents[1].text is None
    assert dataset.documents[2] == Document("c", text="words")


def test_labels_name_pairs_in_any_order_and_kinds_in_either_place(tmp_path: Path) -> None:
    labels = (
        "label\tb\ta\tkind\tjaccard\r\n"
        "duplicate/mirror\ta\tb\t\t0.9\r\n"
        "negative\tc\ta\ttemplate\t\r\n"
        "\r\n"
        "ambiguous\tb\tc\t\t\r\n"
    )
    dataset = read_dataset(write_set(tmp_path, GOOD, labels))
    assert dataset.pairs == {
        ("a", "b"): Pair("duplicate", "mirror"),
        ("b", "c"): Pair("ambiguous"),
    }
    assert dataset.negatives == {("a", "c"): "template"}


@given(st.lists(st.text(max_size=50), min_size=1, max_size=5))
def test_packed_and_plain_files_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    plain = tmp_path_factory.mktemp("plain") / "pages.jsonl"
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(texts)]
    plain.write_text("\n".join(lines))
    packed = plain.with_name("pages.jsonl.xz")
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    assert [document.text for document in read_pages(plain)] == texts
    assert list(read_pages(packed)) == list(read_pages(plain))


def test_folder_of_html_files_is_read_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.html").write_text("<p>b")
    (tmp_path / "sub" / "a.HTM").write_bytes("<p>中文网页的内容是这样的".encode("gb18030"))
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    assert list(read_pages(tmp_path)) == [
        Document("b.html", html="<p>b"),
        Document("sub/a.HTM", html="<p>中文网页的内容是这样的"),
    ]


def test_folder_of_a_set_is_read_as_pages_too(tmp_path: Path) -> None:
    write_set(tmp_path, GOOD)
    assert [document.id for document in read_pages(tmp_path)] == ["a", "b", "c"]


BAD_DOCUMENTS: dict[str, tuple[Any, str]] = {
    "not JSON": (b'{"id": "a", "text": "x"}\n{nothing}\n', "line 2: not a JSON object"),
    "not an object": ([GOOD[0], ["b"]], "line 2: not a JSON object"),
    "too deep": (b"[" * 100_000, "line 1: not a JSON object"),
    "no id": ([{"text": "x"}], "line 1: a document needs an id"),
    "empty id": ([{"id": "", "text": "x"}], "line 1: a document needs an id"),
    "id with a line break": ([{"id": "a\nb", "text": "x"}], "line 1: a document needs an id"),
    "id is a number": ([{"id": 1, "text": "x"}], "line 1: id must be text, not int"),
    "id twice": ([GOOD[0], GOOD[0]], "line 2: the id a is there twice"),
    "no content": ([{"id": "a"}], "not none"),
    "two contents": ([{"id": "a", "text": "x", "html": "y"}], "not html and text"),
    "html is a list": ([{"id": "a", "html": ["x"]}], "line 1: html must be text, not list"),
    "not base64": ([{"id": "a", "html_base64": "PHA+!"}], "line 1: html_base64 is not base64"),
    "not UTF-8": (b'{"id": "a", "text": "\xff"}\n', "not UTF-8"),
    "nothing": (b"", "it holds no document"),
}


@pytest.mark.parametrize("documents", BAD_DOCUMENTS)
def test_bad_document_is_named_with_its_line(tmp_path: Path, documents: str) -> None:
    content, complaint = BAD_DOCUMENTS[documents]
    with pytest.raises(DatasetError) as error:
        read_dataset(write_set(tmp_path, content))
    assert complaint in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "docs.jsonl"))
    assert "\n" not in str(error.value)


HEAD = "a\tb\tlabel\n"
BAD_LABELS: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "line 1: the first line must name the columns a, b and label"),
    "no header": ("a\tb\tduplicate\n", "line 1: the first line must name the columns"),
    "missing column": (HEAD + "a\tb\n", "line 2: 2 columns, not 3"),
    "unknown document": (HEAD + "a\tz\tduplicate\n", "line 2: there is no document 'z'"),
    "unknown label": (HEAD + "a\tb\tsame\n", "must be duplicate, ambiguous or negative"),
    "with itself": (HEAD + "a\ta\tduplicate\n", "line 2: a is paired with itself"),
    "twice": (
        HEAD + "a\tb\tduplicate\nb\ta\tnegative/x\n",
        "line 3: the pair a b is there twice",
    ),
    "not UTF-8": (HEAD.encode() + b"a\t\xff\tduplicate\n", "not UTF-8"),
}


@pytest.mark.parametrize("labels", BAD_LABELS)
def test_bad_label_is_named_with_its_line(tmp_path: Path, labels: str) -> None:
    content, complaint = BAD_LABELS[labels]
    with pytest.raises(DatasetError) as error:
        read_dataset(write_set(tmp_path, GOOD, content))
    assert complaint in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "pairs.tsv"))


def test_what_is_no_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no such folder"):
        read_dataset(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match=r"pairs\.tsv: there is no such file"):
        read_dataset(tmp_path)
    (tmp_path / "pairs.tsv").write_text(HEAD)
    with pytest.raises(DatasetError, match=r"neither docs\.jsonl\.xz nor docs\.jsonl"):
        read_dataset(tmp_path)
    with pytest.raises(DatasetError, match="neither a folder nor"):
        read_pages(tmp_path / "pairs.tsv")
    with pytest.raises(DatasetError, match="there is no such file or folder"):
        read_pages(tmp_path / "nowhere")


def test_damaged_archive_is_named(tmp_path: Path) -> None:
    write_set(tmp_path, GOOD)
    packed = lzma.compress((tmp_path / "docs.jsonl").read_bytes())
    for damaged in (packed[:-10], b"no archive"):
        (tmp_path / "docs.jsonl.xz").write_bytes(damaged)
        with pytest.raises(DatasetError, match=r"docs\.jsonl\.xz, after line \d+: damaged"):
            read_dataset(tmp_path)


def test_body_as_html_is_read_as_text(tmp_path: Path) -> None:
    page = {"id": "a", "html": "<p>x</p>", "body_html": "<p>The <b>body</b></p><p>of it</p>"}
    (tmp_path / "docs.jsonl").write_text(json.dumps(page))
    [document] = read_pages(tmp_path)
    assert document.body == "The body\nof it"
