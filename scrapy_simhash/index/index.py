"""The index: what it promises, kept over any :class:`.Store`.

An index holds the fingerprints of *originals*. A page is admitted in the log alone;
buckets only find candidates. A claim is compared exactly with whatever was admitted
since its crawler last looked, so no race admits two near-duplicates, however stale a
crawler's view is.

The life of an entry, each line one atomic act::

    claim ──▶ provisional (leased to its crawler) ── confirm ──▶ confirmed ──
    superseded, or gone()
                  ├── release ──▶ gone, or confirmed as an earlier run left it
                  └── lease runs out ──▶ a claim that repeats it takes its place

An entry is *expired* once its lease has run out, or as soon as its crawler is known to
be dead, which its name tells in a store of this machine alone. An entry that is
confirmed, or provisional and not expired, is *living*.

Entries live in time. A *run* is what a spider's crawlers do from start to finish, and
an entry knows the run in which its page was last *seen*. A key has one entry that
counts in its scope: when its page comes with another text, the old entry is
*superseded*: the act that admits the new entry deletes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Literal

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import crawler_names
from scrapy_simhash.index.decision import Decision, Era, Terms, decisions_on
from scrapy_simhash.index.entry_states import (
    Act,
    Record,
    State,
    attempts,
    confirmed,
    deleted,
    expired,
    failed_by,
    failed_in,
    renewed,
    run_of,
)
from scrapy_simhash.index.lookups import (
    UNWRITTEN,
    Lookups,
    check_fit,
    read_fingerprint,
)
from scrapy_simhash.index.run_list import RunList
from scrapy_simhash.index.store import (
    ROWS_AT_ONCE,
    Answer,
    Counts,
    Part,
    Store,
    Stored,
    batches,
)
from scrapy_simhash.index.values import (
    Arrival,
    Claim,
    Entry,
    IndexSpec,
    Report,
    Run,
)
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

#: Pages that claim, are put, or are looked for by their keys at a time: a shared store
#: serves no other crawler meanwhile.
CLAIMS_AT_ONCE = 64
#: Entries that get another state at a time, for the same reason.
ACTS_AT_ONCE = 512


class Index:
    """Fingerprints of the pages crawled so far, shared by all crawlers of all spiders.

    One thread at a time calls it. Every method may raise :class:`.StoreUnavailable` or
    :class:`.StoreDamaged`.

    An act reads states, makes new ones of them by a pure function, and commits. The
    store does so if nothing changed meanwhile; else the act is tried again.

    Attributes:
        spec: the spec with which it was opened.
        crawler: this crawler's name in the leases.
        now: returns the time of the store, because the clocks of crawlers may be far
            apart.
        counts: tells how many entries there are, see :class:`.Store`.
        cells, swap: read and set small values beside the entries. The family "index" is
            taken.
    """

    def __init__(self, store: Store, spec: IndexSpec) -> None:
        self.spec = spec
        self.crawler = crawler_names.new_name(is_here=store.is_here)
        self.now = store.time
        self.counts = store.counts
        self.cells = store.cells
        self.swap = store.swap
        self._store = store
        # Positions of the entries that could not be read, and were passed over.
        self._damaged: set[int] = set()
        self._era = Era()
        self._run_list = RunList(store, self.crawler, spec.spider)
        # The entries in progress of each key: their states by position, as they were when
        # this crawler claimed. An act tries again with the state that is there.
        self._open: dict[str, dict[int, State]] = {}
        # Up to which position it was looked whether entries expire.
        self._swept = 0

    def close(self) -> None:
        """Release the store's resources. Closing twice does no harm."""
        crawler_names.give_up(self.crawler)
        self._store.close()

    # Pages that arrive.

    def claim(self, arrival: Arrival) -> Claim:
        """Look for an entry that the page repeats; without one, the page becomes an original.

        An index that takes part in no run takes every entry for one that was seen in
        its run. The first of these sentences that fits decides:

        1. The page's own entry, of its key and scope at any distance, was seen in this
           run: revisit. If the entry is provisional, it is leased to this crawler from
           now on. If its text is beyond reach by now, and repeats no other living
           entry, a provisional entry with its new text supersedes the own one. It is
           unchanged if an earlier run has delivered its text, by whole seconds.
        2. The own entry was seen in an earlier run, and the page is the same, within k
           bits and by its facts: original, ``same``, unless it repeats a living entry
           that was seen in this run, see 3. The entry is seen in this run, and is
           provisional until it is confirmed. When it is released, it is what it was,
           and its page has failed in this run.
        3. The page repeats, as the judge says, a living entry that was seen in this
           run; or one of another spider, unless it has moved, see 5 and 6: duplicate.
           Its own entry is seen in this run if the page is the same; else it stays as
           it was, if its page was delivered, because the next run may find it again;
           else it is deleted.
        4. The own entry has another text: original, ``changed``.
        5. An alias has an entry that this spider saw in an earlier run, at any
           distance: original, ``moved`` from there.
        6. The page repeats entries that this spider saw in earlier runs: original,
           ``moved`` from the nearest.
        7. Original, ``new``.

        From 4 on, the page becomes a provisional original, leased to this crawler. It
        supersedes its own entry, and the one from which it has moved, if an alias names
        that: without one, the old address may answer yet. It takes the place of expired
        entries that are judged to be copies. An own entry that never was confirmed
        makes no page ``same`` or ``changed`` but ``new``, because that page was never
        delivered.
        """
        (answer,) = self.claim_all([arrival])
        return answer

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        """Claim for several pages, with the same answers as :meth:`claim` one after the other.

        The log may have them in another order. They are compared with each other
        besides the entries that are read of a bucket. When the store fails, some of the
        pages may have become originals; they claim again, or their leases run out.

        Raises:
            ValueError: the index could not hold a page; nothing is written.
        """
        check_fit(arrivals, self.spec)
        answers = map(self._claim, batches(arrivals, CLAIMS_AT_ONCE))
        return [claim for batch in answers for claim in batch]

    def _claim(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        """Decide on what is near the pages, and commit; again for those that were refused.

        A look over a network costs as much as a commit, so the first attempt assumes
        that nothing is near, as is true of nearly all pages: its refusal tells what is.
        """
        claims: dict[int, Claim] = {}
        lookups = Lookups(arrivals, self.spec)
        seen = self._store.find(lookups) if self._store.is_here else Answer({}, {}, {})
        for _ in attempts():
            records = self._records(seen.entries)
            left = {n: page for n, page in enumerate(arrivals) if n not in claims}
            decisions = decisions_on(left, lookups.twins, seen, records, self._terms())
            seen = self._commit(decisions, lookups, seen, claims)
            if len(claims) == len(arrivals):
                break
        return [claims[n] for n in range(len(arrivals))]

    def _commit(
        self,
        decisions: Sequence[Decision],
        lookups: Lookups,
        seen: Answer,
        claims: dict[int, Claim],
    ) -> Answer:
        """Add the claims of decisions that hold; return what is near the pages of the others."""
        writing = list[Decision]()
        for decision in decisions:
            if decision.changed:
                writing.append(decision)
            else:
                claims |= decision.claims
        if not writing:
            return Answer({}, {}, {})
        parts = [decision.part(seen) for decision in writing]
        answer = self._store.commit(parts, lookups)
        for decision, positions in zip(writing, answer.written, strict=True):
            if positions is None:
                continue
            decision.place(positions)
            claims |= decision.claims
            for position, record in decision.changed.items():
                if record and record.state.owner is not None:
                    self._open.setdefault(record.key, {})[position] = record.state
        return answer

    def _terms(self) -> Terms:
        """Return the terms of claims that are made now."""
        now = self.now()
        lease = State(self._era.run, self.crawler, now + self.spec.lease)
        return Terms(self.spec, self._era, now, lease)

    # Pages in progress.

    def confirm(self, keys: Iterable[str]) -> None:
        """Make the entries final that this crawler claimed under these keys.

        An entry that another crawler has in progress by now becomes final too: its page
        was delivered.
        """
        self.report(Report(delivered=[*keys]))

    def report(self, news: Report) -> dict[int, bool]:
        """Confirm, release and renew in one call; return the fates of entries, see :meth:`fates`.

        When it fails, a part of it may be done. To do it again does no harm. See
        :meth:`confirm` for the pages that were delivered.

        To *release* a page that failed is to take back this crawler's provisional
        entries of its key. They are deleted, or confirmed as an earlier run has left
        them. A page that this spider saw in an earlier run, and not in this one, has
        failed in this one, also if no crawler has claimed it. Other entries are left
        alone.

        To *renew* a page is to start the leases of this crawler's provisional entries
        of its key anew. The crawler lives on in its run, too, even if no page is
        renewed.
        """
        expires = self.now() + self.spec.lease
        renew: Act = partial(renewed, self.crawler, expires)
        acts = dict.fromkeys(news.renewed or (), renew)
        acts |= dict.fromkeys(news.delivered, confirmed)
        states = {
            at: (state, acts[key])
            for key in acts
            for at, state in self._open.get(key, {}).items()
        }
        # Earlier runs may have seen a page that failed, and a claim that had no answer
        # may have made an original that this crawler does not know.
        fail = partial(failed_by, self.crawler, self._era.run, self._era.past)
        for at, record in self._of_keys(news.failed).items():
            states[at] = record.state, fail
        self._act(states)
        for key in [*news.delivered, *news.failed]:
            self._open.pop(key, None)
        if news.renewed is not None and self._era.run:
            self._run_list.renew(expires)
        return self.fates(news.entries)

    def fates(self, entries: Iterable[int]) -> dict[int, bool]:
        """Return whether entries were delivered; those in progress are missing.

        An entry that this run has seen again and that was taken back is gone for this
        run.
        """
        now = self.now()
        fates = dict.fromkeys(entries, False)
        for at, record in self._records(self._store.read(fates.keys())).items():
            if record.state.owner is None:
                fates[at] = record.state.run not in self._era.past
            elif not record.state.is_expired(now):
                del fates[at]
        return fates

    # Runs.

    def begin_run(self, resumed: int | Literal["last"] | None = None) -> Run:
        """Take part in a run of this crawler's spider; every later claim belongs to it.

        It is the one whose number is given, or the last one, if that is an unfinished
        run of the spider; else the last run of the spider, if it is unfinished and one
        of its crawlers lives, because it has begun or renewed a lease within a lease's
        time; else a new run.
        """
        now = self.now()
        run = self._run_list.begin(resumed, now, now + self.spec.lease)
        self._era = Era.of(run, self.runs())
        return run

    def end_run(self, *, finished: bool) -> None:
        """Leave the run. It ends with its last living crawler, whose word counts."""
        self._run_list.leave(self._era.run, self.now(), finished=finished)

    def runs(self) -> list[Run]:
        """Return the runs, the oldest first; those without entries go, see :meth:`expire`."""
        return self._run_list.runs()

    def missing(self, run: int) -> Iterator[Entry]:
        """Yield the entries of a spider's earlier runs whose pages were not seen in a run or since.

        Pages that failed in it are not among them. It may read the whole log. The
        number of an unknown run has nothing missing.
        """
        runs = self.runs()
        pasts = (Era.of(each, runs).past for each in runs if each.number == run)
        unseen = frozenset[int]().union(*pasts) - {failed_in(run)}
        return (entry for entry in self if entry.run in unseen)

    def failed(self, run: int) -> Iterator[Entry]:
        """Yield the entries whose pages failed in a run, and which no later run has seen."""
        return (entry for entry in self if entry.run == failed_in(run))

    def expire(self, keep: int) -> int:
        """Delete abandoned entries; return how many entries have changed.

        These are the entries of this spider's runs before its last ``keep`` that count,
        if ``keep`` is not 0, unless a crawler lives in them, and entries of any run
        that have been in progress without a living lease for a day. An entry that an
        earlier run has delivered is again what that run left.

        It looks at a bounded part of the log; the next call goes on behind it. An old
        run without entries is forgotten.
        """
        now = self.now()
        old = self._run_list.before(keep, now)
        # After a shorter outage a crawler may still tell that a page was delivered.
        act = partial(expired, old, now - 86_400)
        rows = [*islice(self._store.scan(self._swept), ROWS_AT_ONCE)]
        records = self._records(dict(rows)).values()
        swept = {
            record.position: (record.state, act)
            for record in records
            if act(record.state) != record.state
        }
        self._act(swept)
        self._swept = rows[-1][0] if len(rows) == ROWS_AT_ONCE else 0
        self._run_list.forget(
            {run.number for run in self.runs() if run.number in old and not run.pages}
        )
        return len(swept)

    # Acts of an operator.

    def entries_of(self, keys: Iterable[str]) -> list[Entry]:
        """Return the entries of these keys, in any scope, each scope's in the order of the log.

        It reads no more than that. Fingerprints may lack their block values.
        """
        return [self._entry(record) for record in self._of_keys(keys).values()]

    def gone(self, keys: Iterable[str]) -> int:
        """Delete the entries of these keys, in any scope, whoever has them; return how many."""
        count = 0
        for batch in batches(keys, ACTS_AT_ONCE):
            records = self._of_keys(batch)
            self._act({at: (each.state, deleted) for at, each in records.items()})
            count += len(records)
        return count

    def put(self, entries: Iterable[Entry]) -> int:
        """Append entries of another index, confirmed, whatever is near; return how many are new.

        Key, fingerprint, blocks, scope and facts are kept as they are, the time in
        whole seconds. They belong to no run. An entry whose key has a confirmed one in
        its scope changes nothing.
        """
        count = 0
        for batch in batches(entries, CLAIMS_AT_ONCE):
            arrivals = [Arrival(*entry[:4]) for entry in batch]
            check_fit(arrivals, self.spec)
            there = {
                (record.key, record.scope)
                for record in self._of_keys(entry.key for entry in batch).values()
                if record.state.delivered
            }
            parts: list[Part] = []
            for number, entry in enumerate(batch):
                if (entry.key, entry.scope) not in there:
                    there.add((entry.key, entry.scope))
                    parts.append(_part_of(number, entry))
            self._store.commit(parts, Lookups(arrivals, self.spec))
            count += len(parts)
        return count

    def clear(self) -> None:
        """Remove all entries. Cells, which tell of sites and not of pages, stay."""
        self._store.clear()
        self._run_list.clear()
        self._open.clear()
        self._swept = 0

    def check(self) -> list[str]:
        """Read the whole index; return a sentence for each thing that is missing or damaged."""
        complaints = self._store.check()
        before = self.counts()
        pages = Counter[int]()
        provisional = 0
        for position, stored in self._store.scan():
            run, lease = stored.state
            pages[run] += 1
            provisional += bool(lease)
            try:
                Record.unpack(position, stored)
            except ValueError as error:
                complaints.append(f"entry {position}: {error}")
        entries = Counts(dict(pages), provisional)
        # Crawlers that go on change both.
        if self.counts() == before != entries:
            complaints.append(
                f"it counts {_in_words(before)}, and has {_in_words(entries)}"
            )
        return complaints

    @property
    def damaged(self) -> int:
        """The number of entries that this crawler could not read, and passed over."""
        return len(self._damaged)

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries without their block values, see :meth:`entries`."""
        return self.entries()

    def entries(self, *, blocks: bool = False) -> Iterator[Entry]:
        """Yield the entries, each scope's in the order of the log. The index may change meanwhile.

        Args:
            blocks: whether another index takes them: fingerprints have their block
                values then, which are far apart in some stores. An index in memory
                lacks them.
        """
        for position, stored in self._store.scan(blocks=blocks):
            for record in self._records({position: stored}).values():
                yield self._entry(record)

    def __len__(self) -> int:
        return sum(self.counts().by_run.values())

    # How acts go.

    def _act(self, states: Mapping[int, tuple[State, Act]]) -> None:
        """Act on entries by their positions, given their states as they are believed to be."""
        for batch in batches(states.items(), ACTS_AT_ONCE):
            waiting = dict(batch)
            for _ in attempts():
                waiting = self._acted(waiting)
                if not waiting:
                    break

    def _acted(
        self, states: Mapping[int, tuple[State, Act]]
    ) -> dict[int, tuple[State, Act]]:
        """Act on entries together; return the states that were there instead, with the acts."""
        parts: dict[int, Part] = {}
        for at, (old, act) in states.items():
            new = act(old)
            if new != old:
                parts[at] = Part(
                    checks={at: old.pack()}, writes={at: new and new.pack()}
                )
        answer = self._store.commit([*parts.values()])
        records = self._records(answer.entries)
        return {
            at: (records[at].state, states[at][1])
            for at, positions in zip(parts, answer.written, strict=True)
            if positions is None and at in records
        }

    def _records(self, entries: Mapping[int, Stored]) -> dict[int, Record]:
        """Read entries; one that cannot be read is counted, and passed over."""
        records: dict[int, Record] = {}
        for position, stored in entries.items():
            try:
                records[position] = Record.unpack(position, stored)
            except ValueError as error:
                if not self._damaged:
                    logger.error(
                        "The index is damaged: entry %d: %s; such entries are passed over, and "
                        'their copies may be crawled again; "scrapy simhash stats --check" names '
                        "them",
                        position,
                        error,
                    )
                self._damaged.add(position)
        return records

    def _entry(self, record: Record) -> Entry:
        """Return an entry as an index gives it away."""
        return Entry(
            record.key,
            read_fingerprint(record.content, record.scope, self.spec.bits),
            record.scope,
            record.facts,
            record.time,
            provisional=record.state.owner is not None,
            run=record.state.run,
        )

    def _of_keys(self, keys: Iterable[str]) -> dict[int, Record]:
        """Return the entries of keys, in any scope, by position, in the order of the log."""
        records = dict[int, Record]()
        for batch in batches(dict.fromkeys(keys), CLAIMS_AT_ONCE):
            blank = Fingerprint(0, self.spec.bits, bytes(4 * self.spec.blocks))
            pages = [Arrival(key, blank) for key in batch]
            near = self._store.find(Lookups(pages, self.spec))
            for position, record in self._records(near.entries).items():
                if record.key in batch:
                    records[position] = record
        return dict(sorted(records.items()))


def _in_words(counts: Counts) -> str:
    numbers = sorted(counts.by_run.items())
    runs = ", ".join(f"{pages} of run {run_of(number)}" for number, pages in numbers)
    return f"{runs or 'no entries'}, {counts.provisional} in progress"


def _part_of(number: int, entry: Entry) -> Part:
    """Return the part that appends an entry, confirmed, whatever is near."""
    time = int(entry.time)
    record = Record(0, entry.key, entry.scope, entry.facts, time, State())
    new = {number: (record.state.pack(), record.pack())}
    return Part((number,), new=new, since=UNWRITTEN)
