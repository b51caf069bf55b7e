"""Hosts whose pages time out again and again: they are let through unchecked for a while."""

import logging
import time
from urllib.parse import urlsplit

from scrapy_simhash.url_patterns.recent import Recent

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
        self._timeouts: Recent[str, tuple[int, float]] = Recent(MOST)

    def has(self, url: str) -> bool:
        """Return whether the host of an address is let through for now."""
        return bool(self._timeouts) and self._count(urlsplit(url).netloc) >= TIMEOUTS

    def _count(self, host: str) -> int:
        number, last = self._timeouts.get(host, (0, 0.0))
        return number if time.monotonic() - last < PAUSE else 0

    def note_timeout(self, url: str) -> None:
        """Note that a page timed out."""
        host = urlsplit(url).netloc
        number = self._count(host) + 1
        self._timeouts[host] = number, time.monotonic()
        if number == TIMEOUTS:
            logger.warning(
                "SIMHASH_TIMEOUT: %d pages of %s took too long; its pages are let through unchecked"
                " for %g minutes",
                number,
                host,
                PAUSE / 60,
            )
