"""A circuit breaker: it says when a store that failed is asked again."""

from __future__ import annotations

import logging
import math
import time

from scrapy_simhash.index.contract import StoreError

logger = logging.getLogger(__name__)

# Seconds for which a store that failed is left alone: the first pause is short, since most stores
# are back soon, and each is twice as long as the one before.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
# A pause is not longer than this many times what was waited for the store's failure, because asking
# a store that refuses at once costs nothing.
_PAUSE_TO_ATTEMPT = 20


class Breaker:
    """Open while a store is away."""

    def __init__(self) -> None:
        self._retry_at: float | None = None
        self._failed_at = -math.inf
        self._pause = 0.0
        self._comes_and_goes = False

    @property
    def is_open(self) -> bool:
        """True if the store failed when it was last asked."""
        return self._retry_at is not None

    @property
    def is_due(self) -> bool:
        """True if the store can be asked: it is not away, or was left alone long enough."""
        return self._retry_at is None or time.monotonic() >= self._retry_at

    def worked(self) -> None:
        """Note that the store is back."""
        if self.is_open:
            self._retry_at = None
            logger.info("The index is back")

    def failed(self, error: Exception, seconds: float) -> None:
        """Note a failure that was waited for some seconds."""
        now = time.monotonic()
        # One that is back and soon fails again is left alone as if it had not been back.
        fresh = now - self._failed_at > 2 * LONGEST_PAUSE
        if not self.is_open:
            self._comes_and_goes = not fresh
            logger.warning(
                "The index fails; until it is back, pages are compared with those that come "
                "meanwhile only: %s",
                error,
                exc_info=None if isinstance(error, StoreError) else error,
            )
        pause = FIRST_PAUSE if fresh else 2 * self._pause
        if not self._comes_and_goes:
            pause = min(pause, max(_PAUSE_TO_ATTEMPT * seconds, FIRST_PAUSE))
        self._pause = min(pause, LONGEST_PAUSE)
        self._failed_at = now
        self._retry_at = now + self._pause
