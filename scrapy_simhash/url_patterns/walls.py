"""Walls: many addresses of a host that all lead to one page, such as a log-in or "not found"."""

from math import inf

from scrapy_simhash.url_patterns.recent import Recent

#: Copies of one original that make a wall, if they are a tenth of the host's pages as well.
COPIES = 50
SHARE = 0.1
#: Hosts and originals that are kept: those that were met last.
MOST = 10_000


class Walls:
    """Finds walls, one for each host."""

    def __init__(self) -> None:
        # Pages of a host, infinitely many once its wall was told, and copies of an original.
        self._pages: Recent[str, float] = Recent(MOST)
        self._copies: Recent[tuple[str, str], int] = Recent(MOST)

    def page(self, host: str, original: str | None) -> int:
        """Take note of a page; return the copies of its original if that is the host's first wall.

        Returns 0 otherwise.
        """
        pages = self._pages[host] = self._pages.get(host, 0) + 1
        if original is None:
            return 0
        name = host, original
        copies = self._copies[name] = self._copies.get(name, 0) + 1
        if copies < max(COPIES, SHARE * pages):
            return 0
        self._pages[host] = inf
        return copies
