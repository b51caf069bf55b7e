"""The spider middleware: callbacks and items tell when a page is delivered, or that it failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.requests import request_key


class NearDuplicateSpiderMiddleware:
    """Confirms pages whose callback and items are done, releases those that failed."""

    def __init__(self, crawler: Crawler) -> None:
        self._filter = filter_of(crawler)
        self._has_items = self._filter.settings.has_items
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_ended, signal=signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateSpiderMiddleware:
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        """Pass on what a callback yields; of a duplicate to be followed, only the requests."""
        delivery = self._filter.delivery(response)
        key = delivery.key
        failed, asks_again = True, False
        try:
            async for output in result:
                if isinstance(output, Request):
                    # A callback that asks for its own page again, in spite of the dupefilter, has
                    # not got it: it was told to wait, or to prove that it is no robot.
                    if key is not None and output.dont_filter:
                        asks_again = asks_again or request_key(output, output.url) == key
                    self._filter.sparing.linked(response.url, output.url)
                else:
                    if delivery.drops_items:
                        name = "items_unchanged" if delivery.unchanged else "items_dropped"
                        self._filter.counts[name] += 1
                        continue
                    if key is not None and self._filter.dedup.in_progress(key):
                        self._filter.dedup.hold(key)
                    if self._has_items:
                        delivery.items += 1
                        self._filter.items[id(output)] = delivery
                    elif self._filter.settings.recrawl == "changed":
                        self._filter.counts["items_delivered"] += 1
                yield output
            failed = asks_again
        finally:
            # Also when the crawl gives the callback up half-way.
            self._end_callback(response, failed=failed)

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Release a page whose callback failed before it yielded anything."""
        self._end_callback(response, failed=True)

    def _end_callback(self, response: Response, *, failed: bool) -> None:
        # A callback that fails half-way comes here twice: as output and as exception.
        delivery = self._filter.delivery(response)
        if delivery.key is not None and not delivery.has_ended:
            delivery.has_ended = True
            self._end_part(delivery.key, failed=failed)

    def _item_ended(self, item: object, response: Response | None, signal: object) -> None:
        # An item of a start method or an errback has no response.
        if isinstance(response, Response) and (key := self._filter.delivery(response).key):
            self._end_part(key, failed=signal is signals.item_error)

    def _end_part(self, key: str, *, failed: bool) -> None:
        (self._filter.dedup.failed if failed else self._filter.dedup.delivered)(key)
