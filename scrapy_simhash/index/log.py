"""The log of a local index: what a store on this machine keeps, act by act."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.stored import Census


class Row(NamedTuple):
    """What the log says of an entry."""

    position: int
    scope: str
    value: bytes


class Record(NamedTuple):
    """What is read of an entry that matched; worker and expires are None once confirmed."""

    position: int
    key: str
    time: float
    worker: str | None
    expires: float | None
    request: str | None


class Waiting(NamedTuple):
    """A page that waits on a provisional entry, or, handed over, on its worker.

    Attributes:
        original: position of the entry; None when handed over.
        handovers: how often it was handed over since it last claimed.
        worker: who has it, when handed over.
        expires: when that lease runs out.
    """

    key: str
    request: str
    original: int | None = None
    handovers: int = 0
    worker: str = ""
    expires: float = 0.0


class Log(ABC):
    """What :class:`~.local.LocalIndex` asks of a store.

    A read sees what was committed, in a transaction also what was written there; writes happen
    in a transaction only.

    Attributes:
        _path: what the store is called in messages.
        _mark: what the requests of this worker's spider begin with.
    """

    _path: Path
    _mark: str

    @abstractmethod
    def _transaction(self) -> contextlib.AbstractContextManager[None]:
        """Hold the store's write lock; undo everything when left by an exception."""

    @abstractmethod
    def _rows(self, after: int, limit: int) -> list[Row]:
        """Return the entries after a position, in order."""

    @abstractmethod
    def _entries(self, after: int, limit: int) -> list[tuple[int, Entry]]:
        """Return the entries after a position, in order, each with its position."""

    @abstractmethod
    def _spread(self, count: int) -> list[tuple[int, Entry]]:
        """Return about so many entries from all of the log, its first and last among them."""

    @abstractmethod
    def _census(self) -> Census:
        """Count what is there."""

    @abstractmethod
    def _records(self, positions: Sequence[int]) -> list[Record]:
        """Return the entries at these positions, in any order, without the deleted ones."""

    @abstractmethod
    def _provisional(self, key: str | None = None) -> list[Record]:
        """Return the provisional entries, of a key or all."""

    @abstractmethod
    def _positions(self, key: str) -> list[int]:
        """Return where the entries of a key are."""

    @abstractmethod
    def _last(self) -> int:
        """Return the last position that was ever used, 0 if none."""

    @abstractmethod
    def _insert(self, entries: Sequence[tuple[Row, str, float]]) -> None:
        """Append confirmed entries, each with its key and time; positions continue the log."""

    @abstractmethod
    def _delete(self, key: str, position: int) -> None:
        """Delete an entry, and its lease if it is provisional."""

    @abstractmethod
    def _set_leases(self, records: Sequence[Record]) -> None:
        """Make entries provisional, or renew them: worker, expires, request are taken over."""

    @abstractmethod
    def _end_leases(self, entries: Sequence[tuple[str, int]]) -> None:
        """Make provisional entries (key, position) final; forget the pages that wait on them."""

    @abstractmethod
    def _put_waiting(self, waiting: Waiting) -> None:
        """Note a page as waiting or handed over, instead of what was noted of its key."""

    @abstractmethod
    def _waiting_of(self, key: str) -> Waiting | None:
        """Return what is noted of a page that is waiting or handed over."""

    @abstractmethod
    def _drop_waiting(self, keys: Sequence[str]) -> None:
        """Forget that pages of this worker's spider are waiting or handed over."""

    @abstractmethod
    def _waiting_on(self, original: int | None) -> list[Waiting]:
        """Return the pages that wait on an entry; for None, those handed over."""

    @abstractmethod
    def _wipe(self) -> None:
        """Delete everything but the header; positions still only grow."""
