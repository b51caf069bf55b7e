"""Tells scripts of pages that claim, and reads their answers."""

from collections.abc import Sequence
from typing import Any

from scrapy_simhash.index.contract import Match
from scrapy_simhash.index.decision import Claimant, nearest
from scrapy_simhash.index.redis.rows import ROWS, pack_claim, read_lease, read_row, read_rows

# Bits of an entry, as callers know it, that check it: the end of its fingerprint, XORed with the
# beginning of the generation; the position stands above them. So an entry of a log that was cleared
# or lost its end in a crash is not taken for the one in its place now.
_CHECK = 24

# Entries near a page, each with whether it has expired.
Near = list[tuple[Match, bool]]


def arguments(claimant: Claimant, now: float) -> tuple[bytes, ...]:
    """Return row with request, and positions judged: other pages, and expired copies."""
    claim = pack_claim(claimant.arrival, now)
    return claim, _packed(claimant.spared), _packed(claimant.expired)


def position_of(entry: int) -> int:
    """Return the position of an entry of this log."""
    return entry >> _CHECK


def packed_entry(entry: int, generation: str) -> bytes:
    """Return position and end of the fingerprint of an entry, 4 + 3 bytes."""
    # Entries that are not of a store in Redis are as good as behind the end of the log.
    known = entry if 0 <= entry < 1 << 56 else (1 << 56) - 1
    return (known ^ _mask(generation)).to_bytes(7, "big")


def read_near(
    answers: Sequence[Sequence[Any]], told: Sequence[Any], generation: str, now: float
) -> list[Near]:
    """Return the entries near some pages, nearest first, then oldest.

    Args:
        answers: for each page the entries as ``tell`` in ``lua/claim.lua`` has them.
        told: number and content of the rows of confirmed entries.
        generation: which log it is.
        now: leases that end until then have expired.
    """
    rows = {number: read_rows(content) for number, content in told}

    def read(position: int, distance: int, check: bytes, lease: bytes) -> tuple[Match, bool]:
        if lease:
            ends, row = read_lease(lease)
        else:
            packed = rows.get(position // ROWS, {}).get(position % ROWS)
            if packed is None:
                raise ValueError(f"entry {position} has no row")
            ends, row = float("inf"), read_row(packed)
        entry = position << _CHECK | int.from_bytes(check, "big") ^ _mask(generation)
        match = Match(entry, row.key, distance, row.time, bool(lease), facts=row.facts)
        return match, ends <= now

    found = [[read(*entry) for entry in answer] for answer in answers]
    return [sorted(some, key=lambda one: nearest(one[0])) for some in found]


def _mask(generation: str) -> int:
    return int.from_bytes(bytes.fromhex(generation)[: _CHECK // 8], "big")


def _packed(entries: set[int]) -> bytes:
    return b"".join([position_of(entry).to_bytes(4, "big") for entry in sorted(entries)])
