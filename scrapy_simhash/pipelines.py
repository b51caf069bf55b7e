"""The item pipeline: it drops items whose own text or HTML repeats another."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.exceptions import NearDuplicateItem

if TYPE_CHECKING:
    from scrapy_simhash.core.verdict import Document, Verdict
    from scrapy_simhash.crawl.deliveries import Delivery
    from scrapy_simhash.setting_values import Action


class NearDuplicatePipeline:
    """Drops items whose text repeats an item or page seen before.

    An item becomes an original when it has passed the pipelines after this one. An item
    that repeats the page it comes from, or has its key, has had its verdict and passes.

    Without SIMHASH_ITEM_TEXT_FIELD and SIMHASH_ITEM_HTML_FIELD all items pass. The
    pipeline is there in any case, because Scrapy tells pipelines alone that the last
    item is done while the queue is still open.
    """

    def __init__(self, crawler: Crawler) -> None:
        crawl = filter_of(crawler)
        self._crawler = crawler
        self._end_crawl = crawl.end
        self._settings = crawl.settings
        self._counts = crawl.counts
        self._dedup = crawl.dedup
        self._deliveries = crawl.deliveries
        self._summary = crawl.summary

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        return cls(crawler)

    async def process_item(self, item: Any, spider: Spider | None = None) -> Any:
        """Return an item that may go on.

        Raises:
            NearDuplicateItem: it repeats another item or page.
            DropItem: SIMHASH_RECRAWL wants changed items only, and this one is the
                same.
        """
        if not self._settings.has_items:
            return item
        delivery = self._deliveries.take_item(item)
        with delivery.item_in_pipeline():
            await self._judge(item, delivery)
        return item

    def close_spider(self, spider: Spider | None = None) -> Awaitable[Any]:
        """Settle all pages; put the copies that wait into the queue."""
        saved = self._end_crawl()
        if hasattr(self._crawler.engine, "close_spider_async"):
            return saved
        return deferred_from_coro(saved)  # Scrapy 2.13

    async def _judge(self, item: Any, delivery: Delivery) -> None:
        """Count an item, and raise if it is dropped."""
        key = self._deliveries.key_of_item(item)
        document = self._document(item, key) if key else None
        if document is not None and not self._dedup.upkeep.in_progress(document.key):
            # An item cannot be crawled again, so it waits until its original is stored
            # or lost. It does not wait for its own page, which waits for the item.
            page = delivery.page_in_progress
            verdict = await self._dedup.check(document, original=page)
            if not page or verdict.original != page:
                self._act(item, verdict, delivery)
                return
        # It goes with its page, which an earlier run may have delivered.
        if delivery.unchanged:
            self._drop_unchanged(str(delivery.key))
        if document is None:
            self._counts["items_skipped"] += 1
            self._counts["items_skipped/no_text"] += bool(key)
            self._counts["items_skipped/no_key"] += not key
        else:
            self._counts["items_kept"] += 1

    def _act(self, item: Any, verdict: Verdict, delivery: Delivery) -> None:
        """Count an item by its verdict, and raise if it is dropped."""
        action: Action | None = None
        if verdict.kind == "duplicate":
            # Either action that drops pages drops it.
            action = (
                "flag" if self._settings.action.of(verdict.key) == "flag" else "drop"
            )
        elif verdict.unchanged and self._settings.recrawl == "changed":
            action = "drop"
        self._summary.item(verdict, action)
        if verdict.kind == "skipped":
            self._counts["items_skipped"] += 1
        elif verdict.owned:
            delivery.item_claimed(verdict.key, item)
            if action == "drop":
                self._drop_unchanged(verdict.key)
            self._counts["items_kept"] += 1
        elif action == "flag":
            self._counts["items_flagged"] += 1
        else:
            self._counts["items_dropped"] += 1
            original = verdict.matches[0]
            raise NearDuplicateItem(
                verdict.key, original.key, original.distance, log_level="DEBUG"
            )

    def _drop_unchanged(self, key: str) -> None:
        self._counts["items_unchanged"] += 1
        raise DropItem(
            f"{key} is as an earlier run has delivered it", log_level="DEBUG"
        )

    def _document(self, item: Any, key: str) -> Document | None:
        from itemadapter import ItemAdapter

        from scrapy_simhash.core.verdict import Document  # heavy

        adapter = ItemAdapter(item)
        # A row of CSV may have values under None, or under an empty name.
        settings = self._settings
        if (field := settings.item_text_field) and (text := adapter.get(field)):
            text = (
                text.decode("utf-8", "replace")
                if isinstance(text, bytes)
                else str(text)
            )
            return Document(key, text, "text/plain", key)
        if (field := settings.item_html_field) and (html := adapter.get(field)):
            # Bytes may be the body of a response.
            return Document(
                key, html if isinstance(html, bytes) else str(html), key=key
            )
        return None
