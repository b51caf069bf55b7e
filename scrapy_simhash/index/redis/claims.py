"""A page that claims: what a script is told of it, and what its answers mean."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scrapy_simhash.index.contract import Arrival, Claim, Judge, Match, Outcome
from scrapy_simhash.index.decision import OWN, ruling
from scrapy_simhash.index.redis.rows import ROWS, Row, pack_claim, read_lease, read_row, read_rows

# Bits of an entry, as callers know it, that check it: the end of its fingerprint, XORed with the
# beginning of the generation; the position stands above them. So an entry of a log that was cleared
# or lost its end in a crash is not taken for the one in its place now.
_CHECK = 24

# Entries near a page, each with the end of its lease, infinity where it is confirmed.
Near = list[tuple[Match, float]]


@dataclass(slots=True)
class Claimant:
    """A page on its way to its answer.

    Attributes:
        others: living entries that were judged to be other pages.
        spared: all entries that were judged to be other pages.
        expired: entries that were judged to be copies and had expired.
    """

    arrival: Arrival
    others: list[Match] = field(default_factory=list)
    spared: set[int] = field(default_factory=set)
    expired: set[int] = field(default_factory=set)

    def arguments(self, now: float) -> tuple[bytes, ...]:
        """Return row with request, and positions judged: other pages, and expired copies."""
        page = self.arrival
        claim = pack_claim(Row(page.key, page.scope, page.facts, now), page.request)
        return claim, _packed(self.spared), _packed(self.expired)

    def hear(self, near: Near, now: float, judge: Judge) -> Claim | None:
        """Judge what a script found; return the answer, None if the page has to claim again."""
        copies, outcome = [], Outcome.DUPLICATE
        for found, ends in near:
            judged = ruling(judge, self.arrival, found.key, found.facts, found.distance)
            match = replace(found, reason=judged.reason)
            if judged is OWN:
                outcome = Outcome.REVISIT
            if not judged.is_copy:
                self.spared.add(match.entry)
                if ends > now:
                    self.others.append(match)
            elif judged is OWN or ends > now:
                copies.append(match)
            else:
                self.expired.add(match.entry)
        return Claim(outcome, tuple(copies), self.near()) if copies else None

    def near(self) -> tuple[Match, ...]:
        """Return the living entries that are other pages, nearest first, then oldest."""
        return tuple(sorted(self.others, key=_nearest))


def position_of(entry: int) -> int:
    """Return the position of an entry of this log."""
    return entry >> _CHECK


def packed_entry(entry: int, generation: str) -> bytes:
    """Return position and end of the fingerprint of an entry, 4 + 3 bytes."""
    # Entries that are not of a store in Redis are as good as behind the end of the log.
    known = entry if 0 <= entry < 1 << 56 else (1 << 56) - 1
    return (known ^ _mask(generation)).to_bytes(7, "big")


def read_near(answers: Sequence[Sequence[Any]], told: Sequence[Any], generation: str) -> list[Near]:
    """Return the entries near some pages, nearest first, then oldest.

    Args:
        answers: for each page the entries as ``tell`` in ``lua/claim.lua`` has them.
        told: number and content of the rows of confirmed entries.
        generation: which log it is.

    Raises:
        ValueError: it does not fit together.
    """
    rows = {number: read_rows(content) for number, content in told}

    def read(position: int, distance: int, check: bytes, lease: bytes) -> tuple[Match, float]:
        if lease:
            ends, row = read_lease(lease)
        else:
            packed = rows.get(position // ROWS, {}).get(position % ROWS)
            if packed is None:
                raise ValueError(f"entry {position} has no row")
            ends, row = float("inf"), read_row(packed)
        entry = position << _CHECK | int.from_bytes(check, "big") ^ _mask(generation)
        return Match(entry, row.key, distance, row.time, bool(lease), facts=row.facts), ends

    return [
        sorted((read(*entry) for entry in answer), key=lambda found: _nearest(found[0]))
        for answer in answers
    ]


def _nearest(match: Match) -> tuple[int, int]:
    return match.distance, match.entry


def _mask(generation: str) -> int:
    return int.from_bytes(bytes.fromhex(generation)[: _CHECK // 8], "big")


def _packed(entries: set[int]) -> bytes:
    return b"".join([position_of(entry).to_bytes(4, "big") for entry in sorted(entries)])
