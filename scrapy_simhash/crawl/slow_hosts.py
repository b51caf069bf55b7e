"""Hosts whose pages time out again and again: they are let through unchecked for a while."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from urllib.parse import urlsplit

logger = logging.getLogger(__name__)

# Pages of one host that time out, each within so many seconds of the one before.
TIMEOUTS = 3
WITHIN = 600.0
# Seconds for which the host is let through then.
PAUSE = 600.0
# Hosts that are remembered.
MOST = 1000


class SlowHosts:
    """Counts the pages of each host that timed out, because each of them holds up all others."""

    def __init__(self) -> None:
        # How many timed out, and when the last one did.
        self._timeouts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def has(self, url: str) -> bool:
        """Return whether the host of an address is let through for now."""
        if not self._timeouts:
            return False
        number, last = self._timeouts.get(urlsplit(url).netloc, (0, 0.0))
        return number >= TIMEOUTS and time.monotonic() - last < PAUSE

    def note_timeout(self, url: str) -> None:
        """Note that a page timed out."""
        host = urlsplit(url).netloc
        number, last = self._timeouts.pop(host, (0, 0.0))
        now = time.monotonic()
        number = number + 1 if now - last < WITHIN and number < TIMEOUTS else 1
        self._timeouts[host] = number, now
        if len(self._timeouts) > MOST:
            self._timeouts.popitem(last=False)
        if number == TIMEOUTS:
            logger.warning(
                "SIMHASH_TIMEOUT: %d pages of %s took too long; its pages are let through unchecked"
                " for %g minutes",
                number,
                host,
                PAUSE / 60,
            )
