"""The upkeep of a crawl: it keeps the index true to what was delivered, and loses no page.

Every tenth of a second it confirms pages that were delivered, releases those that failed, and asks
how the originals of dropped copies fared. Now and then it renews the leases of pages in progress,
and adopts pages that a dead crawler of the same spider had begun.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from functools import partial

from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_simhash.crawl.claims import Claims
from scrapy_simhash.crawl.copies import Copies
from scrapy_simhash.crawl.progress import Progress
from scrapy_simhash.crawl.requests import request_from_json
from scrapy_simhash.detector import Verdict
from scrapy_simhash.index.contract import Orphan, Unsettled
from scrapy_simhash.index.outage import CaughtUp, Outage

logger = logging.getLogger(__name__)

# Seconds between two rounds; until its round a delivered page is provisional for others.
ROUND_SECONDS = 0.1
# How long the event loop waits for the index when the spider is idle: the engine asks again only
# after five seconds, by which every crawl would end later.
IDLE_SECONDS = 0.25
# How long the upkeep rests after a fault, so that it does not log the fault all the time.
FAULT_SECONDS = 5.0

#: In the meta of a request that was adopted: the key of its page in the index.
ADOPTED = "simhash_adopted"


@dataclass(slots=True)
class _Round:
    """Keys and questions for the index, and then its answers.

    Attributes:
        failed: keys to be released.
        delivered: keys to be confirmed then.
        renewed: keys whose leases begin anew.
        entries: originals of copies that wait.
        adopts: whether orphans are asked for.
        at_once: whether everything that was let through in an outage claims now, because the
            crawl ends.
        unsettled: how the originals of waiting copies fare, if that was asked and answered.
        orphans: adopted pages.
        caught_up: what the index did about an outage.
        is_told: whether the index has released and confirmed.
        is_done: whether the index has answered everything.
    """

    failed: list[str]
    delivered: list[str]
    renewed: list[str]
    entries: list[int]
    adopts: bool
    at_once: bool
    unsettled: Unsettled | None = None
    orphans: list[Orphan] = field(default_factory=list)
    caught_up: CaughtUp = field(default_factory=CaughtUp)
    is_told: bool = False
    is_done: bool = False


class Upkeep:
    """Keeps a crawl and its index together.

    Args:
        crawler: the crawl, into whose queue pages are put that must be crawled again.
        index: of the crawl.
        claims: by which the index is asked.
        progress: the pages of which the crawl is the owner.
        copies: dropped pages that may have to be crawled again.
        lease: seconds after which a page in progress that was not renewed counts as left behind.
        count: adds to a stat of the filter.
    """

    def __init__(
        self,
        crawler: Crawler,
        *,
        index: Outage,
        claims: Claims,
        progress: Progress,
        copies: Copies,
        lease: float,
        count: Callable[[str, int], None],
    ) -> None:
        self._crawler = crawler
        self._index = index
        self._claims = claims
        self._progress = progress
        self._copies = copies
        self._lease = lease
        self._count = count
        # Keys of adopted pages that lie in the queue.
        self._adopted: set[str] = set()
        # Requests that the queue refuses, and since when.
        self._again: dict[Request, float] = {}
        self._renewed = time.monotonic()
        self._adopts_at = 0.0
        # Since when the store is away, by the monotonic clock.
        self._away_since: float | None = None
        self._idle: tuple[_Round, Future[None]] | None = None
        self._was_busy = False
        self._running: asyncio.Task[None] | None = None

    async def begin(self, each_round: Callable[[], None]) -> None:
        """Adopt what dead crawlers left behind, and go on until :meth:`end`.

        Args:
            each_round: called after each round.
        """
        await self._do(self._round())
        self._running = asyncio.get_running_loop().create_task(self._run(each_round))

    async def end(self) -> None:
        """Save what only this crawl knows, while its queue is still open; twice does no harm.

        Nothing more will come, so whatever has not ended has failed. Copies that wait are put into
        the queue: a later run of the job crawls them again.
        """
        if self._running is not None:
            self._running.cancel()
        self._progress.end_all()
        while (await self._do(self._round(at_once=True))).caught_up.more:
            pass
        self._crawl_again(self._copies.take_all())

    def note_verdict(self, request: Request, verdict: Verdict) -> None:
        """Note that a request was answered, which may be that of an adopted page."""
        self._was_busy = True
        # Taken off, because other requests may copy the meta.
        key = request.meta.pop(ADOPTED, None)
        if isinstance(key, str):
            self._adopted.discard(key)
            if verdict.key != key or verdict.kind not in ("unique", "revisit"):
                self._progress.abandon(key)

    def stays_open(self) -> bool:
        """Do a round for an idle spider; return whether the crawl must go on after it."""
        # Nothing is on its way any more, so whatever has not ended never will.
        self._progress.end_all()
        self._adopted.clear()
        is_late = self._idle is not None
        if self._idle is None:
            self._was_busy = False
            round_ = self._round(adopts=True)
            self._idle = round_, self._ask(round_)
        round_, asked = self._idle
        try:
            asked.result(IDLE_SECONDS)
        except NotYet:
            return True
        self._idle = None
        waits = self._act_on(round_) or bool(self._copies or self._again)
        is_stale = is_late and (self._was_busy or not self._progress.is_settled)
        return waits or is_stale or round_.caught_up.more

    async def _run(self, each_round: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            try:
                assert self._crawler.engine is not None
                self._progress.end_lost(self._crawler.engine.downloader.active)
                # Whoever ends the upkeep does not end a round in the middle.
                is_done = (await asyncio.shield(self._do(self._round()))).is_done
                each_round()
            except Exception:  # a crawl needs upkeep, whatever happened once
                logger.exception("The upkeep of the index failed; it goes on")
                is_done = False
            if not is_done or self._again:
                await asyncio.sleep(min(FAULT_SECONDS, self._lease / 3))

    def _round(self, *, adopts: bool = False, at_once: bool = False) -> _Round:
        now = time.monotonic()
        renewed: list[str] = []
        if now - self._renewed > self._lease / 3:
            self._renewed = now
            renewed = [*self._progress.keys(), *self._adopted]
        adopts = not at_once and (adopts or now >= self._adopts_at)
        if adopts:
            self._adopts_at = now + self._lease / 2
        failed, delivered = self._progress.take_settled()
        return _Round(failed, delivered, renewed, self._copies.entries(), adopts, at_once)

    async def _do(self, round_: _Round) -> _Round:
        await asyncio.wrap_future(self._ask(round_))
        self._act_on(round_)
        return round_

    def _ask(self, round_: _Round) -> Future[None]:
        return self._claims.run(partial(self._fill_in, round_))

    def _fill_in(self, round_: _Round) -> None:
        """Tell the index and ask it; where the index is asked."""
        index = self._index
        try:
            if round_.failed:
                index.release(round_.failed)
            if round_.delivered:
                index.confirm(round_.delivered)
            round_.is_told = True
            if round_.renewed:
                index.renew(round_.renewed)
            round_.caught_up = index.catch_up(at_once=round_.at_once)
            self._note_absence()
            if round_.entries:
                round_.unsettled = self._unsettled(round_.entries)
            if round_.adopts:
                round_.orphans = index.orphans()
            round_.is_done = True
        except Exception as error:  # noqa: BLE001 - it is tried again, and a crawl needs upkeep
            logger.error("The index does not take what was delivered: %r", error)

    def _note_absence(self) -> None:
        if not self._index.away:
            self._away_since = None
        elif self._away_since is None:
            self._away_since = time.monotonic()

    def _unsettled(self, entries: list[int]) -> Unsettled:
        unsettled = self._index.unsettled(entries)
        since = self._away_since
        if since is None or time.monotonic() - since <= self._lease:
            return unsettled
        # Nobody could renew a lease in the store meanwhile, so all of them have run out.
        expired = {entry for entry in unsettled.provisional if entry > 0}
        return Unsettled(unsettled.provisional - expired, unsettled.gone | expired)

    def _act_on(self, round_: _Round) -> bool:
        """Crawl again what must be; return whether there is anything."""
        if not round_.is_told:
            self._progress.put_back(round_.failed, round_.delivered)
        if round_.orphans:
            self._adopts_at = 0.0  # there may be more
        self._count("outage/let_through", round_.caught_up.let_through)
        self._count("outage/reconciled", round_.caught_up.reconciled)
        self._count("outage/duplicates", round_.caught_up.duplicates)
        requests = [*self._adopt(round_.orphans)]
        if round_.unsettled is not None:
            requests += self._copies.settle(round_.entries, round_.unsettled)
        self._crawl_again(requests)
        return bool(requests)

    def _adopt(self, orphans: Iterable[Orphan]) -> Iterable[Request]:
        assert self._crawler.spider is not None
        for orphan in orphans:
            try:
                request = request_from_json(orphan.request, self._crawler.spider)
            except ValueError as error:
                logger.warning("%s cannot be crawled again: %s", orphan.key, error)
                self._progress.abandon(orphan.key)
                continue
            request.meta[ADOPTED] = orphan.key
            self._adopted.add(orphan.key)
            yield request

    def _crawl_again(self, requests: Iterable[Request]) -> None:
        """Put requests into the queue; it may refuse each of them for as long as a lease lasts."""
        assert self._crawler.engine is not None
        now = time.monotonic()
        self._again |= dict.fromkeys(requests, now)
        for request, since in [*self._again.items()]:
            try:
                self._crawler.engine.crawl(request)
            except Exception as error:  # noqa: BLE001 - a queue elsewhere may be away
                is_lost = now - since > self._lease
                logger.log(
                    logging.WARNING if is_lost or since == now else logging.DEBUG,
                    "%s cannot be put into the queue to be crawled again%s: %r",
                    request.url,
                    ", and is lost" if is_lost else "",
                    error,
                )
                if not is_lost:
                    continue
            else:
                logger.debug("Crawling %s again: its original was not delivered", request.url)
                self._count("crawled_again", 1)
            del self._again[request]
