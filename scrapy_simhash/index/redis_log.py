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
from scrapy_simhash.index.redis_client import SEGMENT, Client
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
        flushed: the tail's first position, when last seen.
        tail: the tail's fingerprints.
    """

    def __init__(self, client: Client, layout: Layout, *, whole: bool) -> None:
        self._client = client
        self._layout = layout
        self._whole = whole
        self._width = layout.bits // 8
        self._last = b""
        self._neighbours = Neighbours(layout)
        self.flushed = 0
        self.tail = b""

    @property
    def end(self) -> int:
        """The position after the last entry seen."""
        return self.flushed + len(self.tail) // self._width

    def mark(self) -> tuple[int, int, bytes]:
        """Return what the scripts ask of a caller: width in bytes, end, last fingerprint."""
        return self._width, self.end, self._last

    def follow(self) -> None:
        """Take in what is new.

        Raises:
            AnotherLog: this view is of no use any more.
        """
        answer = self._client.run("follow", *self.mark())
        if not answer:
            raise AnotherLog
        flushed, news = int(answer[0]), bytes(answer[1])
        if len(news) % self._width:
            raise StoreDamaged(f"the log of {self._client.name!r} is damaged: a part of a page")
        if flushed != self.flushed:
            self._cut(flushed)
        self.extend(news)

    def extend(self, news: bytes) -> None:
        """Append fingerprints that the log has after its end as it was seen."""
        if not news:
            return
        first, count = self.end, len(news) // self._width
        self._neighbours.extend(np.arange(first, first + count), as_words(news, self._width))
        self.tail += news
        self._last = news[-self._width :]

    def near(self, fingerprint: Fingerprint, distance: int) -> dict[int, int]:
        """Return the distances of the entries in RAM within a distance, by position."""
        found = self._neighbours.find(fingerprint, distance)
        return {position: apart for apart, position in found}

    def forget(self, positions: Sequence[int]) -> None:
        """Never find these entries in RAM again."""
        self._neighbours.forget(positions)

    def fingerprint(self, position: int) -> bytes | None:
        """Return an entry's fingerprint if it is in the tail."""
        at = (position - self.flushed) * self._width
        return self.tail[at : at + self._width] if 0 <= at < len(self.tail) else None

    def _cut(self, flushed: int) -> None:
        """Begin the tail at a later position."""
        if flushed < self.flushed:
            raise AnotherLog
        left = self.tail[(flushed - self.flushed) * self._width :]
        if self._whole:
            if self.end < flushed:
                self._load(flushed)
        else:
            self._neighbours = Neighbours(self._layout)
            if left:
                positions = np.arange(flushed, self.end)
                self._neighbours.extend(positions, as_words(left, self._width))
        self.flushed, self.tail = flushed, left

    def _load(self, flushed: int) -> None:
        """Take frozen segments into RAM, from the last entry seen on."""
        position = self.end
        before = max(position - 1, 0)
        for first in range(before // SEGMENT, flushed // SEGMENT, _SEGMENTS):
            numbers = range(first, min(first + _SEGMENTS, flushed // SEGMENT))
            segments = self._client.all([("GET", segment_key(self._client, n)) for n in numbers])
            for number, segment in zip(numbers, segments, strict=True):
                if segment is None or len(segment) != SEGMENT * self._width:
                    raise StoreDamaged(
                        f"the log of {self._client.name!r} is damaged: segment {number}"
                    )
                seen = max(position - number * SEGMENT, 0)
                if (
                    seen > 0
                    and segment[(seen - 1) * self._width : seen * self._width] != self._last
                ):
                    raise AnotherLog
                news = segment[seen * self._width :]
                count = len(news) // self._width
                self._neighbours.extend(
                    np.arange(position, position + count), as_words(news, self._width)
                )
                position += count
                self._last = segment[-self._width :]


def segment_key(client: Client, number: int) -> str:
    """Return the key of a frozen segment."""
    return f"{client.name}:l:{number}"
