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


class Breaker:
    """Open while a store is away."""

    def __init__(self) -> None:
        self._open_since: float | None = None
        self._failed_at = -math.inf
        self._pause = 0.0

    @property
    def is_open(self) -> bool:
        """True if the store failed when it was last asked."""
        return self._open_since is not None

    @property
    def open_for(self) -> float:
        """Seconds since the store went away; 0 if it did not."""
        return 0.0 if self._open_since is None else time.monotonic() - self._open_since

    @property
    def is_due(self) -> bool:
        """True if the store can be asked: it is not away, or was left alone long enough."""
        return not self.is_open or time.monotonic() >= self._failed_at + self._pause

    def worked(self) -> None:
        """Note that the store is back."""
        if self.is_open:
            self._open_since = None
            logger.info("The index is back")

    def failed(self, error: Exception) -> None:
        """Note a failure."""
        now = time.monotonic()
        # A store that is back and soon fails again is left alone as if it had not been back.
        again = now - self._failed_at <= 2 * LONGEST_PAUSE
        self._pause = min(2 * self._pause if again else FIRST_PAUSE, LONGEST_PAUSE)
        self._failed_at = now
        if self._open_since is None:
            self._open_since = now
            logger.warning(
                "The index fails; until it is back, pages are compared with those that come "
                "meanwhile only: %s",
                error,
                exc_info=None if isinstance(error, StoreError) else error,
            )
