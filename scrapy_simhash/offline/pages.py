"""Pages that were saved: JSON lines, WARC files, HTML files and folders of these, one by one.

A line of JSON is one object: a name or address (``url``, ``id``) and the page as ``html``, its own
bytes as ``html_base64``, or a ``text`` without a page.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.keys import page_key, plain_key
from scrapy_simhash.offline.packed import unpacked, unpacked_name

_LINES = (".jsonl", ".jl", ".ndjson")
_HTML = (".html", ".htm", ".xhtml")
_WARC = (".warc", ".warc.gz")
_HTML_TYPES = ("text/html", "application/xhtml+xml")


class PagesError(ValueError):
    """Saved pages cannot be read; the message is one line that names the file and the line."""


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page or text.

    Attributes:
        name: what its line or file calls it.
        key: what names it in an index: its canonical address, or else its name.
        url: its address, where known.
        body: the page's bytes; None if there is only a text.
        declared: the charset that came with it.
        text: the text, where there is no page.
        line: all fields of its line, if it stood in one.
    """

    name: str
    key: str
    url: str | None = None
    body: bytes | None = None
    declared: str | None = None
    text: str | None = None
    line: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def html(self) -> str | None:
        """The decoded page; None if there is only a text."""
        return None if self.body is None else decode_html(self.body, self.declared)


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of a line's fields; of several, the first that is there is taken.

    Attributes:
        key: names the page, and is its address if it has ``://`` in it.
        html: the page.
        text: a text, taken where there is no page.
    """

    key: tuple[str, ...] = ("url", "id")
    html: tuple[str, ...] = ("html", "html_base64")
    text: tuple[str, ...] = ("text",)


def read_pages(
    path: str | Path, fields: Fields | None = None, passed: Callable[[int], object] = lambda _: None
) -> Iterator[SavedPage]:
    """Yield the pages of a file, or of all files of a folder in sorted order.

    Of a WARC file, the responses with status 200 and HTML are taken.

    Args:
        path: the file or folder.
        fields: the names of the fields of a line.
        passed: called with the number of bytes on the disk that were read since its last call.

    Raises:
        PagesError: there is nothing that can be read. Lines are checked as they are reached.
    """
    path = Path(path)
    for file in page_files(path):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        begun = 0
        for page, read in _read(file, name, fields or Fields()):
            passed(read - begun)
            begun = read
            yield page
        passed(file.stat().st_size - begun)


def page_files(path: Path) -> list[Path]:
    """Return the files with pages: a file itself, or all that are in a folder, in sorted order.

    Raises:
        PagesError: there is none.
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and _kind(file))
        if not files:
            raise PagesError(f"{path}: it holds neither HTML, JSON lines nor WARC files")
        return files
    if not path.is_file():
        raise PagesError(f"{path}: there is no such file or folder")
    if not _kind(path):
        known = ", ".join((*_LINES, *_HTML, *_WARC))
        raise PagesError(
            f"{path}: its kind is not known; known are folders, {known}, also with .gz, .xz, .bz2"
        )
    return [path]


def _kind(path: Path) -> str | None:
    name = unpacked_name(path)
    for kind, suffixes in (("lines", _LINES), ("html", _HTML), ("warc", (".warc",))):
        if name.endswith(suffixes):
            return kind
    return None


def _read(path: Path, name: str, fields: Fields) -> Iterator[tuple[SavedPage, int]]:
    """Yield the pages of a file, each with the bytes that were read so far."""
    with unpacked(path, PagesError) as (file, raw):
        if _kind(path) == "html":
            yield SavedPage(name, plain_key(name), body=file.read()), raw.tell()
        elif _kind(path) == "warc":
            # warcio itself unpacks .gz, record by record.
            for page in _warc(path, raw if path.suffix.lower() == ".gz" else file):
                yield page, raw.tell()
        else:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _page(line, fields, f"{path}, line {number}"), raw.tell()


def _page(line: bytes, fields: Fields, where: str) -> SavedPage:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise PagesError(f"{where}: not a JSON object")
    name = _first(entry, fields.key, where)
    if not name:
        raise PagesError(f"{where}: no {' or '.join(fields.key)} names the page")
    url = next((u for u in (entry.get("url"), name) if isinstance(u, str) and "://" in u), None)
    key = plain_key(name) if url is None else _key(url, where)
    for html_field in fields.html:
        html = _first(entry, (html_field,), where)
        if html is not None and html_field != "html_base64":
            body = html.encode("utf-8", "replace")
            return SavedPage(name, key, url, body, "utf-8", line=entry)
        if html is not None:
            try:
                return SavedPage(name, key, url, b64decode(html, validate=True), line=entry)
            except ValueError:
                raise PagesError(f"{where}: html_base64 is not base64") from None
    text = _first(entry, fields.text, where)
    if text is None:
        there = ", ".join(list(entry)[:10])
        wanted = " or ".join((*fields.html, *fields.text))
        raise PagesError(f"{where}: it has no {wanted}, but {there}")
    return SavedPage(name, key, url, text=text, line=entry)


def _first(entry: dict[str, Any], names: tuple[str, ...], where: str) -> str | None:
    for name in names:
        value = entry.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            raise PagesError(f"{where}: {name} must be text, not {type(value).__name__}")
    return None


def _key(url: str, where: str) -> str:
    try:
        return page_key(url)
    except ValueError as error:
        raise PagesError(f"{where}: {url!r:.200} is no address ({error})") from None


def _warc(path: Path, file: IO[bytes]) -> Iterator[SavedPage]:
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError:
        raise PagesError(
            f"{path}: WARC files need warcio: pip install 'scrapy-simhash[warc]'"
        ) from None
    try:
        for record in ArchiveIterator(file):
            url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
            if record.rec_type != "response" or not record.http_headers or not url:
                continue
            head = record.http_headers.get_header("Content-Type") or ""
            kind, _, rest = head.partition(";")
            is_page = kind.strip().lower() in _HTML_TYPES
            if is_page and record.http_headers.get_statuscode() == "200":
                charset = rest.lower().partition("charset=")[2].split(";")[0].strip(" \"'")
                body = record.content_stream().read()
                yield SavedPage(url, _key(url, str(path)), url, body, charset or None)
    except ArchiveLoadFailed as error:
        raise PagesError(f"{path}: damaged ({error})") from None
