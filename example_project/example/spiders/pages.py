"""The spider that crawls any site, or saved pages served on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.exceptions import UsageError
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

from example.pagefiles import SavedPages
from scrapy_simhash.offline.files import FileError


@dataclass
class KeptPage:
    """A page that the crawl kept, in the form that ``pages=`` reads."""

    url: str
    html: str = field(repr=False)


class PagesSpider(Spider):
    """Crawls a site (``start_urls``) or saved pages (``pages``), or requests pages once
    more (``again``).

    Args:
        start_urls: where to begin, separated by commas.
        pages: a file or folder that the commands of ``scrapy simhash`` read; all are
            requested.
        again: a file that ``scrapy simhash requeue`` wrote; its pages are requested.
        allowed_domains: what may be followed, separated by commas; by default the start
            hosts.
        follow: 1 to follow links, 0 not to; by default 1 for a site and 0 for saved
            pages.
    """

    name = "pages"

    def __init__(
        self,
        start_urls: str = "",
        pages: str = "",
        again: str = "",
        allowed_domains: str = "",
        follow: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if [start_urls, pages, again].count("") != 2:
            raise UsageError(
                "the pages spider needs one of -a pages=PATH, -a start_urls=URL,URL, -a again=FILE"
            )
        if follow not in ("", "0", "1"):
            raise UsageError(f"follow is 0 or 1, not {follow!r}")
        self._starts: Iterable[str] = start_urls.split(",")
        self.source = None
        if pages:
            try:
                self.source = SavedPages(pages)
            except FileError as error:
                raise UsageError(f"pages: {error}") from None
            self._starts = self.source.urls
        self._meta: dict[str, Any] = {}
        if again:
            lines = map(json.loads, Path(again).read_text("utf-8").splitlines())
            self._meta = {line["url"]: line["meta"] for line in lines}
            self._starts = list(self._meta)
        hosts = [_host(url) for url in self._starts]
        self.allowed_domains = (
            allowed_domains.split(",") if allowed_domains else sorted(set(hosts))
        )
        followed = follow == "1" if follow else not (pages or again)
        self._links = LinkExtractor() if followed else None

    async def start(self) -> AsyncIterator[Request]:
        for url in self._starts:
            # As Scrapy's own start requests: a job that was killed and goes on asks
            # again.
            yield Request(url, dont_filter=True, meta=self._meta.get(url))

    def parse(self, response: Response) -> Iterator[Request | KeptPage]:
        if not isinstance(response, HtmlResponse):
            return
        yield KeptPage(response.url, response.text)
        if self._links is not None:
            for link in self._links.extract_links(response):
                yield Request(self._address(link.url))

    def _address(self, url: str) -> str:
        # Saved pages are served by plain http, whatever their links say.
        return url.replace("https://", "http://", 1) if self.source else url


def _host(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"start_urls: {url!r} is no http(s)://host/ address")
    return parts.hostname
