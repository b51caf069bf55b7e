"""One thread asks the index, and claims of one moment go together.

A call to the index costs several times as much as one more page in it, so a page waits a moment for
others, but only while there are others on their way.
"""

import asyncio
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.index.index import CLAIMS_AT_ONCE
from scrapy_simhash.index.values import Arrival, Claim
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Seconds for which a claim waits for others.
CLAIM_WAIT = 0.01


class IndexThread:
    """The thread that asks the index for one event loop, and closes it.

    Args:
        coming: has pages that are being analysed, and will claim.

    Attributes:
        run: has the thread call a method of the index, after all that it was asked before.
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
        self._index.spec.check([arrival])
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
            logger.exception("The index fails on %d pages; let through unchecked", len(arrivals))
            return [None] * len(arrivals)
        finally:
            self.seconds += time.monotonic() - started
