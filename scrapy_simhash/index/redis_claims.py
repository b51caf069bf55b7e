"""The steps of a claim in Redis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index.base import Arrival, Claim, Match, Outcome
from scrapy_simhash.index.redis_pages import Record


class Own(NamedTuple):
    """An entry that this worker claimed and has not settled."""

    fingerprint: bytes
    scope: str
    time: float


class Lease(NamedTuple):
    """A provisional entry."""

    position: int
    key: str
    scope: str
    fingerprint: bytes
    time: float


@dataclass(slots=True)
class Claimant:
    """A page on its way to its answer.

    Attributes:
        name: its key as it is stored.
        fingerprint: in the colours of its scope.
        near: distance of each entry near it, by position, but for those known to be deleted.
        records: those of them that are confirmed.
        unleased: positions without a lease, so that what has no record after that is gone.
        was_handed: the page was handed over to the worker, and now it claims.
    """

    arrival: Arrival
    name: str
    fingerprint: Fingerprint
    near: dict[int, int] = field(default_factory=dict)
    records: dict[int, Record] = field(default_factory=dict)
    unleased: set[int] = field(default_factory=set)
    was_handed: bool = False

    def unknown(self) -> list[int]:
        """Return the positions that may be provisional."""
        return [position for position in self.near if position not in self.records]

    def matches(self, provisional: dict[int, Match]) -> tuple[Match, ...]:
        """Return the confirmed entries and these, nearest first, then oldest."""
        found = dict(provisional)
        for position, record in self.records.items():
            found[position] = Match(record.key, self.near[position], record.time, False)
        ordered = sorted((match.distance, position) for position, match in found.items())
        return tuple(found[position] for _, position in ordered)

    def is_own(self) -> bool:
        """Return whether an entry of the same key is confirmed."""
        return any(record.key == self.name for record in self.records.values())

    def settled(self) -> Claim | None:
        """Return the answer if it changes nothing in the index."""
        if not self.records or self.was_handed or self.unknown():
            return None
        return Claim(Outcome.REVISIT if self.is_own() else Outcome.DUPLICATE, self.matches({}))
