"""Pages that were saved: JSON lines, WARC files, HTML files and folders of these, one by one.

A line of JSON is one object: a name or address (``url``, ``id``) and the page as ``html``, its own
bytes as ``html_base64``, or a ``text`` without a page.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from w3lib.encoding import http_content_type_encoding

from scrapy_simhash.core.analysis import Body, text_body
from scrapy_simhash.keys import key_of, page_key, plain_key
from scrapy_simhash.offline.files import FileError, json_lines, unpacked, unpacked_name

_LINES, _HTML, _WARC = (".jsonl", ".jl", ".ndjson"), (".html", ".htm", ".xhtml"), (".warc",)
_NAMES, _CONTENT = ("id", "url"), ("html", "html_base64", "text")
_HTML_TYPES = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page or text.

    Attributes:
        name: what its line or file calls it.
        key: what names it in an index: its canonical address, or else its name.
    """

    name: str
    key: str
    body: Body
    url: str | None = None


def read_pages(
    path: str | Path, passed: Callable[[int], object] = lambda _: None
) -> Iterator[SavedPage]:
    """Yield the pages of a file, or of all files of a folder in sorted order.

    Of a WARC file, the responses with status 200 and HTML are taken. ``passed`` is called with the
    number of bytes on the disk that were read since its last call.

    Raises:
        FileError: there is nothing that can be read. Lines are checked as they are reached.
    """
    path = Path(path)
    for file in page_files(path):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        begun = 0
        with unpacked(file) as (content, raw):
            for page in _read(file, name, content):
                passed(raw.tell() - begun)
                begun = raw.tell()
                yield page
        passed(file.stat().st_size - begun)


def page_files(path: Path) -> list[Path]:
    """Return the files with pages, sorted: a file itself, or all in a folder; none is an error."""
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    known = (*_LINES, *_HTML, *_WARC)
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = [file for file in inside if file.is_file() and unpacked_name(file).endswith(known)]
    if not files:
        wanted = f"{', '.join(known)}, also with .gz, .xz, .bz2"
        raise FileError(f"{path}: no file with pages; their names end with {wanted}")
    return files


def _read(path: Path, name: str, file: IO[bytes]) -> Iterator[SavedPage]:
    kind = unpacked_name(path)
    if kind.endswith(_HTML):
        yield SavedPage(name, plain_key(name), Body(file.read()))
    elif kind.endswith(_WARC):
        yield from _warc(path, file)
    else:
        for where, entry in json_lines(file, path):
            yield _page(entry, where)


def _page(entry: dict[str, Any], where: str) -> SavedPage:
    _, name = _first(entry, _NAMES, where)
    if not name:
        raise FileError(f"{where}: no {' or '.join(_NAMES)} names the page")
    url = next((u for u in (entry.get("url"), name) if isinstance(u, str) and "://" in u), None)
    try:
        key = key_of(url or name)
    except ValueError as error:
        raise FileError(f"{where}: {url!r:.200} is no address ({error})") from None
    field, value = _first(entry, _CONTENT, where)
    if not field:
        there = ", ".join(list(entry)[:10])
        raise FileError(f"{where}: it has no {' or '.join(_CONTENT)}, but {there}")
    body = Body(value.encode("utf-8", "replace"), "utf-8")
    if field == "text":
        body = text_body(value)
    elif field == "html_base64":
        try:
            body = Body(b64decode(value, validate=True))
        except ValueError:
            raise FileError(f"{where}: html_base64 is not base64") from None
    return SavedPage(name, key, body, url)


def _first(entry: dict[str, Any], names: tuple[str, ...], where: str) -> tuple[str, str]:
    """Return the first field of these that is there, and its text; two empty texts if none is."""
    name = next((name for name in names if entry.get(name) is not None), "")
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise FileError(f"{where}: {name} must be text, not {type(value).__name__}")
    return name, value


class _Archive:
    """A packed file whose missing end is a FileError, because warcio ends quietly at EOFError."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except EOFError as problem:
            raise FileError(f"{self._path}: damaged ({problem})") from None


def _warc(path: Path, file: IO[bytes]) -> Iterator[SavedPage]:
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.bufferedreaders import BufferedReader
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError:
        raise FileError(
            f"{path}: WARC files need warcio: pip install 'scrapy-simhash[warc]'"
        ) from None
    with suppress(ImportError, AttributeError):
        from brotli import Decompressor

        # warcio knows the package "brotlipy" only, and fails at a page with any other.
        members = {"decompress": Decompressor.process, "unused_data": None}
        BufferedReader.DECOMPRESSORS["br"] = type("Brotli", (Decompressor,), members)
    try:
        for record in ArchiveIterator(_Archive(path, file)):
            url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
            if record.rec_type != "response" or not record.http_headers or not url:
                continue
            kind = record.http_headers.get_header("Content-Type") or ""
            is_page = kind.partition(";")[0].strip().lower() in _HTML_TYPES
            if is_page and record.http_headers.get_statuscode() == "200":
                body = Body(record.content_stream().read(), http_content_type_encoding(kind))
                # Bytes that the chunks of a body leave are no part of it.
                record.raw_stream.read()
                if getattr(record.raw_stream, "limit", 0) > 0:
                    raise FileError(f"{path}: cut off in the record of {url}")
                try:
                    yield SavedPage(url, page_key(url), body, url)
                except ValueError:
                    # Nobody can mend an archive, so what is no address is a mere name.
                    yield SavedPage(url, plain_key(url), body)
    except ArchiveLoadFailed as error:
        raise FileError(f"{path}: damaged ({error})") from None
