"""Walls: many addresses of a host that all lead to one page, such as a log-in or "not found"."""

from cachetools import LRUCache

#: Copies of one original that make a wall, if they are half of all pages as well: of those of the
#: host, or of those with one signature. A timeline repeats many pages, each of them often.
COPIES = 50
SHARE = 0.5
#: Hosts, signatures and originals that are kept: those that were met last.
MOST = 10_000


class Walls:
    """Finds walls, each of which is told once."""

    def __init__(self) -> None:
        # Pages of a host and of a signature, and the copies of an original among them.
        self._pages: LRUCache[tuple[str, str], int] = LRUCache(MOST)
        self._copies: LRUCache[tuple[str, str, str], int] = LRUCache(MOST)
        self._told: LRUCache[tuple[str, str], None] = LRUCache(MOST)

    def page(self, host: str, signature: str, original: str | None) -> int:
        """Take note of a page; return the copies of its original if that turns out a wall.

        Returns 0 otherwise.
        """
        most = 0
        for part in ("", signature):
            pages = self._pages[host, part] = self._pages.get((host, part), 0) + 1
            if original is not None:
                name = host, part, original
                copies = self._copies[name] = self._copies.get(name, 0) + 1
                most = max(most, copies if copies >= max(COPIES, SHARE * pages) else 0)
        if not most or original is None or (host, original) in self._told:
            return 0
        self._told[host, original] = None
        return most
