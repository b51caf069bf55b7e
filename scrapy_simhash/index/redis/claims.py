"""A page that claims: what a script is told of it, and what its answers mean."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    Arrival,
    Claim,
    Judge,
    Match,
    Outcome,
)
from scrapy_simhash.index.decision import OWN, Pages, ruling
from scrapy_simhash.index.redis.rows import ROWS, Row, pack_claim, read_lease, read_row, read_rows

# Above the position, an entry has the beginning of the generation. So one of a log that was cleared
# is not taken for the one in its place now.
_POSITIONS = 1 << 32


class Near(NamedTuple):
    """An entry near a page.

    Attributes:
        position: its place in the log.
        entry: the same as callers know it.
        ends: when its lease ends, infinity where it is confirmed.
    """

    distance: int
    position: int
    entry: int
    ends: float
    row: Row
    is_provisional: bool

    def match(self, reason: str = "") -> Match:
        """Return it as the answer to a claim or a query names it."""
        key, _, facts, time = self.row
        return Match(self.entry, key, self.distance, time, self.is_provisional, reason, facts)


@dataclass(slots=True)
class Claimant:
    """A page on its way to its answer.

    Attributes:
        others: living entries that were judged to be other pages, by position.
        spared: positions of all entries that were judged to be other pages.
        expired: positions of entries that were judged to be copies and had expired.
    """

    arrival: Arrival
    others: dict[int, Match] = field(default_factory=dict)
    spared: set[int] = field(default_factory=set)
    expired: set[int] = field(default_factory=set)

    def arguments(self, now: float) -> tuple[bytes, ...]:
        """Return row with request, and positions judged: other pages, and expired copies."""
        page = self.arrival
        claim = pack_claim(Row(page.key, page.scope, page.facts, now), page.request)
        return claim, _packed(self.spared), _packed(self.expired)

    def hear(self, near: Sequence[Near], now: float, judge: Judge) -> Claim | None:
        """Judge what a script found; return the answer, None if the page has to claim again."""
        copies, outcome = [], Outcome.DUPLICATE
        for entry in near:
            judged = ruling(judge, self.arrival, entry.row.key, entry.row.facts, entry.distance)
            match = entry.match(judged.reason)
            if judged is OWN:
                outcome = Outcome.REVISIT
            if not judged.is_copy:
                self.spared.add(entry.position)
                if entry.ends > now:
                    self.others[entry.position] = match
            elif judged is OWN or entry.ends > now:
                copies.append(match)
            else:
                self.expired.add(entry.position)
        return Claim(outcome, tuple(copies), self.near()) if copies else None

    def near(self) -> tuple[Match, ...]:
        """Return the living entries that are other pages, nearest first, then oldest."""
        return tuple(sorted(self.others.values(), key=lambda match: (match.distance, match.entry)))


def packed_entry(entry: int, generation: str) -> bytes:
    """Return the position of an entry, of one that is not of this log that of no entry; 4 bytes."""
    position = entry - _first(generation)
    return (position if 0 <= position < _POSITIONS else _POSITIONS - 1).to_bytes(4, "big")


def read_near(
    answers: Sequence[Sequence[Any]], told: Sequence[Any], generation: str
) -> list[list[Near]]:
    """Return the entries near some pages, nearest first, then oldest.

    Args:
        answers: for each page position, distance, lease, ...; see ``lua/claim.lua``.
        told: number and content of the rows of confirmed entries, ...
        generation: which log it is.

    Raises:
        ValueError: it does not fit together.
    """
    rows = {
        number: read_rows(content) for number, content in zip(told[::2], told[1::2], strict=True)
    }

    def read(position: int, distance: int, lease: bytes) -> Near:
        entry = _first(generation) + position
        if lease:
            ends, row = read_lease(lease)
            return Near(distance, position, entry, ends, row, True)
        packed = rows.get(position // ROWS, {}).get(position % ROWS)
        if packed is None:
            raise ValueError(f"entry {position} has no row")
        return Near(distance, position, entry, float("inf"), read_row(packed), False)

    return [
        sorted(read(*answer[at : at + 3]) for at in range(0, len(answer), 3)) for answer in answers
    ]


def _first(generation: str) -> int:
    return int(generation[:6], 16) * _POSITIONS


def in_colours(fingerprint: Fingerprint, scope: str) -> bytes:
    """Return a fingerprint with the bits flipped that its scope flips.

    So the fingerprints of different scopes are never near. Done twice, it is undone.
    """
    if not scope:
        return fingerprint.to_bytes()
    size = fingerprint.bits // 8
    colours = hashlib.blake2b(scope.encode(), digest_size=size).digest()
    return (fingerprint.value ^ int.from_bytes(colours, "big")).to_bytes(size, "big")


def _packed(positions: set[int]) -> bytes:
    return b"".join([position.to_bytes(4, "big") for position in sorted(positions)])


def mates(pages: Pages, distance: int) -> list[bytes]:
    """Return for each page of a call those before it that are near it: number, distance, ..."""
    some, twins = pages.arrivals, pages.twins(distance)
    return [
        b"".join(struct.pack(">HH", j, d) for d, j in near if page.scope == some[j].scope)
        for page, near in zip(some, twins, strict=True)
    ]
