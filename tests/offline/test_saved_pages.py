"""Reading pages that were saved, in whatever form."""

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
from scrapy_simhash.offline.saved_pages import PageReader

CHINESE = "中文网页的内容是这样的"


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def pages(path: Path, reader: PageReader | None = None) -> list[tuple[str, str, Body]]:
    base = f"{path if path.is_dir() else path.parent}/"
    read = (reader or PageReader()).read(path)
    return [(page.name.removeprefix(base), page.key.removeprefix(base), page.body) for page in read]


@given(st.lists(st.text(max_size=50), min_size=1, max_size=5))
def test_packed_files_are_read_as_plain_ones(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("plain")
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(texts)]
    plain = written(folder, "pages.jsonl", "\n".join(lines).encode())
    assert [body for _, _, body in pages(plain)] == [*map(text_body, texts)]
    for suffix, packer in ((".xz", lzma), (".gz", gzip), (".bz2", bz2)):
        packed = written(folder, f"pages.jsonl{suffix}", packer.compress(plain.read_bytes()))
        assert pages(packed) == pages(plain)


def test_a_folder_is_read_at_any_depth_and_in_order(tmp_path):
    (tmp_path / "sub").mkdir()
    written(tmp_path, "b.html", b"<p>b")
    written(tmp_path / "sub", "a.HTM", b"<p>a")
    written(tmp_path, "c.txt.gz", gzip.compress(CHINESE.encode("gb18030")))
    written(tmp_path, "notes.md", b"")
    assert pages(tmp_path) == [
        ("b.html", "b.html", Body(b"<p>b")),
        ("c.txt.gz", "c.txt.gz", text_body(CHINESE)),
        ("sub/a.HTM", "sub/a.HTM", Body(b"<p>a")),
    ]


def test_a_page_is_named_by_its_whole_path(tmp_path):
    """Two folders may each have an index.html."""
    path = written(tmp_path, "index.html", b"<p>a")
    assert [page.key for page in PageReader().read(tmp_path)] == [str(path)]


X, Y = text_body("x"), Body(b"<p>y", "utf-8")
URL = "http://a.test/7"
ITEM = {"sku": 7, "url": URL, "title": "t", "body": "x", "page": "<p>y"}
OBJECTS: list[tuple[dict[str, Any], dict[str, str], tuple[str, str, Body]]] = [
    ({"id": "a", "html": "<p>y", "url": URL}, {}, ("a", URL, Y)),
    (
        {"html": "<p>y", "url": f"{URL}?b=2&a=1#top"},
        {},
        (f"{URL}?b=2&a=1#top", f"{URL}?a=1&b=2", Y),
    ),
    ({"id": "a", "html_base64": b64encode(b"<p>y").decode()}, {}, ("a", "a", Body(b"<p>y"))),
    ({"html": "", "text": "x", "url": URL}, {}, (URL, URL, X)),
    ({"html": None, "text": "x", "id": 7, "url": None}, {}, ("7", "7", X)),
    ({"text": "x", "id": ""}, {}, ("a.jl, entry 1", "a.jl, entry 1", X)),
    ({"text": "x", "url": "http://["}, {}, ("http://[", "http://[", X)),
    (ITEM, {"text_field": "body"}, (URL, URL, X)),
    (ITEM, {"html_field": "page"}, (URL, URL, Y)),
    (ITEM, {"text_field": "body", "html_field": "page", "key_field": "sku"}, ("7", "7", X)),
]


@pytest.mark.parametrize(("item", "fields", "page"), OBJECTS, ids=range(len(OBJECTS)))
def test_an_object_has_its_content_and_name_in_known_or_named_fields(item, fields, page, tmp_path):
    path = written(tmp_path, "a.jl", json.dumps(item).encode())
    key, address, body = page
    # Links are resolved against the folder of a page.
    folder = "http://a.test/" if address.startswith("http://a.test/") else ""
    assert pages(path, PageReader(**fields)) == [(key, address, body._replace(url=folder))]


def test_objects_without_text_are_passed_over_unless_all_are(tmp_path):
    lines = b'{"id": 1, "title": "t"}\n{"id": 2, "text": "x"}\n{"id": 3, "text": null}'
    reader = PageReader()
    assert pages(written(tmp_path, "a.jsonl", lines), reader) == [("2", "2", X)]
    assert reader.passed_over == {"entry without text": 2}
    path = written(tmp_path, "a.jsonl", lines.split(b"\n")[0])
    says = r"no entry has html, .* the first one has id, title; .* -s SIMHASH_ITEM_TEXT_FIELD="
    with pytest.raises(FileError, match=says):
        pages(path)


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_is_read_as_lines_are(indent, tmp_path):
    objects = [{"id": n, "text": "某 [x], \\" * (4 * n**3)} for n in range(20)]
    mark = b"\xef\xbb\xbf"
    lines = "\n".join(map(json.dumps, objects)).encode()
    array = json.dumps(objects, indent=indent, ensure_ascii=False).encode()
    as_lines = pages(written(tmp_path, "a.jsonl", mark + lines))
    assert pages(written(tmp_path, "a.json", mark + array)) == as_lines
    assert len(as_lines) == 20


GOOD = b'{"id": "a", "text": "x"}\n'
PACKED = {"xz": lzma.compress(GOOD), "gz": gzip.compress(GOOD, mtime=0), "bz2": bz2.compress(GOOD)}
BAD: list[tuple[str, bytes, str]] = [
    ("a.jsonl", GOOD + b"{nothing}\n", ", entry 2: cut off, or no JSON object"),
    ("a.jsonl", GOOD + b'"b"\n', ", entry 2: not a JSON object"),
    ("a.jsonl", b'{"a":' * 100_000, ", entry 1: cut off, or no JSON object"),
    ("a.jsonl", b'{"html_base64": "PHA"}', ", entry 1: html_base64 is not base64 ("),
    ("a.json", b'[{"id": 1, "text": "x"', ", entry 1: cut off, or no JSON object"),
    ("a.json", b"[1]", ", entry 1: not a JSON object"),
    *((f"a.jl.{suffix}", packed[:-5], ": ") for suffix, packed in PACKED.items()),
    *((f"a.jl.{suffix}", b"no archive", ": ") for suffix in PACKED),
    ("a.tsv", b"a\tb\n", r": no file with pages; their names end with .jsonl, "),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD, ids=range(len(BAD)))
def test_a_damaged_file_is_named_with_the_place(name, content, says, tmp_path):
    path = written(tmp_path, name, content)
    with pytest.raises(FileError) as error:
        pages(path)
    assert str(error.value).startswith(f"{path}{says}")
    assert "\n" not in str(error.value)
