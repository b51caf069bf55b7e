"""How much a copy tells about the other addresses of its signature.

Thirty versions of one file are copies of each other, and tell nothing about another file. So a
copy counts as evidence only if it adds to the variety of its signature: the number of different
values that the copies had at the least varied of the starred places. Tokens, such as hashes and
sessions, are no values: they differ even where pages are the same.
"""

from zlib import crc32

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import STARS

BITS = 1024  # for the values of a place
MOST = 4096  # signatures that are kept: those that were met last


class Evidence:
    """The values that the copies of each signature had."""

    def __init__(self) -> None:
        self._places: LRUCache[str, list[int]] = LRUCache(MOST)

    def is_telling(self, signature: str, starred: list[str]) -> bool:
        """Take note of a copy's values at the starred places; return whether it is evidence."""
        if not starred:
            return STARS["token"] not in signature
        places = self._places.get(signature, [0] * len(starred))
        before = min(map(int.bit_count, places))
        self._places[signature] = places = [
            seen | 1 << crc32(value.encode("utf-8", "replace")) % BITS
            for seen, value in zip(places, starred, strict=False)
        ]
        return min(map(int.bit_count, places)) > before
