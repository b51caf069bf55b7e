"""A worker's view of the log in Redis.

The log is the fingerprints of the entries in the order of their admission. Its *tail*, from
position *flushed* on, is one string; before that it is frozen in segments, and its entries are in
their buckets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scrapy_simhash.blocks import Layout
from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index.base import StoreDamaged
from scrapy_simhash.index.buckets import Neighbours
from scrapy_simhash.index.redis_client import Client, number
from scrapy_simhash.index.redis_pages import as_words

# Segments read at a time by a worker that begins to follow.
_SEGMENTS = 64


class AnotherLog(Exception):
    """The log is not the one that was followed: it was cleared, or a failover lost its end."""


class LogView:
    """What a worker has seen of the log.

    Args:
        client: where the log is.
        layout: how the fingerprints are cut.
        whole: keep all of it in RAM, and not only the tail.

    Attributes:
        width: bytes of a fingerprint.
        head: the log's first position; older ones are forgotten.
        flushed: the tail's first position.
        is_behind: there is more in the log than was seen, or may be.
    """

    def __init__(self, client: Client, layout: Layout, *, whole: bool) -> None:
        self._client = client
        self._layout = layout
        self._whole = whole
        self.width = layout.bits // 8
        self._last = b""
        self._neighbours = Neighbours(layout)
        self.head = 0
        self.flushed = 0
        self.is_behind = True
        self._tail = b""

    @property
    def end(self) -> int:
        """The position after the last entry seen."""
        return self.flushed + len(self._tail) // self.width

    def mark(self) -> tuple[int, int, bytes]:
        """Return what the scripts ask of a caller: width in bytes, end, last fingerprint."""
        return self.width, self.end, self._last

    def follow(self) -> None:
        """Take in what is new.

        Raises:
            AnotherLog: this view is of no use any more.
        """
        answer = self._client.run("follow", *self.mark())
        if not answer:
            raise AnotherLog
        head, flushed = number(answer[0]), number(answer[1])
        last, news = bytes(answer[2]), bytes(answer[3])
        if not head <= flushed or head % self._client.segment or flushed % self._client.segment:
            raise StoreDamaged(f"the log of {self._client.name!r} is damaged: {head}, {flushed}")
        if len(news) % self.width or len(last) not in (0, self.width):
            raise StoreDamaged(f"the log of {self._client.name!r} is damaged: a part of an entry")
        self.head = head
        if flushed != self.flushed:
            self._cut(flushed, last)
        self.extend(news)
        self.is_behind = False

    def extend(self, news: bytes) -> None:
        """Append fingerprints that the log has after its end as it was seen."""
        if not news:
            return
        first, count = self.end, len(news) // self.width
        self._neighbours.extend(np.arange(first, first + count), as_words(news, self.width))
        self._tail += news
        self._last = news[-self.width :]

    def near(self, fingerprint: Fingerprint, distance: int) -> dict[int, int]:
        """Return the distances of the entries in RAM within a distance, by position."""
        found = self._neighbours.find(fingerprint, distance)
        return {position: apart for apart, position in found if position >= self.head}

    def forget(self, positions: Sequence[int]) -> None:
        """Never find these entries in RAM again."""
        self._neighbours.forget(positions)

    def fingerprint(self, position: int) -> bytes | None:
        """Return an entry's fingerprint if it is in the tail."""
        at = (position - self.flushed) * self.width
        return self._tail[at : at + self.width] if 0 <= at < len(self._tail) else None

    def tail_from(self, position: int) -> bytes:
        """Return the fingerprints of the tail from a position on, which is not before it."""
        return self._tail[(position - self.flushed) * self.width :]

    def first_segment(self) -> bytes:
        """Return the tail's first segment, nothing unless it is full."""
        size = self._client.segment * self.width
        return self._tail[:size] if len(self._tail) >= size else b""

    def segment_key(self, position: int) -> str:
        """Return the key of the frozen segment that a position is in."""
        return f"{self._client.prefix}:l:{position // self._client.segment}"

    def _cut(self, flushed: int, last: bytes) -> None:
        """Begin the tail at a later position, before which a fingerprint stands."""
        if flushed < self.flushed:
            raise AnotherLog
        is_behind = self.end < flushed
        left = self._tail[(flushed - self.flushed) * self.width :]
        if self._whole:
            if is_behind:
                self._load(flushed)
        else:
            self._neighbours = Neighbours(self._layout)
            if left:
                positions = np.arange(flushed, self.end)
                self._neighbours.extend(positions, as_words(left, self.width))
        self.flushed, self._tail = flushed, left
        if is_behind:
            self._last = last

    def _load(self, flushed: int) -> None:
        """Take frozen segments into RAM, from the last entry seen on."""
        size = self._client.segment
        position = max(self.end, self.head)
        first = max(self.end - 1, self.head) // size * size
        for start in range(first, flushed, _SEGMENTS * size):
            some = range(start, min(start + _SEGMENTS * size, flushed), size)
            segments = self._client.all([("GET", self.segment_key(start_of)) for start_of in some])
            for start_of, segment in zip(some, segments, strict=True):
                if segment is None or len(segment) != size * self.width:
                    # Forgotten just now; if it still is missing then, the log is damaged.
                    raise AnotherLog
                seen = max(position - start_of, 0) * self.width
                known, news = segment[:seen], segment[seen:]
                if known and known[-self.width :] != self._last:
                    raise AnotherLog
                count = len(news) // self.width
                positions = np.arange(position, position + count)
                self._neighbours.extend(positions, as_words(news, self.width))
                position += count
                self._last = segment[-self.width :]
