"""How what is near a page is found: through buckets in Redis, or in the RAM of the crawler.

This is the one seam between the two kinds of buckets. A finder gives a script the last argument of
each page, and has its counterpart in Lua: ``lua/buckets.lua`` or ``lua/news.lua``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from scrapy_simhash.index.neighbours import SPREAD, Neighbours, unpacked
from scrapy_simhash.index.pages import Pages
from scrapy_simhash.index.redis.scripts import Geometry

# Segments of the log that are read at a time.
_SEGMENTS = 64


class AnotherLog(Exception):
    """The log is not the one that was followed: it was cleared, or a failover lost its end."""


class InRedis:
    """Lets scripts find entries through buckets in Redis; see ``lua/buckets.lua``.

    Attributes:
        seen: how much of the log is in RAM, in entries.
        flooded: look-ups in RAM that met more entries in a bucket than are read.
    """

    seen = 0
    flooded = 0

    def arguments(self, pages: Pages) -> list[bytes]:
        keys = [np.frombuffer(b"".join(names[1:]), "<u4") for names in pages.names]
        values = zip(pages.values, keys, strict=True)
        return [(np.append(own, more) * SPREAD).astype(">u4").tobytes() for own, more in values]


class InRam:
    """Finds entries in RAM, where it has the whole log; see ``lua/news.lua``.

    Its methods and attributes are those of :class:`InRedis`.
    """

    def __init__(self, run: Callable[..., Any], geometry: Geometry, distance: int) -> None:
        self._run = run
        self._geometry = geometry
        self._neighbours = Neighbours(geometry.bits, geometry.blocks + 1, distance)
        self._last = b""
        self.seen = self.flooded = 0

    def arguments(self, pages: Pages) -> list[bytes]:
        self._follow()
        near = pages.near(self._neighbours.find(*pages.sought))
        self.flooded = self._neighbours.flooded
        return [
            bytes([len(names)])
            + b"".join(names)
            + b"".join([p.to_bytes(4, "big") + d.to_bytes(2, "big") for d, p in found])
            for found, names in zip(near, pages.names, strict=True)
        ]

    def _follow(self) -> None:
        """Take in what is new in the log."""
        size, segment = self._geometry.record, self._geometry.segment
        end = self.seen + 1
        while self.seen < end:
            # The last entry is read again, because it may be another one after a failover.
            start = max(self.seen - 1, 0) // segment
            end, content = self._run("follow", start, _SEGMENTS)
            at = (self.seen - start * segment) * size
            cut = min(end - start * segment, _SEGMENTS * segment) * size
            if end < self.seen or content[at - size : at] != self._last:
                raise AnotherLog
            if len(content) < cut:
                raise ValueError("the log has a gap")
            words, blocks = unpacked(
                content[at:cut], self._geometry.bits, self._geometry.blocks + 1
            )
            self._neighbours.add(range(self.seen, self.seen + len(words)), words, blocks)
            self.seen += len(words)
            self._last = content[cut - size : cut]


Finder = InRedis | InRam
