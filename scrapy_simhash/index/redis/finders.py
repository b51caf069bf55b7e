"""How what is near a page is found: through buckets in Redis, or in the RAM of the crawler.

This is the one seam between the two kinds of buckets. A finder gives a script its arguments, takes
in what the script tells, and has its counterpart in Lua: ``lua/buckets.lua`` or ``lua/news.lua``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from scrapy_simhash.index.contract import StoreDamaged
from scrapy_simhash.index.neighbours import Neighbours, packed_words
from scrapy_simhash.index.redis.client import Client, number_in
from scrapy_simhash.index.redis.scripts import LEAST_PAGES, Geometry

Uint32s = npt.NDArray[np.uint32]

# Multiplying by an odd number spreads values over 32 bits, and can be undone.
_SPREAD = np.uint32(0x9E3779B1)
_GATHER = np.uint32(pow(0x9E3779B1, -1, 1 << 32))
# Names that one script looks up, and positions whose block values are read at a time.
_NAMES = 512
_WINDOW = 1 << 20
# Segments of the log that are read at a time.
_SEGMENTS = 64


class AnotherLog(Exception):
    """The log is not the one that was followed: it was cleared, or a failover lost its end."""


class Sought(NamedTuple):
    """Pages that are looked for.

    Attributes:
        fingerprints: their fingerprints.
        blocks: their block values, shape (n, blocks).
    """

    fingerprints: list[bytes]
    blocks: Uint32s


class Finder(Protocol):
    """One side of the seam, as an index sees it.

    Attributes:
        flooded: look-ups in RAM that met more entries in a bucket than are read.
    """

    flooded: int

    def head(self) -> tuple[object, object]:
        """Return the arguments 3 and 4 of a script."""

    def arguments(self, sought: Sought) -> list[tuple[bytes, bytes]]:
        """Return the two arguments of each page."""

    def refused(self, reason: bytes, detail: object = None) -> None:
        """Learn from a script that did nothing; AnotherLog if all has to begin anew."""

    def took(self, lesson: bytes, admitted: Sequence[bytes]) -> None:
        """Take in the lesson of a script, and the records that it has just appended."""

    def forget(self, positions: Sequence[int]) -> None:
        """Never find these entries again."""


class RedisBuckets:
    """Finds entries through bucket pages in Redis; see ``lua/buckets.lua``."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._pages = LEAST_PAGES
        self.flooded = 0

    @property
    def _depth(self) -> int:
        return self._pages.bit_length() - 1

    def head(self) -> tuple[int, str]:  # noqa: D102
        return self._pages, ""

    def arguments(self, sought: Sought) -> list[tuple[bytes, bytes]]:  # noqa: D102
        values = sought.blocks * _SPREAD
        count = values.shape[1]
        blocks = np.arange(count, dtype=np.uint32) << np.uint32(24)
        depth, turn = self._depth, self._pages - (1 << self._depth)
        numbers = values >> np.uint32(32 - depth)
        numbers = np.where(
            numbers < turn,
            values >> np.uint32(31 - depth) | np.uint32(2 << depth),
            numbers | np.uint32(1 << depth),
        )
        names = (numbers | blocks).astype(">u4").tobytes()
        tags = values.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
        return [
            (names[4 * count * i : 4 * count * (i + 1)], tags[3 * count * i : 3 * count * (i + 1)])
            for i in range(len(values))
        ]

    def refused(self, reason: bytes, detail: object = None) -> None:  # noqa: D102
        if not isinstance(detail, int) or not LEAST_PAGES <= detail < 1 << 23:
            raise StoreDamaged(f"the number of bucket pages in Redis is damaged: {detail!r:.80}")
        self._pages = detail

    def took(self, lesson: bytes, admitted: Sequence[bytes]) -> None:  # noqa: D102
        self.refused(b"pages", int(lesson) if lesson.isdigit() else lesson)

    def forget(self, positions: Sequence[int]) -> None:  # noqa: D102
        pass

    def read_blocks(self, client: Client, generation: str, first: int, end: int) -> Uint32s:
        """Return the block values of the entries between two positions; shape (n, blocks).

        Every bucket page is read. Values that are not there, because their bucket was flooded, are
        made up: no other entry has them.
        """
        positions = np.arange(first, end, dtype=np.uint32)[:, None]
        values: Uint32s = positions * _SPREAD + np.arange(self._geometry.blocks, dtype=np.uint32)
        block = number = 0
        while block < self._geometry.blocks:
            last = min(number + _NAMES, 1 << self._depth) - 1
            answer = client.run("pages", generation, self._depth, block, number, last)
            if answer is None:
                raise AnotherLog
            if answer and answer[0] == b"pages":
                self.refused(*answer)
                number = 0
                continue
            for name, content in zip(answer[::2], answer[1::2], strict=True):
                places, some = self._entries(name, content)
                inside = (places >= first) & (places < end)
                values[places[inside] - first, block] = some[inside] * _GATHER
            number = last + 1
            if number >> self._depth:
                block, number = block + 1, 0
        return values

    def _entries(self, name: bytes, content: bytes) -> tuple[npt.NDArray[np.int64], Uint32s]:
        """Return the positions and the spread values of a bucket page's entries."""
        if len(content) % self._geometry.entry:
            raise StoreDamaged(f"bucket page {name!r} in Redis is damaged")
        octets = np.frombuffer(content, np.uint8).reshape(-1, self._geometry.entry)
        numbers = octets[:, :6].astype(np.uint32)
        number = int.from_bytes(name[1:], "big")
        top = number >> number.bit_length() - 9 & 0xFF
        values = np.uint32(top << 24) | numbers[:, 0] << np.uint32(16)
        values |= numbers[:, 1] << np.uint32(8) | numbers[:, 2]
        low = numbers[:, 3] << np.uint32(16) | numbers[:, 4] << np.uint32(8) | numbers[:, 5]
        # Positions of a page grow; their last 24 bits begin anew now and then.
        turns = np.concatenate(([0], np.cumsum(low[1:] < low[:-1])))
        return low.astype(np.int64) + (turns[: len(low)] << 24), values


class LogInRam:
    """Finds entries in RAM, where it has the whole log; see ``lua/news.lua``.

    Args:
        client: where the log is.
        generation: which log it is.
        geometry: of the index.
        distance: k.
    """

    def __init__(self, client: Client, generation: str, geometry: Geometry, distance: int) -> None:
        self._client = client
        self._generation = generation
        self._geometry = geometry
        self._distance = distance
        self._neighbours = Neighbours(geometry.bits, geometry.blocks, distance)
        self._seen = 0
        self._last = b""
        self.flooded = 0

    def head(self) -> tuple[int, bytes]:  # noqa: D102
        return self._seen, self._last

    def arguments(self, sought: Sought) -> list[tuple[bytes, bytes]]:  # noqa: D102
        if not self._seen:
            self._follow()
        near = self._neighbours.find(
            packed_words(sought.fingerprints, self._geometry.bits), sought.blocks
        )
        self.flooded = self._neighbours.flooded
        return [
            (b"".join([p.to_bytes(4, "big") + d.to_bytes(2, "big") for d, p in found]), b"")
            for found in near
        ]

    def refused(self, reason: bytes, detail: object = None) -> None:  # noqa: D102
        if reason != b"behind":
            raise AnotherLog
        self._follow()

    def took(self, lesson: bytes, admitted: Sequence[bytes]) -> None:  # noqa: D102
        records = lesson + b"".join(admitted)
        size = self._geometry.record
        if not records:
            return
        if len(records) % size:
            raise StoreDamaged("the log in Redis is damaged: a part of an entry")
        places = range(0, len(records), size)
        width = self._geometry.width
        blocks = b"".join([records[at + width : at + size] for at in places])
        self._neighbours.add(
            range(self._seen, self._seen + len(places)),
            packed_words([records[at : at + width] for at in places], self._geometry.bits),
            np.frombuffer(blocks, "<u4").reshape(len(places), -1),
        )
        self._seen += len(places)
        self._last = records[-size:]

    def forget(self, positions: Sequence[int]) -> None:  # noqa: D102
        self._neighbours.forget(sorted(positions))

    def _follow(self) -> None:
        """Take in what is new in the log."""
        geometry = self._geometry
        (state,) = self._client.all([("HMGET", self._client.key("meta"), "generation", "end")])
        if state[0] != self._generation.encode():
            raise AnotherLog
        end = number_in(state[1])
        if end < self._seen:
            raise AnotherLog
        first = max(self._seen - 1, 0)
        while first < end:
            start = first // geometry.segment
            numbers = range(start, min(start + _SEGMENTS, -(-end // geometry.segment)))
            (answers,) = self._client.all([("HMGET", self._client.key("log"), *numbers)])
            content = b"".join(answer or b"" for answer in answers)
            last = min(numbers[-1] * geometry.segment + geometry.segment, end)
            skipped = (self._seen - start * geometry.segment) * geometry.record
            if skipped and content[skipped - geometry.record : skipped] != self._last:
                raise AnotherLog
            cut = (last - start * geometry.segment) * geometry.record
            if len(content) < cut:
                raise StoreDamaged(f"{self._client.where} is damaged: the log has a gap")
            self.took(content[skipped:cut], [])
            first = last
