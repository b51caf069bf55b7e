"""What an index on this machine is besides claims: its fingerprints in RAM, and operators' acts.

Fingerprints in RAM are a superset of the log: an entry that was deleted is noticed and forgotten
when its record is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np

from scrapy_simhash.index.base import Entry, StoreDamaged
from scrapy_simhash.index.buckets import Neighbours
from scrapy_simhash.index.log import Log, Row
from scrapy_simhash.index.stored import Census, StoredIndex

# Rows of the log that are followed at a time, and entries that are yielded at a time.
_BATCH = 1 << 16
_ENTRIES = 1 << 12


class LocalStore(Log, StoredIndex):
    """Follows a log into RAM, and carries out what an operator asks.

    A subclass sets the attributes.

    Attributes:
        _lock: what threads of this process take for any act.
        _scopes: the fingerprints in RAM, by scope.
        _seen: the last position of the log that is in RAM.
    """

    _lock: threading.RLock
    _scopes: dict[str, Neighbours]
    _seen: int

    def _neighbours(self, scope: str) -> Neighbours:
        neighbours = self._scopes.get(scope)
        if neighbours is None:
            neighbours = self._scopes[scope] = Neighbours(self.layout)
        return neighbours

    def _follow(self) -> None:
        """Take what the log holds since the last look into RAM."""
        while rows := self._rows(self._seen, _BATCH):
            scopes: dict[str, list[Row]] = {}
            for row in rows:
                scopes.setdefault(row.scope, []).append(row)
            for scope, entries in scopes.items():
                packed = b"".join(entry.value for entry in entries)
                if len(packed) * 8 != len(entries) * self.layout.bits:
                    raise StoreDamaged(
                        f"{self._path} is damaged: a fingerprint is not {self.layout.bits} bits"
                    )
                words = np.frombuffer(packed, ">u8").astype(np.uint64)
                positions = np.array([entry.position for entry in entries])
                self._neighbours(scope).extend(positions, words.reshape(len(entries), -1))
            self._seen = rows[-1].position

    def remove(self, key: str) -> int:  # noqa: D102
        with self._lock, self._transaction():
            positions = self._positions(key)
            for position in positions:
                self._remove(key, position)
        return len(positions)

    def _remove(self, key: str, position: int) -> None:
        for waiting in self._waiting_on(position):
            # Nobody's lease, so that orphans() hands it to whoever asks first.
            self._put_waiting(waiting._replace(original=None))
        self._delete(key, position)

    def remove_where(self, condition: Callable[[Entry], bool]) -> int:  # noqa: D102
        removed = 0
        for entries in self._batches():
            found = [(entry.key, position) for position, entry in entries if condition(entry)]
            if found:
                with self._lock, self._transaction():
                    for key, position in found:
                        self._remove(key, position)
                removed += len(found)
        return removed

    def clear(self) -> None:  # noqa: D102
        with self._lock:
            with self._transaction():
                self._wipe()
            self._scopes.clear()

    def __iter__(self) -> Iterator[Entry]:
        for entries in self._batches():
            for _, entry in entries:
                yield entry

    def _batches(self) -> Iterator[list[tuple[int, Entry]]]:
        """Yield the entries with their positions, in order, some at a time."""
        position = 0
        while True:
            with self._lock:
                entries = self._entries(position, _ENTRIES)
            yield entries
            if len(entries) < _ENTRIES:
                return
            position = entries[-1][0]

    def sample(self, count: int) -> list[Entry]:  # noqa: D102
        with self._lock:
            return [entry for _, entry in self._spread(count)]

    def census(self) -> Census:  # noqa: D102
        with self._lock:
            return self._census()
