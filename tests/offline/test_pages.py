"""Reading pages that were saved, in whatever form."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.core.analysis import Body, text_body
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.pages import SavedPage, read_pages


@given(st.lists(st.text(max_size=50), min_size=1, max_size=5))
def test_packed_and_plain_files_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    plain = tmp_path_factory.mktemp("plain") / "pages.jsonl"
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(texts)]
    plain.write_text("\n".join(lines))
    assert [page.body for page in read_pages(plain)] == [text_body(text) for text in texts]
    for suffix, packer in ((".xz", lzma), (".gz", gzip), (".bz2", bz2)):
        packed = plain.with_name(f"pages.jsonl{suffix}")
        packed.write_bytes(packer.compress(plain.read_bytes()))
        assert list(read_pages(packed)) == list(read_pages(plain))


def test_folder_of_html_files_is_read_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.html").write_text("<p>b")
    (tmp_path / "sub" / "a.HTM").write_bytes("<p>中文网页的内容是这样的".encode("gb18030"))
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    assert [(page.name, page.body) for page in read_pages(tmp_path)] == [
        ("b.html", Body(b"<p>b")),
        ("sub/a.HTM", Body("<p>中文网页的内容是这样的".encode("gb18030"))),
    ]


def test_an_address_names_the_page_by_its_canonical_form(tmp_path: Path) -> None:
    lines = [
        {"url": "http://a.test/?b=2&a=1#top", "html": "<p>x"},
        {"id": "http://a.test/2", "html_base64": b64encode(b"<p>y").decode()},
        {"id": "three", "url": None, "text": "z"},
    ]
    path = tmp_path / "pages.jl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert list(read_pages(path)) == [
        SavedPage(
            lines[0]["url"], "http://a.test/?a=1&b=2", Body(b"<p>x", "utf-8"), lines[0]["url"]
        ),
        SavedPage("http://a.test/2", "http://a.test/2", Body(b"<p>y"), "http://a.test/2"),
        SavedPage("three", "three", text_body("z")),
    ]


BAD_LINES: dict[str, tuple[bytes, str]] = {
    "not JSON": (b'{"id": "a", "text": "x"}\n{nothing}\n', "line 2: not a JSON object"),
    "not an object": (b'{"id": "a", "text": "x"}\n["b"]\n', "line 2: not a JSON object"),
    "too deep": (b"[" * 100_000, "line 1: not a JSON object"),
    "no name": (b'{"text": "x"}', "line 1: no id or url names the page"),
    "empty name": (b'{"id": "", "text": "x"}', "line 1: no id or url names the page"),
    "name is a number": (b'{"id": 1, "text": "x"}', "line 1: id must be text, not int"),
    "no content": (b'{"id": "a"}', "line 1: it has no html or html_base64 or text, but id"),
    "html is a list": (b'{"id": "a", "html": ["x"]}', "line 1: html must be text, not list"),
    "not base64": (b'{"id": "a", "html_base64": "PHA+!"}', "line 1: html_base64 is not base64"),
    "not UTF-8": (b'{"id": "a", "text": "\xff"}\n', "line 1: not a JSON object"),
    "no address": (b'{"url": "http://[", "text": "x"}', "line 1: 'http://[' is no address"),
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_line_is_named(tmp_path: Path, line: str) -> None:
    content, complaint = BAD_LINES[line]
    path = tmp_path / "pages.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileError) as error:
        list(read_pages(path))
    assert str(error.value).startswith(f"{path}, {complaint}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("packer", [lzma, gzip, bz2])
def test_damaged_archive_is_named(tmp_path: Path, packer: Any) -> None:
    path = tmp_path / f"pages.jsonl.{packer.__name__.replace('lzma', 'xz').replace('gzip', 'gz')}"
    packed = packer.compress(b'{"id": "a", "text": "one"}\n' * 50)
    for damaged in (packed[:-10], b"no archive"):
        path.write_bytes(damaged)
        with pytest.raises(FileError) as error:
            list(read_pages(path))
        assert str(error.value).startswith(f"{path}: ")
        assert "\n" not in str(error.value)


def test_there_must_be_pages(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text("a\tb\n")
    for path, complaint in (
        (tmp_path / "nowhere", "there is no such file"),
        (tmp_path / "labels.tsv", r"no file with pages; their names end with \.jsonl, "),
        (tmp_path, "no file with pages"),
    ):
        with pytest.raises(FileError, match=complaint):
            list(read_pages(path))
