"""How the claims of one call are answered, given what is near and what the log says of it."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import Arrival, Claim, IndexSpec, Judge, Match, Outcome, Ruling
from scrapy_simhash.index.log import Log, Record
from scrapy_simhash.index.neighbours import (
    Near,
    distances,
    packed_blocks,
    packed_words,
)

OWN = Ruling(True, "key")


def ruling(judge: Judge, page: Arrival, key: str, facts: bytes, distance: int) -> Ruling:
    """Judge whether a page repeats an entry; one of its own key is OWN."""
    return OWN if key == page.key else judge(page.key, page.facts, key, facts, distance)


def in_scope(fingerprint: Fingerprint, scope: str) -> Fingerprint:
    """Return a fingerprint with the bits of value and blocks flipped that its scope flips.

    So pages of different scopes are neither near nor share a bucket. Done twice, it is undone.
    """
    if not scope:
        return fingerprint
    content = fingerprint.to_bytes() + fingerprint.blocks
    mask = hashlib.shake_128(scope.encode()).digest(len(content))
    flipped = int.from_bytes(content, "big") ^ int.from_bytes(mask, "big")
    return read_fingerprint(flipped.to_bytes(len(content), "big"), fingerprint.bits)


def read_fingerprint(content: bytes, bits: int) -> Fingerprint:
    """Return a fingerprint, given as the bytes of its value and of its blocks."""
    size = bits // 8
    return Fingerprint(int.from_bytes(content[:size], "big"), bits, content[size:])


class Pages:
    """The pages of one call, as an index compares them.

    Attributes:
        arrivals: the pages.
        fingerprints: those of the pages, in their scopes.
        words: their values, shape (n, bits / 64).
        blocks: their block values, shape (n, blocks).

    Raises:
        ValueError: a page cannot stand in the index.
    """

    def __init__(self, arrivals: Sequence[Arrival], spec: IndexSpec) -> None:
        for page in arrivals:
            spec.check(page)
        self.arrivals = arrivals
        self.fingerprints = [in_scope(page.fingerprint, page.scope) for page in arrivals]
        self.words = packed_words([own.to_bytes() for own in self.fingerprints], spec.bits)
        self.blocks = packed_blocks([own.blocks for own in self.fingerprints], spec.blocks)

    def twins(self, distance: int) -> list[Near]:
        """Return for each page (distance, index) of the earlier ones near it."""
        twins: list[Near] = [[] for _ in self.arrivals]
        between = distances(self.words[:, None], self.words)
        for i, j in np.argwhere(between <= distance).tolist():
            if j < i:
                twins[i].append((int(between[i, j]), j))
        return twins


@dataclass(eq=False, slots=True)
class Decision:
    """The answers to the claims of one call, one after the other, and the changes they make.

    Attributes:
        near: for each page, the entries near it.
        records: these entries; deleted ones are missing.
        new: the entries of pages that become originals, by the page's index.
        leased: entries whose leases begin now, the new ones among them, by position.
        deleted: positions of expired copies, whose place a page takes.
    """

    pages: Pages
    spec: IndexSpec
    log: Log
    now: float
    near: list[Near]
    records: dict[int, Record]
    new: dict[int, Record]
    leased: dict[int, Record] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    claims: list[Claim] = field(init=False)
    _twins: list[Near] = field(init=False)
    _last: int = field(init=False)

    def __post_init__(self) -> None:
        self._twins, self._last = self.pages.twins(self.spec.reach), self.log.last()
        self.claims = [self._answer(*page) for page in enumerate(self.pages.arrivals)]

    def _answer(self, index: int, page: Arrival) -> Claim:
        own: list[Record] = []
        matches: list[Match] = []
        others: list[Match] = []
        expired: list[Record] = []
        for distance, record in self._found(index):
            judged = ruling(self.spec.judge, page, record.key, record.facts, distance)
            match = record.match(distance, judged.reason)
            if judged is OWN:
                own.append(record)
                matches.append(match)
            elif not self.log.is_expired(record, self.now):
                (matches if judged.is_copy else others).append(match)
            elif judged.is_copy:
                expired.append(record)
        if own:
            for record in own:
                if record.owner is not None:
                    self._lease(page, record[:5], record.adoptions)
            return Claim(Outcome.REVISIT, tuple(matches), tuple(others))
        if matches:
            return Claim(Outcome.DUPLICATE, tuple(matches), tuple(others))
        for record in expired:
            self.deleted.add(record.position)
            del self.records[record.position]
        position = self._last + len(self.new) + 1
        # Whole seconds take half the room in a file.
        entry = (position, page.key, page.scope, page.facts, float(int(self.now)))
        self.new[index] = self._lease(page, entry, adoptions=0)
        return Claim(Outcome.ORIGINAL, (), tuple(others))

    def _lease(
        self, page: Arrival, entry: tuple[int, str, str, bytes, float], adoptions: int
    ) -> Record:
        expires = self.now + self.spec.lease
        leased = Record(*entry, self.log.crawler, expires, adoptions, page.request)
        self.leased[leased.position] = self.records[leased.position] = leased
        return leased

    def _found(self, index: int) -> Iterator[tuple[int, Record]]:
        """Yield distance and entry of what is near a page, nearest first, then oldest."""
        near = [*self.near[index]]
        for distance, twin in self._twins[index]:
            if twin in self.new:
                near.append((distance, self.new[twin].position))
        for distance, position in sorted(near):
            if record := self.records.get(position):
                yield distance, record
