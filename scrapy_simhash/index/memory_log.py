"""A log in this process's RAM, gone with it."""

from __future__ import annotations

import contextlib
import struct
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import Census, Entry, StoreUnavailable
from scrapy_simhash.index.log import Lease, Record, Row
from scrapy_simhash.index.neighbours import Neighbours, in_scope

# Time, number of the scope, bytes of facts; the facts and the key follow.
_HEAD = struct.Struct("<dIB")
# Stands for the bytes of facts of a deleted entry.
_DELETED = 255


class MemoryLog:
    """See :class:`~.log.Log`. Of a confirmed entry it keeps one packed row beside the neighbours.

    Args:
        bits: width of the fingerprints.
        neighbours: where the fingerprints and blocks are, entry after entry, as in this log.
    """

    def __init__(self, bits: int, neighbours: Neighbours) -> None:
        # The one crawler that there is.
        self.crawler = "memory"
        self._bits = bits
        self._neighbours = neighbours
        self._leases: dict[int, Lease] = {}
        self._scopes: list[str] = []
        self._scope_numbers: dict[str, int] = {}
        self._before = 0
        self._is_closed = False
        self._empty()

    def _empty(self) -> None:
        """Begin anew after the last position."""
        self._rows = bytearray()
        self._starts = array("Q", [0])
        self._deleted = 0

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:  # noqa: D102
        self._check()
        yield

    def _check(self) -> None:
        if self._is_closed:
            raise StoreUnavailable("the index in memory is closed")

    def follow(self, after: int, limit: int) -> list[Row]:
        """Return nothing: whoever appends tells the neighbours."""
        self._check()
        return []

    def last(self) -> int:  # noqa: D102
        return self._before + len(self._starts) - 1

    def records(self, positions: Collection[int]) -> dict[int, Record]:  # noqa: D102
        found = ((position, self._record(position)) for position in positions)
        return {position: record for position, record in found if record is not None}

    def _record(self, position: int) -> Record | None:
        index = position - self._before - 1
        if not 0 <= index < len(self._starts) - 1:
            return None
        start, end = self._starts[index], self._starts[index + 1]
        time, scope, size = _HEAD.unpack_from(self._rows, start)
        if size == _DELETED:
            return None
        start += _HEAD.size
        facts = bytes(self._rows[start : start + size])
        key = self._rows[start + size : end].decode()
        lease = self._leases.get(position)
        return Record(position, key, self._scopes[scope], facts, time, lease)

    def append(self, entries: Sequence[tuple[Record, Fingerprint]]) -> None:
        """Append entries; whoever does tells the neighbours their fingerprints."""
        for record, _ in entries:
            scope = self._scope_numbers.setdefault(record.scope, len(self._scopes))
            if scope == len(self._scopes):
                self._scopes.append(record.scope)
            self._rows += _HEAD.pack(record.time, scope, len(record.facts)) + record.facts
            self._rows += record.key.encode()
            self._starts.append(len(self._rows))
            if record.lease is not None:
                self._leases[record.position] = record.lease

    def delete(self, positions: Collection[int]) -> None:  # noqa: D102
        for position in positions:
            if self._record(position) is not None:
                start = self._starts[position - self._before - 1]
                self._rows[start + _HEAD.size - 1] = _DELETED
                self._deleted += 1
                self._leases.pop(position, None)

    def lease(self, leases: Mapping[int, Lease]) -> None:  # noqa: D102
        self._leases.update(leases)

    def settle(self, positions: Collection[int]) -> None:  # noqa: D102
        for position in positions:
            self._leases.pop(position, None)

    def expired(self, now: float, limit: int) -> list[Record]:  # noqa: D102
        positions = [at for at, lease in self._leases.items() if lease.expires <= now]
        return list(self.records(positions[:limit]).values())

    def is_dead(self, crawler: str) -> bool:  # noqa: D102
        return False

    def positions(self, keys: Collection[str]) -> list[int]:  # noqa: D102
        records = map(self._record, range(self._before + 1, self.last() + 1))
        return [record.position for record in records if record is not None and record.key in keys]

    def entries(self, after: int, limit: int) -> list[tuple[int, Entry]]:  # noqa: D102
        self._check()
        number = max(after - self._before, 0)
        entries: list[tuple[int, Entry]] = []
        while not entries and number < len(self._starts) - 1:
            end = min(number + limit, len(self._starts) - 1)
            words = self._neighbours.words(number, end)
            blocks = self._neighbours.blocks(number, end)
            for value, values in zip(words, blocks, strict=True):
                number += 1
                record = self._record(self._before + number)
                if record is not None:
                    own = in_scope(values, record.scope).tobytes()
                    fingerprint = Fingerprint(
                        int.from_bytes(value.tobytes(), "big"), self._bits, own
                    )
                    entries.append((record.position, record.entry(fingerprint)))
        return entries

    def census(self) -> Census:  # noqa: D102
        return Census(len(self), len(self._leases), {"keys and facts": len(self._rows)})

    def __len__(self) -> int:
        self._check()
        return len(self._starts) - 1 - self._deleted

    def clear(self) -> None:  # noqa: D102
        self._before = self.last()
        self._leases.clear()
        self._empty()

    def close(self) -> None:  # noqa: D102
        self._is_closed = True
