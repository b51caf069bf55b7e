"""The downloader middleware: a verdict on every downloaded page."""

from __future__ import annotations

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from scrapy_simhash.settings import is_enabled


class NearDuplicateDownloaderMiddleware:
    """Drops, or marks, pages that repeat one that was crawled before."""

    def __init__(self, crawler: Crawler) -> None:
        if not is_enabled(crawler.settings):
            raise NotConfigured
        # A filter that is switched off imports nothing heavy.
        from scrapy_simhash.crawl.pages import Pages

        self._pages = Pages(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateDownloaderMiddleware:
        """Make the middleware of a crawl.

        Raises:
            SettingError: a setting cannot be used.
        """
        return cls(crawler)

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Let a request pass, or spare it.

        Raises:
            SparedPage: its address tells that its page will be a copy; see SIMHASH_SPARE.
        """
        self._pages.before_download(request)

    async def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        """Return the response, with the verdict in its meta.

        Raises:
            NearDuplicatePage: it repeats another page and the action is ``drop``.
            SettingError: ``meta["simhash_action"]`` is no action.
        """
        return await self._pages.let_through(request, response)

    def process_exception(
        self, request: Request, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Note that a page that is crawled again cannot be had just now."""
        self._pages.note_failure(request, exception)
