"""The upkeep of a crawl: it keeps the index true to what was delivered, and loses no page.

Every tenth of a second it confirms pages that were delivered, releases those that failed, and asks
how the originals of dropped copies fared. Now and then it renews the leases of pages in progress,
and adopts pages that a dead crawler of the same spider had begun. If a round itself fails, whatever
it had to tell is left to the leases: they run out, and the pages are crawled again.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.claims import Claims
from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.crawl.copies import Copies
from scrapy_simhash.crawl.progress import Progress
from scrapy_simhash.crawl.requests import ADOPTED, request_from_json
from scrapy_simhash.index.contract import Orphan, Unsettled

logger = logging.getLogger(__name__)

# Seconds between two rounds; until its round a delivered page is provisional for others.
ROUND_SECONDS = 0.1
# How long the event loop waits for the index when the spider is idle: the engine asks again only
# after five seconds, by which every crawl would end later.
IDLE_SECONDS = 0.25
# How long the upkeep rests after a fault, so that it does not log the fault all the time.
FAULT_SECONDS = 5.0


class _News(NamedTuple):
    """The answers of the index in one round; ``more`` to be reconciled after an outage."""

    entries: Sequence[int] = ()
    unsettled: Unsettled = Unsettled(frozenset(), frozenset())
    orphans: Sequence[Orphan] = ()
    more: bool = False
    failed: bool = False


@dataclass(eq=False)
class Upkeep:
    """Keeps a crawl and its index together."""

    crawler: Crawler
    index: Breaker
    claims: Claims
    progress: Progress
    lease: float
    counts: Counter[str]
    copies: Copies = field(default_factory=Copies)
    # Keys of adopted pages that lie in the queue.
    _adopted: set[str] = field(default_factory=set)
    # Requests that the queue refuses, and since when.
    _again: dict[Request, float] = field(default_factory=dict)
    _renewed: float = field(default_factory=time.monotonic)
    _adopts_at: float = 0.0
    # An idle spider asked the index this, and has no answer yet.
    _idle: Future[_News] | None = None
    _running: asyncio.Task[None] | None = None

    async def begin(self, each_round: Callable[[], None]) -> None:
        """Adopt what dead crawlers left behind, and do rounds until :meth:`end`."""
        await self._do()
        self._running = asyncio.get_running_loop().create_task(self._run(each_round))

    async def end(self) -> None:
        """Save what only this crawl knows, while its queue is still open; twice does no harm.

        Nothing more will come, so whatever has not ended has failed. Copies that wait are put into
        the queue: a later run of the job crawls them again.
        """
        if self._running is not None:
            self._running.cancel()
        self.progress.end_all()
        while (await self._do(at_once=True)).more:
            pass
        self._crawl_again(self.copies.take_all())

    def note_verdict(self, request: Request, verdict: Verdict) -> None:
        """Note that a request was answered, which may be that of an adopted page."""
        # Taken off, because other requests may copy the meta.
        key = request.meta.pop(ADOPTED, None)
        if isinstance(key, str):
            self._adopted.discard(key)
            if verdict.key != key or verdict.kind not in ("unique", "revisit"):
                self.progress.abandon(key)

    def stays_open(self) -> bool:
        """Do a round for an idle spider; return whether the crawl must go on after it."""
        # Nothing is on its way any more, so whatever has not ended never will.
        self.progress.end_all()
        self._adopted.clear()
        if self._idle is None:
            self._idle = self._ask(adopts=True)
        try:
            news = self._idle.result(IDLE_SECONDS)
        except NotYet:
            return True
        self._idle = None
        is_busy = self._act_on(news)
        return is_busy or news.more or bool(self.copies or self._again)

    async def _run(self, each_round: Callable[[], None]) -> None:
        failed, pause = False, min(FAULT_SECONDS, self.lease / 3)
        while True:
            await asyncio.sleep(pause if failed or self._again else ROUND_SECONDS)
            try:
                assert self.crawler.engine is not None
                self.progress.end_lost(self.crawler.engine.downloader.active)
                # Whoever ends the upkeep does not end a round in the middle.
                failed = (await asyncio.shield(self._do())).failed
                each_round()
            except Exception:  # a crawl needs upkeep, whatever happened once
                logger.exception("The upkeep of the index failed; it goes on")
                failed = True

    async def _do(self, *, at_once: bool = False) -> _News:
        news = await asyncio.wrap_future(self._ask(at_once=at_once))
        self._act_on(news)
        return news

    def _ask(self, *, adopts: bool = False, at_once: bool = False) -> Future[_News]:
        """Tell the index what was settled, and ask how others fared.

        With ``adopts`` it asks for orphans before it is time to; with ``at_once``, at the end of a
        crawl, for none, and tries a store that failed just now.
        """
        index, now = self.index, time.monotonic()
        renewed: list[str] = []
        if now - self._renewed > self.lease / 3:
            self._renewed = now
            renewed = [*self.progress.keys(), *self._adopted]
        adopts = not at_once and (adopts or now >= self._adopts_at)
        if adopts:
            self._adopts_at = now + self.lease / 2
        failed, delivered = self.progress.take_settled()
        entries = self.copies.entries()

        def talk() -> _News:
            try:
                if failed:
                    index.release(failed)
                if delivered:
                    index.confirm(delivered)
                if renewed:
                    index.renew(renewed)
                more = index.catch_up(at_once=at_once)
                orphans = index.orphans() if adopts else []
                return _News(entries, index.unsettled(entries), orphans, more)
            except Exception as error:  # noqa: BLE001 - whatever it is, a crawl needs upkeep
                logger.error("The index does not take what was delivered: %r", error)
                return _News(failed=True)

        return self.claims.run(talk)

    def _act_on(self, news: _News) -> bool:
        """Crawl again what must be; return whether there is anything."""
        if news.orphans:
            self._adopts_at = 0.0  # there may be more
        requests = [*self._adopt(news.orphans), *self.copies.settle(news.entries, news.unsettled)]
        self._crawl_again(requests)
        return bool(requests)

    def _adopt(self, orphans: Iterable[Orphan]) -> Iterable[Request]:
        assert self.crawler.spider is not None
        for orphan in orphans:
            try:
                request = request_from_json(orphan.request, self.crawler.spider)
            except ValueError as error:
                logger.warning("%s cannot be crawled again: %s", orphan.key, error)
                self.progress.abandon(orphan.key)
                continue
            request.meta[ADOPTED] = orphan.key
            self._adopted.add(orphan.key)
            yield request

    def _crawl_again(self, requests: Sequence[Request]) -> None:
        for request in requests:
            logger.debug("Crawling %s again: its original was not delivered", request.url)
        self.counts["crawled_again"] += len(requests)
        self.queue(requests)

    def queue(self, requests: Iterable[Request]) -> None:
        """Put requests into the queue; it may refuse each of them for as long as a lease lasts."""
        assert self.crawler.engine is not None
        now = time.monotonic()
        self._again |= dict.fromkeys(requests, now)
        for request, since in [*self._again.items()]:
            try:
                self.crawler.engine.crawl(request)
            except Exception as error:  # noqa: BLE001 - a queue elsewhere may be away
                is_lost = now - since > self.lease
                logger.log(
                    logging.WARNING if is_lost or since == now else logging.DEBUG,
                    "%s cannot be put into the queue%s: %r",
                    request.url,
                    ", and is lost" if is_lost else "",
                    error,
                )
                if not is_lost:
                    continue
            del self._again[request]
