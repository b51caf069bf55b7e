"""The upkeep: it keeps the index true to what was delivered, and loses no page.

Every tenth of a second it confirms pages that were delivered, releases those that failed, and asks
how the originals of copies that wait fared. Now and then it renews the leases of pages in progress,
and adopts pages that a dead crawler of the same spider had begun. If a round itself fails, whatever
it had to tell is left to the leases: they run out, and the pages are crawled again.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.claims import Claims
from scrapy_simhash.core.progress import Copies, Progress
from scrapy_simhash.index.values import Orphan, Report, Unsettled
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Seconds between two rounds; until its round a delivered page is provisional for others.
ROUND_SECONDS = 0.1
# It rests so many times as long as a round took.
SLOW_ROUNDS = 2
# How long the upkeep rests after a fault, so that it does not log the fault all the time.
FAULT_SECONDS = 5.0
# How many entries of old runs are deleted at once, and how often: claims wait meanwhile.
EXPIRED_AT_ONCE = 200
EXPIRE_SECONDS = 1.0

Adopt = Callable[[str, str], None]


class _News(NamedTuple):
    """The answers of the index in one round.

    Attributes:
        more: there is more to be reconciled after an outage.
        untold: keys of pages that failed, and that were delivered, of which the index does not know
            because it is away.
    """

    entries: Sequence[int] = ()
    unsettled: Unsettled = Unsettled(frozenset(), frozenset())
    orphans: Sequence[Orphan] = ()
    more: bool = False
    failed: bool = False
    untold: tuple[Sequence[str], Sequence[str]] = ((), ())


class Upkeep:
    """Keeps one crawler and its index together.

    Args:
        adopt: asks the engine to crawl a page again, by its key and the text of its request; it
            raises ValueError if the engine cannot. None if this crawler adopts no pages.
        keep_runs: entries that none of so many finished runs has seen are deleted, a few at a time;
            0 to delete none.
    """

    def __init__(
        self, index: Breaker, claims: Claims, lease: float, adopt: Adopt | None, keep_runs: int = 0
    ) -> None:
        #: How many entries of old runs were deleted.
        self.expired = 0
        self.progress = Progress()
        self.copies = Copies()
        # Keys of adopted pages that lie in the engine's queue.
        self.adopted: set[str] = set()
        #: How many callers wait for the fate of an original, and hold up an engine meanwhile.
        self.urgent = 0
        self._index = index
        self._claims = claims
        self._lease = lease
        self._adopt = adopt
        self._renewed = time.monotonic()
        self._adopts_at = 0.0
        # Keys of adopted pages that have not settled; the index has no others for us meanwhile.
        self._again: set[str] = set()
        # Keys that a round has adopted, and whose news has not come to the loop.
        self._coming: set[str] = set()
        # Originals that failed while copies of this crawler waited on them.
        self._copied: set[int] = set()
        self._keep_runs = keep_runs
        self._expires_at = 0.0
        # An idle engine asked the index this, and has no answer yet.
        self._idle: Future[_News] | None = None
        self._running: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    async def begin(self) -> None:
        """Adopt what dead crawlers left behind, and do rounds until :meth:`end`."""
        await self._do()
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def end(self) -> None:
        """Tell the index what only this crawler knows; doing so twice does no harm.

        Nothing more will come, so whatever has not ended has failed. Copies that wait are told that
        their originals were not delivered.
        """
        if self._running is not None:
            self._running.cancel()
        self.progress.end_all()
        while (await self._do(at_once=True)).more:
            pass
        if copied := {*self._copied, *self.copies.entries(None)}:
            # They go into the engine's queue, which may outlive the crawl.
            self._copied.clear()
            withdraw = partial(self._index.withdraw, copied)
            await asyncio.wrap_future(self._claims.run(withdraw))
        self.copies.end_all()

    def end_part(self, key: str, *, failed: bool) -> None:
        """Note that a part of a page has ended, or that an adopted page does not come."""
        if failed and key in self.adopted:
            self.adopted.discard(key)
            self.progress.abandon(key)
        else:
            self.progress.end(key, failed=failed)
        if self.urgent:
            self._hurry.set()

    def has_work(self, patience: float) -> bool:
        """Do a round for an idle engine; return whether the engine must go on after it."""
        # Nothing is on its way any more, so whatever has not ended never will.
        self.progress.end_all()
        self.adopted.clear()
        if self._idle is None:
            self._idle = self._ask(adopts=True)
        try:
            news = self._idle.result(patience)
        except NotYet:
            return True
        self._idle = None
        is_busy = self._act_on(news)
        return is_busy or news.more or bool(self.copies or self._coming)

    async def _run(self) -> None:
        failed, pause, took = False, min(FAULT_SECONDS, self._lease / 3), 0.0
        while True:
            # Claims wait for the rounds of a store that is slow.
            rest = min(max(ROUND_SECONDS, SLOW_ROUNDS * took), self._lease / 6)
            with suppress(asyncio.TimeoutError):
                seconds = pause if failed else rest
                await asyncio.wait_for(self._hurry.wait(), seconds)
            self._hurry.clear()
            started = time.monotonic()
            try:
                # Whoever ends the upkeep does not end a round in the middle.
                failed = (await asyncio.shield(self._do())).failed
            except Exception:  # a crawl needs upkeep, whatever happened once
                logger.exception("The upkeep of the index failed; it goes on")
                failed = True
            took = time.monotonic() - started

    async def _do(self, *, at_once: bool = False) -> _News:
        news = await asyncio.wrap_future(self._ask(at_once=at_once))
        self._act_on(news)
        return news

    def _ask(self, *, adopts: bool = False, at_once: bool = False) -> Future[_News]:
        """Tell the index what was settled, and ask how others fared.

        With ``adopts`` it asks for orphans before it is time to; with ``at_once``, at the end of a
        crawl, for none, and tries a store that failed just now.
        """
        index, now = self._index, time.monotonic()
        # Also without a page in progress, because a crawler lives in its run while it renews.
        renewed: list[str] | None = None
        if now - self._renewed > self._lease / 3:
            self._renewed = now
            renewed = [*self.progress.keys(), *self.adopted]
        adopts = self._adopt is not None and not at_once and (adopts or now >= self._adopts_at)
        if adopts:
            self._adopts_at = now + self._lease / 2
        failed, delivered = self.progress.take_settled()
        if self._again:
            self._again.difference_update(failed, delivered)
            if not self._again:
                self._adopts_at = 0.0  # there may be more
        entries = self.copies.entries()

        def talk() -> _News:
            try:
                reply = index.report(Report(failed, delivered, renewed, entries, adopts))
                more = index.catch_up(at_once=at_once)
                if self._keep_runs and now >= self._expires_at and not at_once:
                    self._expire(now)
                self._coming.update(orphan.key for orphan in reply.orphans)
                untold = (failed, delivered) if index.away else ([], [])
                return _News(entries, reply.unsettled, reply.orphans, more, untold=untold)
            except Exception as error:  # noqa: BLE001 - whatever it is, a crawl needs upkeep
                logger.error("The index does not take what was delivered: %s", repr(error))
                return _News(failed=True)

        return self._claims.run(talk)

    def _expire(self, now: float) -> None:
        expired = self._index.read(lambda store: store.expire(self._keep_runs, EXPIRED_AT_ONCE))
        self.expired += expired or 0
        self._expires_at = now + (EXPIRE_SECONDS if expired else 60 * EXPIRE_SECONDS)

    def _act_on(self, news: _News) -> bool:
        """Have crawled again what must be; return whether there is anything."""
        self._again.update(orphan.key for orphan in news.orphans)
        self._coming -= self._again
        # Copies of pages of this crawler need no index that is away.
        lost, done = map(self.copies.entries_of, news.untold)
        provisional, gone = news.unsettled
        unsettled = Unsettled(provisional - lost - done, gone - done | lost)
        self._copied |= unsettled.gone
        adopted = [orphan for orphan in news.orphans if self._is_adopted(orphan)]
        entries = dict.fromkeys((*news.entries, *lost, *done))
        return self.copies.settle(entries, unsettled) or bool(adopted)

    def _is_adopted(self, orphan: Orphan) -> bool:
        assert self._adopt is not None
        try:
            self._adopt(orphan.key, orphan.request)
        except ValueError as error:
            logger.warning("%s cannot be crawled again: %s", orphan.key, error)
            self.progress.abandon(orphan.key)
            return False
        self.adopted.add(orphan.key)
        return True
