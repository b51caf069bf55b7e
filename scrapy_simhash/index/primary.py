"""A store that may be away: it is left alone for a while, and told later what it missed."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TypeVar

from scrapy_simhash.index.base import Index, Page, StoreError, StoreUnavailable

logger = logging.getLogger(__name__)

# A store that fails may take half a second to say so; in between, nothing waits for it. The first
# pause is short, since most are back soon, and each is twice as long as the one before, but not
# longer than so many times what was waited for the answer: asking one that refuses costs nothing.
# One that comes and goes would be said to do so all the time.
FIRST_RETRY_SECONDS, RETRY_SECONDS = 0.5, 10.0
_PAUSE_TO_ATTEMPT = 20

T = TypeVar("T")


class NotAsked(StoreUnavailable):
    """The store was not asked, because it failed not long ago."""


class Primary:
    """The way to an index; whatever goes wrong in it makes it *away* until a call succeeds.

    Args:
        open_index: opens the index; called again while it raises StoreUnavailable.
        start_without: whether it may be away at the start.

    Raises:
        StoreError: the index cannot be opened.
        ValueError: the index cannot be described.

    Attributes:
        index: once it could be opened.
        refused: why it could be reached, later than at the start, and yet not be opened.
    """

    def __init__(self, open_index: Callable[[], Index], *, start_without: bool) -> None:
        self._open = open_index
        self._retry_at: float | None = None
        self._failed_at = -math.inf
        self._pause = 0.0
        # Settled keys that the store does not know of, in their order, and whether they failed.
        self._owed: list[tuple[str, bool]] = []
        self._handed_back: list[Page] = []
        self._comes_and_goes = False
        self.index: Index | None = None
        self.refused: StoreError | ValueError | None = None
        start = time.monotonic()
        try:
            self.index = open_index()
        except StoreUnavailable as error:
            if not start_without:
                raise
            self._gone(error, time.monotonic() - start)

    @property
    def away(self) -> bool:
        """Whether it failed when it was last asked."""
        return self._retry_at is not None

    @property
    def is_due(self) -> bool:
        """Whether it can be asked: it is not away, or has been left alone long enough."""
        return self._retry_at is None or time.monotonic() >= self._retry_at

    def ask(self, call: Callable[[Index], T], proves: Callable[[T], bool] | None = None) -> T:
        """Return what the index answers, which is told before what it is owed.

        Args:
            call: what to ask.
            proves: whether an answer shows that the index is back; without it any does. A store
                that is full, or a replica, can be read, and is away all the same.

        Raises:
            NotAsked: it failed not long ago.
            StoreUnavailable: it fails.
        """
        if not self.is_due:
            raise NotAsked("the index is away")
        start = time.monotonic()
        try:
            index = self._opened() if self.index is None else self.index
            self._pay(index)
            answer = call(index)
        except Exception as error:  # no fault of the store may cost a page
            self._gone(error, time.monotonic() - start)
            raise StoreUnavailable(str(error)) from error
        if self._retry_at is not None and (proves is None or proves(answer)):
            self._retry_at = None
            logger.info("The index is back")
        return answer

    def attempt(self, call: Callable[[Index], T]) -> T | None:
        """Return what the index answers, or None if it does not."""
        try:
            return self.ask(call)
        except StoreUnavailable:
            return None

    def read(self, call: Callable[[Index], T]) -> T | None:
        """Return what the index answers, or None if it is away or does not answer."""
        return None if self.away else self.attempt(call)

    def owe(self, keys: Iterable[str], *, failed: bool) -> None:
        """Note that keys are settled, to be confirmed or released before anything else is asked."""
        self._owed += [(key, failed) for key in keys]

    def take_handed_back(self) -> list[Page]:
        """Return what came back for releases that were owed, each page once."""
        pages, self._handed_back = self._handed_back, []
        return pages

    def retry(self) -> None:
        """Ask again next time, even if it failed just now."""
        if self.away:
            self._retry_at = 0.0

    def close(self) -> None:
        """Close the index."""
        if self.index is not None:
            self.index.close()

    def _opened(self) -> Index:
        try:
            self.index = index = self._open()
        except StoreUnavailable:
            raise
        except (StoreError, ValueError) as error:
            self.refused = error
            raise
        return index

    def _pay(self, index: Index) -> None:
        while self._owed:
            failed, run = next(groupby(self._owed, key=lambda owed: owed[1]))
            keys = [key for key, _ in run]
            if failed:
                self._handed_back += index.release(keys)
            else:
                index.confirm(keys)
            del self._owed[: len(keys)]

    def _gone(self, error: Exception, seconds: float) -> None:
        now = time.monotonic()
        # One that is back and soon fails again is left alone as if it had not been back.
        fresh = now - self._failed_at > 2 * RETRY_SECONDS
        if not self.away:
            self._comes_and_goes = not fresh
            logger.warning(
                "The index fails; until it is back, pages are compared with those that come "
                "meanwhile only: %s",
                error,
                exc_info=None if isinstance(error, StoreError) else error,
            )
        pause = FIRST_RETRY_SECONDS if fresh else 2 * self._pause
        if not self._comes_and_goes:
            pause = min(pause, max(_PAUSE_TO_ATTEMPT * seconds, FIRST_RETRY_SECONDS))
        self._pause = min(pause, RETRY_SECONDS)
        self._failed_at = now
        self._retry_at = now + self._pause
