"""How a claim finds what is near, before the script decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.index.base import Arrival, Claim, Match, Outcome
from scrapy_simhash.index.redis_entries import Entries, Known
from scrapy_simhash.index.redis_log import LogView
from scrapy_simhash.index.redis_records import Record

# So many candidates of a page are compared in full before more is read of them: a few cost less
# than another round trip.
_FEW = 8


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
        was_handed: the page was handed over, and now it claims.
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


class Finder:
    """Finds the entries near a page, and tells what is known of them.

    Args:
        log: the worker's view of the log.
        entries: what is stored of them.
        distance: k.
        is_local: the whole log is in RAM, so that stored buckets are not needed.
    """

    def __init__(self, log: LogView, entries: Entries, distance: int, is_local: bool) -> None:
        self._log = log
        self._entries = entries
        self._distance = distance
        self._is_local = is_local

    def find(self, claimants: Sequence[Claimant]) -> None:
        """Find what is near the claimants, or was when the log was last followed.

        If something is near one, the log is followed, so that what is told of it is complete.
        A claim that is near nothing is compared with what is new by the script.

        Raises:
            AnotherLog: the log is not the one that was followed.
        """
        log = self._log
        if log.is_behind:
            log.follow()
        fingerprints = [claimant.fingerprint for claimant in claimants]
        near = log.near(fingerprints, self._distance)
        for claimant, found in zip(claimants, near, strict=True):
            claimant.records.clear()
            claimant.near = found
        if not self._is_local:
            probed = self._without_far(
                fingerprints, self._entries.candidates(fingerprints, self._distance)
            )
            for claimant, positions in zip(claimants, probed, strict=True):
                for position in positions:
                    # Its distance is told when it is looked at.
                    claimant.near.setdefault(position, 0)
        while unknown := {p for claimant in claimants for p in claimant.unknown()}:
            flushed, end = log.flushed, log.end
            known = self._entries.look(unknown)
            for claimant in claimants:
                for position in claimant.unknown():
                    self._judge(claimant, position, known.get(position))
            if log.flushed != flushed:
                # The buckets were read before what they hold now was known.
                self.find(claimants)
                return
            if log.end == end:
                return
            # Also those near nothing: the script compares with what comes after.
            news = log.near_after(end, fingerprints, self._distance)
            if not any(news):
                return
            for claimant, found in zip(claimants, news, strict=True):
                claimant.near.update(found)

    def _without_far(
        self, fingerprints: Sequence[Fingerprint], probed: list[list[int]]
    ) -> list[list[int]]:
        """Leave out candidates that only their tags make near, where there are many of a page.

        That is so where bits of the fingerprints are seldom ones, or seldom zeros: in pages that
        have much in common.
        """
        crowds = {position for found in probed if len(found) > _FEW for position in found}
        if not crowds:
            return probed
        values = self._entries.fingerprints(crowds)
        return [
            [
                position
                for position in found
                if position not in values
                or hamming_distance(values[position], fingerprint.value) <= self._distance
            ]
            for found, fingerprint in zip(probed, fingerprints, strict=True)
        ]

    def _judge(self, claimant: Claimant, position: int, known: Known | None) -> None:
        if known is None:
            del claimant.near[position]
            return
        value, record, is_gone = known
        if record is None and (is_gone or position in claimant.unleased):
            self._log.forget([position])
            del claimant.near[position]
            return
        distance = hamming_distance(int.from_bytes(value, "big"), claimant.fingerprint.value)
        if distance > self._distance or (record and record.scope != claimant.arrival.scope):
            del claimant.near[position]
            return
        claimant.near[position] = distance
        if record:
            claimant.records[position] = record
