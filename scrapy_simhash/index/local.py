"""The index on this machine: a log that decides, and its fingerprints in this process's RAM.

RAM holds a superset of the log: an entry that was deleted is noticed, and forgotten, when its
record is read.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    MAX_ADOPTIONS,
    MAX_ORPHANS,
    Arrival,
    Census,
    Claim,
    Entry,
    Index,
    IndexSpec,
    Match,
    Orphan,
    Unsettled,
)
from scrapy_simhash.index.decision import Decision, Pages, in_scope, read_fingerprint
from scrapy_simhash.index.log import Log, Record
from scrapy_simhash.index.neighbours import (
    Near,
    Neighbours,
    packed_blocks,
    packed_words,
)
from scrapy_simhash.index.sqlite_file import SqliteFile

logger = logging.getLogger(__name__)

# Rows of the log that are followed at a time, and entries that are read or put at a time.
_ROWS = 1 << 16
_ENTRIES = 1 << 12
_PUT = 1 << 8


class LocalIndex(Index):
    """An index on this machine; see the contract for its methods."""

    def __init__(self, file: SqliteFile, spec: IndexSpec) -> None:
        self.spec = spec
        self._log = Log(file, spec)
        self._neighbours = Neighbours(spec.bits, spec.blocks, spec.reach)
        self._lock = threading.RLock()
        # The last position that is in RAM.
        self._seen = 0
        # The positions of the entries that this crawler has in progress.
        self._open: dict[str, set[int]] = {}

    # Claims.

    def claim_all(self, arrivals: Sequence[Arrival], *, now: float | None = None) -> list[Claim]:
        if not arrivals:
            return []
        now = time.time() if now is None else now
        pages, log = Pages(arrivals, self.spec), self._log
        with self._lock:
            with self._admission(pages) as new:
                decision = Decision(pages, self.spec, log, now, *self._look(pages), new)
                log.delete(decision.deleted)
                log.lease(decision.leased.values())
            self._hold(decision.leased.values())
        return decision.claims

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        with self._lock:
            self._follow()
            (near,), records = self._look(Pages([Arrival("", fingerprint, scope)], self.spec))
        return [records[at].match(distance) for distance, at in near if at in records]

    # The log in RAM.

    def _follow(self) -> None:
        """Take what the log holds since the last look into RAM."""
        while rows := self._log.rows(self._seen, _ROWS):
            positions, values, blocks = zip(*rows, strict=True)
            self._neighbours.add(
                positions,
                packed_words(values, self.spec.bits),
                packed_blocks(blocks, self.spec.blocks),
            )
            self._seen = positions[-1]

    @contextmanager
    def _admission(self, pages: Pages) -> Iterator[dict[int, Record]]:
        """Hold the log; when left, it and RAM get the entries given for pages by their index."""
        new: dict[int, Record] = {}
        self._follow()  # much may have come since the last look, and others can write meanwhile
        with self._log.transaction():
            self._follow()
            yield new
            self._log.append(new.values(), [pages.fingerprints[index] for index in new])
        if new:
            positions = [record.position for record in new.values()]
            self._neighbours.add(positions, pages.words[[*new]], pages.blocks[[*new]])
            self._seen = positions[-1]

    def _look(self, pages: Pages) -> tuple[list[Near], dict[int, Record]]:
        """Return what is near each page, and the entries; deleted ones are missing."""
        near = self._neighbours.find(pages.words, pages.blocks)
        self.flooded = self._neighbours.flooded
        wanted = {position for some in near for _, position in some}
        records = self._log.records(wanted)
        if gone := wanted - records.keys():
            self._neighbours.forget([*gone])
        return near, records

    # Leases.

    def confirm(self, keys: Iterable[str]) -> None:
        self._settle(keys, self._log.settle)

    def release(self, keys: Iterable[str]) -> None:
        self._settle(keys, self._log.release)

    def _settle(self, keys: Iterable[str], act: Callable[[list[int]], None]) -> None:
        keys = list(keys)
        with self._lock:
            with self._log.transaction():
                act(self._positions(keys))
            for key in keys:
                self._open.pop(key, None)

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:
        expires = (time.time() if now is None else now) + self.spec.lease
        with self._lock, self._log.transaction():
            self._log.renew(self._positions(keys), expires)

    def _positions(self, keys: Iterable[str]) -> list[int]:
        return [position for key in keys for position in self._open.get(key, ())]

    def _hold(self, records: Iterable[Record]) -> None:
        for record in records:
            self._open.setdefault(record.key, set()).add(record.position)

    def orphans(self, *, now: float | None = None) -> list[Orphan]:
        now = time.time() if now is None else now
        owner, expires = self._log.crawler, now + self.spec.lease
        adopted, given_up = [], []
        with self._lock:
            with self._log.transaction():
                for record in self._log.expired(now, MAX_ORPHANS):
                    times = record.adoptions + 1
                    if record.request is None or times > MAX_ADOPTIONS:
                        given_up.append(record)
                        continue
                    record = record._replace(owner=owner, expires=expires, adoptions=times)
                    adopted.append(record)
                self._log.lease(adopted)
                self._log.delete([record.position for record in given_up])
            self._hold(adopted)
        for record in given_up:
            if record.request is not None:
                logger.warning(
                    "%s is not crawled again: %d crawlers that had it in progress have ended",
                    record.key,
                    MAX_ADOPTIONS + 1,
                )
        return [Orphan(record.key, record.request or "") for record in adopted]

    def unsettled(self, entries: Iterable[int], *, now: float | None = None) -> Unsettled:
        now = time.time() if now is None else now
        asked = frozenset(entries)
        with self._lock:
            records = self._log.records(asked)
            expired = {at for at, r in records.items() if self._log.is_expired(r, now)}
        provisional = {at for at, r in records.items() if r.owner is not None} - expired
        return Unsettled(frozenset(provisional), asked - records.keys() | expired)

    # Acts of an operator.

    def put(self, entries: Iterable[Entry]) -> int:
        count, rest = 0, iter(entries)
        while some := list(islice(rest, _PUT)):
            arrivals = [Arrival(e.key, e.fingerprint, e.scope, e.facts) for e in some]
            pages = Pages(arrivals, self.spec)
            with self._lock, self._admission(pages) as new:
                (near, records), last = self._look(pages), self._log.last()
                known = {
                    (records[at].key, own.value)
                    for own, found in zip(pages.fingerprints, near, strict=True)
                    for distance, at in found
                    if distance == 0 and at in records and records[at].owner is None
                }
                for index, (e, own) in enumerate(zip(some, pages.fingerprints, strict=True)):
                    if (e.key, own.value) not in known:
                        known.add((e.key, own.value))
                        position, when = last + len(new) + 1, float(int(e.time))
                        new[index] = Record(position, e.key, e.scope, e.facts, when)
            count += len(new)
        return count

    def remove(self, keys: Iterable[str]) -> int:
        wanted = set(keys)
        with self._lock, self._log.transaction():
            positions = self._log.positions(wanted)
            self._log.delete(positions)
        return len(positions)

    def clear(self) -> None:
        with self._lock:
            with self._log.transaction():
                self._log.clear()
            self._neighbours = Neighbours(self.spec.bits, self.spec.blocks, self.spec.reach)
            self._open.clear()

    def census(self) -> Census:
        with self._lock:
            return self._log.census()

    def __len__(self) -> int:
        with self._lock:
            return len(self._log)

    def __iter__(self) -> Iterator[Entry]:
        after = 0
        while True:
            with self._lock:
                rows = self._log.rows(after, _ENTRIES)
                positions = [row[0] for row in rows]
                # The rows of an index in RAM are empty.
                rows = rows if self._log.has_fingerprints else self._neighbours.at(positions)
                records = self._log.records(positions)
            if not rows:
                return
            for after, value, packed in rows:
                if record := records.get(after):
                    _, key, scope, facts, time_, owner, *_ = record
                    own = in_scope(read_fingerprint(value + packed, self.spec.bits), scope)
                    yield Entry(key, own, scope, facts, time_, owner is not None)

    def close(self) -> None:
        with self._lock:
            self._log.close()
