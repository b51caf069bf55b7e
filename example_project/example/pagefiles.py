"""Saved pages as a source for the loopback server: a folder of files, or one docs.jsonl(.xz)."""

from __future__ import annotations

import json
import lzma
import mimetypes
import os
import tempfile
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag

from w3lib.url import safe_url_string

from example.loopback import Answer

_HOST = "http://pages.test/"
_PAGE_SUFFIXES = {".html", ".htm", ".xhtml"}


class PageFilesError(ValueError):
    """The pages cannot be read; the message says which and why."""


def open_pages(path: str | Path) -> Folder | JsonLines:
    """Return the pages of a folder, a ``.jsonl`` or a ``.jsonl.xz`` file.

    Raises:
        PageFilesError: there is nothing there that can be read as pages.
    """
    path = Path(path)
    if path.is_dir():
        return Folder(path)
    if path.name.endswith((".jsonl", ".jsonl.xz")) and path.is_file():
        return JsonLines(path)
    raise PageFilesError(f"{path} is neither a folder nor a .jsonl or .jsonl.xz file")


class Folder:
    """The files of a folder, under http://pages.test/; its HTML files are the pages."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            _HOST + quote(file.relative_to(folder).as_posix()): file
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
        self.urls = [
            url for url, file in self._files.items() if file.suffix.lower() in _PAGE_SUFFIXES
        ]
        if not self.urls:
            raise PageFilesError(f"{folder} holds no .html file")

    def get(self, url: str) -> Answer | None:
        """Return the file of an address; a folder's own address is its index.html."""
        file = self._files.get(url + "index.html" if url.endswith("/") else url)
        if file is None:
            return None
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return Answer(file.read_bytes(), kind)

    def close(self) -> None:
        """Do nothing: no file is held open."""


class JsonLines:
    """Pages from a file of JSON objects, one a line: url or id, and html or html_base64.

    The pages wait in a temporary file, so that memory holds only their addresses. All are
    served by plain http, since the loopback server has no certificates.
    """

    def __init__(self, path: Path) -> None:
        self._places: dict[str, tuple[int, int, str]] = {}
        with ExitStack() as on_error:
            self._store = on_error.enter_context(tempfile.TemporaryFile())
            for number, page in _objects(path):
                self._add(f"{path}, line {number}", page)
            if not self._places:
                raise PageFilesError(f"{path} holds no page")
            self._store.flush()
            on_error.pop_all()

    @property
    def urls(self) -> Iterable[str]:
        """The addresses of the pages, in the order of the file."""
        return self._places.keys()

    def get(self, url: str) -> Answer | None:
        """Return the page of an address."""
        if url not in self._places:
            return None
        start, size, content_type = self._places[url]
        # One call, no file position: many threads read at once.
        return Answer(os.pread(self._store.fileno(), size, start), content_type)

    def close(self) -> None:
        """Give up the temporary file."""
        self._store.close()

    def _add(self, where: str, page: Any) -> None:
        try:
            if "html_base64" in page:
                # The page's own bytes: its charset is for the crawler to find.
                content_type, body = "text/html", b64decode(page["html_base64"])
            else:
                content_type = "text/html; charset=utf-8"
                body = page["html"].encode("utf-8", "replace")
            url = page_url(page)
            if url in self._places:
                if "id" not in page:
                    return  # a page that a crawl has met again, such as a start page
                url = _HOST + quote(page["id"])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise PageFilesError(
                f"{where}: a page needs html (or html_base64) and url or id, all of them text"
            ) from None
        if url in self._places:
            raise PageFilesError(f"{where}: {url} is there twice")
        start = self._store.tell()
        self._places[url] = start, self._store.write(body), content_type


def page_url(page: dict[str, str]) -> str:
    """Return the address that a page is served under, as a crawler will ask for it."""
    if not page.get("url"):
        return _HOST + quote(page["id"])
    url = urldefrag(safe_url_string(page["url"])).url
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") or not rest:
        raise ValueError(url)
    return f"http://{rest}" if "/" in rest else f"http://{rest}/"


def _objects(path: Path) -> Iterator[tuple[int, Any]]:
    opening = lzma.open if path.suffix == ".xz" else open
    number = 0
    try:
        with opening(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield number, json.loads(line)
    except json.JSONDecodeError:
        raise PageFilesError(f"{path}, line {number}: not a JSON object") from None
    except (lzma.LZMAError, EOFError, OSError, UnicodeDecodeError) as error:
        raise PageFilesError(f"{path}: {error}") from None
