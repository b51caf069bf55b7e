"""Callbacks and what they yield: they tell when a page is delivered, or that it failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl.filter import CrawlFilter
from scrapy_simhash.crawl.requests import request_key


class Outputs:
    """Follows the output of callbacks, and carries out ``follow``.

    Args:
        crawler: the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._filter = CrawlFilter.of(crawler)
        self._ended: WeakSet[Response] = WeakSet()
        connect = crawler.signals.connect
        connect(self._item_done, signal=signals.item_scraped)
        connect(self._item_done, signal=signals.item_dropped)
        connect(self._item_failed, signal=signals.item_error)

    async def pass_on(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield what a callback yields; of a duplicate to be followed, only the requests."""
        page = _page(response)
        key = _key_in_progress(page)
        failed, asks_again = True, False
        try:
            async for output in result:
                if isinstance(output, Request):
                    # A callback that asks for its own page again, in spite of the dupefilter, has
                    # not got it: it was told to wait, or to prove that it is no robot.
                    if key is not None and output.dont_filter:
                        asks_again = asks_again or request_key(output, output.url) == key
                    if self._filter.sparing is not None:
                        output = self._filter.sparing.on_the_way(output)
                        if output is None:
                            continue
                else:
                    if page.get("follow"):
                        self._filter.count("items_dropped")
                        continue
                    if key is not None and key in self._filter.progress:
                        self._filter.progress.begin_item(key, output)
                yield output
            failed = asks_again
        finally:
            # Also when the crawl gives the callback up half-way.
            self.end_callback(response, failed=failed)

    def end_callback(self, response: Response, *, failed: bool) -> None:
        """Note that a callback has ended."""
        # A callback that fails half-way comes here twice: as output and as exception.
        key = _key_in_progress(_page(response))
        if key is not None and response not in self._ended:
            self._ended.add(response)
            self._filter.progress.end(key, failed=failed)

    def _item_done(self, response: Response | None) -> None:
        self._end_item(response, failed=False)

    def _item_failed(self, response: Response | None) -> None:
        self._end_item(response, failed=True)

    def _end_item(self, response: Response | None, *, failed: bool) -> None:
        # An item of a start method or an errback has no response.
        if isinstance(response, Response) and (key := _key_in_progress(_page(response))):
            self._filter.progress.end(key, failed=failed)


def _page(response: Response) -> dict[str, Any]:
    page: dict[str, Any] = response.request.meta.get("simhash") or {} if response.request else {}
    return page


def _key_in_progress(page: dict[str, Any]) -> str | None:
    return page["key"] if page.get("verdict") in ("unique", "revisit") else None
