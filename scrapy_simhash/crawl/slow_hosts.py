"""Hosts whose pages time out again and again: they are let through unchecked for a while."""

from __future__ import annotations

import logging
import time
from urllib.parse import urlsplit

logger = logging.getLogger(__name__)

# Pages of a host that time out, each within the pause of the one before, until the host is let
# through for the pause, in seconds.
TIMEOUTS = 3
PAUSE = 600.0
# Hosts that are remembered.
MOST = 1000


class SlowHosts:
    """Counts the pages of each host that timed out, because each of them holds up all others."""

    def __init__(self) -> None:
        # How many timed out, and when the last one did; that host comes last.
        self._timeouts: dict[str, tuple[int, float]] = {}

    def has(self, url: str) -> bool:
        """Return whether the host of an address is let through for now."""
        if not self._timeouts:
            return False
        number, last = self._timeouts.get(urlsplit(url).netloc, (0, 0.0))
        return number >= TIMEOUTS and time.monotonic() - last < PAUSE

    def note_timeout(self, url: str) -> None:
        """Note that a page timed out."""
        host, now = urlsplit(url).netloc, time.monotonic()
        number, last = self._timeouts.pop(host, (0, now))
        number = number + 1 if now - last < PAUSE else 1
        self._timeouts[host] = number, now
        if len(self._timeouts) > MOST:
            del self._timeouts[next(iter(self._timeouts))]
        if number == TIMEOUTS:
            logger.warning(
                "SIMHASH_TIMEOUT: %d pages of %s took too long; its pages are let through unchecked"
                " for %g minutes",
                number,
                host,
                PAUSE / 60,
            )
