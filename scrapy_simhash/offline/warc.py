"""WARC files (ISO 28500): the pages of a crawl's archive, and the texts of a WET file.

A record that is no page, or is too large, is passed over without being kept in memory.
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from scrapy_simhash.core.analysis import Body, body_of, text_body
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.files import LARGEST, FileError, whole
from scrapy_simhash.readers import kind_of

_KINDS = ("response", "resource", "conversion")
_MOST_HEADERS, _LONGEST_HEADER = 1000, 1 << 16
_AS_TOLD = 47  # zlib finds out itself whether gzip or zlib packed the bytes
_RAW = -15  # some servers send "deflate" without the header of zlib


def read_records(
    path: Path, file: IO[bytes], over: Counter[str], recipe: Recipe
) -> Iterator[tuple[str, Body]]:
    """Yield the pages of an archive that the recipe's readers read, each behind its address.

    Records that are passed over are counted in ``over``. A damaged archive is a FileError.
    """
    while _begins(path, file):
        headers = _headers(path, file)
        kind, url = headers.get("warc-type", ""), headers.get("warc-target-uri", "").strip("<>")
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal()):
            raise FileError(f"{path}: damaged: the record of {url or kind} has no length")
        is_wanted = kind in _KINDS and url != ""
        try:
            content = whole(file, int(length), keep=is_wanted)
        except EOFError:
            raise FileError(f"{path}: cut off in the record of {url}") from None
        if not is_wanted:
            continue
        if content is None:
            over[f"record of more than {LARGEST:,} bytes"] += 1
            continue
        found = _page(kind, headers.get("content-type", ""), content, recipe)
        if isinstance(found, str):
            over[found] += 1
        else:
            yield url, found


def _begins(path: Path, file: IO[bytes]) -> bool:
    """Return whether one more record begins, and read its first line."""
    while (line := file.readline(_LONGEST_HEADER)) in (b"\r\n", b"\n"):
        pass
    if line and not line.startswith(b"WARC/"):
        raise FileError(f"{path}: damaged: no record of a WARC file begins with {line[:40]!r}")
    return bool(line)


def _headers(path: Path, file: IO[bytes]) -> dict[str, str]:
    headers = []
    while (line := file.readline(_LONGEST_HEADER)).strip():
        headers.append(line)
        if len(line) == _LONGEST_HEADER or len(headers) > _MOST_HEADERS:
            raise FileError(f"{path}: damaged: a record has too long a head")
    if not line:
        raise FileError(f"{path}: cut off in the head of a record")
    return _parsed(headers)


def _parsed(lines: list[bytes]) -> dict[str, str]:
    """Return what header lines say, by their names in lower case."""
    pairs = (line.decode("utf-8", "replace").partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _page(kind: str, type_: str, content: bytes, recipe: Recipe) -> Body | str:
    """Return the body of a page; of no page, what it is."""
    headers: dict[str, str] = {}
    if kind == "response":
        head, _, content = content.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\n")
        headers = _parsed(lines)
        type_ = headers.get("content-type", "")
        if status.split()[1:2] != [b"200"]:
            return "answer with another status than 200"
    if kind == "conversion" and kind_of(type_) == "text/plain":
        return text_body(content.decode("utf-8", "replace"))
    body = body_of(content, type_, recipe)
    if body is None:
        return "record that nothing reads"
    data = _body(headers, content) if kind == "response" else content
    if data is None:
        return f"page that does not unpack to {LARGEST:,} bytes"
    return body._replace(data=data)


def _body(headers: Mapping[str, str], data: bytes) -> bytes | None:
    """Return the body of an answer; None if it is too large, or nothing here can unpack it.

    A body that was unpacked already, as many archives have it, is left as it is.
    """
    if headers.get("transfer-encoding", "").lower() == "chunked":
        data = _joined(data)
    for coding in reversed(headers.get("content-encoding", "").lower().split(",")):
        try:
            unpacked = _unpacked(coding.strip(), data)
        except ImportError:
            return None
        except Exception:  # noqa: BLE001 - brotli's and zlib's own, which are no ValueError
            return data
        if len(unpacked) > LARGEST:
            return None
        data = unpacked
    return data


def _unpacked(coding: str, data: bytes) -> bytes:
    """Return up to ``LARGEST`` bytes, and one more if there are more."""
    if coding == "br":
        import brotli

        unpacked: bytes = brotli.Decompressor().process(data, output_buffer_limit=LARGEST + 1)
        return unpacked
    if coding in ("gzip", "x-gzip"):
        return zlib.decompressobj(_AS_TOLD).decompress(data, LARGEST + 1)
    if coding == "deflate":
        try:
            return zlib.decompressobj(_AS_TOLD).decompress(data, LARGEST + 1)
        except zlib.error:
            return zlib.decompressobj(_RAW).decompress(data, LARGEST + 1)
    return data


def _joined(data: bytes) -> bytes:
    """Return a body that came in chunks in one piece; one that has none as it is."""
    parts: list[bytes] = []
    at = 0
    while (end := data.find(b"\r\n", at, at + 1000)) >= 0:
        size, _, _ = data[at:end].partition(b";")
        try:
            length = int(size, 16)
        except ValueError:
            return b"".join(parts) if parts else data
        at = end + 2 + length + 2
        parts.append(data[end + 2 : at - 2])
        if length <= 0:
            break
    return b"".join(parts) if parts else data
