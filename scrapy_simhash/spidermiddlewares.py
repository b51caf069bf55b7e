"""The spider middleware: knows when a page is done, and carries out ``follow``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from scrapy_simhash.settings import is_enabled


class NearDuplicateSpiderMiddleware:
    """Confirms pages whose callback and items are done, releases those that failed.

    Its place is next to the engine, where it sees what really goes on to the pipelines.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not is_enabled(crawler.settings):
            raise NotConfigured
        # A filter that is switched off imports nothing heavy.
        from scrapy_simhash.crawl.outputs import Outputs

        self._outputs = Outputs(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateSpiderMiddleware:
        """Make the middleware of a crawl.

        Raises:
            SettingError: a setting cannot be used.
        """
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        """Pass on what a callback yields; of a duplicate to be followed, only the requests."""
        async for output in self._outputs.pass_on(response, result):
            yield output

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Release a page whose callback failed before it yielded anything."""
        self._outputs.end_callback(response, failed=True)
