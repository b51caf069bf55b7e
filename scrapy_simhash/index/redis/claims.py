"""Tells scripts of pages that claim, and reads their answers."""

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from scrapy_simhash.index.decision import NEAR_NOTHING, Claimant, Step, nearest
from scrapy_simhash.index.pages import Pages, key_value
from scrapy_simhash.index.redis.rows import (
    NEVER,
    ROWS,
    Row,
    field_of,
    pack_claim,
    read_lease,
    read_row,
    read_rows,
)
from scrapy_simhash.index.values import Arrival, IndexSpec, Match

# Bits of an entry, as callers know it, that check it: the end of its fingerprint, XORed with the
# beginning of the generation; the position stands above them. So an entry of a log that was cleared
# or lost its end in a crash is not taken for the one in its place now.
_CHECK = 24
_REPLACED, _EXPIRED, _OTHER = 1, 2, 4


class Told(NamedTuple):
    """An entry that a script has told of; its fingerprint is in its scope.

    Attributes:
        is_sound: it can be read; if not, its match tells position, distance and run alone.
    """

    match: Match
    fingerprint: bytes
    is_sound: bool = True


class Asking:
    """A page that claims in a few calls, until nothing has changed since it was decided.

    Attributes:
        step: what the claim does, given what was told.
        names: the values of the page's keys.
    """

    def __init__(self, claimant: Claimant) -> None:
        self.claimant = claimant
        self._told: dict[int, Told] = {}
        self.step = Step(NEAR_NOTHING, admits=True)
        page = claimant.arrival
        self.names = {key_value(key) for key in (page.key, *page.aliases)}

    def forget(self) -> None:
        """Begin anew, because what was told is so no more."""
        self._told.clear()
        self.step = Step(NEAR_NOTHING, admits=True)

    def hear(self, told: Sequence[Told]) -> bool:
        """Decide anew, given what was told; return whether that is all, and nothing is written."""
        page, reach = self.claimant.arrival, self.claimant.spec.reach
        names = (page.key, *page.aliases)
        self._told |= {one.match.entry: one for one in told}
        self.claimant.unjudged = 0
        self.step = self.claimant.decide(
            match
            for match, _, is_sound in self._told.values()
            if is_sound
            and (match.distance <= reach or (match.key in names and match.scope == page.scope))
        )
        step = self.step
        return not (step.admits or step.replaces or step.keeps or step.waits_on)

    def arguments(self, now: float) -> tuple[bytes, bytes, bytes]:
        """Return row and request, what was told, and what the claim does; see ``lua/claim.lua``."""
        page, step = self.claimant.arrival, self.step
        claim, act = pack_claim(page, step.since or now), b"" if step.admits else b"d"
        if step.keeps:
            act = position_of(step.keeps.entry).to_bytes(4, "big")
            claim = pack_claim(page._replace(facts=step.keeps.facts), step.keeps.time)
        if step.waits_on:
            act = b"w" + position_of(step.waits_on.entry).to_bytes(4, "big")
            claim = (page.request or "").encode()
        replaced = {one.entry for one in step.replaces}
        return claim, b"".join(self._known(one, replaced) for one in self._told.values()), act

    def _known(self, told: Told, replaced: set[int]) -> bytes:
        match, at = told.match, told.match.entry
        is_replaced, ruling = at in replaced, self.claimant.rulings.get(at)
        is_other = not told.is_sound or (ruling and not ruling.is_copy and not is_replaced)
        flags = _REPLACED * is_replaced | _EXPIRED * match.expired | _OTHER * bool(is_other)
        return (position_of(at) << 32 | match.run << 8 | flags).to_bytes(8, "big")


def separate(
    arrivals: Sequence[Arrival], spec: IndexSpec, most: int
) -> Iterator[Sequence[Arrival]]:
    """Yield pages, some at a time, that need not wait for the answers of the others.

    So a far Redis answers all of them at once. They do wait if any two are near, or have a key in
    common, because an answer depends on those before it.
    """
    spec.check(arrivals)
    pages = Pages(arrivals, spec)
    names = [name for some in pages.names for name in some]
    if len({*names}) < len(names) or any(pages.twins(spec.reach)):
        most = len(arrivals)
    for start in range(0, len(arrivals), most):
        yield arrivals[start : start + most]


def position_of(entry: int) -> int:
    return entry >> _CHECK


def packed_entry(entry: int, generation: str) -> bytes:
    """Return position and end of the fingerprint of an entry, 4 + 3 bytes."""
    # Entries that are not of a store in Redis are as good as behind the end of the log.
    known = entry if 0 <= entry < 1 << 56 else (1 << 56) - 1
    return (known ^ _mask(generation)).to_bytes(7, "big")


def read_told(
    answers: Sequence[Sequence[Any]],
    told: Sequence[Any],
    generation: str,
    now: float,
    pass_over: Callable[[str], None],
) -> list[list[Told]]:
    """Return the entries that a script has told of some pages, nearest first, then oldest.

    Args:
        answers: for each page the entries as ``tell`` in ``lua/claim.lua`` has them.
        told: fields and values of the rows of confirmed entries.
        generation: which log it is.
        now: leases that end until then have expired.
        pass_over: is told of entries that cannot be read.
    """
    contents, together = dict(told), dict[bytes, dict[int, bytes]]()
    mask = _mask(generation)

    def known(position: int, lease: bytes) -> tuple[float, int, Row]:
        if lease:
            return read_lease(lease)
        if (packed := contents.get(field_of(position))) is None:
            number = b"%d" % (position // ROWS)
            if number not in together:
                together[number] = read_rows(contents[number]) if number in contents else {}
            if (packed := together[number].get(position % ROWS)) is None:
                raise ValueError("it has no row")
        return float("inf"), NEVER, read_row(packed)

    def read(position: int, distance: int, run: int, own: bytes, lease: bytes, copy: int) -> Told:
        entry = position << _CHECK | int.from_bytes(own[-3:], "big") ^ mask
        try:
            ends, back, (key, scope, facts, time) = known(position, lease)
        except (ValueError, struct.error, zlib.error) as error:
            pass_over(f"entry {position}: {error}")
            unread = Match(entry, "", distance, 0, bool(lease), run=run)
            return Told(unread, own, is_sound=False)
        match = Match(
            *(entry, key, distance, time, bool(lease), "", facts, run, scope),
            *(ends <= now, not lease or back != NEVER, bool(copy)),
        )
        return Told(match, own)

    found = [[read(*entry) for entry in answer] for answer in answers]
    return [sorted(some, key=lambda one: nearest(one.match)) for some in found]


def _mask(generation: str) -> int:
    return int.from_bytes(bytes.fromhex(generation)[: _CHECK // 8], "big")
