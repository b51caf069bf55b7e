"""The downloader middleware that lets a spider bring its own pages."""

from __future__ import annotations

from contextlib import ExitStack

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from example.loopback import Source, serve


class LoopbackMiddleware:
    """Serves the pages in a spider's ``source`` on loopback and sends every request there.

    A spider without a source crawls the web as always.
    """

    def __init__(self, source: Source) -> None:
        self._serving = ExitStack()
        self._proxy = self._serving.enter_context(serve(source))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LoopbackMiddleware:
        source = getattr(crawler.spider, "source", None)
        if source is None:
            raise NotConfigured
        middleware = cls(source)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        # Always: a request from an earlier run of the job names a server that is gone.
        request.meta["proxy"] = self._proxy

    def spider_closed(self) -> None:
        self._serving.close()
