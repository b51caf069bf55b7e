"""Dropped copies of pages that are not delivered yet: crawled again if their original fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from scrapy import Request

from scrapy_simhash.index.contract import Unsettled

logger = logging.getLogger(__name__)

# Copies that wait on one original. When it fails, one delivered copy is enough.
COPIES_OF_ONE = 100
# Originals that the index is asked about together.
ASKED_AT_ONCE = 256
# How often a copy is asked for that cannot be had just now.
ATTEMPTS = 3

#: In the meta of a copy that is crawled again: how often it was asked for.
AGAIN = "simhash_again"


class Copies:
    """The requests of dropped copies, each by the entry of its original in the index.

    A copy that is crawled again may not be had at the moment; it is asked for once more after a
    while, because without the filter it would have been delivered the first time.

    Args:
        patience: seconds between two attempts.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._waiting: dict[int, list[Request]] = {}
        self._later: list[tuple[float, Request]] = []

    def __bool__(self) -> bool:
        """Return whether any copy waits."""
        return bool(self._waiting or self._later)

    def wait(self, request: Request, entry: int) -> None:
        """Keep a copy until its original is confirmed or gone."""
        copies = self._waiting.setdefault(entry, [])
        if len(copies) < COPIES_OF_ONE:
            copies.append(request)

    def entries(self) -> list[int]:
        """Return originals that the index is to be asked about, those first that waited longest."""
        return [entry for entry, _ in zip(self._waiting, range(ASKED_AT_ONCE), strict=False)]

    def settle(self, entries: Iterable[int], unsettled: Unsettled) -> list[Request]:
        """Forget the copies of confirmed originals; return those to be crawled again.

        Args:
            entries: what the index was asked about.
            unsettled: its answer.
        """
        again: list[Request] = []
        for entry in entries:
            copies = self._waiting.pop(entry, [])
            if entry in unsettled.provisional:
                self._waiting[entry] = copies  # at the end, after those that were not asked about
            elif entry in unsettled.gone:
                again += map(_once_more, copies)
        return again

    def due(self) -> list[Request]:
        """Return the requests that are to be tried once more now."""
        now = time.monotonic()
        due = [request for when, request in self._later if when <= now]
        self._later = [(when, request) for when, request in self._later if when > now]
        return due

    def note_failure(self, request: Request) -> None:
        """Note that a request could not be answered; a copy is asked for again after a while."""
        attempts = request.meta.get(AGAIN)
        if not isinstance(attempts, int):
            return
        if attempts >= ATTEMPTS:
            logger.warning("%s repeats a page that failed, and cannot be had either", request.url)
        else:
            self._later.append((time.monotonic() + self._patience, _once_more(request)))

    def take_all(self) -> list[Request]:
        """Return every copy that waits; none is left."""
        copies = [request for waiting in self._waiting.values() for request in waiting]
        again = [*map(_once_more, copies), *(request for _, request in self._later)]
        self._waiting, self._later = {}, []
        return again


def _once_more(request: Request) -> Request:
    """Return a request that passes the dupefilter, and may be retried as if it were the first."""
    attempts = request.meta.get(AGAIN, 0)
    kept = {name: value for name, value in request.meta.items() if name not in _OF_ONE_ATTEMPT}
    return request.replace(meta={**kept, AGAIN: attempts + 1}, dont_filter=True)


_OF_ONE_ATTEMPT = ("simhash", "retry_times", "redirect_times", "download_latency")
