"""The item pipeline: for spiders whose items carry the text or the HTML to compare."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from scrapy_simhash.analysis.pool import Job
from scrapy_simhash.analysis.worker import Body
from scrapy_simhash.crawl.crawl_filter import CrawlFilter
from scrapy_simhash.detector import PageAnalysis, Verdict, analyse_text
from scrapy_simhash.exceptions import NearDuplicateItem
from scrapy_simhash.keys import page_key, page_scope, plain_key
from scrapy_simhash.settings import is_enabled

# How often an item looks whether the original that it repeats was stored.
POLL_SECONDS = 0.2


class NearDuplicatePipeline:
    """Drops items whose text repeats an item or page seen before.

    It is off unless SIMHASH_ITEM_TEXT_FIELD or SIMHASH_ITEM_HTML_FIELD is set. An item becomes
    an original when it has passed the pipelines after this one. An item that repeats the page
    it comes from, or has its key, has had its verdict and passes.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        if not is_enabled(settings) or not (
            settings.get("SIMHASH_ITEM_TEXT_FIELD") or settings.get("SIMHASH_ITEM_HTML_FIELD")
        ):
            raise NotConfigured
        self._filter = CrawlFilter.of(crawler)
        self._claimed: list[str] = []
        connect = crawler.signals.connect
        connect(self._item_done, signal=signals.item_scraped)
        connect(self._item_done, signal=signals.item_dropped)
        connect(self._item_failed, signal=signals.item_error)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        """Make the pipeline of a crawl.

        Raises:
            NotConfigured: no item field is named.
            SettingError: a setting cannot be used.
        """
        return cls(crawler)

    async def process_item(self, item: Any, spider: Spider | None = None) -> Any:
        """Return the item.

        Raises:
            NearDuplicateItem: its text repeats an item or page seen before.
        """
        page = self._filter.deliveries.page_of(item)
        key = self._key(item)
        job = self._analysis(item)
        if key is None or job is None:
            self._filter.count("items_skipped")
            return item
        if self._filter.deliveries.in_progress(key):
            return item
        verdict = await self._verdict(key, job, page)
        if page is not None and verdict.original == page:
            return item
        self._filter.account.item(verdict)
        if verdict.kind == "duplicate":
            assert verdict.original is not None
            assert verdict.distance is not None
            if self._filter.settings.action == "flag":
                self._filter.count("items_flagged")
                return item
            self._filter.count("items_dropped")
            raise NearDuplicateItem(key, verdict.original, verdict.distance)
        if verdict.kind == "skipped":
            self._filter.count("items_skipped")
        else:
            self._filter.deliveries.begin(key)
            self._claimed.append(key)
        return item

    async def _verdict(self, key: str, job: Job, page: str | None) -> Verdict:
        scope = page_scope(key, self._filter.settings.scope)
        patience = time.monotonic() + self._filter.settings.lease
        while True:
            verdict = await self._filter.check(job, key=key, scope=scope)
            # An item cannot be crawled again, so it waits until its original is stored or lost;
            # its own page would wait for it.
            if not verdict.provisional or verdict.original == page:
                return verdict
            job = partial(PageAnalysis, verdict.fingerprint, excerpt=verdict.excerpt)
            if time.monotonic() > patience:
                return Verdict("skipped", key, reason="timeout", excerpt=verdict.excerpt)
            await asyncio.sleep(POLL_SECONDS)

    def _key(self, item: Any) -> str | None:
        value = ItemAdapter(item).get(self._filter.settings.item_key_field)
        if not value:
            return None
        key = plain_key(value)
        return page_key(key) if "://" in key else key

    def _analysis(self, item: Any) -> Job | None:
        settings, adapter = self._filter.settings, ItemAdapter(item)
        if settings.item_text_field and (text := adapter.get(settings.item_text_field)):
            return partial(analyse_text, str(text), settings.recipe, settings.log_text)
        if settings.item_html_field and (html := adapter.get(settings.item_html_field)):
            body = str(html).encode("utf-8", "replace")
            return Body(body, "utf-8", None)
        return None

    def _item_done(self, item: Any) -> None:
        self._item_ended(item, failed=False)

    def _item_failed(self, item: Any) -> None:
        self._item_ended(item, failed=True)

    def _item_ended(self, item: Any, *, failed: bool) -> None:
        key = self._key(item)
        if key in self._claimed:
            self._claimed.remove(key)
            self._filter.deliveries.end(key, failed=failed)
