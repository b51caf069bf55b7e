"""A circuit breaker around an index whose store can be away.

While the store is away, pages claim in a memory index, which knows the pages that were let through
since. Once the store is back, the confirmed ones of them claim there too, a few at a time, and
those that repeat an older page are counted. Nothing is written to disk.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import (
    Index,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
)
from scrapy_simhash.index.decision import ruling
from scrapy_simhash.index.values import (
    Arrival,
    Claim,
    IndexSpec,
    Match,
    Outcome,
    Report,
    Unsettled,
)
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Pages that claim in the store in one step after an outage: the crawl's own come in between.
RECONCILED_AT_ONCE = 64
# A store that failed is left alone for some seconds, and for some times as long as the failure
# took, because claims wait for each attempt.
PAUSE = 1.0
PAUSES = 5

T = TypeVar("T")


class Breaker:
    """An index that goes on without its store, for a crawl; see :class:`.Index` for its methods.

    One thread at a time calls it. Entries that were admitted in memory have negative positions.

    Args:
        open_store: opens the store; called again while it raises StoreUnavailable.
        pages: pages that are let through in one outage; then claims raise StoreUnavailable.
        start_without: whether the store may be away at the start.

    Raises:
        StoreError: the store cannot be used.
        ValueError: the store cannot be described.

    Attributes:
        refused: why the store, once it could be reached, cannot be used at all; None if it can.
        counts: the stats ``simhash/outage/…``.
    """

    def __init__(
        self,
        open_store: Callable[[], Index],
        spec: IndexSpec,
        *,
        pages: int,
        start_without: bool = True,
    ) -> None:
        self.spec = spec
        self.flooded = self.unjudged = self.damaged = 0
        self.refused: Exception | None = None
        self.counts = {"let_through": 0, "reconciled": 0, "duplicates": 0, "damaged": 0}
        self._open_store = open_store
        self._pages = pages
        self._away_since = math.inf
        # When a store that is away may be asked again.
        self._due = 0.0
        self._store: Index | None = None
        # It is made when the store fails for the first time.
        self._memory: Index | None = None
        self._is_closed = False
        # Pages that are in the memory index and not in the store: in progress, and confirmed.
        self._open: dict[str, list[Arrival]] = {}
        self._confirmed: list[Arrival] = []
        # Keys of the store's pages that were settled in its absence, with whether they failed.
        self._owed: dict[str, bool] = {}
        try:
            self._opened()
        except StoreUnavailable as error:
            if not start_without:
                raise
            self._failed(error)

    @property
    def away(self) -> bool:
        """True if the store failed when it was last asked."""
        return self._away_since < math.inf

    @property
    def left(self) -> int:
        """How many pages were let through and are not in the store."""
        return len(self._confirmed) + sum(map(len, self._open.values()))

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        self.spec.check(arrivals)
        claims: dict[int, Claim] = {}
        if not self.away:
            there = [i for i, page in enumerate(arrivals) if not self._is_known(page)]
            pages = [arrivals[i] for i in there]
            try:
                answers = self._ask(lambda store: self._claim_there(store, pages))
                claims = {i: claim for i, claim in zip(there, answers, strict=True) if claim}
            except StoreUnavailable:
                # Some may be originals over there, although nobody said so; those of which
                # something is owed still did not get there.
                for page in pages:
                    self._owed.setdefault(page.key, True)
        rest = [i for i in range(len(arrivals)) if i not in claims]
        claims.update(zip(rest, self._claim_here([arrivals[i] for i in rest]), strict=True))
        return [claims[i] for i in range(len(arrivals))]

    def _claim_there(self, store: Index, pages: Sequence[Arrival]) -> list[Claim | None]:
        """Claim in the store; pages that meet damage there have None for an answer."""
        try:
            return [*store.claim_all(pages)]
        except StoreDamaged as error:
            if len(pages) > 1:
                middle = len(pages) // 2
                parts = (pages[:middle], pages[middle:])
                claims = [claim for part in parts for claim in self._claim_there(store, part)]
                if any(claims):
                    return claims
                raise
            self.counts["damaged"] += 1
            if self.counts["damaged"] == 1:
                logger.error("The index does not take %s: %s", pages[0].key, error)
            return [None]

    def _is_known(self, arrival: Arrival) -> bool:
        """Return whether a page repeats one that the store may not know yet."""
        if self._memory is None or not self.left:
            return False
        near = self._memory.query(arrival.fingerprint, scope=arrival.scope)
        return any(ruling(self.spec.judge, arrival, match).is_copy for match in near)

    def _claim_here(self, arrivals: list[Arrival]) -> list[Claim]:
        if not arrivals:
            return []
        if self._is_closed:
            raise StoreUnavailable("the index is closed")
        if self._memory is None:
            self._memory = open_index("memory://", self.spec)
        if len(self._memory) >= self._pages and not all(map(self._is_known, arrivals)):
            raise StoreUnavailable(f"the index is away, and let {self._pages} pages through")
        claims = self._memory.claim_all(arrivals)
        for page, claim in zip(arrivals, claims, strict=True):
            if claim.outcome is Outcome.ORIGINAL:
                self._open.setdefault(page.key, []).append(page)
                self.counts["let_through"] += 1
        return [c._replace(matches=_here(c.matches), near=_here(c.near)) for c in claims]

    def report(self, news: Report) -> Unsettled:
        """See the contract; an absent store's entries are provisional for as long as a lease."""
        for keys, failed in ((news.failed, True), (news.delivered, False)):
            self._note(keys, failed=failed)
        far = [entry for entry in news.entries if entry > 0]
        here = Unsettled(frozenset(), frozenset())
        if self._memory is not None:
            near = [-entry for entry in news.entries if entry <= 0]
            here = self._memory.report(Report(renewed=news.renewed, entries=near))
        there = Unsettled(frozenset(), frozenset())
        if self._owed or news.renewed is not None or far:
            there = self._told(Report(renewed=news.renewed, entries=far))
        return Unsettled(
            there.provisional | {-entry for entry in here.provisional},
            there.gone | {-entry for entry in here.gone},
        )

    def _told(self, news: Report) -> Unsettled:
        unsettled = self.read(lambda store: self._tell(store, news), is_told=True)
        if unsettled is None:
            # Nobody could renew a lease meanwhile.
            far = frozenset(news.entries)
            is_long = time.monotonic() - self._away_since > self.spec.lease
            unsettled = Unsettled(frozenset(), far) if is_long else Unsettled(far, frozenset())
        return unsettled

    def _tell(self, store: Index, news: Report) -> Unsettled:
        """Tell the store what it is owed, too."""
        failed = [key for key, failed in self._owed.items() if failed]
        delivered = [key for key, failed in self._owed.items() if not failed]
        unsettled = store.report(news._replace(failed=failed, delivered=delivered))
        self._owed.clear()
        return unsettled

    def _note(self, keys: Iterable[str], *, failed: bool) -> None:
        """Note how pages fared; the store is told of its own, now or once it is back."""
        keys = [*dict.fromkeys(keys)]
        if not keys:
            return
        if self._memory is not None:
            (self._memory.release if failed else self._memory.confirm)(keys)
        for key in keys:
            pages = self._open.pop(key, None)
            if pages is None:
                self._owed.setdefault(key, failed)
            elif not failed:
                self._confirmed += pages

    def close(self) -> None:
        self._is_closed = True
        for index in (self._memory, self._store):
            if index is not None:
                index.close()

    # After an outage.

    def catch_up(self, *, at_once: bool = False) -> bool:
        """Tell the store a little of what happened in its absence; return whether there is more.

        Only this finds that a store is back, so it has to be called now and then.

        Args:
            at_once: try even if it failed just now.
        """
        if at_once or time.monotonic() >= self._due:
            with contextlib.suppress(StoreUnavailable):
                if self._confirmed:
                    return self._ask(self._move)
                if self.away and not self._open:
                    # There is nothing to write, but it may answer.
                    self._ask(len)
        return False

    def _move(self, store: Index) -> bool:
        """Have a few pages claim in the store; return whether there are more."""
        batch = self._confirmed[:RECONCILED_AT_ONCE]
        claims = [*zip(batch, self._claim_there(store, batch), strict=True)]
        taken = [(page.key, claim) for page, claim in claims if claim]
        admitted = [key for key, claim in taken if claim.outcome is not Outcome.DUPLICATE]
        store.confirm(admitted)
        del self._confirmed[:RECONCILED_AT_ONCE]
        self.counts["reconciled"] += len(taken)
        self.counts["duplicates"] += len(taken) - len(admitted)
        return bool(self._confirmed)

    # The store.

    def _ask(self, call: Callable[[Index], T], *, is_told: bool = False) -> T:
        """Tell the store what it is owed, unless the call does, and return its answer.

        It raises StoreUnavailable, and nothing else.
        """
        started = time.monotonic()
        try:
            store = self._opened()
            if self._owed and not is_told:
                self._tell(store, Report())
            answer = call(store)
        except Exception as error:  # no fault of the store may cost a page
            may_come = isinstance(error, StoreUnavailable)
            if self._store is None and isinstance(error, StoreError | ValueError) and not may_come:
                self.refused = error
            if self._memory is not None and not self.away and not self.left:
                # Until now, somebody might have asked how its pages fared.
                self._memory.clear()
            self._failed(error, time.monotonic() - started)
            raise StoreUnavailable(str(error)) from error
        self.flooded, self.unjudged = store.flooded, store.unjudged
        self.damaged = store.damaged
        if self.away:
            self._away_since, self._due = math.inf, 0.0
            logger.info("The index is back")
        return answer

    def _failed(self, error: Exception, seconds: float = 0.0) -> None:
        now = time.monotonic()
        self._due = now + max(PAUSE, PAUSES * seconds)
        if not self.away:
            self._away_since = now
            logger.warning(
                "The index fails; until it is back, pages are compared with those that come "
                "meanwhile only: %s",
                error,
                exc_info=None if isinstance(error, StoreError) else error,
            )

    def read(self, call: Callable[[Index], T], *, is_told: bool = False) -> T | None:
        """Return the store's answer, or None if it is away or does not answer."""
        if not self.away:
            with contextlib.suppress(StoreUnavailable):
                return self._ask(call, is_told=is_told)
        return None

    def _opened(self) -> Index:
        if self._store is None:
            self._store = self._open_store()
        return self._store


def _here(matches: tuple[Match, ...]) -> tuple[Match, ...]:
    """Return matches of the memory index with positions that the store does not have."""
    return tuple(match._replace(entry=-match.entry) for match in matches)
