"""Reading all entries of an index in Redis, and what they take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from scrapy_simhash.index.contract import StoreDamaged, StoreUnavailable
from scrapy_simhash.index.neighbours import in_scope
from scrapy_simhash.index.redis.client import KEYS, Client, number_in
from scrapy_simhash.index.redis.finders import AnotherLog, Uint32s
from scrapy_simhash.index.redis.rows import ROWS, Row, read_lease, read_row, read_rows
from scrapy_simhash.index.redis.scripts import Geometry

# Positions that are read at a time; and those whose block values are, which takes a look at all
# buckets each time.
_STEP = 16 * ROWS
_WINDOW = 1 << 20
# Fields of a hash from which its size is told.
_SAMPLES = 200


class Stored(NamedTuple):
    """An entry that is not deleted.

    Attributes:
        position: its place in the log.
        value: its fingerprint as it stands there.
        record: what else stands there.
        row: what is known of it.
        is_provisional: whether it has a lease.
    """

    position: int
    value: bytes
    record: bytes
    row: Row
    is_provisional: bool


class Scan:
    """Reads the entries that an index has now, in the order of the log.

    Args:
        client: where it is.
        generation: which log it is.
        geometry: of the index.

    Its methods raise AnotherLog when the log is another by now.
    """

    def __init__(self, client: Client, generation: str, geometry: Geometry) -> None:
        self._client = client
        self._generation = generation
        self._geometry = geometry

    def size(self) -> tuple[int, int]:
        """Return how many entries there are, and how many of them are provisional."""
        end, dead, leases = self._ends()
        # Each hash has a field that stands for nothing.
        return max(end - dead, 0), max(leases - 1, 0)

    def bytes_of_parts(self) -> dict[str, int]:
        """Return the bytes of each part, from a sample; none where the server does not tell."""
        keys = dict(zip(KEYS, self._client.keys, strict=True))
        commands = [("MEMORY USAGE", key, "SAMPLES", _SAMPLES) for key in keys.values()]
        try:
            answers = self._client.all(commands)
        except StoreUnavailable:
            return {}
        return {part: int(size or 0) for part, size in zip(keys, answers, strict=True)}

    def __iter__(self) -> Iterator[Stored]:
        end, _, _ = self._ends()
        for first in range(0, end, _STEP):
            yield from self._between(first, min(first + _STEP, end))

    def with_blocks(self, buckets: Any) -> Iterator[tuple[Stored, bytes]]:
        """Yield the entries with their block values.

        Args:
            buckets: the finder that reads them from buckets; None if they are in the log.
        """
        window, first = np.empty((0, self._geometry.blocks), np.uint32), 0
        end, _, _ = self._ends()
        for stored in self:
            if stored.record:
                values: Uint32s = np.frombuffer(stored.record, "<u4")
            else:
                if stored.position >= first + len(window):
                    first = stored.position
                    last = min(first + _WINDOW, end)
                    window = buckets.read_blocks(self._client, self._generation, first, last)
                values = window[stored.position - first]
            yield stored, in_scope(values, stored.row.scope).astype("<u4").tobytes()

    def _ends(self) -> tuple[int, int, int]:
        state, leases = self._client.all(
            [
                ("HMGET", self._client.key("meta"), "generation", "end", "dead"),
                ("HLEN", self._client.key("leases")),
            ]
        )
        if state[0] != self._generation.encode():
            raise AnotherLog
        return number_in(state[1]), number_in(state[2]), leases

    def _between(self, first: int, end: int) -> Iterator[Stored]:
        size, key = self._geometry.segment, self._client.key
        segments = range(first // size, (end - 1) // size + 1)
        numbers = range(first // ROWS, (end - 1) // ROWS + 1)
        leases, parts, rows, dead = self._client.all(
            [
                # An entry that is confirmed meanwhile is read twice rather than not at all.
                ("HMGET", key("leases"), *range(first, end)),
                ("HMGET", key("log"), *segments),
                ("HMGET", key("rows"), *numbers),
                ("GETRANGE", key("dead"), first // 8, (end - 1) // 8),
            ]
        )
        content = b"".join(part or b"" for part in parts)
        known = {n: read_rows(some or b"") for n, some in zip(numbers, rows, strict=True)}
        bits = np.unpackbits(np.frombuffer(dead, np.uint8))
        for position in range(first, end):
            place = position - first // 8 * 8
            if place < len(bits) and bits[place]:
                continue
            at = (position - segments[0] * size) * self._geometry.record
            record = content[at : at + self._geometry.record]
            if len(record) != self._geometry.record:
                raise StoreDamaged(f"{self._client.where} is damaged: its log lacks {position}")
            value, rest = record[: self._geometry.width], record[self._geometry.width :]
            packed = known[position // ROWS].get(position % ROWS)
            lease = leases[position - first]
            if packed is not None:
                yield Stored(position, value, rest, read_row(packed), False)
            elif lease:
                yield Stored(position, value, rest, read_lease(lease).row, True)
            else:
                raise StoreDamaged(f"entry {position} of {self._client.where} has no row")
