"""How claims are answered, given what is near, and what the log says of it."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import Arrival, Claim, IndexSpec, Match, Outcome
from scrapy_simhash.index.log import Log, Record
from scrapy_simhash.index.neighbours import Near, distances, unpacked
from scrapy_simhash.rule.ruling import Judge, Page, Ruling

OWN = Ruling(True, "key")
NEAR_NOTHING = Claim(Outcome.ORIGINAL)


def ruling(judge: Judge, page: Arrival, near: Match) -> Ruling:
    """Judge whether a page repeats an entry; one of its own key is OWN."""
    if near.key == page.key:
        return OWN
    return judge(Page(page.key, page.facts), Page(near.key, near.facts), near.distance)


def in_scope(content: bytes, scope: str) -> bytes:
    """Return the bytes of a fingerprint and of its blocks with the bits flipped that a scope flips.

    So pages of different scopes are neither near nor share a bucket. Done twice, it is undone.
    """
    if not scope:
        return content
    mask = hashlib.shake_128(scope.encode()).digest(len(content))
    flipped = int.from_bytes(content, "big") ^ int.from_bytes(mask, "big")
    return flipped.to_bytes(len(content), "big")


def read_fingerprint(content: bytes, scope: str, bits: int) -> Fingerprint:
    """Return the fingerprint of a page, given its bytes, and those of its blocks, in its scope."""
    content, size = in_scope(content, scope), bits // 8
    return Fingerprint(int.from_bytes(content[:size], "big"), bits, content[size:])


class Pages:
    """The pages of one call, as an index compares them.

    Attributes:
        contents: their fingerprints and blocks, in their scopes, as bytes.
        words: their fingerprints, shape (n, bits / 64).
        blocks: their block values, shape (n, blocks).
    """

    def __init__(self, arrivals: Sequence[Arrival], spec: IndexSpec) -> None:
        self.arrivals = arrivals
        self.contents = [
            in_scope(page.fingerprint.to_bytes() + page.fingerprint.blocks, page.scope)
            for page in arrivals
        ]
        self.words, self.blocks = unpacked(b"".join(self.contents), spec.bits, spec.blocks)

    def twins(self, distance: int) -> list[Near]:
        """Return for each page (distance, index) of the earlier ones near it."""
        twins: list[Near] = [[] for _ in self.arrivals]
        between = distances(self.words[:, None], self.words).ravel()
        for at in (between <= distance).nonzero()[0].tolist():
            i, j = divmod(at, len(twins))
            if j < i:
                twins[i].append((int(between[at]), j))
        return twins


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

    def hear(self, near: Iterable[tuple[Match, bool]], judge: Judge) -> Claim:
        """Judge entries near the page, nearest first, each with whether it has expired.

        Return the answer, with all that was heard; it is that of an original if no copy is near.
        """
        copies, outcome = [], Outcome.DUPLICATE
        for found, is_expired in near:
            judged = ruling(judge, self.arrival, found)
            match = found._replace(reason=judged.reason)
            if judged is OWN:
                outcome = Outcome.REVISIT
            if not judged.is_copy:
                self.spared.add(match.entry)
                if not is_expired:
                    self.others.append(match)
            elif judged is OWN or not is_expired:
                copies.append(match)
            else:
                self.expired.add(match.entry)
        others = tuple(sorted(self.others, key=nearest))
        return Claim(outcome if copies else Outcome.ORIGINAL, tuple(copies), others)

    def own(self, claim: Claim) -> list[int]:
        """Return the provisional entries of the page's key in its answer."""
        return [m.entry for m in claim.matches if m.provisional and m.key == self.arrival.key]


def nearest(match: Match) -> tuple[int, int]:
    """Return a key by which entries are sorted: the nearest first, then the oldest."""
    return match.distance, match.entry


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
        if not self.near[index] and not self._twins[index]:  # as of nearly all pages
            self._admit(index, page)
            return NEAR_NOTHING
        claimant = Claimant(page)
        claim = claimant.hear(self._found(index), self.spec.judge)
        if claim.outcome is Outcome.ORIGINAL:
            self.deleted |= claimant.expired
            for position in claimant.expired:
                del self.records[position]
            self._admit(index, page)
        for position in claimant.own(claim):
            own = self.records[position]
            self._lease(page, own[:5], own.adoptions)
        return claim

    def _admit(self, index: int, page: Arrival) -> None:
        position = self._last + len(self.new) + 1
        # Whole seconds take half the room in a file.
        entry = (position, page.key, page.scope, page.facts, float(int(self.now)))
        self.new[index] = self._lease(page, entry)

    def _lease(
        self, page: Arrival, entry: tuple[int, str, str, bytes, float], adoptions: int = 0
    ) -> Record:
        expires = self.now + self.spec.lease
        leased = Record(*entry, self.log.crawler, expires, adoptions, page.request)
        self.leased[leased.position] = self.records[leased.position] = leased
        return leased

    def _found(self, index: int) -> Iterator[tuple[Match, bool]]:
        """Yield what is near a page, nearest first, then oldest, and whether it has expired."""
        new = [(d, self.new[twin].position) for d, twin in self._twins[index] if twin in self.new]
        for distance, position in sorted(self.near[index] + new):
            if record := self.records.get(position):
                yield record.match(distance), self.log.is_expired(record, self.now)
