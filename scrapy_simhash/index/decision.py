"""Answers claims, given what is near."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scrapy_simhash.index.entry_states import Record, State, failed_in
from scrapy_simhash.index.lookups import UNWRITTEN, Near
from scrapy_simhash.index.store import Answer, Part
from scrapy_simhash.index.values import Arrival, Change, Claim, IndexSpec, Match, Run
from scrapy_simhash.rule.ruling import Page

#: At most this many near entries of a page are judged, the nearest ones, besides the
#: entries of its keys.
RULINGS = 32


class Era(NamedTuple):
    """The run to which claims belong.

    Attributes:
        run: its number; 0 for none.
        past: the run numbers of entries that earlier runs of its spider saw, and this
            run did not.
        begun: seconds since the Unix epoch.
    """

    run: int = 0
    past: frozenset[int] = frozenset()
    begun: float = 0.0

    @classmethod
    def of(cls, run: Run, runs: Iterable[Run]) -> Era:
        of_spider = (each.number for each in runs if each.spider == run.spider)
        numbers = [number for number in of_spider if number <= run.number]
        past = {*numbers, *map(failed_in, numbers)} - {run.number}
        return cls(run.number, frozenset(past), run.begun)

    def has_seen(self, match: Match) -> bool:
        return self.run in (0, match.run)

    def is_past(self, match: Match) -> bool:
        return match.run in self.past


class Terms(NamedTuple):
    """The values that claims of one moment share.

    Attributes:
        lease: the state of an entry whose lease begins now.
    """

    spec: IndexSpec
    era: Era
    now: float
    lease: State


class Case:
    """A page that claims, beside the entries near it and of its keys.

    Attributes:
        number: the number of the page.
        of_its_key: entries of the page's own key and scope.
        others: entries of other keys.
        entry: the page's own entry, the newest of its key.
        living: entries of other keys that make it a duplicate.
        lost: entries that it repeats, too, but which were not delivered, and are not in
            progress any more.
        distinct: the entries among the others that were judged to be other pages.
        moved: the entry from which the page has moved, if there is one.
    """

    def __init__(self, number: int, page: Arrival, candidates: Iterable[Match]) -> None:
        self.number = number
        self.page = page
        self.of_its_key: list[Match] = []
        self.others: list[Match] = []
        for match in candidates:
            (self.of_its_key if match.key == page.key else self.others).append(match)
        self.entry = max(self.of_its_key, key=lambda match: match.entry, default=None)
        self.living: list[Match] = []
        self.lost: list[Match] = []
        self.distinct: list[Match] = []
        self.moved: Match | None = None

    @property
    def replaced(self) -> list[Match]:
        """Entries whose place the page takes in any case, if it becomes an original."""
        return self.of_its_key + self.lost

    @property
    def near(self) -> tuple[Match, ...]:
        """Living entries that are other pages."""
        return tuple(match for match in self.distinct if not match.expired)


class Decision:
    """The answers to the claims of some pages, one after the other, and the changes they make.

    Args:
        numbers: the numbers of the pages, in order.
        pages: by number, these and others.
        near: for each page, the entries near it or of one of its keys, the new entries
            of earlier pages among them.
        records: these entries, which it changes; those that are deleted or cannot be
            read are missing.

    Attributes:
        claims: the answers, by the page's number.
        changed: entries that are new, leased or seen in this run, by position; None for
            those whose place a page takes.
    """

    def __init__(
        self,
        numbers: Iterable[int],
        pages: Mapping[int, Arrival],
        near: Mapping[int, Near],
        records: dict[int, Record],
        terms: Terms,
    ) -> None:
        self._spec, self._era, self._now, self._lease = terms
        self._near = near
        self._records = records
        self.changed: dict[int, Record | None] = {}
        self.claims = {number: self._claim(number, pages[number]) for number in numbers}

    def part(self, seen: Answer) -> Part:
        """Return the changes, which rest on the states of all entries that are near."""
        near = {at for number in self.claims for _, at in self._near[number]}
        checks = {at: seen.entries[at].state for at in near if at < UNWRITTEN}
        new = {
            at - UNWRITTEN: (record.state.pack(), record.pack())
            for at, record in self.changed.items()
            if record and at >= UNWRITTEN
        }
        writes = {
            at: record and record.state.pack()
            for at, record in self.changed.items()
            if at < UNWRITTEN
        }
        ends = [seen.ends.get(at, 0) for at in self.claims]
        return Part([*self.claims], checks, new, writes, min(ends))

    def place(self, written: Sequence[int]) -> None:
        """Note the positions to which the new entries were written."""
        new = [at for at, record in self.changed.items() if record and at >= UNWRITTEN]
        places = dict(zip(new, written, strict=True))
        self.changed = {
            places.get(at, at): record for at, record in self.changed.items()
        }
        for number, claim in self.claims.items():
            matches = _placed(claim.matches, places)
            near = _placed(claim.near, places)
            self.claims[number] = claim._replace(matches=matches, near=near)

    def _claim(self, number: int, page: Arrival) -> Claim:
        """Answer by the first sentence of :meth:`.Index.claim` that fits; these are its numbers."""
        case = Case(number, page, self._candidates(page, self._near[number]))
        era = self._era
        entry = case.entry
        if entry and era.has_seen(entry):
            if entry.distance <= self._spec.reach:
                return self._revisit(page, entry)  # 1
            self._judge(case)
            return self._revisit_with_new_text(case, entry)  # 1
        self._judge(case)
        is_same = entry is not None and self._is_same(page, entry)
        # 3 comes first if the page is a copy of what was seen in this run.
        if entry and is_same and not any(map(era.has_seen, case.living)):
            return self._go_on(case, entry)  # 2
        if case.living:
            return self._repeat(case, is_same=is_same)  # 3
        return self._begin(case)  # 4 to 7

    def _revisit(self, page: Arrival, entry: Match) -> Claim:
        """Sentence 1, for a page within reach of the entry of its key."""
        was_delivered = entry.delivered and entry.time < int(self._era.begun)
        unchanged = was_delivered and self._is_same(page, entry)
        if entry.provisional:
            self._keep(entry)
        return Claim("revisit", (entry,), unchanged=unchanged)

    def _revisit_with_new_text(self, case: Case, entry: Match) -> Claim:
        """Sentence 1, for a page beyond reach of the entry of its key."""
        if not case.living:
            self._admit(case, case.replaced)
        elif entry.provisional:
            self._keep(entry)
        return Claim("revisit", (entry, *case.living), case.near)

    def _go_on(self, case: Case, entry: Match) -> Claim:
        """Sentence 2: the page is as an earlier run has left its entry."""
        if (case.page.facts, 0) == (entry.facts, entry.distance):
            self._keep(entry)
        else:
            # The rest of the page is not as it was, and copies are judged by that, too.
            self._admit(case, [entry], entry.time if entry.delivered else None)
        if not entry.delivered:  # the page was never delivered
            return Claim("unique", change="new")
        return Claim("unique", change="same", before=entry, unchanged=True)

    def _repeat(self, case: Case, *, is_same: bool) -> Claim:
        """Sentence 3: the page repeats living entries."""
        self._delete([match for match in case.of_its_key if not match.delivered])
        if case.entry and is_same and not case.entry.provisional:
            self._set_state(case.entry, State(self._era.run))
        return Claim("duplicate", tuple(case.living), case.near)

    def _begin(self, case: Case) -> Claim:
        """Sentences 4 to 7: the page becomes an original with a new entry."""
        change: Change = "new"  # 7
        before = None
        unchanged = False
        moved = case.moved
        if case.entry and case.entry.delivered:
            change, before = "changed", case.entry  # 4
        elif moved and moved.delivered:
            change, before = "moved", moved  # 5, 6
            unchanged = self._is_same(case.page, before)
        replaced = case.replaced
        # The end of the run tells whether a page without an alias has left its old
        # address.
        if moved and moved.key in case.page.aliases:
            replaced.append(moved)
        self._admit(case, replaced, before.time if before and unchanged else None)
        return Claim("unique", (), case.near, change, before, unchanged)

    def _judge(self, case: Case) -> None:
        """Tell copies from other pages, and whether one of them makes the page a duplicate."""
        era = self._era
        page = Page(case.page.key, case.page.facts)
        # Copies that were delivered, and do not count in this run.
        left: list[Match] = []
        for match in case.others:
            if match.distance > self._spec.reach:
                continue
            is_copy, reason = self._spec.judge(
                page, Page(match.key, match.facts), match.distance
            )
            if not is_copy:
                group = case.distinct
            elif not (match.expired or era.is_past(match)):
                group = case.living
            elif match.delivered:
                group = left
            else:
                group = case.lost
            group.append(match._replace(reason=reason))
        if case.entry is None:
            past = filter(era.is_past, case.others)
            named = [match for match in past if match.key in case.page.aliases]
            case.moved = next(iter(named or left), None)
        if case.moved and era.is_past(case.moved):
            case.living = [match for match in case.living if era.has_seen(match)]

    def _candidates(self, page: Arrival, near: Near) -> Iterator[Match]:
        """Yield the entries in a page's scope that have one of its keys, and the nearest others."""
        names = {page.key, *page.aliases}
        others = 0
        for distance, position in sorted(near):
            record = self._records.get(position)
            if record is None:
                continue
            if record.key not in names or record.scope != page.scope:
                others += 1
                if distance > self._spec.reach or others > RULINGS:
                    continue
            yield record.match(distance, expired=record.state.is_expired(self._now))

    def _is_same(self, page: Arrival, match: Match) -> bool:
        is_near = match.distance <= self._spec.distance
        return is_near and self._spec.same(page.facts, match.facts, match.distance)

    def _admit(
        self, case: Case, replaced: Iterable[Match], since: float | None = None
    ) -> None:
        """Make a page an entry that replaces others; its text may be known since a time."""
        self._delete(replaced)
        page = case.page
        position = UNWRITTEN + case.number
        time = int(since or self._now)
        record = Record(position, page.key, page.scope, page.facts, time, self._lease)
        self._write(record)

    def _keep(self, entry: Match) -> None:
        """Lease an entry to this crawler; it is seen in this run."""
        state = self._records[entry.entry].state
        # An entry that an earlier run has confirmed remembers that run.
        back = state.run if state.owner is None else state.back
        run = self._era.run or state.run
        self._set_state(entry, self._lease._replace(run=run, back=back))

    def _set_state(self, entry: Match, state: State) -> None:
        self._write(self._records[entry.entry]._replace(state=state))

    def _write(self, record: Record) -> None:
        self._records[record.position] = self.changed[record.position] = record

    def _delete(self, matches: Iterable[Match]) -> None:
        for match in matches:
            self._records.pop(match.entry, None)
            self.changed[match.entry] = None


def _placed(matches: Iterable[Match], places: Mapping[int, int]) -> tuple[Match, ...]:
    return tuple(
        match._replace(entry=places.get(match.entry, match.entry)) for match in matches
    )


def decisions_on(
    pages: Mapping[int, Arrival],
    twins: Sequence[Near],
    seen: Answer,
    records: dict[int, Record],
    terms: Terms,
) -> list[Decision]:
    """Decide on pages by their numbers, together on those whose answers depend on each other.

    Args:
        pages: the pages of a call that have no answer yet.
        twins: for each page of the call, the earlier ones near it.
        seen: the entries near the pages.
        records: these entries; those that cannot be read are missing.
        terms: the values that the claims share.
    """
    near = {number: seen.near.get(number, []) + twins[number] for number in pages}
    return [Decision(group, pages, near, records, terms) for group in groups(near)]


def groups(near: Mapping[int, Near]) -> list[list[int]]:
    """Return the numbers of the pages, grouped by whether their answers depend on each other.

    They are near each other, or near the same entry, in however many steps.

    Args:
        near: for each page, the positions near it; an earlier page has ``UNWRITTEN``
            plus its number.
    """
    groups: list[set[int]] = []  # of positions
    for number, pairs in near.items():
        group = {UNWRITTEN + number, *(position for _, position in pairs)}
        for touched in [each for each in groups if not group.isdisjoint(each)]:
            groups.remove(touched)
            group |= touched
        groups.append(group)
    return [[n for n in near if UNWRITTEN + n in group] for group in groups]
