"""The item pipeline: it drops items whose own text or HTML repeats another."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.deliveries import ClaimedItem, Delivery
from scrapy_simhash.exceptions import NearDuplicateItem
from scrapy_simhash.keys import key_of

if TYPE_CHECKING:
    from scrapy_simhash.core.verdict import Document


class NearDuplicatePipeline:
    """Drops items whose text repeats an item or page seen before.

    An item becomes an original when it has passed the pipelines after this one. An item that
    repeats the page it comes from, or has its key, has had its verdict and passes.

    Without SIMHASH_ITEM_TEXT_FIELD and SIMHASH_ITEM_HTML_FIELD it has no ``process_item``, and
    items pass it by. It is there in any case, because Scrapy tells pipelines alone that the last
    item is done while the queue is still open.

    Attributes:
        process_item: a coroutine function that returns an item, or raises NearDuplicateItem.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._filter = filter_of(crawler)
        # That of items of a start method or an errback, which have no response.
        self._outside = Delivery()
        if self._filter.settings.has_items:
            self.process_item = self._let_through
            for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
                crawler.signals.connect(self._item_ended, signal=signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        return cls(crawler)

    def close_spider(self, spider: Spider | None = None) -> Awaitable[Any]:
        """Settle all pages; put the copies that wait into the queue."""
        saved = self._filter.end()
        if hasattr(self._crawler.engine, "close_spider_async"):
            return saved
        return deferred_from_coro(saved)  # Scrapy 2.13

    async def _let_through(self, item: Any, spider: Spider | None = None) -> Any:
        delivery = self._filter.items.pop(id(item), self._outside)
        delivery.held += 1
        self._end_all(delivery)
        try:
            return await self._judged(item, delivery)
        finally:
            delivery.held -= 1

    async def _judged(self, item: Any, delivery: Delivery) -> Any:
        dedup, counts, page = self._filter.dedup, self._filter.counts, delivery.key
        key = self._key(item)
        document = self._document(item, key) if key else None
        if document is None:
            counts["items_skipped"] += 1
            if key:
                counts["items_skipped/no_text"] += 1
            else:
                counts["items_skipped/no_key"] += 1
            return self._as_its_page(item, delivery)
        if dedup.in_progress(document.key):
            return self._kept_as_its_page(item, delivery)
        # An item cannot be crawled again, so it waits until its original is stored or lost. It does
        # not wait for its own page, which waits for the item.
        page = page if page and dedup.in_progress(page) else None
        verdict = await dedup.check(document, original=page)
        if page and verdict.original == page:
            return self._kept_as_its_page(item, delivery)
        self._filter.summary.item(verdict)
        if verdict.kind == "skipped":
            counts["items_skipped"] += 1
        elif verdict.owned:
            delivery.claimed.append(ClaimedItem(verdict.key, item))
            if verdict.unchanged and self._filter.settings.recrawl == "changed":
                self._drop_unchanged(verdict.key)
            counts["items_kept"] += 1
        elif self._filter.settings.action.of(verdict.key) == "flag":
            counts["items_flagged"] += 1
        else:
            counts["items_dropped"] += 1
            original = verdict.matches[0]
            raise NearDuplicateItem(verdict.key, original.key, original.distance)
        return item

    def _kept_as_its_page(self, item: Any, delivery: Delivery) -> Any:
        """Return an item that is delivered if its page is, because it says what that says."""
        kept = self._as_its_page(item, delivery)
        self._filter.counts["items_kept"] += 1
        return kept

    def _as_its_page(self, item: Any, delivery: Delivery) -> Any:
        """Return an item that is delivered if its page is."""
        if delivery.unchanged:
            self._drop_unchanged(str(delivery.key))
        return item

    def _drop_unchanged(self, key: str) -> None:
        self._filter.counts["items_unchanged"] += 1
        raise DropItem(f"{key} is as an earlier run has delivered it", log_level="DEBUG")

    def _key(self, item: Any) -> str | None:
        from itemadapter import ItemAdapter  # heavy, with pydantic

        if not ItemAdapter.is_item(item):
            return None
        value = ItemAdapter(item).get(self._filter.settings.item_key_field)
        if not value:
            return None
        try:
            return key_of(str(value))
        except ValueError:  # no address at all, such as http://[
            return None

    def _document(self, item: Any, key: str) -> Document | None:
        from itemadapter import ItemAdapter

        from scrapy_simhash.core.verdict import Document  # heavy

        settings, adapter = self._filter.settings, ItemAdapter(item)
        if settings.item_text_field and (text := adapter.get(settings.item_text_field)):
            text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
            return Document(key, text, "text/plain", key)
        if settings.item_html_field and (html := adapter.get(settings.item_html_field)):
            # Bytes may be the body of a response.
            return Document(key, html if isinstance(html, bytes) else str(html), key=key)
        return None

    def _item_ended(self, item: Any, response: object, signal: object) -> None:
        # A pipeline before ours may have dropped it, and another item may get its identity.
        self._filter.items.pop(id(item), None)
        delivery = self._outside
        if isinstance(response, Response):
            delivery = self._filter.delivery(response)
        delivery.items -= bool(delivery.items)
        # A pipeline may have changed the key of the item, or made another item with the same key.
        key, claims = self._key(item), delivery.claimed
        same = [claim for claim in claims if claim.item is item]
        same = same or [claim for claim in claims if claim.key == key]
        for claim in same[:1]:
            self._end(delivery, claim, failed=signal is signals.item_error)
        self._end_all(delivery)

    def _end_all(self, delivery: Delivery) -> None:
        """End the claims of which another item, or None, was made, once all items have ended."""
        if delivery is not self._outside and delivery.items == delivery.held:
            # An item that failed ended its own claim before.
            for claim in [*delivery.claimed]:
                self._end(delivery, claim, failed=False)

    def _end(self, delivery: Delivery, claim: ClaimedItem, *, failed: bool) -> None:
        delivery.claimed = [each for each in delivery.claimed if each is not claim]
        (self._filter.dedup.failed if failed else self._filter.dedup.delivered)(claim.key)
