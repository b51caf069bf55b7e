"""How the claims of one call are answered, given what is near and what the log says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scrapy_simhash.index.contract import Arrival, Claim, IndexSpec, Match, Outcome, Ruling
from scrapy_simhash.index.log import Lease, Record
from scrapy_simhash.index.neighbours import Near, bit_count, packed_words, scoped

_OWN = Ruling(True, "key")
_ORIGINAL = Claim(Outcome.ORIGINAL)


class _Found(NamedTuple):
    """An entry within the distance of a page."""

    distance: int
    record: Record
    living: bool
    ruling: Ruling

    @property
    def match(self) -> Match:
        record = self.record
        is_provisional = record.lease is not None
        return Match(
            record.position, record.key, self.distance, record.time, is_provisional,
            self.ruling.reason,
        )  # fmt: skip


class Pages:
    """The pages of one call, as numpy compares them.

    Attributes:
        arrivals: the pages.
        values: their fingerprints as bytes.
        words: the same, shape (n, bits / 64).
        blocks: their block values within their scopes, shape (n, blocks).

    Raises:
        ValueError: a page cannot stand in the index.
    """

    def __init__(self, arrivals: Sequence[Arrival], spec: IndexSpec) -> None:
        for page in arrivals:
            spec.check(page.fingerprint, page.facts, page.key, page.scope, page.request)
        self.arrivals = arrivals
        self.values = [arrival.fingerprint.to_bytes() for arrival in arrivals]
        self.words = packed_words(self.values, spec.bits)
        self.blocks = scoped([(a.scope, a.fingerprint.blocks) for a in arrivals], spec.blocks)

    def twins(self, distance: int) -> list[Near]:
        """Return for each page (distance, index) of the earlier pages that are near it."""
        twins: list[Near] = [[] for _ in self.arrivals]
        distances = np.zeros((len(twins), len(twins)), np.uint16)
        for column in self.words.T:
            distances += bit_count(column[:, None] ^ column)
        later, earlier = np.nonzero(np.tril(distances <= distance, -1))
        for i, j in zip(later.tolist(), earlier.tolist(), strict=True):
            if self.arrivals[i].scope == self.arrivals[j].scope:
                twins[i].append((int(distances[i, j]), j))
        return twins


class Decision:
    """Answers the claims of one call, in two steps; a pure function of what it is given.

    Args:
        pages: the pages of the call.
        near: for each page (distance, position) of the entries near it.
        spec: how the index was opened.
        is_expired: whether a lease is.
        lease: what a page that is in progress from now on is leased to, without a request.
        now: seconds since the Unix epoch.

    Attributes:
        claims: the answers; None as long as one is open.
        admitted: indexes of the pages that become originals.
        new: their records, by position.
        leased: entries that are leased anew, by position.
        deleted: positions of expired copies, whose place a page takes.
    """

    def __init__(
        self,
        pages: Pages,
        near: list[Near],
        spec: IndexSpec,
        is_expired: Callable[[Lease], bool],
        lease: Lease,
        now: float,
    ) -> None:
        self._arrivals = pages.arrivals
        self._near = near
        self._twins = pages.twins(spec.distance)
        self._spec = spec
        self._is_expired = is_expired
        self._lease = lease
        # Whole seconds take half the room in a file.
        self._now = float(int(now))
        self._rulings: dict[tuple[int, int], Ruling] = {}
        self._positions: dict[int, int] = {}
        self.claims: list[Claim | None] = [None] * len(near)
        self.admitted: list[int] = []
        self.new: dict[int, Record] = {}
        self.leased: dict[int, Record] = {}
        self.deleted: set[int] = set()

    @property
    def open_near(self) -> list[Near]:
        """The entries near the pages whose claim is open."""
        return [near for near, claim in zip(self._near, self.claims, strict=True) if claim is None]

    def settle(self, records: Mapping[int, Record]) -> None:
        """Answer the claims that change nothing and hang on no other page of the call."""
        for index, (near, twins) in enumerate(zip(self._near, self._twins, strict=True)):
            if near and not twins:
                found = self._judged(index, records)
                claim = _answer(found)
                changes = claim.outcome is Outcome.ORIGINAL or any(
                    not f.living or (f.ruling is _OWN and f.record.lease) for f in found
                )
                self.claims[index] = None if changes else claim

    def decide(self, records: dict[int, Record], later: list[Near], last: int) -> list[Claim]:
        """Answer the other claims, one after the other, under the store's write lock.

        Args:
            records: the entries that are near the open pages.
            later: what came since the first step and is near, for each page.
            last: the last position in the log.

        Returns:
            all answers.
        """
        claims = []
        for index, claim in enumerate(self.claims):
            if claim is None:
                near = self._near[index]
                near += later[index]
                near += [
                    (distance, self._positions[twin])
                    for distance, twin in self._twins[index]
                    if twin in self._positions
                ]
                claim = self._decided(index, records) if near else _ORIGINAL
                if claim.outcome is Outcome.ORIGINAL:
                    self._admit(index, last + len(self.new) + 1)
            claims.append(claim)
        return claims

    def _decided(self, index: int, records: dict[int, Record]) -> Claim:
        self._near[index].sort()
        found = self._judged(index, {**records, **self.leased, **self.new})
        claim = _answer(found)
        if claim.outcome is Outcome.ORIGINAL:
            for position in (f.record.position for f in found if f.ruling.is_copy):
                self.deleted.add(position)
                del records[position]
        for record in (f.record for f in found if f.ruling is _OWN):
            if record.lease is not None:
                request = self._arrivals[index].request
                lease = self._lease._replace(adoptions=record.lease.adoptions, request=request)
                leased = self.new if record.position in self.new else self.leased
                leased[record.position] = record._replace(lease=lease)
        return claim

    def _admit(self, index: int, position: int) -> None:
        page = self._arrivals[index]
        lease = Lease(self._lease.owner, self._lease.expires, 0, page.request)
        self.admitted.append(index)
        self._positions[index] = position
        self.new[position] = Record(position, page.key, page.scope, page.facts, self._now, lease)

    def _judged(self, index: int, records: Mapping[int, Record]) -> list[_Found]:
        """Return the entries near a page, nearest first, then oldest, each with its ruling."""
        arrival = self._arrivals[index]
        found = []
        for distance, position in self._near[index]:
            record = records.get(position)
            if record is not None and record.scope == arrival.scope:
                ruling = self._rulings.get((index, position))
                if ruling is None:
                    ruling = self._rulings[index, position] = self._ruling(
                        arrival, record, distance
                    )
                living = record.lease is None or not self._is_expired(record.lease)
                found.append(_Found(distance, record, living, ruling))
        return found

    def _ruling(self, page: Arrival, record: Record, distance: int) -> Ruling:
        if record.key == page.key:
            return _OWN
        return self._spec.judge(page.key, page.facts, record.key, record.facts, distance)


def _answer(found: list[_Found]) -> Claim:
    is_revisit = any(f.ruling is _OWN for f in found)
    copies = [f for f in found if f.ruling is _OWN or (f.ruling.is_copy and f.living)]
    near = tuple(f.match for f in found if f.living and not f.ruling.is_copy)
    outcome = Outcome.DUPLICATE if copies else Outcome.ORIGINAL
    return Claim(Outcome.REVISIT if is_revisit else outcome, tuple(f.match for f in copies), near)
