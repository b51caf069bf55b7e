"""Answers claims, given what is near."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simhash.index.entry_states import Record, State
from scrapy_simhash.index.neighbours import Near
from scrapy_simhash.index.values import (
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
#: Near entries of a page that are judged at most, the nearest ones.
RULINGS = 32
#: The position of an entry that is not written yet is this and the number of its page.
UNWRITTEN = 1 << 96


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
    def of(cls, run: Run, runs: Iterable[Run]) -> Era:
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
        sees: the own entry of an earlier run, which is seen in this run, as confirmed as it was.
        since: when the text of a page that is admitted was admitted before; None if it never was.
    """

    claim: Claim
    admits: bool = False
    replaces: tuple[Match, ...] = ()
    keeps: Match | None = None
    sees: Match | None = None
    since: float | None = None


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

    def decide(self, candidates: Iterable[Match]) -> Step:
        """Return what the claim does, given all that is near the page or has one of its keys."""
        page, era = self.arrival, self.era
        candidates = sorted(candidates, key=nearest)
        owns = [match for match in candidates if match.key == page.key]
        entry = max(owns, key=lambda match: match.entry, default=None)
        is_as_before = entry is not None and self._is_as_before(entry)
        came_before = [match for match in candidates if match not in owns and match.run == era.run]
        if entry and is_as_before and (era.has_seen(entry) or not came_before):
            return self._go_on(entry)
        copies, distinct = self._judged(match for match in candidates if match not in owns)
        living = [match for match in copies if not (match.expired or self._is_old(match))]
        matches = tuple(living)
        near = tuple(match for match in distinct if not match.expired)
        # Places beside the page's own; an expired entry holds one until that is needed.
        free = self.spec.copies - len(living) - 1
        undelivered = [match for match in copies if match not in living and not match.delivered]
        undelivered = undelivered[: max(0, len(undelivered) - free)]
        if entry and era.has_seen(entry):
            claim = Claim(Outcome.REVISIT, (_as_own(entry), *matches), near)
            if free < 0:
                return Step(claim, keeps=entry if entry.provisional else None)
            return Step(claim, admits=True, replaces=(*owns, *undelivered))
        if free < 0:
            claim = Claim(Outcome.DUPLICATE, matches, near)
            sees = entry if entry and entry.delivered and is_as_before else None
            return Step(claim, replaces=tuple(o for o in owns if not o.delivered), sees=sees)
        if entry and is_as_before:
            return self._go_on(entry)
        change, before, since = Change.NEW, None, None
        named = [match for match in candidates if match.key in page.aliases and self._is_old(match)]
        old = [match for match in copies if match.delivered and match not in living]
        moved = (named or old)[:1]
        if entry:
            moved = []
            if entry.delivered:
                change, before = Change.CHANGED, entry
        elif moved and moved[0].delivered:
            change, before = Change.MOVED, moved[0]
            since = before.time if self._is_same(before) else None
        claim = Claim(Outcome.ORIGINAL, matches, near, change, before)
        # The end of the run tells whether a page without an alias has left its old address.
        left = [match for match in moved if match.key in page.aliases or not match.delivered]
        replaces = {match.entry: match for match in (*owns, *undelivered, *left)}
        return Step(claim, admits=True, replaces=tuple(replaces.values()), since=since)

    def _go_on(self, entry: Match) -> Step:
        """Return what the claim of a page does that is as its own entry has it."""
        step, page = self._keep(entry), self.arrival
        if self.era.has_seen(entry) or (page.facts, 0) == (entry.facts, entry.distance):
            return step
        # The rest of the page is not as it was, and copies are judged by that, too.
        since = entry.time if entry.delivered else None
        return step._replace(admits=True, replaces=(entry,), keeps=None, since=since)

    def _is_as_before(self, entry: Match) -> bool:
        if self.era.has_seen(entry):
            return entry.distance <= self.spec.reach
        return self._is_same(entry)

    def _is_same(self, match: Match) -> bool:
        return self.spec.same(self.arrival.facts, match.facts, match.distance)

    def _keep(self, entry: Match) -> Step:
        if self.era.has_seen(entry):
            is_old = entry.delivered and entry.time < int(self.era.begun)
            change = Change.SAME if is_old and self._is_same(entry) else None
            claim = Claim(Outcome.REVISIT, (_as_own(entry),), change=change)
            return Step(claim, keeps=entry if entry.provisional else None)
        if entry.delivered:
            claim = Claim(Outcome.ORIGINAL, change=Change.SAME, before=entry)
        else:  # nobody has got the page
            claim = NEAR_NOTHING
        return Step(claim, keeps=entry)

    def _is_old(self, match: Match) -> bool:
        return match.run in self.era.earlier

    def _judged(self, near: Iterable[Match]) -> tuple[list[Match], list[Match]]:
        """Return copies, and other pages, of the entries within reach, with the reasons."""
        copies, distinct = list[Match](), list[Match]()
        for match in near:
            if match.distance > self.spec.reach:
                continue
            at = match.entry
            if at not in self.rulings:
                if len(self.rulings) >= RULINGS:
                    self.unjudged += 1
                    continue
                self.rulings[at] = ruling(self.spec.judge, self.arrival, match)
            verdict = self.rulings[at]
            (copies if verdict.is_copy else distinct).append(match._replace(reason=verdict.reason))
        return copies, distinct


def _as_own(match: Match) -> Match:
    return match._replace(reason=OWN.reason)


def nearest(match: Match) -> tuple[int, int]:
    """Return a key by which entries are sorted: the nearest first, then the oldest."""
    return match.distance, match.entry


@dataclass(eq=False, slots=True)
class Decision:
    """The answers to the claims of some pages, one after the other, and the changes they make.

    Attributes:
        pages: the pages by their numbers, in order.
        twins: for each page, the earlier ones near it or of its key.
        lease: the state of an entry whose lease begins now.
        is_expired: tells whether a state's lease has run out.
        near: for each page, the entries near it or of one of its keys.
        records: these entries; deleted ones are missing.
        new: the entries of pages that become originals, by the page's number.
        leased: entries whose leases begin now, the new ones among them, by position.
        seen: entries of earlier runs that are seen in this run, by position.
        deleted: positions of entries whose place a page takes.
        unjudged: near entries that were too many to be judged.
        claims: the answers, by the page's number.
    """

    pages: dict[int, Arrival]
    twins: Sequence[Near]
    spec: IndexSpec
    era: Era
    now: float
    lease: State
    is_expired: Callable[[State], bool]
    near: dict[int, Near]
    records: dict[int, Record]
    new: dict[int, Record] = field(default_factory=dict)
    leased: dict[int, Record] = field(default_factory=dict)
    seen: dict[int, Record] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    unjudged: int = 0
    claims: dict[int, Claim] = field(init=False)

    def __post_init__(self) -> None:
        self.claims = {number: self._answer(number, page) for number, page in self.pages.items()}

    def _answer(self, number: int, page: Arrival) -> Claim:
        claimant = Claimant(page, self.spec, self.era)
        step = claimant.decide(self._candidates(number, page))
        self.unjudged += claimant.unjudged
        for match in step.replaces:
            self._delete(match.entry)
        if step.admits:
            self._admit(number, page, step.since)
        if step.keeps:
            self._keep(self.records[step.keeps.entry])
        if step.sees:
            entry = self.records[step.sees.entry]
            if entry.state.owner is None:
                entry = entry._replace(state=State(self.era.run))
                self.seen[entry.position] = self.records[entry.position] = entry
        return step.claim

    def _admit(self, number: int, page: Arrival, since: float | None) -> None:
        position = UNWRITTEN + number
        time = float(int(since or self.now))
        record = Record(position, page.key, page.scope, page.facts, time, self.lease)
        self.new[number] = self.leased[position] = self.records[position] = record

    def _keep(self, entry: Record) -> None:
        """Lease the own entry; one of another run remembers that run, if it was confirmed there."""
        state = entry.state
        back = state.run if state.owner is None else state.back
        entry = entry._replace(state=self.lease._replace(run=self.era.run or state.run, back=back))
        self.seen.pop(entry.position, None)
        self.leased[entry.position] = self.records[entry.position] = entry

    def _delete(self, position: int) -> None:
        del self.records[position]
        self.leased.pop(position, None)
        self.seen.pop(position, None)
        if position >= UNWRITTEN:
            del self.new[position - UNWRITTEN]
        else:
            self.deleted.add(position)

    def _candidates(self, number: int, page: Arrival) -> Iterator[Match]:
        """Yield what has one of a page's keys in its scope, and the nearest ones of the others."""
        near, names = self.near.get(number, []), {page.key, *page.aliases}
        if twins := [(d, UNWRITTEN + n) for d, n in self.twins[number] if n in self.new]:
            near = sorted(near + twins)
        count = 0
        for distance, position in near:
            record = self.records.get(position)
            if record is None:
                continue
            is_named = record.key in names and record.scope == page.scope
            if not is_named and distance <= self.spec.reach:
                count += 1
                self.unjudged += count > RULINGS
            if is_named or (distance <= self.spec.reach and count <= RULINGS):
                yield record.match(distance, expired=self.is_expired(record.state))
