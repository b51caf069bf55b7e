"""A worker's view of the log in Redis.

The log is the fingerprints of the entries in the order of their admission. Its *tail*, from
position *flushed* on, is one string; before that it is frozen in segments, and its entries are in
their buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.base import StoreDamaged
from scrapy_simhash.index.buckets import Neighbours
from scrapy_simhash.index.redis_client import Client, number
from scrapy_simhash.index.redis_pages import as_words, distances_between

# Segments read at a time by a worker that begins to follow.
_SEGMENTS = 64
# Segments that must be forgotten before they are dropped from RAM, by reading the rest again.
_GONE = 16
# Distances computed at a time.
_AT_ONCE = 1 << 14


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
        self.width = layout.bits // 8
        # What is before the tail, which itself changes with each claim.
        self._frozen = Neighbours(layout) if whole else None
        self._forgotten: set[int] = set()
        self.head = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Have nothing in RAM; what is there comes with the next look."""
        if self._frozen is not None:
            self._frozen = Neighbours(self._layout)
        # Where what is in RAM before the tail begins.
        self._oldest = self.flushed = 0
        self._tail = self._last = b""
        self.is_behind = True

    @property
    def end(self) -> int:
        """The position after the last entry seen."""
        return self.flushed + len(self._tail) // self.width

    def mark(self) -> tuple[int, int, bytes, str]:
        """Return what a script asks of a caller: width in bytes, end, last entry, generation."""
        return self.width, self.end, self._last, self._client.generation

    def follow(self) -> None:
        """Take in what is new.

        Raises:
            AnotherLog: this view is of no use any more.
        """
        self.is_behind = True
        while self.is_behind:
            self.take(self._client.all(self.reading()))

    def reading(self) -> list[tuple[Any, ...]]:
        """Return the commands whose answers tell what is new.

        The tail is read first. It is the one known if it still begins where it did afterwards,
        since it never begins earlier than before.
        """
        seen = max(len(self._tail) - self.width, 0)
        return [
            ("GETRANGE", self._client.control("tail"), seen, -1),
            ("HMGET", self._client.control("meta"), "flushed", "last", "head", "generation"),
        ]

    def take(self, answers: Sequence[Any]) -> None:
        """Take in what the answers to ``reading`` tell; ``is_behind`` if it was not all.

        Raises:
            AnotherLog: this view is of no use any more.
        """
        news, (flushed_at, last, head_at, generation) = answers
        if flushed_at is None or generation != self._client.generation.encode():
            raise AnotherLog
        head, flushed, last = number(head_at), number(flushed_at), last or b""
        size = self._client.segment
        if not head <= flushed or head % size or flushed % size or len(last) not in (0, self.width):
            raise StoreDamaged(f"the log of {self._client.name!r} is damaged: {head}, {flushed}")
        self.head = head
        gone = head - self._oldest
        if self._frozen and gone > max(self.flushed - head, _GONE * size):
            # More than half of what is in RAM is forgotten.
            self._begin_anew()
        if flushed != self.flushed:
            self.is_behind = True
            self._cut(flushed, last)
            return
        if self._tail:
            last, news = news[: self.width], news[self.width :]
        if self.end and last != self._last:
            raise AnotherLog
        self.extend(news)
        self.is_behind = False

    def extend(self, news: bytes) -> None:
        """Append fingerprints that the log has after its end as it was seen."""
        if len(news) % self.width:
            raise StoreDamaged(f"the log of {self._client.name!r} is damaged: a part of an entry")
        if news:
            self._tail += news
            self._last = news[-self.width :]

    def near(self, fingerprints: Sequence[Fingerprint], distance: int) -> list[dict[int, int]]:
        """Return the distances of the entries in RAM near each fingerprint, by position."""
        near = self.near_after(self.flushed, fingerprints, distance)
        if self._frozen is not None:
            for found, fingerprint in zip(near, fingerprints, strict=True):
                for apart, position in self._frozen.find(fingerprint, distance):
                    if position >= self.head:
                        found[position] = apart
        return near

    def near_after(
        self, first: int, fingerprints: Sequence[Fingerprint], distance: int
    ) -> list[dict[int, int]]:
        """Return the same of the entries from a position in the tail on."""
        near: list[dict[int, int]] = [{} for _ in fingerprints]
        if first >= self.end:
            return near
        tail = self._words(self.tail_from(first))
        # So many that what is computed stays in the processor's cache.
        for some in range(0, len(near), step := 1 + _AT_ONCE // len(tail)):
            own = self._words(b"".join(f.to_bytes() for f in fingerprints[some : some + step]))
            distances = distances_between(own, tail)
            for one, entry in zip(*np.nonzero(distances <= distance), strict=True):
                if (position := first + int(entry)) not in self._forgotten:
                    near[some + one][position] = int(distances[one, entry])
        return near

    def forget(self, positions: Sequence[int]) -> None:
        """Never find these entries in RAM again."""
        self._forgotten.update(p for p in positions if p >= self.flushed)
        if self._frozen is not None:
            self._frozen.forget(positions)

    def fingerprint(self, position: int) -> bytes | None:
        """Return an entry's fingerprint if it is in the tail."""
        at = (position - self.flushed) * self.width
        return self._tail[at : at + self.width] if 0 <= at < len(self._tail) else None

    def _words(self, values: bytes) -> npt.NDArray[np.uint64]:
        return np.frombuffer(values, np.uint64).reshape(-1, self.width // 8)

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
        cut = (flushed - self.flushed) * self.width
        gone, left = self._tail[:cut], self._tail[cut:]
        if self._frozen is not None:
            self._freeze(self._frozen, self.flushed, gone)
            # What is in RAM was seen, whatever fails from here on; so nothing is taken in twice.
            self.flushed, self._tail = self.flushed + len(gone) // self.width, left
            if is_behind:
                self._load(self._frozen, flushed)
            self._frozen.forget([p for p in self._forgotten if p < flushed])
        self._forgotten = {p for p in self._forgotten if p >= flushed}
        self.flushed, self._tail = flushed, left
        if is_behind:
            self._last = last

    def _freeze(self, frozen: Neighbours, first: int, values: bytes) -> None:
        """Take fingerprints into RAM, the first of which is at this position."""
        if values:
            count = len(values) // self.width
            frozen.extend(np.arange(first, first + count), as_words(values, self.width))

    def _load(self, frozen: Neighbours, flushed: int) -> None:
        """Take frozen segments into RAM, from the last entry seen on; nothing is in the tail."""
        size = self._client.segment
        first = max(self.flushed - 1, self.head) // size * size
        self.flushed = max(self.flushed, self.head)
        if not frozen:
            self._oldest = self.flushed
        for start in range(first, flushed, _SEGMENTS * size):
            some = range(start, min(start + _SEGMENTS * size, flushed), size)
            segments = self._client.all([("GET", self.segment_key(start_of)) for start_of in some])
            for start_of, segment in zip(some, segments, strict=True):
                if segment is None or len(segment) != size * self.width:
                    # Forgotten just now; if it still is missing then, the log is damaged.
                    raise AnotherLog
                seen = max(self.flushed - start_of, 0) * self.width
                known, news = segment[:seen], segment[seen:]
                if known and known[-self.width :] != self._last:
                    raise AnotherLog
                self._freeze(frozen, self.flushed, news)
                self.flushed += len(news) // self.width
                self._last = segment[-self.width :]
