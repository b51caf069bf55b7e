"""An open store, and the way in which every act of an index changes it.

An act reads states, makes new ones of them by a pure function, and commits, which the store does if
nothing changed meanwhile; else the act is tried again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from scrapy_simhash.index import crawler_names
from scrapy_simhash.index.entry_states import Act, Record, State
from scrapy_simhash.index.lookups import Lookups, read_fingerprint
from scrapy_simhash.index.store import ROWS_AT_ONCE, Part, Store, Stored, StoreUnavailable
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

#: Pages that claim, are put, or are looked for by their keys at a time.
PAGES = 64
# Attempts of an act while others change what it rests on.
_ATTEMPTS = 100


class OpenStore:
    """A store that is open for one crawler. It is thread-safe.

    Args:
        spec: the spec with which it was opened.

    Attributes:
        crawler: this crawler's name in the leases.
        damaged: positions of the entries that this crawler could not read, and passed over.
    """

    def __init__(self, store: Store, spec: IndexSpec) -> None:
        self._store = store
        self._spec = spec
        self._lock = threading.RLock()
        self._is_closed = False
        self.crawler = crawler_names.new_name(is_here=store.is_here)
        self.damaged: set[int] = set()

    def close(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                crawler_names.give_up(self.crawler)
                self._store.close()

    @contextmanager
    def use(self) -> Iterator[Store]:
        """Let one thread at a time through, if the store is open."""
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("the index is closed")
            yield self._store

    def now(self) -> float:
        """Return the time of the store, because the clocks of crawlers may be far apart."""
        return self._store.time() if self._spec.clock is time.time else self._spec.clock()

    def may_live(self, crawler: str) -> bool:
        """Return whether a crawler may still run; only a store on this machine can know."""
        return not (self._store.is_here and crawler_names.is_dead(crawler))

    def is_expired(self, now: float, state: State) -> bool:
        if state.owner is None:
            return False
        return state.expires <= now or not self.may_live(state.owner)

    def attempts(self) -> Iterator[int]:
        """Yield the numbers of the attempts of an act.

        Raises:
            StoreUnavailable: there were too many.
        """
        yield from range(_ATTEMPTS)
        raise StoreUnavailable("others are always faster than this crawler")

    def rows(self, *, blocks: bool = False) -> Iterator[tuple[int, Stored]]:
        """Yield all entries and their positions; others may change the store meanwhile."""
        after = 0
        while True:
            with self.use() as store:
                rows = store.scan(after, ROWS_AT_ONCE, blocks=blocks)
            if not rows:
                return
            yield from rows
            after = rows[-1][0]

    def entries(self, *, blocks: bool = False) -> Iterator[Entry]:
        for row in self.rows(blocks=blocks):
            yield from self.shown([row])

    def records(self, entries: Mapping[int, Stored]) -> dict[int, Record]:
        """Read entries; one that cannot be read is counted, and passed over."""
        records: dict[int, Record] = {}
        for position, stored in entries.items():
            try:
                records[position] = Record.unpack(position, stored)
            except ValueError as error:
                if not self.damaged:
                    logger.error(
                        "The index is damaged: entry %d: %s; such entries are passed over, and "
                        'their copies may be crawled again; "scrapy simhash stats --check" names '
                        "them",
                        position,
                        error,
                    )
                self.damaged.add(position)
        return records

    def shown(self, rows: Iterable[tuple[int, Stored]]) -> list[Entry]:
        """Return entries as an index gives them away."""
        stored = dict(rows)
        return [
            Entry(
                record.key,
                read_fingerprint(stored[position].content, record.scope, self._spec.bits),
                record.scope,
                record.facts,
                record.time,
                provisional=record.state.owner is not None,
                run=record.state.run,
            )
            for position, record in self.records(stored).items()
        ]

    def of_keys(self, keys: Iterable[str]) -> dict[int, Record]:
        """Return the entries of keys, in any scope, by position, in the order of the log."""
        rest = iter(dict.fromkeys(keys))
        records = dict[int, Record]()
        while batch := [*islice(rest, PAGES)]:
            found = self._store.find(Lookups.of_keys(batch, self._spec))
            for position, record in self.records(found.entries).items():
                if record.key in batch:
                    records[position] = record
        return dict(sorted(records.items()))

    def act(self, states: Mapping[int, tuple[bytes, Act]]) -> dict[int, bytes | None]:
        """Act on states of entries, given as they are believed to be; return how they are then."""
        after_act: dict[int, bytes | None] = {}
        for _ in self.attempts():
            # Many entries have one state.
            results = {pair: _result(*pair) for pair in {*states.values()}}
            after_act |= {at: results[pair] for at, pair in states.items()}
            refused = self._refused(
                [
                    Part((), {at: state}, {}, {at: after_act[at]})
                    for at, (state, _) in states.items()
                    if after_act[at] != state
                ]
            )
            if not refused:
                break
            after_act |= dict.fromkeys(refused)
            there = self.records(self._store.read(refused))
            states = {at: (there[at].state.pack(), states[at][1]) for at in there}
        return after_act

    def _refused(self, parts: Sequence[Part]) -> list[int]:
        """Commit changes of one entry each; return the positions of those that were refused."""
        written = self._store.commit(parts).written if parts else []
        pairs = zip(parts, written, strict=True)
        return [at for part, new in pairs if new is None for at in part.writes]


def _result(state: bytes, act: Act) -> bytes | None:
    """Return the state after an act; the act leaves a state alone by returning it."""
    before = State.unpack(state)
    after = act(before)
    if after is before:
        return state
    return None if after is None else after.pack()
