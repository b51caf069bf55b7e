"""The filter of one crawl: what its middlewares and its pipeline share.

It runs the analysis and the index off the event loop, and follows each page that became an
original until its callback and its items are done: then the page is confirmed, or released if
something failed, so that no page is dropped in favour of one that was never delivered.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ClassVar, TypeVar

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider

from scrapy_simhash.deliveries import Deliveries
from scrapy_simhash.detector import NearDuplicateDetector, PageAnalysis, Verdict
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index import Page, StoreError
from scrapy_simhash.requests import request_from_json
from scrapy_simhash.settings import FilterSettings
from scrapy_simhash.worker import PageFailed, PageTimeout, WorkerProcess, analyse_body

logger = logging.getLogger(__name__)

# Confirmations are sent in batches; until then a page is provisional for others.
FLUSH_SECONDS = 0.5
# A store that fails may take seconds to say so; in between, pages are not made to wait for it.
RETRY_SECONDS = 10.0

T = TypeVar("T")


class CrawlFilter:
    """Decides about pages, and keeps the index true to what was delivered.

    Args:
        crawler: the crawl; its settings are read and checked here.

    Raises:
        SettingError: a setting cannot be used.
    """

    _filters: ClassVar[dict[Crawler, CrawlFilter]] = {}

    def __init__(self, crawler: Crawler) -> None:
        _need_asyncio(crawler)
        self.settings = FilterSettings.from_settings(crawler.settings)
        self._crawler = crawler
        self._detector = NearDuplicateDetector(self.settings.recipe, self.settings.open_index())
        count = max(1, self.settings.processes)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="simhash")
        self._workers: list[WorkerProcess] = []
        self._own = threading.local()
        self.deliveries = Deliveries(
            self._detector.index,
            items=bool(self.settings.item_text_field or self.settings.item_html_field),
        )
        self._upkeep: asyncio.Task[None] | None = None
        self._patience: float | None = None
        self._away_until: float | None = None
        connect = crawler.signals.connect
        connect(self._spider_opened, signal=signals.spider_opened)
        connect(self._response_received, signal=signals.response_received)
        connect(self._spider_idle, signal=signals.spider_idle)
        connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlFilter:
        """Return the filter of a crawl; all components of the crawl get the same."""
        found = cls._filters.get(crawler)
        if found is None:
            found = cls._filters[crawler] = cls(crawler)
        return found

    @property
    def spider(self) -> Spider:
        """The spider that runs."""
        assert self._crawler.spider is not None
        return self._crawler.spider

    def count(self, name: str, by: int = 1) -> None:
        """Add to the stat ``simhash/<name>``."""
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"simhash/{name}", count=by)

    async def check_body(
        self,
        body: bytes,
        declared: str | None,
        *,
        url: str,
        key: str,
        scope: str,
        request: str | None,
    ) -> Verdict:
        """Return the verdict on the body of a response; see ``NearDuplicateDetector.judge``."""
        analyse = partial(self.analyse, body, declared, url)
        return await self.check(analyse, key=key, scope=scope, request=request)

    async def check(
        self,
        analyse: Callable[[], PageAnalysis],
        *,
        key: str,
        scope: str,
        request: str | None = None,
    ) -> Verdict:
        """Return the verdict on what ``analyse`` finds, which runs off the event loop."""
        check = partial(self._check, analyse, key, scope, request)
        work = asyncio.ensure_future(self._off_loop(check))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # The thread goes on, and may make an original of a page that nobody waits for.
            work.add_done_callback(self._given_up)
            raise

    def _given_up(self, work: asyncio.Future[Verdict]) -> None:
        if work.cancelled():
            return
        verdict = work.result()
        if verdict.kind in ("unique", "revisit"):
            self.deliveries.begin(verdict.key)
            self.deliveries.end(verdict.key, failed=True)
            self.crawl_again(verdict.handed_back)

    def _check(
        self, analyse: Callable[[], PageAnalysis], key: str, scope: str, request: str | None
    ) -> Verdict:
        try:
            analysis = analyse()
        except PageTimeout as error:
            logger.warning("SIMHASH_TIMEOUT: %s: %s; let through unchecked", key, error)
            return Verdict("skipped", key, reason="timeout")
        except Exception as error:  # noqa: BLE001 - an extractor of the user's may raise anything
            detail = error if isinstance(error, PageFailed) else repr(error)
            logger.error("The extractor failed on %s; let through unchecked: %s", key, detail)
            return Verdict("skipped", key, reason="extractor_error")
        if self._is_away():
            return Verdict("skipped", key, reason="unavailable")
        try:
            verdict = self._detector.judge(analysis, key=key, scope=scope, request=request)
        except Exception as error:  # noqa: BLE001 - no fault of the index may cost a page
            self._store_is_away(error)
            return Verdict("skipped", key, reason="unavailable")
        self._store_is_back()
        return verdict

    def analyse(self, body: bytes, declared: str | None, url: str | None) -> PageAnalysis:
        """Analyse a page in this thread's worker process; see ``worker.analyse_body``."""
        if not self.settings.processes:
            return analyse_body(body, declared, url, self.settings.recipe)
        # One child for each thread: a thread waits for its own, and only for its own.
        worker: WorkerProcess | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = WorkerProcess(self.settings.recipe, self.settings.timeout)
            self._own.worker = worker
            self._workers.append(worker)
        return worker.analyse(body, declared, url)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def crawl_again(self, pages: Iterable[Page]) -> int:
        """Schedule pages that were handed back; return how many could be."""
        count = 0
        for page in pages:
            if page.request is None:
                continue
            try:
                request = request_from_json(page.request, self.spider)
            except ValueError as error:
                logger.warning("%s cannot be crawled again: %s", page.key, error)
                continue
            self._schedule(request)
            count += 1
        if count:
            self.count("crawled_again", count)
        return count

    def _schedule(self, request: Request) -> None:
        assert self._crawler.engine is not None
        logger.debug("Crawling %s again: its original was not delivered", request.url)
        self._crawler.engine.crawl(request)

    # Upkeep.

    def _flush(self) -> None:
        try:
            self.deliveries.flush()
        except StoreError as error:
            self._store_is_away(error)

    def _renew(self, keys: list[str]) -> None:
        try:
            self._detector.index.renew(keys)
        except StoreError as error:
            self._store_is_away(error)

    def _orphans(self) -> list[Page]:
        try:
            return self._detector.index.orphans()
        except StoreError as error:
            self._store_is_away(error)
            return []

    async def _keep_up(self) -> None:
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            assert self._crawler.engine is not None
            self.deliveries.end_lost(self._crawler.engine.downloader.active)
            if self._is_away():
                continue
            if self.deliveries.to_flush():
                await self._off_loop(self._flush)
                self.crawl_again(self.deliveries.take_handed_back())
            keys = self.deliveries.keys()
            if keys and time.monotonic() - renewed > self.settings.lease / 3:
                renewed = time.monotonic()
                await self._off_loop(partial(self._renew, keys))

    def _response_received(self, request: Request) -> None:
        self.deliveries.arrived(request)

    async def _spider_opened(self, spider: Spider) -> None:
        self.crawl_again(await self._off_loop(self._orphans))
        self._upkeep = asyncio.get_running_loop().create_task(self._keep_up())

    def _spider_idle(self, spider: Spider) -> None:
        # Nothing is on its way any more, so whatever has not ended never will. And the loop has
        # nothing else to do: no thread.
        self.deliveries.end_all()
        self._flush()
        if self.crawl_again([*self.deliveries.take_handed_back(), *self._orphans()]):
            self._patience = None
            raise DontCloseSpider
        try:
            lease = self._detector.index.foreign_lease()
        except StoreError as error:
            self._store_is_away(error)
            return
        if lease is None:
            return
        # Another worker has pages in progress. It may be dead: stay as long as its leases last,
        # to take over what it leaves; if it lives, it renews them and does not need us.
        if self._patience is None:
            self._patience = time.monotonic() + lease
        if time.monotonic() <= self._patience:
            raise DontCloseSpider

    async def _spider_closed(self, spider: Spider) -> None:
        del self._filters[self._crawler]
        if self._upkeep is not None:
            self._upkeep.cancel()
        self.deliveries.end_all()
        await self._off_loop(self._flush)
        left = self.deliveries.take_handed_back()
        if left:
            logger.warning(
                "%d pages that repeat a page which was not delivered were not crawled again, "
                "because the crawl was stopped; a crawl that goes on with this index does so",
                len(left),
            )
        await self._off_loop(self._detector.close)
        self._threads.shutdown()
        for worker in self._workers:
            worker.close()

    def _is_away(self) -> bool:
        return self._away_until is not None and time.monotonic() < self._away_until

    def _store_is_away(self, error: Exception) -> None:
        if self._away_until is None:
            logger.warning(
                "The index fails, and pages are let through unchecked until it is back: %s",
                error,
                exc_info=None if isinstance(error, StoreError) else error,
            )
        self._away_until = time.monotonic() + RETRY_SECONDS

    def _store_is_back(self) -> None:
        if self._away_until is not None:
            self._away_until = None
            logger.info("The index is back")


def _need_asyncio(crawler: Crawler) -> None:
    settings = crawler.settings
    if settings.getbool("TWISTED_REACTOR_ENABLED", True):
        from scrapy.utils.reactor import is_asyncio_reactor_installed

        if not is_asyncio_reactor_installed():
            raise SettingError(
                "TWISTED_REACTOR: scrapy-simhash needs Scrapy's default, "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
            )
