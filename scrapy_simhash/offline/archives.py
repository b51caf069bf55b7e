"""Pages that were saved: JSON lines, WARC files, folders of HTML; one after the other."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

_PACKED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_LINES = (".jsonl", ".jl", ".ndjson")
_HTML = (".html", ".htm", ".xhtml")
_WARC = (".warc", ".warc.gz")
_HTML_TYPES = ("text/html", "application/xhtml+xml")


class ArchiveError(ValueError):
    """Saved pages cannot be read; the message is one line that says what and where."""


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page or text.

    Attributes:
        name: its address where known, else what the archive calls it.
        url: its address, where known.
        body: the page's bytes; None if there is only a text.
        declared: the charset that came with it.
        text: the text, where there is no page.
    """

    name: str
    url: str | None = None
    body: bytes | None = None
    declared: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a line hold what; the first that is there is taken.

    Attributes:
        key: what names the page, an address if it has ``://`` in it.
        html: the page.
        text: a text, taken where there is no page.
    """

    key: tuple[str, ...] = ("url", "id")
    html: tuple[str, ...] = ("html", "html_base64")
    text: tuple[str, ...] = ("text",)


def read_archive(path: Path, fields: Fields) -> Iterator[SavedPage]:
    """Yield the pages of a file, or of a folder: all its files of these kinds, in sorted order.

    From WARC files, responses with status 200 and HTML are taken.

    Raises:
        ArchiveError: there is nothing that can be read. Lines are checked as they are reached.
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and _kind(file))
        if not files:
            raise ArchiveError(f"{path}: it holds neither HTML, JSON lines nor WARC files")
        for file in files:
            yield from _read(file, file.relative_to(path).as_posix(), fields)
        return
    if not path.is_file():
        raise ArchiveError(f"{path}: there is no such file or folder")
    if not _kind(path):
        known = ", ".join((*_LINES, *_HTML, *_WARC))
        raise ArchiveError(
            f"{path}: of no known kind; there are folders and {known}, also with .gz, .xz, .bz2"
        )
    yield from _read(path, path.name, fields)


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    plain = Path(name).stem if Path(name).suffix in _PACKED else name
    for kind, suffixes in (("lines", _LINES), ("html", _HTML), ("warc", (".warc",))):
        if plain.endswith(suffixes):
            return kind
    return None


def _read(path: Path, name: str, fields: Fields) -> Iterator[SavedPage]:
    kind = _kind(path)
    with _readable(path):
        if kind == "html":
            with _opened(path) as file:
                yield SavedPage(name, body=file.read())
        elif kind == "warc":
            yield from _warc(path)
        else:
            with _opened(path) as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield _page(line, fields, f"{path}, line {number}")


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"damaged ({error})"
        raise ArchiveError(f"{path}: {reason}") from None


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", _PACKED.get(path.suffix.lower(), open)(path, "rb"))


def _page(line: bytes, fields: Fields, where: str) -> SavedPage:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise ArchiveError(f"{where}: not a JSON object") from None
    if not isinstance(entry, dict):
        raise ArchiveError(f"{where}: not a JSON object")
    name = _first(entry, fields.key, where)
    if not name:
        raise ArchiveError(f"{where}: no {' or '.join(fields.key)} names the page")
    url = next((u for u in (entry.get("url"), name) if isinstance(u, str) and "://" in u), None)
    for field in fields.html:
        if (html := _first(entry, (field,), where)) is not None:
            if field != "html_base64":
                return SavedPage(url or name, url, html.encode("utf-8", "replace"), "utf-8")
            try:
                return SavedPage(url or name, url, b64decode(html, validate=True))
            except ValueError:
                raise ArchiveError(f"{where}: html_base64 is not base64") from None
    text = _first(entry, fields.text, where)
    if text is None:
        there = ", ".join(list(entry)[:10])
        wanted = " or ".join((*fields.html, *fields.text))
        raise ArchiveError(f"{where}: it has no {wanted}, but {there}")
    return SavedPage(url or name, url, text=text)


def _first(entry: dict[str, Any], names: tuple[str, ...], where: str) -> str | None:
    for name in names:
        value = entry.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            raise ArchiveError(f"{where}: {name} must be text, not {type(value).__name__}")
    return None


def _warc(path: Path) -> Iterator[SavedPage]:
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError:
        raise ArchiveError(
            f"{path}: WARC files need warcio: pip install 'scrapy-simhash[warc]'"
        ) from None
    with _opened(path) if path.suffix != ".gz" else path.open("rb") as file:
        try:
            for record in ArchiveIterator(file):
                url = record.rec_headers.get_header("WARC-Target-URI")
                if record.rec_type != "response" or not record.http_headers or not url:
                    continue
                head = record.http_headers.get_header("Content-Type") or ""
                kind, _, rest = head.partition(";")
                if record.http_headers.get_statuscode() != "200":
                    continue
                if kind.strip().lower() in _HTML_TYPES:
                    charset = rest.lower().partition("charset=")[2].split(";")[0].strip(" \"'")
                    body = record.content_stream().read()
                    yield SavedPage(url.strip("<>"), url.strip("<>"), body, charset or None)
        except ArchiveLoadFailed as error:
            raise ArchiveError(f"{path}: damaged ({error})") from None
