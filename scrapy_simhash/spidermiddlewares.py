"""The spider middleware: callbacks tell when a page is delivered, or that it failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.requests import request_key


class NearDuplicateSpiderMiddleware:
    """Confirms pages whose callback and items are done, releases those that failed."""

    def __init__(self, crawler: Crawler) -> None:
        crawl = filter_of(crawler)
        self._deliveries = crawl.deliveries
        self._sparing = crawl.sparing
        self._counts = crawl.counts

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateSpiderMiddleware:
        return cls(crawler)

    def process_spider_input(
        self, response: Response, spider: Spider | None = None
    ) -> None:
        """Note that a page has arrived, before its callback can change what it says."""
        self._deliveries.arrived(response)

    async def process_spider_output(
        self,
        response: Response,
        result: AsyncIterator[Any],
        spider: Spider | None = None,
    ) -> AsyncIterator[Any]:
        """Pass on what a callback yields; of a duplicate to be followed, only the requests."""
        delivery = self._deliveries.of(response)
        failed = True
        asks_again = False
        try:
            async for output in result:
                if isinstance(output, Request):
                    asks_again = asks_again or _asks_for(delivery.key, output)
                    self._sparing.linked(response.url, output.url)
                elif delivery.drops_items:
                    name = "items_unchanged" if delivery.unchanged else "items_dropped"
                    self._counts[name] += 1
                    continue
                else:
                    self._deliveries.item_sent(response, output)
                yield output
            failed = asks_again
        finally:
            # The callback ends here, too, when the crawl gives it up half-way.
            delivery.callback_ended(failed=failed)

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Release a page whose callback failed before it yielded anything."""
        self._deliveries.of(response).callback_ended(failed=True)


def _asks_for(key: str | None, request: Request) -> bool:
    """Return whether a callback asks for its own page again, in spite of the dupefilter.

    Then it has not got the page: it was told to wait, or to prove that it is no robot.
    """
    return (
        key is not None
        and request.dont_filter
        and request_key(request, request.url) == key
    )
