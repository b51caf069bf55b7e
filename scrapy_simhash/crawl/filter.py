"""The filter of one crawl: what its middlewares and its pipeline share.

It runs the analysis and the index off the event loop, and follows each page that became an
original until its callback and its items are done: then the page is confirmed, or released if
something failed, so that no page is dropped in favour of one that was never delivered.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from weakref import WeakSet

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_simhash.analysis.pool import Job
from scrapy_simhash.crawl.handovers import HandOvers
from scrapy_simhash.crawl.judge import Judge
from scrapy_simhash.crawl.progress import Deliveries
from scrapy_simhash.crawl.summary import Account
from scrapy_simhash.detector import Verdict
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index import Page, StoreError
from scrapy_simhash.index.standby import CaughtUp
from scrapy_simhash.settings import LOCAL, FilterSettings, forgets_requests

logger = logging.getLogger(__name__)

# Confirmations are sent in batches; until then a page is provisional for others.
FLUSH_SECONDS = 0.1
# How long the event loop waits for the index when the spider is idle: the engine asks again only
# after five seconds, by which every crawl would end later.
IDLE_SECONDS = 0.25
# How long the upkeep rests after a fault, so that it does not say so all the time.
FAULT_SECONDS = 5.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Idle:
    """What an idle spider gets from the index: pages to be crawled again, or how long to stay.

    Attributes:
        asked: when, by the monotonic clock; the answer may be looked at later.
    """

    asked: float
    caught_up: CaughtUp
    last_lease: float | None
    orphans: list[Page]


class CrawlFilter:
    """Decides about pages, and keeps the index true to what was delivered.

    Args:
        crawler: the crawl; its settings are read and checked here.

    Raises:
        SettingError: a setting cannot be used.
    """

    def __init__(self, crawler: Crawler) -> None:
        need_asyncio(crawler)
        self.settings = FilterSettings.from_settings(crawler.settings)
        self._crawler = crawler
        spider = crawler.spider or crawler.spidercls
        self._index = self.settings.open_index(spider.name or "")
        self.deliveries = Deliveries(
            self._index, items=bool(self.settings.item_text_field or self.settings.item_html_field)
        )
        self._judge = Judge(self.settings, self._index, self.deliveries)
        self.account = Account(self.settings)
        #: Requests that the index brings back if this crawler dies, for whichever does next.
        self.held: WeakSet[Request] = WeakSet()
        self.handovers = HandOvers(crawler, self.deliveries, self.settings.lease, self.count)
        self._given_up: set[asyncio.Future[Verdict]] = set()
        self._upkeep: asyncio.Task[None] | None = None
        self._idle: Future[_Idle] | None = None
        # Whether something was crawled since that was asked.
        self._was_busy = False
        self._patience: float | None = None
        self._stopping: asyncio.Future[None] | None = None
        connect = crawler.signals.connect
        connect(self._spider_opened, signal=signals.spider_opened)
        connect(self._response_received, signal=signals.response_received)
        connect(self._request_left_downloader, signal=signals.request_left_downloader)
        connect(self._spider_idle, signal=signals.spider_idle)
        connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlFilter:
        """Return the filter of a crawl; all components of the crawl get the same."""
        found = cls.found(crawler)
        if found is None:
            found = cls(crawler)
            crawler._simhash_filter = found  # type: ignore[attr-defined]
        return found

    @classmethod
    def found(cls, crawler: Crawler) -> CrawlFilter | None:
        """Return the filter of a crawl, if it has one."""
        # On the crawler itself, so that it goes with it, also when the crawl never starts.
        return getattr(crawler, "_simhash_filter", None)

    @property
    def spider(self) -> Spider:
        """The spider that runs."""
        assert self._crawler.spider is not None
        return self._crawler.spider

    def count(self, name: str, by: int = 1) -> None:
        """Add to the stat ``simhash/<name>``, which is there from 1 on."""
        assert self._crawler.stats is not None
        if by:
            self._crawler.stats.inc_value(f"simhash/{name}", count=by)

    async def check(
        self,
        job: Job,
        *,
        key: str,
        scope: str,
        request: str | None = None,
        again: bool = False,
    ) -> Verdict:
        """Return the verdict on what is to be analysed; see :meth:`.judge.Judge.ask`."""
        answer = self._judge.ask(job, key=key, scope=scope, request=request, again=again)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            # It goes on, and may make an original of a page that nobody waits for.
            self._given_up.add(answer)
            answer.add_done_callback(self._end_given_up)
            raise

    def _end_given_up(self, work: asyncio.Future[Verdict]) -> None:
        self._given_up.discard(work)
        if work.cancelled():
            return
        verdict = work.result()
        if verdict.kind in ("unique", "revisit"):
            self.deliveries.begin(verdict.key)
            self.deliveries.end(verdict.key, failed=True)
            self.handovers.crawl_again(verdict.handed_back)

    def hold(self, request: Request, key: str) -> None:
        """Note that the index has a page as an original, and the request with it."""
        # Neither a file of this machine nor the standby is seen by the others.
        if not self.settings.index_url.startswith(LOCAL) and not self._index.has_here(key):
            self.held.add(request)

    # Upkeep. The first three run on the index thread.

    def _settle(
        self,
        renewed: Iterable[str] = (),
        *,
        at_once: bool = False,
    ) -> CaughtUp:
        try:
            self.deliveries.flush()
            self._index.renew(renewed)
            return self._index.catch_up(at_once=at_once)
        except Exception as error:  # noqa: BLE001 - it is tried again, and a crawl needs upkeep
            # Only the standby says so, for which there is no other.
            logger.error("What was delivered cannot be noted: %r", error)
            return CaughtUp()

    def _orphans(self) -> list[Page]:
        try:
            return self._index.orphans()
        except StoreError as error:
            logger.error("What was left over cannot be taken over: %s", error)
            return []

    def _settle_idle(self) -> _Idle:
        # In this order: what is left to this crawl in between is among the orphans.
        asked = time.monotonic()
        return _Idle(asked, self._settle(), self._index.last_lease(), self._orphans())

    async def _on_index(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._judge.run(work))

    def _caught_up(self, done: CaughtUp) -> list[Page]:
        """Count what the index did; return the pages that are to be crawled again after it."""
        self.count("standby/let_through", done.let_through)
        self.count("standby/reconciled", done.reconciled)
        self.count("standby/duplicates", done.duplicates)
        return [*done.pages, *self.deliveries.take_handed_back()]

    async def _catch_up(
        self,
        renewed: Iterable[str] = (),
        *,
        at_once: bool = False,
    ) -> AsyncIterator[Page]:
        """Settle and catch up as far as possible; yield the pages that are handed back."""
        more = True
        while more:
            # Claims that are waiting come between two steps.
            done = await self._on_index(partial(self._settle, renewed, at_once=at_once))
            for page in self._caught_up(done):
                yield page
            more = done.more

    async def _keep_up(self) -> None:
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            keys: list[str] = []
            if time.monotonic() - renewed > self.settings.lease / 3:
                renewed = time.monotonic()
                keys = [*self.deliveries.keys(), *self.handovers.queued]
            try:
                await self._keep_up_once(keys)
            except Exception:  # a crawl needs upkeep, whatever happened once
                logger.exception("What was delivered cannot be noted")
                await asyncio.sleep(min(FAULT_SECONDS, self.settings.lease / 3))

    async def _keep_up_once(self, renewed: list[str]) -> None:
        assert self._crawler.engine is not None
        self.deliveries.end_lost(self._crawler.engine.downloader.active)
        self.count("same_body", self._judge.take_repeats())
        self.handovers.crawl_again([page async for page in self._catch_up(renewed)])
        self._stop_if_told()

    def _stop_if_told(self) -> None:
        refused = self._index.refused
        told = self._index.away and self.settings.on_unavailable == "stop"
        if self._stopping is None and (refused or told):
            if refused:
                logger.error("SIMHASH_INDEX_URL: %s", refused)
            else:
                logger.error("The index is away: the crawl stops (SIMHASH_ON_UNAVAILABLE)")
            # Not in the upkeep, which the end of the crawl ends.
            self._stopping = asyncio.ensure_future(self._stop())

    async def _stop(self) -> None:
        engine, reason = self._crawler.engine, "simhash_unavailable"
        assert engine is not None
        if hasattr(engine, "close_spider_async"):
            await engine.close_spider_async(reason=reason)
        else:  # Scrapy 2.13
            await maybe_deferred_to_future(engine.close_spider(self.spider, reason))

    def _response_received(self, request: Request) -> None:
        self.deliveries.arrived(request)

    def _request_left_downloader(self) -> None:
        self._was_busy = True
        self._patience = None

    async def _spider_opened(self, spider: Spider) -> None:
        if forgets_requests(self._crawler.settings):
            logger.warning(
                "SCHEDULER_QUEUE_CLASS: this queue of scrapy-redis forgets the requests that a "
                "killed crawler had; scrapy_simhash.queues has the same, which do not"
            )
        self.handovers.crawl_again(await self._on_index(self._orphans), died=True)
        self._upkeep = asyncio.get_running_loop().create_task(self._keep_up())

    def _spider_idle(self, spider: Spider) -> None:
        # Nothing is on its way any more, so whatever has not ended never will.
        self.deliveries.end_all()
        self.handovers.queued.clear()
        late = self._idle is not None
        if self._idle is None:
            self._was_busy = False
            self._idle = self._judge.run(self._settle_idle)
        try:
            idle = self._idle.result(IDLE_SECONDS)
        except NotYet:
            raise DontCloseSpider from None
        self._idle = None
        pages = self._caught_up(idle.caught_up)
        self.handovers.crawl_again(pages)
        self.handovers.crawl_again(idle.orphans, died=True)
        if pages or idle.orphans:
            self._patience = None
            raise DontCloseSpider
        if idle.caught_up.more or (late and (self._was_busy or self.deliveries.to_flush())):
            raise DontCloseSpider
        if idle.last_lease is None:
            return
        if math.isinf(idle.last_lease):
            if self._patience != math.inf:
                logger.info(
                    "Staying while pages wait on another spider's: only this can crawl them"
                )
            self._patience = math.inf
            raise DontCloseSpider
        # Another worker has pages in progress. It may be dead: stay as long as its leases last,
        # to take over what it leaves; if it lives, it renews them and does not need us. Or a page
        # that was handed over to us was not crawled: it comes once more after its lease.
        if self._patience in (None, math.inf):
            self._patience = idle.asked + idle.last_lease + FLUSH_SECONDS
        if idle.asked <= self._patience:
            raise DontCloseSpider

    async def _spider_closed(self, spider: Spider) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
        await asyncio.gather(*self._given_up)
        self.deliveries.end_all()
        if handed_back := [page async for page in self._catch_up(at_once=True)]:
            logger.warning(
                "%d pages that repeat a page which was not delivered were not crawled again, "
                "because the crawl was stopped; a crawl that goes on with this index does so",
                len(handed_back),
            )
        if left := await self._on_index(self._index.left):
            logger.warning(
                "%d pages were let through while the index was away, and are not in it%s",
                left,
                "; the next run with this JOBDIR adds them" if self.settings.standby_path else "",
            )
        for close in (self._judge.close, self.account.close):
            await asyncio.get_running_loop().run_in_executor(None, close)
        self.count("same_body", self._judge.take_repeats())
        logger.info("%s", self.account.summary(), extra={"spider": spider})


def need_asyncio(crawler: Crawler) -> None:
    """Raise a SettingError unless the crawl runs on asyncio."""
    settings = crawler.settings
    if settings.getbool("TWISTED_REACTOR_ENABLED", True):
        from scrapy.utils.reactor import is_asyncio_reactor_installed

        if not is_asyncio_reactor_installed():
            raise SettingError(
                "TWISTED_REACTOR: scrapy-simhash needs Scrapy's default, "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
            )
