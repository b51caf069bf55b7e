"""Reading pages that were saved, in whatever form."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from base64 import b64encode
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.core.analysis import Body, text_body
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.saved_pages import Fields, SavedPage, read_pages


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


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def named(path: Path, over: Counter[str] | None = None) -> list[tuple[str, str, bytes]]:
    return [(page.name, page.key, page.body.data) for page in read_pages(path, passed_over=over)]


def test_a_page_without_a_name_is_named_by_its_place(tmp_path: Path) -> None:
    lines = b'{"text": "x"}\n{"id": "", "text": "y"}\n{"id": 7, "text": "z"}\n'
    places = [page.name for page in read_pages(written(tmp_path, "a.jsonl", lines))]
    assert places == ["a.jsonl, line 1", "a.jsonl, line 2", "7"]


def test_what_is_no_address_is_a_mere_name(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", b'{"url": "http://[", "text": "x"}')
    assert named(path) == [("http://[", "http://[", b"x")]


FIELDS = {
    "raw_content": {"url": "http://a.test/", "raw_content": "x"},
    "markdown": {"markdown": "x", "metadata": {"url": "http://a.test/", "title": "t"}},
    "an empty field before": {"html": "", "text": "x", "url": "http://a.test/"},
    "a null field before": {"html": None, "text": "x", "url": "http://a.test/"},
}


@pytest.mark.parametrize("field", FIELDS)
def test_fields_of_other_programs_are_known(field: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", json.dumps(FIELDS[field]).encode())
    assert named(path) == [("http://a.test/", "http://a.test/", b"x")]


def test_the_settings_name_the_fields_of_a_feed(tmp_path: Path) -> None:
    item = {"sku": 7, "url": "http://a.test/7", "title": "t", "body": "x", "page": "<p>y"}
    path = written(tmp_path, "a.jl", json.dumps(item).encode())
    for fields, key, body in (
        (Fields(text="body"), "http://a.test/7", text_body("x")),
        (Fields(html="page"), "http://a.test/7", Body(b"<p>y", "utf-8")),
        (Fields(text="body", html="page", key="sku"), "7", text_body("x")),
    ):
        assert [(page.key, page.body) for page in read_pages(path, fields=fields)] == [(key, body)]
    with pytest.raises(FileError, match=r"the first one has sku, url, .* SIMHASH_ITEM_TEXT_FIELD"):
        named(path)


def test_lines_without_text_are_counted_and_passed_over(tmp_path: Path) -> None:
    over = Counter[str]()
    path = written(
        tmp_path, "a.jsonl", b'{"id": 1}\n{"id": 2, "text": "x"}\n{"id": 3, "text": null}'
    )
    assert named(path, over) == [("2", "2", b"x")]
    assert over == {"entry without text": 2}


def test_a_file_in_which_nothing_has_text_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", b'{"id": 1, "title": "t"}\n')
    with pytest.raises(FileError, match=r"no entry has html or .* the first one has id, title"):
        named(path)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_array_is_read_as_its_lines_are(mark: bytes, indent: int | None, tmp_path: Path) -> None:
    objects = [{"id": n, "text": "某 [x], \\" * (4 * n**3)} for n in range(20)]
    lines = "\n".join(map(json.dumps, objects)).encode()
    array = json.dumps(objects, indent=indent, ensure_ascii=False).encode()
    as_lines = named(written(tmp_path, "a.jsonl", mark + lines))
    assert named(written(tmp_path, "a.json", mark + array)) == as_lines
    assert len(as_lines) == 20


@pytest.mark.parametrize("array", [b'[{"id": 1, "text": "x"}', b"[1]", b'{"a"', b""])
def test_what_is_no_whole_array_of_objects_is_refused(array: bytes, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"a\.json(, element 1)?: (cut off|not a JSON object)"):
        named(written(tmp_path, "a.json", array))


def test_a_text_file_is_a_text_in_whatever_charset(tmp_path: Path) -> None:
    written(tmp_path, "a.txt", b"\xef\xbb\xbfone")
    written(tmp_path, "b.txt.gz", gzip.compress("中文网页的内容是这样的".encode("gb18030")))
    assert [page.body for page in read_pages(tmp_path)] == [
        text_body("one"),
        text_body("中文网页的内容是这样的"),
    ]


def test_parquet_is_read_as_lines_are(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [{"id": n, "text": f"text {n}", "metadata": {"url": None}} for n in range(150)]
    rows.append({"id": None, "text": None, "metadata": {"url": "http://a.test/"}})
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    over = Counter[str]()
    assert named(tmp_path / "a.parquet", over) == [
        (str(n), str(n), f"text {n}".encode()) for n in range(150)
    ]
    assert over == {"entry without text": 1}
    written(tmp_path, "a.parquet", b"PAR1")
    with pytest.raises(FileError, match="damaged"):
        named(tmp_path / "a.parquet")


BAD_LINES: dict[str, tuple[bytes, str]] = {
    "not JSON": (b'{"id": "a", "text": "x"}\n{nothing}\n', "line 2: not a JSON object"),
    "not an object": (b'{"id": "a", "text": "x"}\n["b"]\n', "line 2: not a JSON object"),
    "too deep": (b"[" * 100_000, "line 1: not a JSON object"),
    "html is a list": (b'{"id": "a", "html": ["x"]}', "line 1: html must be text, not list"),
    "not base64": (b'{"id": "a", "html_base64": "PHA+!"}', "line 1: html_base64 is not base64"),
    "not UTF-8": (b'{"id": "a", "text": "\xff"}\n', "line 1: not a JSON object"),
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
