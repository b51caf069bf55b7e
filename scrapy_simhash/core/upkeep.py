"""The upkeep: it keeps the index true to what was delivered.

Every tenth of a second it confirms pages that were delivered, releases those that failed, and asks
how the originals of copies that wait fared. Now and then it renews the leases of pages in progress,
and deletes entries of old runs. If a round fails, what it had to tell is left to the leases: they
run out, and copies take the places of the pages.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.claims import Claims
from scrapy_simhash.index.values import Report, Unsettled
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Seconds between two rounds; until its round a delivered page is provisional for others.
ROUND_SECONDS = 0.1
# It rests so many times as long as a round took, because claims wait for the rounds.
SLOW_ROUNDS = 2
# Seconds for which the upkeep rests after a fault, so that the log is not full of it.
FAULT_SECONDS = 5.0
# Entries of old runs that are deleted at once, and seconds between: claims wait meanwhile.
EXPIRED_AT_ONCE = 200
EXPIRE_SECONDS = 1.0
# Originals that the index is asked about together.
ASKED_AT_ONCE = 256


class Progress:
    """Pages of which this crawler is the owner, until their delivery.

    A page is *in progress* while a part of it (its callback, one of its items) is on its way. When
    the last part has ended, the page is settled: it was delivered, or it failed if one of them
    failed.
    """

    def __init__(self) -> None:
        # The number of parts of a key on their way, and the keys of which one failed.
        self._parts: dict[str, int] = {}
        self._failing: set[str] = set()
        self._failed: list[str] = []
        self._delivered: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._parts

    @property
    def is_settled(self) -> bool:
        """True if nothing is in progress, and nothing that has ended is left to be told."""
        return not (self._parts or self._failed or self._delivered)

    def keys(self) -> list[str]:
        return list(self._parts)

    def begin(self, key: str) -> None:
        self._parts[key] = self._parts.get(key, 0) + 1

    def end(self, key: str, *, failed: bool) -> None:
        """Note that a part has ended; with the last, the key is settled."""
        if key not in self._parts:
            return
        if failed:
            self._failing.add(key)
        self._parts[key] -= 1
        if not self._parts[key]:
            del self._parts[key]
            (self._failed if key in self._failing else self._delivered).append(key)
            self._failing.discard(key)

    def end_all(self) -> None:
        """End everything that is still in progress: it failed."""
        self._failed.extend(self._parts)
        self._parts.clear()
        self._failing.clear()

    def take_settled(self) -> tuple[list[str], list[str]]:
        """Return the keys that failed, and those that were delivered, since the last call.

        Release the failed keys before you confirm the others, because a page may have failed with
        one text and then have come with another. A failed key is returned even while it is in
        progress again. A delivered one is returned once no part of it is in progress, because the
        copies that wait would be lost if its new text were confirmed and then failed.
        """
        unsettled = [key for key in dict.fromkeys(self._delivered) if key in self._parts]
        settled = self._failed, [key for key in self._delivered if key not in self._parts]
        self._failed, self._delivered = [], unsettled
        return settled


class Copies:
    """Copies that wait for the fate of an original, by its entry in the index.

    Each is called once: with True if the original was delivered, with False if it was not.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, list[Callable[[bool], None]]] = {}
        # The keys of these originals.
        self._keys: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def wait(self, entry: int, key: str, callback: Callable[[bool], None]) -> None:
        """Keep a copy until its original is settled."""
        self._keys[entry] = key
        self._waiting.setdefault(entry, []).append(callback)

    def entries(self) -> list[int]:
        """Return the originals to ask the index about, the one that waits longest first."""
        return [*islice(self._waiting, ASKED_AT_ONCE)]

    def entries_of(self, keys: Iterable[str]) -> frozenset[int]:
        """Return the originals of some keys."""
        keys_asked = frozenset(keys)
        return frozenset(
            entry for entry, key in self._keys.items() if keys_asked and key in keys_asked
        )

    def settle(self, entries: Iterable[int], unsettled: Unsettled) -> bool:
        """Tell the copies of settled originals; return whether an original was lost."""
        is_lost = False
        for entry in entries:
            copies = self._waiting.pop(entry, [])
            if entry in unsettled.provisional:
                self._waiting[entry] = copies  # at the end, after those that were not asked about
                continue
            self._keys.pop(entry, None)
            is_lost = is_lost or (entry in unsettled.gone and bool(copies))
            for callback in copies:
                callback(entry not in unsettled.gone)
        return is_lost

    def end_all(self) -> None:
        """Tell every copy that its original was not delivered, because nobody will know."""
        waiting, self._waiting, self._keys = self._waiting, {}, {}
        for callback in [callback for copies in waiting.values() for callback in copies]:
            callback(False)


class _News(NamedTuple):
    """The answer of the index in one round.

    Attributes:
        entries: originals that it was asked about.
        lost: keys of this crawler's pages that failed, as it was told.
        done: those that were delivered.
        failed: it could not be asked.
    """

    entries: Sequence[int] = ()
    unsettled: Unsettled = Unsettled(frozenset(), frozenset())
    lost: Sequence[str] = ()
    done: Sequence[str] = ()
    failed: bool = False


class Upkeep:
    """Keeps one crawler and its index together.

    Args:
        keep_runs: entries that none of so many finished runs has seen are deleted, a few at a time;
            0 to delete none but those of crawlers that are gone.
    """

    def __init__(self, index: Breaker, claims: Claims, lease: float, keep_runs: int = 0) -> None:
        #: The number of entries of old runs, and of crawlers that are gone, that were deleted.
        self.expired = 0
        self.progress = Progress()
        self.copies = Copies()
        #: The number of callers that wait for an original, and hold up an engine meanwhile.
        self.urgent = 0
        self._index = index
        self._claims = claims
        self._lease = lease
        self._renewed = time.monotonic()
        self._keep_runs = keep_runs
        self._expires_at = 0.0
        # An idle engine asked the index this, and has no answer yet.
        self._idle: Future[_News] | None = None
        self._running: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    async def begin(self) -> None:
        """Do rounds until :meth:`end`."""
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def end(self) -> None:
        """Tell the index what only this crawler knows; doing so twice does no harm.

        Nothing more will come, so whatever has not ended has failed. Copies that wait are told that
        their originals were not delivered.
        """
        if self._running is not None:
            self._running.cancel()
        self.progress.end_all()
        await self._do(at_once=True)
        self.copies.end_all()

    def end_part(self, key: str, *, failed: bool) -> None:
        """Note that a part of a page has ended."""
        self.progress.end(key, failed=failed)
        if self.urgent:
            self._hurry.set()

    def has_work(self, patience: float) -> bool:
        """Do a round for an idle engine; return whether the engine must go on after it."""
        # Nothing is on its way any more, so whatever has not ended never will.
        self.progress.end_all()
        if self._idle is None:
            self._idle = self._ask()
        try:
            news = self._idle.result(patience)
        except NotYet:
            return True
        self._idle = None
        return self._act_on(news) or bool(self.copies)

    async def _run(self) -> None:
        failed, pause, took = False, min(FAULT_SECONDS, self._lease / 3), 0.0
        while True:
            rest = min(max(ROUND_SECONDS, SLOW_ROUNDS * took), self._lease / 6)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), pause if failed else rest)
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

    def _ask(self, *, at_once: bool = False) -> Future[_News]:
        """Tell the index what was settled, and ask how others fared.

        With ``at_once``, at the end of a crawl, it tries a store that failed just now.
        """
        index, now = self._index, time.monotonic()
        # Also without a page in progress, because a crawler lives in its run while it renews.
        renewed: list[str] | None = None
        if now - self._renewed > self._lease / 3:
            self._renewed = now
            renewed = self.progress.keys()
        failed, delivered = self.progress.take_settled()
        entries = self.copies.entries()

        def talk() -> _News:
            try:
                news = Report(failed, delivered, renewed, entries)
                unsettled = index.report(news, at_once=at_once)
                if now >= self._expires_at and not at_once:
                    self._expire(now)
                return _News(entries, unsettled, failed, delivered)
            except Exception as error:  # noqa: BLE001 - whatever it is, a crawl needs upkeep
                logger.error("The index does not take what was delivered: %s", repr(error))
                return _News(failed=True)

        return self._claims.run(talk)

    def _expire(self, now: float) -> None:
        expired = self._index.read(lambda store: store.expire(self._keep_runs, EXPIRED_AT_ONCE))
        self.expired += expired or 0
        self._expires_at = now + (EXPIRE_SECONDS if expired else 60 * EXPIRE_SECONDS)

    def _act_on(self, news: _News) -> bool:
        """Tell the copies of settled originals; return whether an original was lost."""
        # Copies of this crawler's own pages need no index, which may be away.
        failed, done = map(self.copies.entries_of, (news.lost, news.done))
        provisional, gone = news.unsettled
        unsettled = Unsettled(provisional - failed - done, gone - done | failed)
        return self.copies.settle(dict.fromkeys((*news.entries, *failed, *done)), unsettled)
