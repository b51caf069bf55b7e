"""The upkeep: it keeps the index true to what was delivered.

Every tenth of a second it confirms pages that were delivered, releases those that
failed, and asks what became of pages of other crawlers for which copies wait. Now and
then it renews the leases of pages in progress, and deletes entries of old runs. If a
round fails, what it had to tell is left to the leases: they run out, and copies take
the places of the pages.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from functools import partial
from itertools import islice

from scrapy_simhash.core.breaker import Breaker, IndexThread
from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Report
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Seconds between two rounds; until its round a delivered page is provisional for
# others.
ROUND_SECONDS = 0.1
# Originals that the index is asked about at a time; claims wait meanwhile.
PAGES_AT_ONCE = 256

# It is told whether the original of a copy was delivered.
Callback = Callable[[bool], None]


class Rounds:
    """Work that is done round after round; :meth:`end` lets a round finish that has begun.

    Args:
        work: one round; if it fails, the log says so.
        seconds: the pause between two rounds; after a round that took longer, as long
            as that took.
    """

    def __init__(self, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            started = time.monotonic()
            try:
                await asyncio.shield(self._work())
                rest = max(self._seconds, time.monotonic() - started)
            except Exception:  # a crawl goes on, whatever happened once
                logger.exception("A round of the filter failed; it goes on")
                rest = 5.0  # a fault that lasts would fill the log
            await asyncio.sleep(rest)


class Upkeep:
    """Keeps one crawler and its index together.

    A page of this crawler is *in progress* while a part of it (its callback, one of its
    items) is on its way. When the last part has ended, the page is settled: it was
    delivered, or it failed if one of them failed.

    Args:
        index: what is told, in the thread.
        thread: asks the index.
        lease: seconds that a page in progress belongs to its crawler without a sign of
            life.
        keep_runs: an entry is deleted when the last ``keep_runs`` finished runs have
            not seen it; with 0, only entries of crawlers that are gone are deleted.

    Attributes:
        expired: the number of entries that were deleted, of old runs and of crawlers
            that are gone.
        begin: does rounds until :meth:`settle`.
    """

    def __init__(
        self, index: Breaker, thread: IndexThread, lease: float, keep_runs: int = 0
    ) -> None:
        self.expired = 0
        # The number of parts on their way, by page, and the pages of which one failed.
        self._parts = Counter[str]()
        self._failing = set[str]()
        # Pages that are settled, of which the index was not told.
        self._failed = set[str]()
        self._missed = set[str]()
        self._delivered = set[str]()
        self._index = index
        self._thread = thread
        self._lease = lease
        self._renewed = time.monotonic()
        self._keep_runs = keep_runs
        self._expires_at = 0.0
        # Copies that wait: for pages of this crawler by key, for pages of others by
        # entry.
        self._copies_by_key: dict[str, list[Callback]] = {}
        self._copies_by_entry: dict[int, list[Callback]] = {}
        self._rounds = Rounds(self._round, ROUND_SECONDS)
        self.begin = self._rounds.begin

    def in_progress(self, key: str) -> bool:
        """Return whether this crawler owns a page that is neither delivered nor failed."""
        return key in self._parts

    def hold(self, key: str) -> None:
        """Note that a page, or one more part of it, such as an item, must be delivered."""
        self._parts[key] += 1

    def ended(self, key: str, *, failed: bool) -> None:
        """Note that a page, or a part of it, was delivered or failed.

        With its last part the page is settled. If one of them failed, a copy may take
        its place.
        """
        if key not in self._parts:
            return
        if failed:
            self._failing.add(key)
        self._parts[key] -= 1
        if self._parts[key]:
            return
        del self._parts[key]
        is_delivered = key not in self._failing
        self._failing.discard(key)
        (self._delivered if is_delivered else self._failed).add(key)
        copies = self._copies_by_key.pop(key, ())
        if copies and not is_delivered:
            # The index hears of it before they claim.
            self._report()
        for callback in copies:
            callback(is_delivered)

    def delivered(self, key: str) -> None:
        self.ended(key, failed=False)

    def failed(self, key: str) -> None:
        self.ended(key, failed=True)

    def missed(self, keys: Iterable[str]) -> None:
        """Note that pages were asked for in vain, so that they are not missing in this run."""
        self._missed.update(keys)

    def fail_all(self) -> None:
        """Note that whatever is in progress has failed, because nothing is on its way."""
        for key in list(self._parts.elements()):
            self.failed(key)

    def follow(self, verdict: Verdict, callback: Callback) -> None:
        """Call ``callback`` with whether the original of a provisional copy was delivered."""
        original = verdict.matches[0]
        if original.key in self._parts:
            self._copies_by_key.setdefault(original.key, []).append(callback)
        else:
            self.follow_entry(original.entry, callback)

    def follow_entry(self, entry: int, callback: Callback) -> None:
        """Call ``callback`` with whether a provisional entry was confirmed."""
        self._copies_by_entry.setdefault(entry, []).append(callback)

    def are_copies_waiting(self) -> bool:
        """Return whether copies wait for pages of other crawlers, so that an engine must go on.

        It asks how these pages fared, and waits a moment for the answer. The engine of
        an idle crawl calls again only after five seconds, so every crawl would end
        later.
        """
        if self._copies_by_entry:
            with suppress(NotYet):
                answer = self._report(entries=self._entries())
                self._tell_copies(answer.result(0.25))
        return bool(self._copies_by_entry)

    async def settle(self) -> None:
        """Tell the index what only this crawler knows; doing so twice does no harm.

        Nothing more will come, so whatever has not ended has failed. Copies that wait
        are told that their originals were not delivered, because it can no longer be
        known.
        """
        self._rounds.end()
        self.fail_all()
        self._thread.run(self._index.retry)
        await self._round()
        self._tell_copies(dict.fromkeys(self._copies_by_entry, False))

    async def _round(self) -> None:
        """Tell the index what was settled, and ask how pages of other crawlers fared."""
        now = time.monotonic()
        # An empty list renews, too, because a crawler lives in its run while it renews.
        renewed: list[str] | None = None
        if now - self._renewed > self._lease / 3:
            self._renewed = now
            renewed = list(self._parts)
        answer = self._report(renewed, self._entries())
        self._tell_copies(await asyncio.wrap_future(answer))
        if now >= self._expires_at:
            expire = partial(Index.expire, keep=self._keep_runs)
            deleted = self._thread.run(self._index.read, expire)
            expired = await asyncio.wrap_future(deleted) or 0
            self.expired += expired
            self._expires_at = now + (1.0 if expired else 60.0)

    def _entries(self) -> list[int]:
        """Return entries that copies wait for, each in its turn."""
        entries = [*islice(self._copies_by_entry, PAGES_AT_ONCE)]
        for entry in entries:
            self._copies_by_entry[entry] = self._copies_by_entry.pop(entry)
        return entries

    def _tell_copies(self, fates: dict[int, bool]) -> None:
        for entry, is_delivered in fates.items():
            for callback in self._copies_by_entry.pop(entry, ()):
                callback(is_delivered)

    def _report(
        self, renewed: Sequence[str] | None = None, entries: Sequence[int] = ()
    ) -> Future[dict[int, bool]]:
        """Report pages that were settled since the last time; ask about entries.

        The index releases before it confirms, because a page may have failed with one
        text and then have come with another. A failed key is told even while it is in
        progress again. A delivered one is told once no part of it is in progress,
        because its new text would be confirmed before it was delivered.
        """
        # A page that came after all is not missed.
        missed = self._missed - self._parts.keys() - self._delivered
        delivered = self._delivered - self._parts.keys()
        failed = [*self._failed, *missed]
        news = Report(failed, [*delivered], renewed, entries)
        self._failed.clear()
        self._missed.clear()
        self._delivered -= delivered
        return self._thread.run(self._index.report, news)
