"""WARC files (ISO 28500): the pages of a crawl's archive, and the texts of a WET file.

warcio parses them. The size of a page is bounded here, because strangers sent it: a
record that is no page, or is too large, is passed over without being kept in memory.
"""

import zlib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from scrapy_simhash.core.analysis import Body, body_of, text_body
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.files import LARGEST_PAGE, FileError
from scrapy_simhash.readers import kind_of

_RECORD_TYPES = ("response", "resource", "conversion")


def read_records(
    path: Path,
    file: IO[bytes],
    passed_over: Counter[str],
    recipe: Recipe,
) -> Iterator[tuple[str, Body]]:
    """Yield the pages of an archive that the recipe's readers read, each behind its address.

    Records that are passed over are counted. A damaged archive is a FileError.
    """
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError:
        raise FileError(
            "WARC needs warcio: pip install 'scrapy-simhash[warc]'"
        ) from None
    try:
        for record in ArchiveIterator(file, no_record_parse=True):
            kind = record.rec_type
            url = record.rec_headers.get_header("WARC-Target-URI")
            if record.length is None:
                raise ArchiveLoadFailed(f"the record of {url or kind} has no length")
            if kind not in _RECORD_TYPES or not url:
                continue
            body: Body | str = f"record of more than {LARGEST_PAGE:,} bytes"
            if record.length <= LARGEST_PAGE:
                content = record.raw_stream.read()
                if len(content) < record.length:
                    raise ArchiveLoadFailed(f"cut off in the record of {url}")
                body = _page(kind, record.content_type or "", content, recipe)
            if isinstance(body, str):
                passed_over[body] += 1
            else:
                yield url, body
    except (ArchiveLoadFailed, EOFError) as error:
        raise FileError(f"{path}: damaged ({str(error)[:80]})") from None


def _page(
    kind: str,
    content_type: str,
    content: bytes,
    recipe: Recipe,
) -> Body | str:
    """Return the body of a page, or the kind of a record that is no page."""
    if kind == "conversion" and kind_of(content_type) == "text/plain":
        return text_body(content.decode("utf-8", "replace"))
    if kind != "response":
        return body_of(content, content_type, recipe) or "record that nothing reads"
    from warcio.statusandheaders import StatusAndHeadersParser

    stream = BytesIO(content)
    try:
        headers = StatusAndHeadersParser([], verify=False).parse(stream)
    except EOFError:
        return "answer with no head"
    if headers.get_statuscode() != "200":
        return "answer with another status than 200"
    body = body_of(b"", headers.get_header("content-type", ""), recipe)
    if body is None:
        return "record that nothing reads"
    data = _unpacked_body(headers, stream)
    if data is None or len(data) > LARGEST_PAGE:
        return f"page that does not unpack to {LARGEST_PAGE:,} bytes"
    return body._replace(data=data)


def _unpacked_body(headers: Any, stream: IO[bytes]) -> bytes | None:
    """Return the body of an answer, up to ``LARGEST_PAGE`` bytes and one more if there are more.

    None if nothing here can unpack it. warcio unpacks too, but to any size.
    """
    from warcio.bufferedreaders import ChunkedDataReader

    if headers.get_header("transfer-encoding", "").lower() == "chunked":
        stream = ChunkedDataReader(stream)
    data = stream.read()
    coding = headers.get_header("content-encoding", "").strip().lower()
    try:
        if coding == "br":
            import brotli

            unpacked: bytes = brotli.Decompressor().process(
                data, output_buffer_limit=LARGEST_PAGE + 1
            )
            return unpacked
        if coding in ("gzip", "x-gzip", "deflate"):
            return _inflated(data)
    except ImportError:
        return None
    except Exception:  # noqa: BLE001 - brotli's and zlib's, which are no ValueError
        # Many archives have bodies that were unpacked already.
        return data
    return data


def _inflated(data: bytes) -> bytes:
    try:
        # 32 + 15: with the header of gzip or of zlib.
        return zlib.decompressobj(47).decompress(data, LARGEST_PAGE + 1)
    except zlib.error:
        # Some servers send "deflate" without a header.
        return zlib.decompressobj(-15).decompress(data, LARGEST_PAGE + 1)
