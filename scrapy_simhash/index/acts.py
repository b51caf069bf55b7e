"""An open store, and the way in which every act of an index changes it.

An act reads states, makes new ones of them by a pure function, and commits, which the store does if
nothing changed meanwhile; else the act is tried again.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from scrapy_simhash.index.entry_states import Act, Record, State
from scrapy_simhash.index.lookups import Lookups, read_fingerprint
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.index.verbs import ENTRIES, Part, Store, Stored, StoreUnavailable
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

#: Pages that claim, are put, or are looked for by their keys at a time.
PAGES = 64
# Attempts of an act while others change what it rests on.
_ATTEMPTS = 100

# Containers may share a host's name, and have processes of their own.
_SPACE = Path("/proc/self/ns/pid")
HERE = f"{socket.gethostname()}{_SPACE.readlink() if _SPACE.exists() else ''}"
# The crawlers of this process whose index is open. A name of this process that is not here is dead.
_crawlers: set[str] = set()


class Acts:
    """An open store, for one crawler.

    It is synchronous and thread-safe. Every method may raise :class:`.StoreUnavailable`, as after
    :meth:`close`, or :class:`.StoreDamaged`.

    Attributes:
        spec: how it was opened.
        crawler: this crawler's name in the leases.
    """

    def __init__(self, store: Store, spec: IndexSpec) -> None:
        self.spec, self._store = spec, store
        self.crawler = new_crawler() if store.is_here else secrets.token_hex(6)
        self._lock, self._closed = threading.RLock(), False
        # Entries that cannot be read.
        self._damaged: set[int] = set()

    @property
    def damaged(self) -> int:
        """The number of entries that this crawler could not read, and passed over."""
        return len(self._damaged)

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

    def close(self) -> None:
        """Release the store's resources. Closing twice does no harm."""
        with self._lock:
            if not self._closed:
                self._closed = True
                _crawlers.discard(self.crawler)
                self._store.close()

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries, each scope's in the order of the log. The index may change meanwhile.

        Fingerprints may lack their block values, which are far apart in some stores.
        """
        return (entry for row in self._rows() for entry in self._shown([row]))

    def with_blocks(self) -> Iterator[Entry]:
        """Yield the entries as another index takes them; one in memory lacks block values."""
        return (entry for row in self._rows(blocks=True) for entry in self._shown([row]))

    @contextmanager
    def _use(self) -> Iterator[Store]:
        """Let one thread at a time through, if the store is open."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the index is closed")
            yield self._store

    def _now(self) -> float:
        """Return the time of the store, because the clocks of crawlers may be far apart."""
        return self._store.time() if self.spec.clock is time.time else self.spec.clock()

    def _lives(self, crawler: str) -> bool:
        return not (self._store.is_here and is_dead(crawler))

    def _is_expired(self, state: State, now: float) -> bool:
        if state.owner is None:
            return False
        return state.expires <= now or not self._lives(state.owner)

    def _attempts(self) -> Iterator[int]:
        yield from range(_ATTEMPTS)
        raise StoreUnavailable("others are always faster than this crawler")

    def _rows(self, *, blocks: bool = False) -> Iterator[tuple[int, Stored]]:
        after = 0
        while True:
            with self._use() as store:
                rows = store.scan(after, ENTRIES, blocks=blocks)
            if not rows:
                return
            yield from rows
            after = rows[-1][0]

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

    def _shown(self, rows: Iterable[tuple[int, Stored]]) -> list[Entry]:
        stored = dict(rows)
        return [
            Entry(
                *(key, read_fingerprint(stored[at].content, scope, self.spec.bits), scope, facts),
                *(time, state.owner is not None, state.run),
            )
            for at, (_, key, scope, facts, time, state) in self._records(stored).items()
        ]

    def _of_keys(self, keys: Iterable[str]) -> dict[int, Record]:
        """Return the entries of keys, in any scope, by position, in the order of the log."""
        rest, records = iter(dict.fromkeys(keys)), dict[int, Record]()
        while batch := [*islice(rest, PAGES)]:
            answer = self._store.find(Lookups.of_keys(batch, self.spec))
            for at, record in self._records(answer.entries).items():
                if record.key in batch:
                    records[at] = record
        return dict(sorted(records.items()))

    def _act(self, states: Mapping[int, tuple[bytes, Act]]) -> dict[int, bytes | None]:
        """Act on states of entries, given as they are believed to be; return how they are then."""
        after_act: dict[int, bytes | None] = {}
        for _ in self._attempts():
            # Many entries have one state.
            results = {pair: _result(*pair) for pair in {*states.values()}}
            after_act |= {at: results[pair] for at, pair in states.items()}
            changed = [at for at, (state, _) in states.items() if after_act[at] != state]
            if not changed:
                break
            parts = [Part((), {at: states[at][0]}, {}, {at: after_act[at]}) for at in changed]
            answer = self._store.commit(parts)
            refused = [at for at, w in zip(changed, answer.written, strict=True) if w is None]
            after_act |= dict.fromkeys(refused)
            records = self._records(self._store.read(refused)) if refused else {}
            states = {at: (r.state.pack(), states[at][1]) for at, r in records.items()}
        return after_act


def _result(state: bytes, act: Act) -> bytes | None:
    """Return the state after an act; the act leaves a state alone by returning it."""
    before = State.unpack(state)
    after = act(before)
    return state if after is before else after and after.pack()


def new_crawler() -> str:
    """Return the name of a crawler of this machine."""
    name = f"{HERE}:{os.getpid()}:{secrets.token_hex(4)}"
    _crawlers.add(name)
    return name


def is_dead(crawler: str) -> bool:
    """Return whether a crawler ran on this machine and does no more."""
    place, _, process = crawler.rpartition(":")[0].rpartition(":")
    if place != HERE:
        return False
    try:
        if int(process) == os.getpid():
            return crawler not in _crawlers
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError, ValueError):  # another user's, or no process
        return False
    return False
