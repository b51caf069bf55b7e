"""Saved pages as a source for the loopback server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from w3lib.url import canonicalize_url

from example.loopback import Answer
from scrapy_simhash.offline.saved_pages import PageReader

_HOST = "http://pages.test/"


class SavedPages:
    """The pages of a file or a folder, as the commands of ``scrapy simhash`` read them.

    A page without an address is served under http://pages.test/ and its name. All are
    served by plain http, since the loopback server has no certificates. Of an address
    that comes twice, such as a start page that a crawl has met again, the first page
    counts.

    Raises:
        FileError: there is nothing there that can be read as pages.
    """

    def __init__(self, path: str) -> None:
        self._answers: dict[str, Answer] = {}
        folder = Path(path) if Path(path).is_dir() else Path(path).parent
        for page in PageReader().read(Path(path)):
            name = page.name.removeprefix(f"{folder.as_posix()}/")
            url = canonicalize_url(page.url or _HOST + quote(name))
            kind = "text/plain" if page.body.is_text else "text/html"
            charset = f"; charset={page.body.charset}" if page.body.charset else ""
            answer = Answer(page.body.data, kind + charset)
            self._answers.setdefault(url.replace("https://", "http://", 1), answer)
        self.urls = list(self._answers)

    def get(self, url: str) -> Answer | None:
        """Return the page of an address; a folder's own address is its index.html."""
        url = canonicalize_url(url)
        return self._answers.get(f"{url}index.html" if url.endswith("/") else url) or (
            self._answers.get(url)
        )
