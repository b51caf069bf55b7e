"""Answers claims, given what is near."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scrapy_simhash.index.entry_states import Record, State, failed_in
from scrapy_simhash.index.lookups import Near
from scrapy_simhash.index.store import Part, Stored
from scrapy_simhash.index.values import Arrival, Change, Claim, IndexSpec, Match, Outcome, Run
from scrapy_simhash.rule.ruling import Page

NEAR_NOTHING = Claim(Outcome.ORIGINAL, change=Change.NEW)
#: Near entries of a page that are judged at most, the nearest ones, besides those of its keys.
RULINGS = 32
#: The position of an entry that is not written yet is this and the number of its page.
UNWRITTEN = 1 << 96
# The reason of a match that has the page's own key, which nobody judges.
_OWN = "key"


class Era(NamedTuple):
    """The run to which claims belong.

    Attributes:
        run: its number; 0 for none.
        past: the numbers that entries have which earlier runs of its spider saw, and it did not.
        begun: seconds since the Unix epoch.
    """

    run: int = 0
    past: frozenset[int] = frozenset()
    begun: float = 0.0

    @classmethod
    def of(cls, run: Run, runs: Iterable[Run]) -> Era:
        numbers = [r.number for r in runs if r.spider == run.spider and r.number <= run.number]
        past = {*numbers, *map(failed_in, numbers)} - {run.number}
        return cls(run.number, frozenset(past), run.begun)

    def has_seen(self, match: Match) -> bool:
        return self.run in (0, match.run)

    def is_past(self, match: Match) -> bool:
        return match.run in self.past


class Terms(NamedTuple):
    """All that claims made at one time have in common.

    Attributes:
        lease: the state of an entry whose lease begins now.
        is_expired: tells whether a state's lease has run out.
    """

    spec: IndexSpec
    era: Era
    now: float
    lease: State
    is_expired: Callable[[State], bool]


class Decision:
    """The answers to the claims of some pages, one after the other, and the changes they make.

    Args:
        pages: the pages by their numbers, in order.
        near: for each page, the entries near it or of one of its keys, the new entries of earlier
            pages among them.
        records: these entries; those that are deleted or cannot be read are missing.

    Attributes:
        claims: the answers, by the page's number.
        changed: entries that are new, leased or seen in this run, by position.
        deleted: positions of entries whose place a page takes.
    """

    def __init__(
        self,
        pages: Mapping[int, Arrival],
        near: Mapping[int, Near],
        records: Mapping[int, Record],
        terms: Terms,
    ) -> None:
        positions = {position for pairs in near.values() for _, position in pairs}
        self._near, self._records = near, {at: records[at] for at in positions & records.keys()}
        self._spec, self._era, self._now, self._lease, self._is_expired = terms
        self.changed: dict[int, Record] = {}
        self.deleted: set[int] = set()
        self.claims = {number: self._claim(number, page) for number, page in pages.items()}

    def part(self, entries: Mapping[int, Stored], since: int) -> Part:
        """Return the changes, which rest on the states of all entries that are near."""
        near = {at for pairs in self._near.values() for _, at in pairs if at < UNWRITTEN}
        checks = {position: entries[position].state for position in near}
        new: dict[int, tuple[bytes, bytes]] = {}
        writes: dict[int, bytes | None] = dict.fromkeys(self.deleted)
        for position, record in self.changed.items():
            state = record.state.pack()
            if position >= UNWRITTEN:
                new[position - UNWRITTEN] = state, record.pack()
            else:
                writes[position] = state
        return Part([*self.claims], checks, new, writes, since)

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

    def _claim(self, number: int, page: Arrival) -> Claim:
        era = self._era
        candidates = [*self._candidates(page, self._near[number])]
        of_its_key = [match for match in candidates if match.key == page.key]
        of_other_keys = [match for match in candidates if match.key != page.key]
        entry = max(of_its_key, key=lambda match: match.entry, default=None)
        is_as_before = entry is not None and self._is_as_before(page, entry)
        came_before = any(match.run == era.run for match in of_other_keys)
        if entry and is_as_before and (era.has_seen(entry) or not came_before):
            return self._go_on(number, page, entry)
        copies, distinct = self._judged(page, of_other_keys)
        moved = [] if entry else self._moved(page, of_other_keys, copies)
        living = [match for match in copies if not (match.expired or era.is_past(match))]
        if any(map(era.is_past, moved)):
            living = [match for match in living if era.has_seen(match)]
        undelivered = [match for match in copies if not match.delivered]
        matches, near = tuple(living), tuple(match for match in distinct if not match.expired)
        if entry and era.has_seen(entry):
            if not living:
                self._admit(number, page, [*of_its_key, *undelivered])
            elif entry.provisional:
                self._keep(entry)
            return Claim(Outcome.REVISIT, (entry._replace(reason=_OWN), *matches), near)
        if living:
            self._delete([match for match in of_its_key if not match.delivered])
            if entry and entry.delivered and is_as_before:
                self._see(entry)
            return Claim(Outcome.DUPLICATE, matches, near)
        if entry and is_as_before:
            return self._go_on(number, page, entry)
        change, before, unchanged = Change.NEW, None, False
        if entry and entry.delivered:
            change, before = Change.CHANGED, entry
        elif moved and moved[0].delivered:
            change, before = Change.MOVED, moved[0]
            unchanged = self._is_same(page, before)
        # The end of the run tells whether a page without an alias has left its old address.
        left = [match for match in moved if match.key in page.aliases or not match.delivered]
        since = before.time if before and unchanged else None
        self._admit(number, page, [*of_its_key, *undelivered, *left], since)
        return Claim(Outcome.ORIGINAL, (), near, change, before, unchanged)

    def _moved(
        self, page: Arrival, others: Iterable[Match], copies: Iterable[Match]
    ) -> list[Match]:
        """Return the entry from which a page without one has moved, if there is one."""
        era = self._era
        named = [match for match in others if match.key in page.aliases and era.is_past(match)]
        left = [m for m in copies if m.delivered and (m.expired or era.is_past(m))]
        return (named or left)[:1]

    def _go_on(self, number: int, page: Arrival, entry: Match) -> Claim:
        """Claim for a page that is as its own entry has it."""
        if self._era.has_seen(entry):
            was_delivered = entry.delivered and entry.time < int(self._era.begun)
            unchanged = was_delivered and self._is_same(page, entry)
            if entry.provisional:
                self._keep(entry)
            own = entry._replace(reason=_OWN)
            return Claim(Outcome.REVISIT, (own,), unchanged=unchanged)
        if (page.facts, 0) == (entry.facts, entry.distance):
            self._keep(entry)
        else:
            # The rest of the page is not as it was, and copies are judged by that, too.
            self._admit(number, page, [entry], entry.time if entry.delivered else None)
        if not entry.delivered:  # nobody has got the page
            return NEAR_NOTHING
        return Claim(Outcome.ORIGINAL, change=Change.SAME, before=entry, unchanged=True)

    def _candidates(self, page: Arrival, near: Near) -> Iterator[Match]:
        """Yield what has one of a page's keys in its scope, and the nearest ones of the others."""
        names = {page.key, *page.aliases}
        count = 0
        for distance, position in sorted(near):
            record = self._records.get(position)
            if record is None:
                continue
            is_named = record.key in names and record.scope == page.scope
            count += not is_named and distance <= self._spec.reach
            if is_named or (distance <= self._spec.reach and count <= RULINGS):
                yield record.match(distance, expired=self._is_expired(record.state))

    def _is_as_before(self, page: Arrival, entry: Match) -> bool:
        if self._era.has_seen(entry):
            return entry.distance <= self._spec.reach
        return self._is_same(page, entry)

    def _is_same(self, page: Arrival, match: Match) -> bool:
        is_near = match.distance <= self._spec.distance
        return is_near and self._spec.same(page.facts, match.facts, match.distance)

    def _judged(self, page: Arrival, near: Iterable[Match]) -> tuple[list[Match], list[Match]]:
        """Return copies, and other pages, of the entries within reach, with the reasons."""
        copies, distinct = list[Match](), list[Match]()
        judged = Page(page.key, page.facts)
        for match in near:
            if match.distance <= self._spec.reach:
                ruling = self._spec.judge(judged, Page(match.key, match.facts), match.distance)
                match = match._replace(reason=ruling.reason)
                (copies if ruling.is_copy else distinct).append(match)
        return copies, distinct

    def _admit(
        self, number: int, page: Arrival, replaced: Iterable[Match], since: float | None = None
    ) -> None:
        """Make a page an entry in the place of others; its text may be known since a time."""
        self._delete(replaced)
        position, time = UNWRITTEN + number, float(int(since or self._now))
        self._change(Record(position, page.key, page.scope, page.facts, time, self._lease))

    def _keep(self, entry: Match) -> None:
        """Lease an entry to this crawler; it is seen in this run."""
        record = self._records[entry.entry]
        state = record.state
        # An entry that an earlier run has confirmed remembers that run.
        back = state.run if state.owner is None else state.back
        state = self._lease._replace(run=self._era.run or state.run, back=back)
        self._change(record._replace(state=state))

    def _see(self, entry: Match) -> None:
        """Note that an entry, if it is confirmed, is seen in this run."""
        record = self._records[entry.entry]
        if record.state.owner is None:
            self._change(record._replace(state=State(self._era.run)))

    def _change(self, record: Record) -> None:
        self.changed[record.position] = self._records[record.position] = record

    def _delete(self, matches: Iterable[Match]) -> None:
        for position in {match.entry for match in matches}:
            del self._records[position]
            self.changed.pop(position, None)
            if position < UNWRITTEN:
                self.deleted.add(position)


def groups(near: Sequence[Near]) -> list[list[int]]:
    """Return the numbers of the pages, those together whose answers depend on each other.

    They are near each other, or near the same entry, in however many steps.

    Args:
        near: for each page, the positions near it; that of an earlier page is ``UNWRITTEN`` and its
            number.
    """
    if not any(near):
        return [[number] for number in range(len(near))]
    leaders: dict[int, int] = {}

    def leader(position: int) -> int:
        while (above := leaders.get(position, position)) != position:
            leaders[position] = leaders.get(above, above)
            position = above
        return position

    for number, pairs in enumerate(near):
        for _, position in pairs:
            leaders[leader(position)] = leader(UNWRITTEN + number)
    members: dict[int, list[int]] = {}
    for number in range(len(near)):
        members.setdefault(leader(UNWRITTEN + number), []).append(number)
    return [*members.values()]
