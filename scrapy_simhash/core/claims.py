"""Claims of pages, and whatever else is asked of the index: those of one moment go together.

A call to the index costs several times as much as one more page in it, so a page waits a moment for
others, but only while there are others on their way. What they are answered is decided in
:mod:`scrapy_simhash.index.decision`.
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.pool import WorkerPool
from scrapy_simhash.index.contract import StoreError
from scrapy_simhash.index.values import Arrival, Claim
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# A batch that fails is lost as a whole, and a shared store serves nobody else meanwhile. On the
# event loop, it takes some three milliseconds; if it takes longer than a turn of the loop may,
# because each page is near many, the next batch has fewer. A timer may wait for three turns.
CLAIMS_AT_ONCE = 64
TURN = 0.006
# Seconds for which a claim waits for others.
PATIENCE = 0.01
# Claims hold a crawl up if in so many seconds their calls take half of the time, and each so long.
WATCHED, SLOW_CALL = 30.0, 0.1

T = TypeVar("T")


class Claims:
    """Talks to the index for one event loop, and closes it.

    Args:
        pool: where pages are analysed that will claim; while it is busy, a claim waits for others.
        on_loop: whether the index answers so fast that it is asked on the event loop. If not, one
            thread asks it.

    Attributes:
        seconds: for which claims were answered, all in all.
    """

    def __init__(self, index: Breaker, pool: WorkerPool, *, on_loop: bool) -> None:
        self.seconds = 0.0
        # Seconds of the last call.
        self._took = 0.0
        # Pages of a batch.
        self._most = CLAIMS_AT_ONCE
        self._index = index
        self._pool = pool
        # Since when it is watched, and the calls and the seconds since then; inf once it was said.
        self._watched, self._calls, self._busy = 0.0, 0, 0.0
        self._thread = None if on_loop else ThreadPoolExecutor(1, "simhash-index")
        self._waiting: list[tuple[Arrival, asyncio.Future[Claim | None]]] = []
        # There is one while claims wait.
        self._asking: asyncio.Task[None] | None = None

    async def claim(self, arrival: Arrival) -> Claim | None:
        """Return the answer, or None if the index failed, which has said so where it matters.

        An original that nobody waits for any more is left to its lease.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Claim | None] = loop.create_future()
        self._waiting.append((arrival, answer))
        if self._asking is None:
            self._asking = loop.create_task(self._ask())
        return await answer

    def run(self, work: Callable[[], T]) -> Future[T]:
        """Return the result of ``work``, which asks the index; it is done if that is at once."""
        if self._thread is not None:
            return self._thread.submit(work)
        result: Future[T] = Future()
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            result.set_exception(error)
        return result

    def close(self) -> None:
        """Do what is left, then close the index."""
        if self._thread is not None:
            self._thread.shutdown()
        self._index.close()

    async def _ask(self) -> None:
        while self._waiting:
            # Others may come in this turn of the loop, and in a moment.
            await asyncio.sleep(PATIENCE if self._are_more_coming else 0)
            # A claim that comes during a slow call waits for all of that call, and for its own.
            enough = time.monotonic() + self._took / 4
            while self._are_more_coming and time.monotonic() < enough:
                await asyncio.sleep(PATIENCE)
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            arrivals = [arrival for arrival, _ in batch]
            if self._thread is None:
                # By CPU time, because a call that waits for a core is not shorter with fewer.
                started = time.thread_time()
                claims = self._claim(arrivals)
                used = time.thread_time() - started
                if used > TURN:
                    self._most = max(int(len(batch) * TURN / used), 1)
                elif used < TURN / 4:
                    self._most = min(2 * self._most, CLAIMS_AT_ONCE)
            else:
                loop = asyncio.get_running_loop()
                claims = await loop.run_in_executor(self._thread, self._claim, arrivals)
            for (_, answer), claim in zip(batch, claims, strict=True):
                if not answer.cancelled():
                    answer.set_result(claim)
        self._asking = None

    @property
    def _are_more_coming(self) -> bool:
        return len(self._waiting) < self._most and self._pool.is_busy

    def _claim(self, arrivals: Sequence[Arrival]) -> list[Claim | None]:
        started = time.monotonic()
        try:
            claims: list[Claim | None] = [*self._index.claim_all(arrivals)]
            self._watch(started, time.monotonic())
            return claims
        except StoreError as error:
            logger.debug("%d pages are let through unchecked: %s", len(arrivals), error)
        except Exception:  # no fault of the index may cost a page
            if len(arrivals) > 1:
                return [claim for arrival in arrivals for claim in self._claim([arrival])]
            logger.exception("The index fails on %s; let through unchecked", arrivals[0].key)
        return [None for _ in arrivals]

    def _watch(self, started: float, ended: float) -> None:
        """Say once that claims hold the crawl up."""
        self._took = ended - started
        self.seconds += self._took
        self._watched = self._watched or started
        self._calls, self._busy = self._calls + 1, self._busy + self._took
        if ended - self._watched < WATCHED:
            return
        if self._busy > WATCHED / 2 and self._busy / self._calls > SLOW_CALL:
            logger.warning(
                "The index is slow, and holds the crawl up: a call for some pages takes %.0f ms; "
                'see "When the index is unavailable" in docs/sharing.md',
                1000 * self._busy / self._calls,
            )
            self._watched = math.inf
        else:
            self._watched = ended
        self._calls, self._busy = 0, 0.0
