"""Items that carry a text or HTML of their own: those that repeat another are dropped."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import Crawler

from scrapy_simhash.analysis.page import Body, text_body
from scrapy_simhash.crawl.filter import CrawlFilter
from scrapy_simhash.detector import Verdict
from scrapy_simhash.exceptions import NearDuplicateItem
from scrapy_simhash.keys import page_key, plain_key

# How often an item looks whether the original that it repeats was stored.
POLL_SECONDS = 0.2


class Items:
    """Lets items through, or drops them.

    An item becomes an original when it has passed the pipelines after this one. An item that
    repeats the page it comes from, or has its key, has had its verdict and passes.

    Args:
        crawler: the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._filter = CrawlFilter.of(crawler)
        self._claimed: list[str] = []
        connect = crawler.signals.connect
        connect(self._item_done, signal=signals.item_scraped)
        connect(self._item_done, signal=signals.item_dropped)
        connect(self._item_failed, signal=signals.item_error)

    async def let_through(self, item: Any, spider: Spider | None = None) -> Any:
        """Return the item; Scrapy 2.13 hands over the spider, too.

        Raises:
            NearDuplicateItem: its text repeats an item or page seen before.
        """
        page = self._filter.progress.page_of(item)
        key, body = self._key(item), self._body(item)
        if key is None or body is None:
            self._filter.count("items_skipped")
            return item
        if key in self._filter.progress:
            return item
        verdict = await self._verdict(key, body, page)
        if page is not None and verdict.original == page:
            return item
        self._filter.summary.item(verdict)
        if verdict.kind == "duplicate":
            if self._filter.settings.action == "flag":
                self._filter.count("items_flagged")
                return item
            self._filter.count("items_dropped")
            assert verdict.original is not None
            assert verdict.distance is not None
            raise NearDuplicateItem(key, verdict.original, verdict.distance)
        if verdict.kind == "skipped":
            self._filter.count("items_skipped")
        else:
            self._filter.progress.begin(key)
            self._claimed.append(key)
        return item

    async def _verdict(self, key: str, body: Body, page: str | None) -> Verdict:
        patience = time.monotonic() + self._filter.settings.lease
        while True:
            # Its analysis is remembered after the first time.
            verdict = await self._filter.check(body, key=key, url=key)
            # An item cannot be crawled again, so it waits until its original is stored or lost;
            # its own page would wait for it.
            if not verdict.provisional or verdict.original == page:
                return verdict
            if time.monotonic() > patience:
                return Verdict("skipped", key, "timeout", excerpt=verdict.excerpt)
            await asyncio.sleep(POLL_SECONDS)

    def _key(self, item: Any) -> str | None:
        value = ItemAdapter(item).get(self._filter.settings.item_key_field)
        if not value:
            return None
        key = plain_key(value)
        return page_key(key) if "://" in key else key

    def _body(self, item: Any) -> Body | None:
        settings, adapter = self._filter.settings, ItemAdapter(item)
        if settings.item_text_field and (text := adapter.get(settings.item_text_field)):
            return text_body(str(text))
        if settings.item_html_field and (html := adapter.get(settings.item_html_field)):
            return Body(str(html).encode("utf-8", "replace"), "utf-8")
        return None

    def _item_done(self, item: Any) -> None:
        self._end_item(item, failed=False)

    def _item_failed(self, item: Any) -> None:
        self._end_item(item, failed=True)

    def _end_item(self, item: Any, *, failed: bool) -> None:
        key = self._key(item)
        if key in self._claimed:
            self._claimed.remove(key)
            self._filter.progress.end(key, failed=failed)
