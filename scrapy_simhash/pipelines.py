"""The item pipeline: for spiders whose items carry the text or the HTML to compare."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.settings import is_enabled


class NearDuplicatePipeline:
    """Drops items whose text repeats an item or page seen before.

    Without SIMHASH_ITEM_TEXT_FIELD and SIMHASH_ITEM_HTML_FIELD it has no ``process_item``, and
    items pass it by. It is there in any case, because Scrapy tells pipelines alone that the last
    item is done while the queue is still open.

    Attributes:
        process_item: a coroutine function that returns an item, or raises NearDuplicateItem.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not is_enabled(crawler.settings):
            raise NotConfigured
        # A filter that is switched off imports nothing heavy.
        from scrapy_simhash.crawl.filter import CrawlFilter
        from scrapy_simhash.crawl.items import Items

        self._crawler = crawler
        self._filter = CrawlFilter.of(crawler)
        if self._filter.settings.has_items:
            self.process_item = Items(crawler).let_through

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        """Make the pipeline of a crawl.

        Raises:
            SettingError: a setting cannot be used.
        """
        return cls(crawler)

    def close_spider(self, spider: Spider | None = None) -> Awaitable[Any]:
        """Settle all pages; put the copies that wait into the queue."""
        saved = self._filter.leave()
        if hasattr(self._crawler.engine, "close_spider_async"):
            return saved
        return deferred_from_coro(saved)  # Scrapy 2.13
