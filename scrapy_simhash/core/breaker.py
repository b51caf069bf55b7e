"""The index of a crawl: one thread asks it, and it goes on while its store is away.

While the store is away, pages claim in an index in memory, so they are compared with
pages of the outage alone. The breaker remembers how pages fared, and tells the store
when it is back. Nothing else is carried over: a copy across an outage is delivered
twice, and no page is lost.

Claims of one moment go together. A call to the index costs several times as much as one
more page in it, so a page waits a moment for others, but only while there are others on
their way.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import CLAIMS_AT_ONCE, Index
from scrapy_simhash.index.lookups import check_fit
from scrapy_simhash.index.store import StoreError, StoreUnavailable
from scrapy_simhash.index.values import Arrival, Claim, IndexSpec, Report
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Pages that are remembered while the store is away, and as many that it is told of
# afterwards.
MOST_PAGES = 100_000
# Seconds for which a store that failed is left alone.
STORE_PAUSE = 1.0
# Seconds for which a claim waits for others.
CLAIM_WAIT = 0.01

T = TypeVar("T")


class Breaker:
    """An index that goes on without its store, for a crawl; see :class:`.Index` for its methods.

    One thread at a time calls it.

    Args:
        open_store: opens the store; called again while it raises StoreUnavailable.
        start_without: whether the store may be away at the start.

    Raises:
        StoreError: the store cannot be used.
        ValueError: the store cannot be described.

    Attributes:
        refused: the error with which the store, once it could be reached, turned out to
            be unusable; else None.
        away: whether the store failed, and has taken no report since.
        let_through: pages that became originals while the store was away, and are not
            in it.
        damaged: the number of entries that this crawler could not read.
    """

    def __init__(
        self,
        open_store: Callable[[], Index],
        spec: IndexSpec,
        *,
        start_without: bool = True,
    ) -> None:
        self.spec = spec
        self.refused: Exception | None = None
        self.away = False
        self.let_through = 0
        self.damaged = 0
        self._open_store = open_store
        self._store: Index | None = None
        # The times since which the store is away, and from which it may be asked again.
        self._away_since = 0.0
        self._due = 0.0
        # The keys of pages whose fate the store was not told: True if a page failed.
        self._owed: dict[str, bool] = {}
        try:
            self._store = open_store()
        except StoreUnavailable as error:
            if not start_without:
                raise
            self._failed(error)
        # It has the pages of outages.
        self._memory = open_index("memory://", spec)

    def claim_all(self, arrivals: Sequence[Arrival]) -> Sequence[Claim | None]:
        """See the contract. Entries of an outage have numbers below 0.

        There is no answer while the store is away and ``MOST_PAGES`` are remembered.
        """
        is_asked = time.monotonic() >= self._due
        with contextlib.suppress(StoreUnavailable):
            return self._ask(lambda store: store.claim_all(arrivals))
        if is_asked:
            # The store may have made originals of some before its answer was lost.
            self._owe([page.key for page in arrivals], failed=True)
        if self.let_through >= MOST_PAGES:
            return [None] * len(arrivals)
        claims = self._memory.claim_all(arrivals)
        self.let_through += sum(claim.outcome == "unique" for claim in claims)
        return [_of_outage(claim) for claim in claims]

    def report(self, news: Report) -> dict[int, bool]:
        """See the contract; an absent store's entries are in progress for as long as a lease."""
        in_store = [entry for entry in news.entries if entry >= 0]
        fates = self._report_to_store(news._replace(entries=in_store))
        if self.let_through:
            in_memory = [-entry for entry in news.entries if entry < 0]
            of_memory = self._memory.report(news._replace(entries=in_memory))
            fates |= {-entry: fate for entry, fate in of_memory.items()}
        return fates

    def _report_to_store(self, news: Report) -> dict[int, bool]:
        self._owe(news.failed, failed=True)
        self._owe(news.delivered, failed=False)
        if self.away and news.renewed is None:
            # To renew is to write. A store that can be read and not written is not
            # back, so no claim ends an outage.
            news = news._replace(renewed=[])
        if not (self._owed or news.entries) and news.renewed is None:
            return {}
        failed = [key for key in self._owed if self._owed[key]]
        delivered = [key for key in self._owed if not self._owed[key]]
        news = news._replace(failed=failed, delivered=delivered)
        try:
            fates = self._ask(lambda store: store.report(news))
        except StoreUnavailable:
            # No lease could be renewed meanwhile.
            has_run_out = time.monotonic() - self._away_since > self.spec.lease
            return dict.fromkeys(news.entries, False) if has_run_out else {}
        self._owed.clear()
        if self.away:
            self.away = False
            logger.info("The index is back")
        return fates

    def read(self, call: Callable[[Index], T]) -> T | None:
        """Return the store's answer, or None if it is away or does not answer."""
        if not self.away:
            with contextlib.suppress(StoreUnavailable):
                return self._ask(call)
        return None

    def retry(self) -> None:
        """Ask the store at the next call, even if it failed just now."""
        self._due = 0.0

    def close(self) -> None:
        self._memory.close()
        if self._store is not None:
            self._store.close()

    def _owe(self, keys: Iterable[str], *, failed: bool) -> None:
        """Note the pages of which the store has to be told."""
        for key in keys:
            # The store has the page that ended first.
            self._owed.setdefault(key, failed)
        while len(self._owed) > MOST_PAGES:
            del self._owed[next(iter(self._owed))]

    def _ask(self, call: Callable[[Index], T]) -> T:
        """Return the store's answer. It raises StoreUnavailable, and nothing else."""
        started = time.monotonic()
        if started < self._due:
            raise StoreUnavailable("the index is away")
        try:
            if self._store is None:
                self._store = self._open_store()
            answer = call(self._store)
        except Exception as error:  # no fault of the store may cost a page
            if self._store is None and not isinstance(error, StoreUnavailable):
                self.refused = error
            self._failed(error, time.monotonic() - started)
            raise StoreUnavailable(str(error)) from error
        self.damaged = self._store.damaged
        return answer

    def _failed(self, error: Exception, seconds: float = 0.0) -> None:
        now = time.monotonic()
        # Claims wait for each attempt.
        self._due = now + max(STORE_PAUSE, 5 * seconds)
        if not self.away:
            self.away = True
            self._away_since = now
            logger.warning(
                "The index fails; until it is back, pages are compared with those that come "
                "meanwhile only: %s",
                error,
                exc_info=None if isinstance(error, StoreError) else error,
            )


def _of_outage(claim: Claim) -> Claim:
    """Return a claim of the memory, which does not know what earlier runs have seen."""
    matches = tuple(match._replace(entry=-match.entry) for match in claim.matches)
    return claim._replace(matches=matches, change=None)


class IndexThread:
    """The thread that asks the index for one event loop, and closes it.

    Args:
        coming: has pages that are being analysed, and will claim.

    Attributes:
        run: has the thread call a method of the index, after all that it was asked
            before.
        seconds: the time that the index took for all claims.
    """

    def __init__(self, index: Breaker, coming: Collection[object]) -> None:
        self.seconds = 0.0
        self._index = index
        self._coming = coming
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, "simhash-index")
        self.run = self._thread.submit
        self._waiting: list[tuple[Arrival, asyncio.Future[Claim | None]]] = []
        # It runs while claims wait.
        self._asking: asyncio.Task[None] | None = None

    async def claim(self, arrival: Arrival) -> Claim | None:
        """Return the answer of the index, or None if it failed.

        If the caller is cancelled, an original has no owner, and its lease runs out.

        Raises:
            ValueError: the index cannot take the page.
        """
        check_fit([arrival], self._index.spec)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Claim | None] = loop.create_future()
        self._waiting.append((arrival, answer))
        if self._asking is None:
            self._asking = loop.create_task(self._ask())
        return await answer

    def close(self) -> None:
        """Answer what was asked before, then close the index."""
        self._is_closed = True
        self._thread.shutdown()
        self._index.close()

    async def _ask(self) -> None:
        while self._waiting:
            # Others may come in this turn of the loop, and in a moment.
            is_full = len(self._waiting) >= CLAIMS_AT_ONCE
            await asyncio.sleep(CLAIM_WAIT if self._coming and not is_full else 0)
            batch = self._waiting[:CLAIMS_AT_ONCE]
            del self._waiting[:CLAIMS_AT_ONCE]
            arrivals = [arrival for arrival, _ in batch]
            claims: Sequence[Claim | None] = [None] * len(batch)
            if not self._is_closed:
                claims = await asyncio.wrap_future(self.run(self._claim, arrivals))
            for (_, answer), claim in zip(batch, claims, strict=True):
                if not answer.cancelled():
                    answer.set_result(claim)
        self._asking = None

    def _claim(self, arrivals: Sequence[Arrival]) -> Sequence[Claim | None]:
        started = time.monotonic()
        try:
            return self._index.claim_all(arrivals)
        except Exception:  # no fault of the index may cost a page
            logger.exception(
                "The index fails on %d pages; let through unchecked", len(arrivals)
            )
            return [None] * len(arrivals)
        finally:
            self.seconds += time.monotonic() - started
