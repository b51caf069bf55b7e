"""The index: what it promises, kept over any store of the verbs in :mod:`.verbs`.

An index holds the fingerprints of *originals*. A page is admitted in the log alone; buckets only
find candidates. A claim is compared exactly with whatever was admitted since its crawler last
looked, so no race admits two near-duplicates, however stale a crawler's view is.

The life of an entry, each line one atomic act::

    claim ──▶ provisional (leased to its crawler) ── confirm ──▶ confirmed ── superseded, or gone()
                  ├── release ──▶ gone, or confirmed as an earlier run left it
                  └── lease runs out ──▶ a claim that repeats it takes its place

An entry is *expired* once its lease has run out, or as soon as its crawler is known to be dead,
which only a store on this machine can know. An entry that is confirmed, or provisional and not
expired, is *living*.

Entries live in time. A *run* is what a spider's crawlers do from start to finish, and an entry
knows the run in which its page was last *seen*. A key has one entry that counts in its scope: when
its page comes with another text, the old entry is *superseded*, which is to say deleted, in the
same act that admits the new one.

Every act reads states, makes new ones of them by a pure function, and commits, which the store does
if nothing changed meanwhile; else the act is tried again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import run_list
from scrapy_simhash.index.decision import NEAR_NOTHING, UNWRITTEN, Decision, Era
from scrapy_simhash.index.entry_states import Act, Record, State, confirmed, releaser, renewer
from scrapy_simhash.index.errors import (
    StoreDamaged,
    StoreError,
    StoreMismatch,
    StoreMissing,
    StoreRefused,
    StoreUnavailable,
)
from scrapy_simhash.index.liveness import is_dead, leave, new_crawler
from scrapy_simhash.index.lookups import Lookups, read_fingerprint
from scrapy_simhash.index.neighbours import Near
from scrapy_simhash.index.values import (
    Arrival,
    Census,
    Claim,
    Entry,
    IndexSpec,
    Match,
    Report,
    Run,
    Unsettled,
)
from scrapy_simhash.index.verbs import Found, Part, Store, Stored
from scrapy_simhash.printable import logger_of

__all__ = [
    "Index",
    "StoreDamaged",
    "StoreError",
    "StoreMismatch",
    "StoreMissing",
    "StoreRefused",
    "StoreUnavailable",
]

logger = logger_of(__name__)

T = TypeVar("T")

# Pages that claim, or are put, at a time: each is compared with those before it.
_PAGES = 64
# Entries that are read at a time.
_ENTRIES = 1 << 12
# Entries at which one call looks, to see whether they expire.
_SWEPT = 1 << 13
# Seconds without a lease after which nobody comes back for an entry in progress; the crawler of a
# shorter outage may still tell that it was delivered.
_ABANDONED = 86_400.0
# Attempts of an act while others change what it rests on.
_ATTEMPTS = 100
_RUNS = "index:runs"


class Index:
    """Fingerprints of the pages crawled so far, shared by all crawlers of all spiders.

    It is synchronous and thread-safe. Every method may raise :class:`StoreUnavailable`, as a closed
    index does, or :class:`StoreDamaged`. A page that :meth:`IndexSpec.check` refuses raises
    ValueError, and nothing is written.

    Attributes:
        spec: how it was opened.
        crawler: this crawler's name in the leases.
        unjudged: near entries of this crawler's pages that were too many to be judged.
        retries: pages of this crawler that claimed again, because others had changed what their
            answer rested on.
    """

    def __init__(self, store: Store, spec: IndexSpec) -> None:
        self.spec, self._store = spec, store
        self.crawler = new_crawler() if store.is_here else secrets.token_hex(6)
        self.unjudged = self.retries = 0
        self._era = Era()
        self._lock, self._closed = threading.RLock(), False
        # The entries in progress of each key: their states by position, as this crawler wrote them.
        self._open: dict[str, dict[int, bytes]] = {}
        self._release = releaser(self.crawler)
        # Entries that cannot be read.
        self._damaged: set[int] = set()
        # Up to which position it was looked whether entries expire.
        self._swept = 0

    @property
    def flooded(self) -> int:
        """The number of look-ups of this crawler that read only the newest entries of a bucket."""
        return self._store.flooded

    @property
    def damaged(self) -> int:
        """The number of entries that this crawler could not read, and passed over."""
        return len(self._damaged)

    @contextmanager
    def _use(self) -> Iterator[Store]:
        """Let one thread at a time through, if the index is open."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the index is closed")
            yield self._store

    def _now(self) -> float:
        """Return the time of the store, because the clocks of crawlers may be far apart."""
        return self._store.time() if self.spec.clock is time.time else self.spec.clock()

    def _is_expired(self, state: State, now: float) -> bool:
        if state.owner is None:
            return False
        return state.expires <= now or (self._store.is_here and is_dead(state.owner))

    def _read(self, position: int, stored: Stored, read: Callable[..., T]) -> T | None:
        """Read an entry; one that cannot be read is counted, and passed over."""
        try:
            return read(position, stored)
        except ValueError as error:
            if not self._damaged:
                logger.error(
                    "The index is damaged: entry %d: %s; such entries are passed over, and their "
                    'copies may be crawled again; "scrapy simhash check" tells how many there are',
                    position,
                    error,
                )
            self._damaged.add(position)
            return None

    def _records(self, entries: Mapping[int, Stored]) -> dict[int, Record]:
        read = Record.unpack
        records = (self._read(position, stored, read) for position, stored in entries.items())
        return {record.position: record for record in records if record}

    def _states(self, entries: Mapping[int, Stored]) -> dict[int, State]:
        def read(_: int, stored: Stored) -> State:
            return State.unpack(stored.state)

        states = {at: self._read(at, stored, read) for at, stored in entries.items()}
        return {at: state for at, state in states.items() if state is not None}

    # Claims.

    def claim(self, arrival: Arrival) -> Claim:
        """Look for an entry that the page repeats; if there is none, the page becomes an original.

        An index that takes part in no run takes every entry for one that was seen in its run. The
        first of these sentences that fits decides:

        1. The page's own entry, of its key and scope at any distance, was seen in this run:
           revisit. If the entry is provisional, it is leased to this crawler from now on. If
           its text is beyond reach by now, and repeats no other living entry, a provisional entry
           with its new text supersedes the own one. It is ``SAME`` if an earlier run has delivered
           its text, by whole seconds.
        2. The own entry was seen in an earlier run, and the page is the same: original, ``SAME``,
           unless it repeats a living entry that was seen in this run, as of 3.
           The entry is seen in this run, and is provisional until it is confirmed. When it is
           released, it is again what it was.
        3. The page repeats, as the judge says, a living entry that was seen in this run or is of
           another spider: duplicate. Its own entry is seen in this run if the page is the same;
           else it stays as it was, if its page was delivered, because the next run may find it
           again; else it is deleted.
        4. The own entry has another text: original, ``CHANGED``.
        5. An alias has an entry that this spider saw in an earlier run, at any distance: original,
           ``MOVED`` from there.
        6. The page repeats entries that this spider saw in earlier runs: original, ``MOVED`` from
           the nearest.
        7. Original, ``NEW``.

        From 4 on, the page becomes a provisional original, leased to this crawler. It supersedes
        its own entry, and the one from which it has moved, if an alias names that: without one, the
        old address may answer yet. It takes the place of expired entries that are judged to be
        copies. An own entry that never was confirmed makes no page ``SAME`` or ``CHANGED`` but
        ``NEW``, because nobody has got that page.
        """
        (answer,) = self.claim_all([arrival])
        return answer

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        """Claim for several pages, with the same answers as :meth:`claim` one after the other.

        In the log they may stand in another order. When the store fails, some of the pages may have
        become originals; they claim again, or their leases run out.
        """
        self.spec.check(arrivals)
        claims: list[Claim] = []
        for first in range(0, len(arrivals), _PAGES):
            with self._use():
                claims += self._claim(arrivals[first : first + _PAGES])
        return claims

    def _claim(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        """Decide on what is near the pages, and commit; again with those that were refused.

        Where a look is dear, the first attempt assumes that nothing is near, as is true of nearly
        all pages: its refusal tells what is.
        """
        claims: dict[int, Claim] = {}
        left = [*range(len(arrivals))]
        seen: Found | None = None
        for _ in range(_ATTEMPTS):
            lookups = Lookups([arrivals[number] for number in left], self.spec)
            if self._store.looks_first and seen is None:
                seen = self._store.find(lookups)
            seen_so_far = seen or Found({}, {}, {})
            answers, refused, seen = self._attempt(lookups, seen_so_far)
            self.retries += len(seen_so_far.near.keys() & {*refused})
            claims |= {left[number]: claim for number, claim in answers.items()}
            if not refused:
                return [claims[number] for number in range(len(arrivals))]
            looked = [(n, m) for n, m in enumerate(refused) if m in seen.near]
            near = {n: seen.near[m] for n, m in looked}
            seen = Found(near, seen.entries, {n: seen.ends[m] for n, m in looked})
            left = [left[number] for number in refused]
        raise StoreUnavailable("others are always faster than this crawler")

    def _attempt(self, lookups: Lookups, seen: Found) -> tuple[dict[int, Claim], list[int], Found]:
        """Return claims by the page's number, pages that must claim again, what is near those."""
        now, twins = self._now(), lookups.twins()
        lease = State(self._era.run, self.crawler, now + self.spec.lease)
        records, packed = self._records(seen.entries), lease.pack()
        parts, decisions = list[Part](), list[Decision | None]()
        claims: dict[int, Claim] = {}
        for members in _groups(twins, seen.near):
            since = min(seen.ends.get(number, 0) for number in members)
            if len(members) == 1 and not seen.near.get(members[0]):  # as of nearly all pages
                (number,) = members
                page = lookups.arrivals[number]
                record = Record(0, page.key, page.scope, page.facts, now, lease)
                parts.append(Part(members, {}, {number: (packed, record.pack())}, {}, since))
                decisions.append(None)
                continue
            near = {number: seen.near.get(number, []) for number in members}
            positions = {position for pairs in near.values() for _, position in pairs}
            decision = Decision(
                {number: lookups.arrivals[number] for number in members},
                *(twins, self.spec, self._era, now, lease),
                lambda state: self._is_expired(state, now),
                *(near, {at: records[at] for at in positions if at in records}),
            )
            checks = {at: seen.entries[at].state for at in positions if at in records}
            new = {number: (packed, entry.pack()) for number, entry in decision.new.items()}
            writes: dict[int, bytes | None] = dict.fromkeys(decision.deleted)
            for at, record in (*decision.leased.items(), *decision.seen.items()):
                if at < UNWRITTEN:
                    writes[at] = record.state.pack()
            if new or writes:
                parts.append(Part(members, checks, new, writes, since))
                decisions.append(decision)
            else:
                self._answered(decision, {}, claims)
        if not parts:
            return claims, [], seen
        answer = self._store.commit(parts, lookups)
        refused: list[int] = []
        for part, decided, written in zip(parts, decisions, answer.written, strict=True):
            if written is None:
                refused += part.members
            elif decided is None:
                (number,) = part.members
                claims[number] = NEAR_NOTHING
                self._open.setdefault(lookups.arrivals[number].key, {})[written[0]] = packed
            else:
                places = (UNWRITTEN + number for number in decided.new)
                self._answered(decided, dict(zip(places, written, strict=True)), claims)
        return claims, sorted(refused), answer.found

    def _answered(
        self, decision: Decision, written: Mapping[int, int], claims: dict[int, Claim]
    ) -> None:
        """Take in what was decided, with the positions of entries that were written for it."""
        for at, record in decision.leased.items():
            self._open.setdefault(record.key, {})[written.get(at, at)] = record.state.pack()
        self.unjudged += decision.unjudged
        for number, claim in decision.claims.items():
            claims[number] = _with_positions(claim, written) if written else claim

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        """Return every entry within reach, nearest first, then oldest.

        It neither writes nor judges. Expired entries are among the answer.
        """
        page = Arrival("", fingerprint, scope)
        self.spec.check([page])
        with self._use() as store:
            answer = store.find(Lookups([page], self.spec))
            records = self._records(answer.entries)
        near = [(d, at) for d, at in answer.near.get(0, ()) if d <= self.spec.reach]
        return [records[at].match(distance) for distance, at in near if at in records]

    # The life of an entry.

    def confirm(self, keys: Iterable[str]) -> None:
        """Make the entries final that this crawler claimed under these keys.

        An entry that another crawler has in progress by now becomes final too: its page was
        delivered.
        """
        self._settle(dict.fromkeys(keys, confirmed))

    def release(self, keys: Iterable[str]) -> None:
        """Take back this crawler's provisional entries of these keys.

        They are deleted, or confirmed as an earlier run has left them. Entries that are confirmed,
        unknown or leased by another crawler are left alone.
        """
        self._settle(dict.fromkeys(keys, self._release))

    def renew(self, keys: Iterable[str]) -> None:
        """Start the leases of this crawler's provisional entries of these keys anew."""
        self.report(Report(renewed=[*keys]))

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        """Return how these entries fared; those that are in neither set are confirmed.

        An entry that this run has seen again and that was taken back is gone for this run.
        """
        positions = frozenset(entries)
        if not positions:
            return Unsettled(frozenset(), frozenset())
        with self._use() as store:
            now = self._now()
            states = self._states(store.read([*positions]))
        expired = {at for at, state in states.items() if self._is_expired(state, now)}
        provisional = {at for at, state in states.items() if state.owner is not None} - expired
        earlier = {at for at, state in states.items() if state.run in self._era.earlier}
        gone = positions - states.keys() | expired | (earlier - provisional)
        return Unsettled(frozenset(provisional), gone)

    def report(self, news: Report) -> Unsettled:
        """Release, confirm, renew and answer how entries fared, in one call.

        When it fails, a part of it may be done. To do it again does no harm.
        """
        with self._use():
            expires = self._now() + self.spec.lease
            renewed = renewer(self.crawler, expires)
            acts: dict[str, Act] = dict.fromkeys(news.renewed or (), renewed)
            acts |= dict.fromkeys(news.delivered, confirmed)
            acts |= dict.fromkeys(news.failed, self._release)
            if acts:
                self._settle(acts, renewed)
            if news.renewed is not None and self._era.run:
                self._change_runs(
                    lambda runs: run_list.renew(runs, self._era.run, self.crawler, expires)
                )
        return self.unsettled(news.entries)

    def _settle(self, acts: Mapping[str, Act], renewed: Act | None = None) -> None:
        """Act on the entries in progress of keys, which are settled by that, or are renewed."""
        with self._use():
            todo = {
                position: (state, act)
                for key, act in acts.items()
                for position, state in self._open.get(key, {}).items()
            }
            # A claim that had no answer may have made an original of which nobody knows here.
            unknown = [key for key, act in acts.items() if act is self._release]
            if unknown := [key for key in unknown if key not in self._open]:
                todo |= {
                    position: (record.state.pack(), self._release)
                    for position, record in self._of_keys(unknown).items()
                }
            self._act(todo)
            for key, act in acts.items():
                if act is not renewed:
                    self._open.pop(key, None)
                elif states := self._open.get(key):
                    for position, state in states.items():
                        after = act(State.unpack(state))
                        states[position] = after.pack() if after else state

    def _act(self, todo: Mapping[int, tuple[bytes, Act]]) -> None:
        """Act on states of entries, given as they are believed to be."""
        after_act: dict[tuple[bytes, Act], bytes | None] = {}
        for _ in range(_ATTEMPTS):
            for old, act in {*todo.values()} - after_act.keys():
                before = State.unpack(old)
                after = act(before)
                after_act[old, act] = old if after is before else after and after.pack()
            todo = {at: pair for at, pair in todo.items() if after_act[pair] != pair[0]}
            if not todo:
                return
            parts = [
                Part((), {at: pair[0]}, {}, {at: after_act[pair]}) for at, pair in todo.items()
            ]
            answer = self._store.commit(parts)
            refused = [at for at, w in zip(todo, answer.written, strict=True) if w is None]
            stored = self._store.read(refused) if refused else {}
            todo = {at: (s.pack(), todo[at][1]) for at, s in self._states(stored).items()}
        raise StoreUnavailable("others are always faster than this crawler")

    # Runs.

    def begin_run(self, resumed: int | None = None) -> Run:
        """Take part in a run of this crawler's spider; every later claim belongs to it.

        It is the one whose number is given, if that is an unfinished run of the spider; else the
        last run of the spider, if it is unfinished and a crawler of it lives, which is to say has
        renewed a lease, or begun, within a lease's time; else a new run.
        """
        with self._use() as store:
            now = self._now()
            spider, lease, counted = self.spec.spider, self.spec.lease, store.counts().by_run
            number = self._change_runs(
                lambda runs: run_list.begin(
                    runs, spider, resumed, self.crawler, now, lease, self._lives, counted
                )
            )
            runs = self.runs()
            run = next(run for run in runs if run.number == number)
            self._era = Era.of(run, runs)
        return run

    def end_run(self, *, finished: bool) -> None:
        """Leave the run. It ends with its last living crawler, whose word counts."""
        with self._use():
            now = self._now()
            self._change_runs(
                lambda runs: run_list.end(
                    runs, self._era.run, self.crawler, now, finished, self._lives
                )
            )

    def _lives(self, crawler: str) -> bool:
        return not (self._store.is_here and is_dead(crawler))

    def _change_runs(self, change: Callable[[run_list.Rows], T]) -> T:
        for _ in range(_ATTEMPTS):
            old = self._store.cells(_RUNS).get(_RUNS)
            runs = run_list.read(old)
            answer = change(runs)
            new = run_list.packed(runs)
            if new == old or self._store.swap(_RUNS, old, new):
                return answer
        raise StoreUnavailable("others are always faster than this crawler")

    def runs(self) -> list[Run]:
        """Return the runs, the oldest first; those without entries go, see :meth:`expire`."""
        with self._use() as store:
            rows = run_list.read(store.cells(_RUNS).get(_RUNS))
            return run_list.shown(rows, store.counts().by_run)

    def missing(self, run: int) -> Iterator[Entry]:
        """Yield the entries of a spider's earlier runs whose pages were not seen in a run or since.

        It may read the whole log. A number that is none of a run has nothing missing.
        """
        earlier = {before.number for before in self._earlier(run)}
        return (entry for entry in self if entry.run in earlier) if earlier else iter(())

    def missing_count(self, run: int) -> int:
        """Return how many entries :meth:`missing` yields, those in progress included."""
        return sum(before.pages for before in self._earlier(run))

    def _earlier(self, number: int) -> list[Run]:
        runs = self.runs()
        spiders = {run.spider for run in runs if run.number == number}
        return [run for run in runs if run.number < number and run.spider in spiders]

    def old_runs(self, keep: int) -> list[Run]:
        """Return this spider's runs that are older than its last ``keep`` finished ones."""
        runs = [run for run in self.runs() if run.spider == self.spec.spider]
        newest = [run.number for run in runs if run.finished][-keep:] if keep > 0 else []
        return [run for run in runs if newest and run.number < newest[0] and len(newest) == keep]

    def expire(self, keep: int, most: int) -> int:
        """Delete what nobody comes back for; return how many entries have changed.

        These are the entries of this spider's runs before its last ``keep`` finished ones, if
        ``keep`` is not 0, and entries of any run that have been in progress without a living lease
        for a day. An entry that an earlier run has delivered is again what that run left.

        At most ``most`` entries change, and a bounded part of the log is looked at; the next call
        goes on behind it. An old run without entries is forgotten.
        """
        old = {run.number for run in self.old_runs(keep)}
        with self._use() as store:
            ended = self._now() - _ABANDONED

            def expired(state: State) -> State | None:
                after: State | None = state
                if state.owner is not None and state.expires < ended:
                    after = None if state.back is None else State(state.back)
                return None if after and after.owner is None and after.run in old else after

            rows, after = list[tuple[int, Stored]](), self._swept
            while len(rows) < _SWEPT and (more := store.scan(after, _SWEPT - len(rows))):
                rows, after = rows + more, more[-1][0]
            states = self._states(dict(rows))
            swept = [at for at, state in states.items() if expired(state) != state][:most]
            self._act({at: (states[at].pack(), expired) for at in swept})
            is_full = len(swept) == most
            self._swept = swept[-1] if is_full else after if len(rows) >= _SWEPT else 0
            empty = {run.number for run in self.runs() if run.number in old and not run.pages}
            if empty:
                self._change_runs(lambda runs: run_list.forget(runs, empty))
        return len(swept)

    # By keys.

    def entries_of(self, keys: Iterable[str]) -> list[Entry]:
        """Return the entries of these keys, in any scope, each scope's in the order of the log.

        It reads no more than that. Fingerprints may lack their block values.
        """
        with self._use() as store:
            stored = store.read([*self._of_keys(keys)], contents=True)
            return self._shown(sorted(stored.items()))

    def was_delivered(self, key: str) -> bool | None:
        """Return whether a page of this key was delivered; None while one is in progress."""
        with self._use():
            entries = self._of_keys([key]).keys()
        provisional, gone = self.unsettled(entries)
        return None if provisional else bool(entries - gone)

    def gone(self, keys: Iterable[str]) -> int:
        """Delete the entries of these keys, in any scope, whoever has them; return how many."""
        act: Act = lambda _: None  # noqa: E731
        with self._use():
            records = self._of_keys(keys)
            self._act({at: (record.state.pack(), act) for at, record in records.items()})
        return len(records)

    def _of_keys(self, keys: Iterable[str]) -> dict[int, Record]:
        """Return the entries of keys, by position, in the order of the log."""
        rest, records = iter(dict.fromkeys(keys)), dict[int, Record]()
        while batch := [*islice(rest, _PAGES)]:
            answer = self._store.find(Lookups.of_keys(batch, self.spec))
            for at, record in self._records(answer.entries).items():
                if record.key in batch:
                    records[at] = record
        return dict(sorted(records.items()))

    # Acts of an operator.

    def put(self, entries: Iterable[Entry]) -> int:
        """Append entries of another index, confirmed, whatever is near; return how many are new.

        Key, fingerprint, blocks, scope and facts are kept as they are, the time in whole seconds.
        They belong to no run. An entry whose key has a confirmed one in its scope changes nothing.
        """
        count, rest, confirmed_state = 0, iter(entries), State().pack()
        while batch := [*islice(rest, _PAGES)]:
            arrivals = [
                Arrival(item.key, item.fingerprint, item.scope, item.facts) for item in batch
            ]
            self.spec.check(arrivals)
            with self._use() as store:
                records = self._of_keys(entry.key for entry in batch).values()
                present = {(item.key, item.scope) for item in records if item.state.delivered}
                new: dict[int, tuple[bytes, bytes]] = {}
                for number, (key, _, scope, facts, at, *_) in enumerate(batch):
                    if (key, scope) not in present:
                        present.add((key, scope))
                        body = Record(0, key, scope, facts, at, State()).pack()
                        new[number] = confirmed_state, body
                if new:
                    parts = [
                        Part((number,), {}, {number: new[number]}, {}, UNWRITTEN) for number in new
                    ]
                    store.commit(parts, Lookups(arrivals, self.spec))
            count += len(new)
        return count

    def cells(self, prefix: str) -> dict[str, bytes]:
        """Return the small values whose names begin so; they are no entries, and outlive them.

        A name is ``family:rest``, and a prefix names its family. The family "index" is taken.
        """
        with self._use() as store:
            return store.cells(prefix)

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        """Set a cell if it has the old value, None being a cell that is not there.

        Return whether it had that value.
        """
        with self._use() as store:
            return store.swap(name, old, new)

    def clear(self) -> None:
        """Remove all entries. Cells, which tell of sites and not of pages, stay."""
        with self._use() as store:
            store.clear()
            self._change_runs(run_list.forget_all)
            self._open.clear()
            self._swept = 0

    def check(self) -> list[str]:
        """Return what is missing or cannot be read, a sentence each. It reads the whole index."""
        with self._use() as store:
            complaints = store.check()
        for at, stored in self._rows():
            try:
                Record.unpack(at, stored)
            except ValueError as error:
                complaints.append(f"entry {at}: {error}")
        return complaints

    def census(self) -> Census:
        """Count what is there; no call to the store is a large one."""
        with self._use() as store:
            by_run, provisional = store.counts()
            return Census(sum(by_run.values()), provisional, store.sizes())

    def __len__(self) -> int:
        with self._use() as store:
            return sum(store.counts().by_run.values())

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries, each scope's in the order of the log. The index may change meanwhile.

        Fingerprints may lack their block values, which are far apart in some stores.
        """
        return (entry for row in self._rows() for entry in self._shown([row]))

    def with_blocks(self) -> Iterator[Entry]:
        """Yield the entries as another index takes them; one in memory lacks block values."""
        return (entry for row in self._rows(blocks=True) for entry in self._shown([row]))

    def _rows(self, *, blocks: bool = False) -> Iterator[tuple[int, Stored]]:
        after = 0
        while True:
            with self._use() as store:
                rows = store.scan(after, _ENTRIES, blocks=blocks)
            if not rows:
                return
            yield from rows
            after = rows[-1][0]

    def _shown(self, rows: Iterable[tuple[int, Stored]]) -> list[Entry]:
        entries = []
        for at, stored in rows:
            if record := self._read(at, stored, Record.unpack):
                _, key, scope, facts, time, state = record
                fingerprint = read_fingerprint(stored.content, scope, self.spec.bits)
                entries.append(
                    Entry(key, fingerprint, scope, facts, time, state.owner is not None, state.run)
                )
        return entries

    def close(self) -> None:
        """Release the store's resources. Closing twice does no harm."""
        with self._lock:
            if not self._closed:
                self._closed = True
                leave(self.crawler)
                self._store.close()


def _groups(twins: Sequence[Near], near: Mapping[int, Near]) -> list[list[int]]:
    """Return the numbers of the pages, those together whose answers depend on each other.

    They are near each other, or near the same entry, in however many steps.
    """
    if not any(twins) and not any(near.values()):
        return [[number] for number in range(len(twins))]
    leaders: dict[tuple[str, int], tuple[str, int]] = {}

    def leader(name: tuple[str, int]) -> tuple[str, int]:
        while (above := leaders.get(name, name)) != name:
            leaders[name] = leaders.get(above, above)
            name = above
        return name

    for number, earlier in enumerate(twins):
        for node in [
            *(("page", n) for _, n in earlier),
            *(("entry", at) for _, at in near.get(number, ())),
        ]:
            leaders[leader(node)] = leader(("page", number))
    groups: dict[tuple[str, int], list[int]] = {}
    for number in range(len(twins)):
        groups.setdefault(leader(("page", number)), []).append(number)
    return [*groups.values()]


def _with_positions(claim: Claim, written: Mapping[int, int]) -> Claim:
    """Return a claim that names entries by the positions to which they were written."""

    def placed(matches: Iterable[Match]) -> tuple[Match, ...]:
        return tuple(m._replace(entry=written.get(m.entry, m.entry)) for m in matches)

    return claim._replace(matches=placed(claim.matches), near=placed(claim.near))
