"""Answers claims, given what is near."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simhash.index.entry_states import Record, State
from scrapy_simhash.index.lookups import Near
from scrapy_simhash.index.values import (
    Arrival,
    Change,
    Claim,
    IndexSpec,
    Match,
    Outcome,
    Run,
)
from scrapy_simhash.index.verbs import Part, Stored
from scrapy_simhash.rule.ruling import Page

NEAR_NOTHING = Claim(Outcome.ORIGINAL, change=Change.NEW)
#: Near entries of a page that are judged at most, the nearest ones, besides those of its keys.
RULINGS = 32
#: The position of an entry that is not written yet is this and the number of its page.
UNWRITTEN = 1 << 96
# The reason of a match that has the page's own key, which nobody judges.
_OWN = "key"


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

    def is_past(self, match: Match) -> bool:
        return match.run in self.earlier


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


class Claimant(NamedTuple):
    """A page on its way to its answer."""

    page: Arrival
    spec: IndexSpec
    era: Era

    def decide(self, candidates: Iterable[Match]) -> Step:
        """Return what the claim does, given all that is near the page or has one of its keys."""
        page, era = self.page, self.era
        candidates = sorted(candidates, key=lambda match: (match.distance, match.entry))
        owns = [match for match in candidates if match.key == page.key]
        others = [match for match in candidates if match.key != page.key]
        entry = max(owns, key=lambda match: match.entry, default=None)
        is_as_before = entry is not None and self._is_as_before(entry)
        came_before = any(match.run == era.run for match in others)
        if entry and is_as_before and (era.has_seen(entry) or not came_before):
            return self._go_on(entry)
        copies, distinct = self._judged(others)
        living = [match for match in copies if not (match.expired or era.is_past(match))]
        matches, near = tuple(living), tuple(match for match in distinct if not match.expired)
        undelivered = [match for match in copies if not match.delivered]
        if entry and era.has_seen(entry):
            claim = Claim(Outcome.REVISIT, (entry._replace(reason=_OWN), *matches), near)
            if living:
                return Step(claim, keeps=entry if entry.provisional else None)
            return Step(claim, admits=True, replaces=(*owns, *undelivered))
        if living:
            claim = Claim(Outcome.DUPLICATE, matches, near)
            sees = entry if entry and entry.delivered and is_as_before else None
            return Step(claim, replaces=tuple(o for o in owns if not o.delivered), sees=sees)
        if entry and is_as_before:
            return self._go_on(entry)
        change, before, since, moved = Change.NEW, None, None, list[Match]()
        if entry and entry.delivered:
            change, before = Change.CHANGED, entry
        elif not entry:
            named = [match for match in others if match.key in page.aliases and era.is_past(match)]
            old = [match for match in copies if match.delivered]
            moved = (named or old)[:1]
            if moved and moved[0].delivered:
                change, before = Change.MOVED, moved[0]
                since = before.time if self._is_same(before) else None
        claim = Claim(Outcome.ORIGINAL, (), near, change, before)
        # The end of the run tells whether a page without an alias has left its old address.
        left = [match for match in moved if match.key in page.aliases or not match.delivered]
        replaces = {match.entry: match for match in (*owns, *undelivered, *left)}
        return Step(claim, admits=True, replaces=tuple(replaces.values()), since=since)

    def _go_on(self, entry: Match) -> Step:
        """Return what the claim of a page does that is as its own entry has it."""
        page = self.page
        if self.era.has_seen(entry):
            was_delivered = entry.delivered and entry.time < int(self.era.begun)
            change = Change.SAME if was_delivered and self._is_same(entry) else None
            claim = Claim(Outcome.REVISIT, (entry._replace(reason=_OWN),), change=change)
            return Step(claim, keeps=entry if entry.provisional else None)
        claim = NEAR_NOTHING  # of a page that nobody has got
        if entry.delivered:
            claim = Claim(Outcome.ORIGINAL, change=Change.SAME, before=entry)
        if (page.facts, 0) == (entry.facts, entry.distance):
            return Step(claim, keeps=entry)
        # The rest of the page is not as it was, and copies are judged by that, too.
        since = entry.time if entry.delivered else None
        return Step(claim, admits=True, replaces=(entry,), since=since)

    def _is_as_before(self, entry: Match) -> bool:
        if self.era.has_seen(entry):
            return entry.distance <= self.spec.reach
        return self._is_same(entry)

    def _is_same(self, match: Match) -> bool:
        return self.spec.same(self.page.facts, match.facts, match.distance)

    def _judged(self, near: Iterable[Match]) -> tuple[list[Match], list[Match]]:
        """Return copies, and other pages, of the entries within reach, with the reasons."""
        copies, distinct = list[Match](), list[Match]()
        page = Page(self.page.key, self.page.facts)
        for match in near:
            if match.distance <= self.spec.reach:
                ruling = self.spec.judge(page, Page(match.key, match.facts), match.distance)
                match = match._replace(reason=ruling.reason)
                (copies if ruling.is_copy else distinct).append(match)
        return copies, distinct


@dataclass(eq=False, slots=True)
class Decision:
    """The answers to the claims of some pages, one after the other, and the changes they make.

    Attributes:
        pages: the pages by their numbers, in order.
        twins: for each page, the earlier ones near it or of its key.
        lease: the state of an entry whose lease begins now.
        is_expired: tells whether a state's lease has run out.
        near: for each page, the entries near it or of one of its keys.
        records: these entries; those that are deleted or cannot be read are missing.
        changed: entries that are new, leased or seen in this run, by position.
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
    changed: dict[int, Record] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    unjudged: int = 0
    claims: dict[int, Claim] = field(init=False)

    def __post_init__(self) -> None:
        self.claims = {number: self._answer(number, page) for number, page in self.pages.items()}

    def part(self, entries: Mapping[int, Stored], since: int) -> Part:
        """Return the changes, which rest on the states of all entries that are near."""
        near = {position for pairs in self.near.values() for _, position in pairs}
        checks = {position: entries[position].state for position in near}
        new: dict[int, tuple[bytes, bytes]] = {}
        writes: dict[int, bytes | None] = dict.fromkeys(self.deleted)
        for position, record in self.changed.items():
            state = record.state.pack()
            if position >= UNWRITTEN:
                new[position - UNWRITTEN] = state, record.pack()
            else:
                writes[position] = state
        return Part([*self.pages], checks, new, writes, since)

    def place(self, written: Sequence[int]) -> None:
        """Take in the positions to which the new entries were written."""
        new = [position for position in self.changed if position >= UNWRITTEN]
        places = dict(zip(new, written, strict=True))

        def placed(matches: tuple[Match, ...]) -> tuple[Match, ...]:
            return tuple(m._replace(entry=places.get(m.entry, m.entry)) for m in matches)

        self.changed = {places.get(at, at): record for at, record in self.changed.items()}
        for number, claim in self.claims.items() if places else ():
            near = placed(claim.near)
            self.claims[number] = claim._replace(matches=placed(claim.matches), near=near)

    def _answer(self, number: int, page: Arrival) -> Claim:
        step = Claimant(page, self.spec, self.era).decide(self._candidates(number, page))
        for match in step.replaces:
            self._delete(match.entry)
        if step.admits:
            time = float(int(step.since or self.now))
            position = UNWRITTEN + number
            self._change(Record(position, page.key, page.scope, page.facts, time, self.lease))
        if step.keeps:
            record = self.records[step.keeps.entry]
            state = record.state
            # An entry that an earlier run has confirmed remembers that run.
            back = state.run if state.owner is None else state.back
            state = self.lease._replace(run=self.era.run or state.run, back=back)
            self._change(record._replace(state=state))
        if step.sees:
            record = self.records[step.sees.entry]
            if record.state.owner is None:
                self._change(record._replace(state=State(self.era.run)))
        return step.claim

    def _change(self, record: Record) -> None:
        self.changed[record.position] = self.records[record.position] = record

    def _delete(self, position: int) -> None:
        del self.records[position]
        self.changed.pop(position, None)
        if position < UNWRITTEN:
            self.deleted.add(position)

    def _candidates(self, number: int, page: Arrival) -> Iterator[Match]:
        """Yield what has one of a page's keys in its scope, and the nearest ones of the others."""
        names = {page.key, *page.aliases}
        twins = [(distance, UNWRITTEN + twin) for distance, twin in self.twins[number]]
        count = 0
        for distance, position in sorted(self.near.get(number, []) + twins):
            record = self.records.get(position)
            if record is None:
                continue
            is_named = record.key in names and record.scope == page.scope
            if not is_named and distance <= self.spec.reach:
                count += 1
                self.unjudged += count > RULINGS
            if is_named or (distance <= self.spec.reach and count <= RULINGS):
                yield record.match(distance, expired=self.is_expired(record.state))
