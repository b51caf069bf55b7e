"""The log of a local index: the acts that a store on this machine offers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import Census, Entry


class Lease(NamedTuple):
    """The lease of a provisional entry.

    Attributes:
        owner: name of the crawler that has it.
        expires: when it runs out, in seconds since the Unix epoch.
        adoptions: how often a crawler has adopted the entry.
        request: what makes the page's request again.
    """

    owner: str
    expires: float
    adoptions: int = 0
    request: str | None = None


class Record(NamedTuple):
    """One entry without its fingerprint; the lease is None once it is confirmed."""

    position: int
    key: str
    scope: str
    facts: bytes
    time: float
    lease: Lease | None = None

    def entry(self, fingerprint: Fingerprint) -> Entry:
        """Return what the contract shows of it."""
        provisional = self.lease is not None
        return Entry(self.key, fingerprint, self.scope, self.facts, self.time, provisional)


class Row(NamedTuple):
    """The part of an entry that RAM holds: its fingerprint and block values as bytes."""

    position: int
    scope: str
    value: bytes
    blocks: bytes


class Log(Protocol):
    """A store, as :class:`~.local.LocalIndex` sees it.

    A read sees what was committed, and inside a transaction also what was written there. Writes
    happen inside a transaction only. Positions grow, and none is used twice.

    Attributes:
        crawler: the name of this crawler, which owns the leases that it writes.
    """

    crawler: str

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """Hold the store's write lock; undo everything when left by an exception."""

    def follow(self, after: int, limit: int) -> list[Row]:
        """Return the entries after a position, in order, that other crawlers may have admitted."""

    def last(self) -> int:
        """Return the last position that was ever used, 0 if none."""

    def records(self, positions: Collection[int]) -> dict[int, Record]:
        """Return the entries at these positions, without the deleted ones."""

    def append(self, entries: Sequence[tuple[Record, Fingerprint]]) -> None:
        """Append entries, whose positions continue the log."""

    def delete(self, positions: Collection[int]) -> None:
        """Delete entries and their leases."""

    def lease(self, leases: Mapping[int, Lease]) -> None:
        """Lease provisional entries anew."""

    def settle(self, positions: Collection[int]) -> None:
        """End the leases of entries, which become final."""

    def expired(self, now: float, limit: int) -> list[Record]:
        """Return some of the expired entries of this crawler's spider."""

    def is_dead(self, crawler: str) -> bool:
        """Return whether a crawler is known to be dead."""

    def positions(self, keys: Collection[str]) -> list[int]:
        """Return where the entries of these keys are."""

    def entries(self, after: int, limit: int) -> list[tuple[int, Entry]]:
        """Return some entries after a position, in order; none only if there is none."""

    def census(self) -> Census:
        """Count what is there."""

    def __len__(self) -> int: ...

    def clear(self) -> None:
        """Delete everything but the header."""

    def close(self) -> None:
        """Release the store's resources."""
