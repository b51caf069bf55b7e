"""Reading archives: what a page is, what is passed over, and what it takes."""

import gzip
import io
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import pytest

from scrapy_simhash.core.analysis import Body, text_body
from scrapy_simhash.fingerprint.recipe import RECIPES
from scrapy_simhash.offline.files import LARGEST_PAGE, FileError
from scrapy_simhash.offline.warc import read_records
from tests.commands.running import python

HTML = b"<title>t</title><p>" + b"words " * 50
URL = "http://a.test/"
RECIPE = replace(RECIPES["default"], readers={"text/csv": "text", "text/xml": None})


def record(content: bytes, *, kind: str = "response", type_: str = "", url: str = URL) -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: <{url}>\r\n"
    head += f"Content-Type: {type_}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content + b"\r\n\r\n"


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = (f"HTTP/1.1 {status}", "Content-Type: text/html; charset=latin-1", *headers, "", "")
    return "\r\n".join(lines).encode() + body


def chunked(body: bytes) -> bytes:
    parts = [body[at : at + 100] for at in range(0, len(body), 100)]
    return b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def read(*records: bytes) -> tuple[list[Any], Counter[str]]:
    over = Counter[str]()
    file = io.BytesIO(b"".join(records))
    return list(read_records(Path("a.warc"), file, over, RECIPE)), over


RAW_DEFLATE = zlib.compressobj(wbits=-15)
ANSWERS = {
    "as it is": answer(HTML),
    "in chunks": answer(chunked(HTML), "Transfer-Encoding: chunked"),
    "unpacked already": answer(HTML, "Transfer-Encoding: chunked", "Content-Encoding: gzip"),
    "gzip": answer(gzip.compress(HTML), "content-encoding: gzip"),
    "deflate": answer(zlib.compress(HTML), "Content-Encoding: deflate"),
    "deflate without head": answer(
        RAW_DEFLATE.compress(HTML) + RAW_DEFLATE.flush(), "Content-Encoding: deflate"
    ),
    "brotli in chunks": answer(
        chunked(brotli.compress(HTML)), "Transfer-Encoding: chunked", "Content-Encoding: br"
    ),
}


@pytest.mark.parametrize("form", ANSWERS)
def test_the_body_of_an_answer_is_unpacked(form):
    assert read(record(ANSWERS[form])) == ([(URL, Body(HTML, "cp1252"))], {})


def test_resources_and_conversions_have_no_answer_around_them():
    pages, over = read(
        record(HTML, kind="resource", type_="text/html"),
        record(b"a text", kind="conversion", type_="text/plain"),
        record(b"png", kind="resource", type_="image/png"),
        record(b"", kind="warcinfo", url=""),
        record(answer(HTML), kind="request"),
        record(answer(HTML, status="404 Not Found")),
    )
    assert pages == [(URL, Body(HTML)), (URL, text_body("a text"))]
    assert over == {"record that nothing reads": 1, "answer with another status than 200": 1}


def test_a_record_has_the_reader_that_a_crawl_has_for_its_type():
    types = {
        "application/json": "json",
        "Text/CSV; charset=utf-8": "text",
        "text/plain": "text",
        "application/pdf": "pdf",
        "text/xml": None,
    }
    pages, over = read(*(record(b"content", kind="resource", type_=type_) for type_ in types))
    assert [body.reader for _, body in pages] == [name for name in types.values() if name]
    assert over == {"record that nothing reads": 1}


@pytest.mark.parametrize(
    "damaged",
    [
        b"no archive\r\n\r\n",
        b"WARC/1.0\r\nWARC-Type: response\r\n",
        b"WARC/1.0\r\nWARC-Type: response\r\n\r\n",
        record(answer(HTML))[:-200],
    ],
)
def test_a_damaged_archive_is_refused(damaged):
    with pytest.raises(FileError, match=r"a\.warc: damaged"):
        read(record(answer(HTML)), damaged)


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("br", brotli.compress)])
def test_a_body_that_unpacks_to_more_than_the_limit_is_passed_over(coding, pack):
    small = record(answer(pack(HTML), f"Content-Encoding: {coding}"))
    large = record(answer(pack(b"a" * (LARGEST_PAGE + 1)), f"Content-Encoding: {coding}"))
    pages, over = read(large, small)
    assert [body.data for _, body in pages] == [HTML]
    assert over == {f"page that does not unpack to {LARGEST_PAGE:,} bytes": 1}


DEDUPE = """
import sys
from pathlib import Path
from tests.commands.running import simhash
simhash("dedupe", sys.argv[1], settings={"SIMHASH_PROCESSES": 0})
status = Path("/proc/self/status").read_text()
print(1024 * int(status.split("VmHWM:")[1].split()[0]))
"""
HUGE = 300_000_000
LARGE = {
    "bomb.jsonl": b'{"url": "http://b.test/", "html": "',
    "bomb.html": b"<p>",
    "bomb.warc": b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://b.test/\r\n"
    b"Content-Length: %d\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" % (HUGE + 44),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_file_that_unpacks_to_gigabytes_takes_little_memory(name, tmp_path):
    path = tmp_path / f"{name}.gz"
    # The middle consists of one packed piece, again and again.
    pieces = [LARGE[name], *[b"a" * 6_000_000] * (HUGE // 6_000_000), b"\r\n\r\n"]
    packed = {piece: gzip.compress(piece) for piece in {*pieces}}
    path.write_bytes(b"".join(packed[piece] for piece in pieces))
    assert path.stat().st_size < 1_000_000
    assert int(python(DEDUPE, path).split()[-1]) < 200_000_000
