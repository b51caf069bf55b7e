"""How claims are answered, given what is near, and what the log says of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simhash.index.log import Log, Record
from scrapy_simhash.index.neighbours import Near
from scrapy_simhash.index.pages import Pages
from scrapy_simhash.index.values import (
    MAX_WAITING,
    Arrival,
    Change,
    Claim,
    IndexSpec,
    Match,
    Outcome,
    Run,
)
from scrapy_simhash.rule.ruling import Judge, Page, Ruling

OWN = Ruling(True, "key")
NEAR_NOTHING = Claim(Outcome.ORIGINAL, change=Change.NEW)
# Near entries of a page that are judged at most, the nearest ones.
RULINGS = 32


def ruling(judge: Judge, page: Arrival, near: Match) -> Ruling:
    """Judge whether a page repeats an entry; one of its own key is OWN."""
    if near.key == page.key:
        return OWN
    return judge(Page(page.key, page.facts), Page(near.key, near.facts), near.distance)


class Era(NamedTuple):
    """The run to which claims belong, 0 for none, the earlier runs of its spider, and its begin."""

    run: int = 0
    earlier: frozenset[int] = frozenset()
    begun: float = 0.0

    @classmethod
    def of(cls, run: Run, runs: Iterable[Run]) -> "Era":
        earlier = (r.number for r in runs if r.spider == run.spider and r.number < run.number)
        return cls(run.number, frozenset(earlier), run.begun)

    def has_seen(self, match: Match) -> bool:
        return self.run in (0, match.run)


class Step(NamedTuple):
    """The effect of a claim.

    Attributes:
        admits: the page becomes an entry.
        replaces: entries that are deleted.
        keeps: the own entry, which is seen in this run and leased to this crawler.
        since: when the text of a page that is admitted was admitted before; None if it never was.
        waits_on: the entry beside whose lease the page's request is kept.
    """

    claim: Claim
    admits: bool = False
    replaces: tuple[Match, ...] = ()
    keeps: Match | None = None
    since: float | None = None
    waits_on: Match | None = None


@dataclass(slots=True)
class Claimant:
    """A page on its way to its answer.

    Attributes:
        unjudged: near entries that were too many to be judged.
        rulings: what was judged so far, by the position of the entry.
    """

    arrival: Arrival
    spec: IndexSpec
    era: Era
    unjudged: int = 0
    rulings: dict[int, Ruling] = field(default_factory=dict)

    def decide(self, found: Iterable[Match]) -> Step:
        """Return what the claim does, given all that is near the page or has one of its keys."""
        page, era = self.arrival, self.era
        found = sorted(found, key=nearest)
        owns = [one for one in found if one.key == page.key]
        own = max(owns, key=lambda one: one.entry, default=None)
        if own and self._is_as_before(own):
            step = self._keep(own)
            if era.has_seen(own) or (page.facts, 0) == (own.facts, own.distance):
                return step
            # The rest of the page is not as it was, and copies are judged by that, too.
            since = own.time if own.delivered else None
            return step._replace(admits=True, replaces=(own,), keeps=None, since=since)
        copies, others = self._judged(one for one in found if one not in owns)
        living = [one for one in copies if not (one.expired or self._is_old(one))]
        matches = tuple(living)
        near = tuple(one for one in others if not one.expired)
        # Places beside the page's own; an expired entry holds one until that is needed.
        free = self.spec.copies - len(living) - 1
        lost = [one for one in copies if one not in living and not one.delivered]
        lost = lost[: max(0, len(lost) - free)]
        if own and era.has_seen(own):
            claim = Claim(Outcome.REVISIT, (_as_own(own), *matches), near)
            if free < 0:
                return Step(claim, keeps=own if own.provisional else None)
            return Step(claim, admits=True, replaces=(*owns, *lost))
        if free < 0:
            claim = Claim(Outcome.DUPLICATE, matches, near)
            return Step(claim, replaces=tuple(owns), waits_on=self._original_in_progress(living))
        change, before, since = Change.NEW, None, None
        named = [one for one in found if one.key in page.aliases and self._is_old(one)]
        moved = named[:1] or [one for one in copies if one.delivered and one not in living][:1]
        if own:
            moved = []
            if own.delivered:
                change, before = Change.CHANGED, own
        elif moved and moved[0].delivered:
            change, before = Change.MOVED, moved[0]
            since = before.time if self._is_same(moved[0]) else None
        claim = Claim(Outcome.ORIGINAL, matches, near, change, before)
        replaces = {one.entry: one for one in (*owns, *lost, *moved)}
        return Step(claim, admits=True, replaces=tuple(replaces.values()), since=since)

    def _is_as_before(self, own: Match) -> bool:
        if self.era.has_seen(own):
            return own.distance <= self.spec.reach
        return self._is_same(own)

    def _is_same(self, one: Match) -> bool:
        return self.spec.same(self.arrival.facts, one.facts, one.distance)

    def _keep(self, own: Match) -> Step:
        if self.era.has_seen(own):
            is_old = own.delivered and own.time < int(self.era.begun)
            change = Change.SAME if is_old and self._is_same(own) else None
            claim = Claim(Outcome.REVISIT, (_as_own(own),), change=change)
            return Step(claim, keeps=own if own.provisional else None)
        if own.delivered:
            claim = Claim(Outcome.ORIGINAL, change=Change.SAME, before=own)
        else:  # nobody has got the page
            claim = NEAR_NOTHING
        return Step(claim, keeps=own)

    def _original_in_progress(self, living: list[Match]) -> Match | None:
        """Return the entry beside which this copy's request is to be kept."""
        request, nearest = self.arrival.request, living[0]
        if request is None or len(request.encode()) > MAX_WAITING or nearest.has_copy:
            return None
        return nearest if all(one.provisional for one in living) else None

    def _is_old(self, one: Match) -> bool:
        return one.run in self.era.earlier

    def _judged(self, near: Iterable[Match]) -> tuple[list[Match], list[Match]]:
        """Return copies, and other pages, of the entries within reach, with the reasons."""
        copies, others = list[Match](), list[Match]()
        for one in near:
            if one.distance > self.spec.reach:
                continue
            at = one.entry
            if at not in self.rulings:
                if len(self.rulings) >= RULINGS:
                    self.unjudged += 1
                    continue
                self.rulings[at] = ruling(self.spec.judge, self.arrival, one)
            judged = self.rulings[at]
            (copies if judged.is_copy else others).append(one._replace(reason=judged.reason))
        return copies, others


def _as_own(own: Match) -> Match:
    return own._replace(reason=OWN.reason)


def nearest(match: Match) -> tuple[int, int]:
    """Return a key by which entries are sorted: the nearest first, then the oldest."""
    return match.distance, match.entry


@dataclass(eq=False, slots=True)
class Decision:
    """The answers to the claims of one call, one after the other, and the changes they make.

    Attributes:
        near: for each page, the entries near it or of one of its keys.
        records: these entries; deleted ones are missing.
        new: the entries of pages that become originals, by the page's index.
        leased: entries whose leases begin now, the new ones among them, by position.
        waited_on: entries of other leases beside which a copy's request is kept now, by position.
        seen: positions of entries of other runs, which are seen in this run now.
        deleted: positions of entries whose place a page takes.
        unjudged: near entries that were too many to be judged.
    """

    pages: Pages
    spec: IndexSpec
    log: Log
    era: Era
    now: float
    near: list[Near]
    records: dict[int, Record]
    new: dict[int, Record]
    leased: dict[int, Record] = field(default_factory=dict)
    waited_on: dict[int, Record] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    unjudged: int = 0
    claims: list[Claim] = field(init=False)
    _twins: list[Near] = field(init=False)
    _next: int = field(init=False)

    def __post_init__(self) -> None:
        self._twins, self._next = self.pages.twins(self.spec.reach), self.log.last() + 1
        self.claims = [self._answer(*page) for page in enumerate(self.pages.arrivals)]

    def _answer(self, index: int, page: Arrival) -> Claim:
        if not self.near[index] and not self._twins[index]:  # as of nearly all pages
            self._admit(index, page)
            return NEAR_NOTHING
        claimant = Claimant(page, self.spec, self.era)
        step = claimant.decide(self._found(index, page))
        self.unjudged += claimant.unjudged
        lost = [self._delete(one.entry) for one in step.replaces]
        if step.admits:
            self._admit(index, page, step.since, *self._copy(lost, page))
        if step.waits_on:
            self._wait(page, self.records[step.waits_on.entry])
        if step.keeps:
            self._keep(page, self.records[step.keeps.entry])
        return step.claim

    def _copy(self, lost: list[Record], page: Arrival) -> list[tuple[str | None, str | None]]:
        """Return the oldest entry with a request, else the copy of the oldest one that has one.

        The crawler of such an entry is dead, but that of its copy may live. The page itself waits
        on nobody.
        """
        lost = sorted(lost)
        pages = [(one.owner, one.request) for one in lost if one.request and one.key != page.key]
        copies = [copy for one in lost if (copy := one.copy)]
        return [one for one in (*pages, *copies) if one[1] != page.request][:1]

    def _admit(
        self,
        index: int,
        page: Arrival,
        since: float | None = None,
        copy: tuple[str | None, str | None] = (None, None),
    ) -> None:
        position, now = self._next, self.now
        self._next += 1
        # Whole seconds take half the room in a file.
        time, run, expires = float(int(since or now)), self.era.run, now + self.spec.lease
        entry = (position, page.key, page.scope, page.facts, time, run)
        record = Record(*entry, self.log.crawler, expires, 0, page.request, None, *copy)
        self.new[index] = self.leased[position] = self.records[position] = record

    def _keep(self, page: Arrival, own: Record) -> None:
        """Lease the own entry; one of another run remembers that run, if it was confirmed there."""
        back = own.run if own.owner is None else own.back
        if own.run != self.era.run and self.era.run:
            self.seen.add(own.position)
            own = own._replace(run=self.era.run)
        expires, (copier, waiting) = self.now + self.spec.lease, own.copy or (None, None)
        own = own._replace(owner=self.log.crawler, expires=expires, request=page.request, back=back)
        own = own._replace(copier=copier, waiting=waiting)
        self.leased[own.position] = self.records[own.position] = own
        self.waited_on.pop(own.position, None)

    def _wait(self, page: Arrival, original: Record) -> None:
        original = original._replace(copier=self.log.crawler, waiting=page.request)
        at = original.position
        self.records[at] = (self.leased if at in self.leased else self.waited_on)[at] = original

    def _delete(self, position: int) -> Record:
        record = self.records.pop(position)
        self.leased.pop(position, None)
        self.waited_on.pop(position, None)
        self.seen.discard(position)
        self.deleted.add(position)
        for index in [n for n, new in self.new.items() if new.position == position]:
            del self.new[index]
        return record

    def _found(self, index: int, page: Arrival) -> Iterator[Match]:
        """Yield what has one of a page's keys in its scope, and the nearest ones of the others."""
        twins = [(d, self.new[twin].position) for d, twin in self._twins[index] if twin in self.new]
        near, names = self.near[index], {page.key, *page.aliases}
        others = 0
        for distance, position in sorted(near + twins) if twins else near:
            record = self.records.get(position)
            if record is None:
                continue
            is_named = record.key in names and record.scope == page.scope
            if not is_named and distance <= self.spec.reach:
                others += 1
                self.unjudged += others > RULINGS
            if is_named or (distance <= self.spec.reach and others <= RULINGS):
                is_expired = self.log.is_expired(record, self.now)
                yield record.match(distance, expired=is_expired)
