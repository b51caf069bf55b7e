"""The index on this machine: a log that decides, and its fingerprints in this process's RAM.

RAM holds a superset of the log: an entry that was deleted is noticed, and forgotten, when its
record is read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    MAX_ADOPTIONS,
    Arrival,
    Census,
    Claim,
    Entry,
    Index,
    IndexSpec,
    Match,
    Neighbour,
    Orphan,
    Outcome,
    Ruling,
    StoreDamaged,
    Unsettled,
)
from scrapy_simhash.index.liveness import Liveness
from scrapy_simhash.index.log import Lease, Log, Record, Row
from scrapy_simhash.index.memory_log import MemoryLog
from scrapy_simhash.index.neighbours import (
    Neighbours,
    Uint32s,
    Uint64s,
    bit_count,
    in_scope,
    packed_words,
)

logger = logging.getLogger(__name__)

# Rows of the log that are followed at a time, and entries that are read or put at a time.
_ROWS = 1 << 16
_ENTRIES = 1 << 12
_PUT = 1 << 8


class _Found(NamedTuple):
    """An entry within the distance, and what was judged of it; the reason "key" is its own."""

    distance: int
    record: Record
    living: bool
    ruling: Ruling

    @property
    def is_own(self) -> bool:
        return self.ruling.reason == "key"

    @property
    def match(self) -> Match:
        record = self.record
        provisional = record.lease is not None
        reason = self.ruling.reason
        return Match(record.position, record.key, self.distance, record.time, provisional, reason)


class _Batch:
    """The pages of one call, as numpy compares them.

    Attributes:
        words: their fingerprints, shape (n, bits / 64).
        blocks: their block values within their scopes, shape (n, blocks).
        twins: for each page, (distance, index) of the earlier pages of the call that are near.
        near: for each page, (distance, position) of the entries that are near.
        rulings: what was judged of a page, by its index, and an entry, by its position.
    """

    def __init__(self, arrivals: Sequence[Arrival], spec: IndexSpec) -> None:
        for arrival in arrivals:
            spec.check(arrival.fingerprint, arrival.facts)
        self.arrivals = arrivals
        self.words = packed_words(
            b"".join(arrival.fingerprint.to_bytes() for arrival in arrivals), spec.bits
        )
        self.blocks = _scoped([(a.scope, a.fingerprint.blocks) for a in arrivals], spec.blocks)
        self.near: list[list[tuple[int, int]]] = []
        self.rulings: dict[tuple[int, int], Ruling] = {}
        self.twins: list[list[tuple[int, int]]] = []

    def find_twins(self, distance: int) -> None:
        """Compare the pages with each other."""
        arrivals = self.arrivals
        self.twins = [[] for _ in arrivals]
        distances = np.zeros((len(arrivals), len(arrivals)), np.uint16)
        for column in self.words.T:
            distances += bit_count(column[:, None] ^ column)
        later, earlier = np.nonzero(np.tril(distances <= distance, -1))
        for i, j in zip(later.tolist(), earlier.tolist(), strict=True):
            if arrivals[i].scope == arrivals[j].scope:
                self.twins[i].append((int(distances[i, j]), j))


class _Changes:
    """What a batch does to the log, written in one go once everything is decided."""

    def __init__(self, last: int) -> None:
        self._last = last
        self.new: dict[int, tuple[Arrival, Record]] = {}
        self.positions: dict[int, int] = {}
        self.leases: dict[int, Lease] = {}
        self.deleted: set[int] = set()

    def admit(self, index: int, arrival: Arrival, now: float, lease: Lease | None) -> None:
        position = self._last + len(self.new) + 1
        record = Record(position, arrival.key, arrival.scope, arrival.facts, now, lease)
        self.new[position] = (arrival, record)
        self.positions[index] = position

    def applied(self, record: Record) -> Record | None:
        """Return a record of the log as it is after these changes."""
        if record.position in self.deleted:
            return None
        return record._replace(lease=self.leases.get(record.position, record.lease))


class LocalIndex(Index):
    """See the contract for its methods.

    Args:
        spec: how it is opened.
        log: the store.
        neighbours: the log's fingerprints in RAM; empty, and used by nobody else.
        name: the name of this crawler in the log.
    """

    def __init__(self, spec: IndexSpec, log: Log, neighbours: Neighbours, name: str) -> None:
        self.spec = spec
        self._log = log
        self._neighbours = neighbours
        self._name = name
        self._lock = threading.RLock()
        self._seen = 0
        # Where the entries are that this crawler has in progress.
        self._open: dict[str, set[int]] = {}

    # Claims.

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        if not arrivals:
            return []
        now = time.time() if now is None else now
        batch = _Batch(arrivals, self.spec)
        batch.find_twins(self.spec.distance)
        with self._lock:
            self._follow()
            # Most of the time goes into this, while other crawlers can write.
            compared = len(self._neighbours)
            batch.near = self._find(batch)
            claims = self._settled(batch, now)
            if None not in claims:
                return [claim for claim in claims if claim]
            with self._log.transaction():
                self._follow()
                # Whatever came meanwhile is compared exactly: no race admits two.
                for near, later in zip(
                    batch.near, self._neighbours.scan(batch.words, compared), strict=True
                ):
                    near += later
                changes = _Changes(self._log.last())
                decided = self._decided(batch, claims, changes, now)
                self._write(changes)
            self._take_in(batch, changes)
            return decided

    def _settled(self, batch: _Batch, now: float) -> list[Claim | None]:
        """Return the answers that change nothing and hang on no other page of the call."""
        claims: list[Claim | None] = []
        records = self._records(batch.near)
        for index, twins in enumerate(batch.twins):
            found = self._judged(batch, index, records, now)
            claim = self._answer(found)
            hangs = twins or claim.outcome is Outcome.ORIGINAL
            hangs = hangs or any(not f.living or (f.is_own and f.record.lease) for f in found)
            claims.append(None if hangs else claim)
        return claims

    def _decided(
        self, batch: _Batch, settled: list[Claim | None], changes: _Changes, now: float
    ) -> list[Claim]:
        """Answer all claims under the store's write lock, one after the other."""
        open_ones = [near for near, claim in zip(batch.near, settled, strict=True) if not claim]
        records = self._records(open_ones)
        claims = []
        for index, (arrival, claim) in enumerate(zip(batch.arrivals, settled, strict=True)):
            if claim is None:
                there = {
                    at: changed
                    for _, at in batch.near[index]
                    if (record := records.get(at)) and (changed := changes.applied(record))
                }
                for distance, twin in batch.twins[index]:
                    if (position := changes.positions.get(twin)) is not None:
                        batch.near[index].append((distance, position))
                        record = changes.applied(changes.new[position][1])
                        if record is not None:
                            there[position] = record
                batch.near[index].sort()
                found = self._judged(batch, index, there, now)
                claim = self._answer(found)
                self._change(index, arrival, claim, found, changes, now)
            claims.append(claim)
        return claims

    def _change(
        self,
        index: int,
        arrival: Arrival,
        claim: Claim,
        found: list[_Found],
        changes: _Changes,
        now: float,
    ) -> None:
        """Note what an answer does to the log."""
        lease = Lease(self._name, now + self.spec.lease, request=arrival.request)
        if claim.outcome is Outcome.ORIGINAL:
            changes.deleted |= {f.record.position for f in found if f.ruling.is_copy}
            changes.admit(index, arrival, now, lease)
        for record in (f.record for f in found if f.is_own):
            if record.lease is not None:
                own = lease._replace(adoptions=record.lease.adoptions)
                changes.leases[record.position] = own
                self._open.setdefault(arrival.key, set()).add(record.position)

    def _judged(
        self, batch: _Batch, index: int, records: dict[int, Record], now: float
    ) -> list[_Found]:
        """Return the entries near a page, nearest first, then oldest, each with its ruling."""
        arrival = batch.arrivals[index]
        found = []
        for distance, position in batch.near[index]:
            record = records.get(position)
            if record is None or record.scope != arrival.scope:
                continue
            ruling = batch.rulings.get((index, position))
            if ruling is None:
                ruling = self._ruling(arrival, record, distance)
                batch.rulings[index, position] = ruling
            lease = record.lease
            living = lease is None or not self._log.is_expired(lease, now)
            found.append(_Found(distance, record, living, ruling))
        return found

    def _ruling(self, arrival: Arrival, record: Record, distance: int) -> Ruling:
        if record.key == arrival.key:
            return Ruling(True, "key")
        return self.spec.judge(arrival.key, arrival.facts, record.key, record.facts, distance)

    def _answer(self, found: list[_Found]) -> Claim:
        is_revisit = any(f.is_own for f in found)
        matches = tuple(f.match for f in found if f.is_own or (f.ruling.is_copy and f.living))
        near = tuple(f.match for f in found if f.living and not f.ruling.is_copy)
        if is_revisit:
            return Claim(Outcome.REVISIT, matches, near)
        return Claim(Outcome.DUPLICATE if matches else Outcome.ORIGINAL, matches, near)

    def _write(self, changes: _Changes) -> None:
        if changes.deleted:
            self._log.delete(changes.deleted)
        rows = [
            Row(at, new.scope, new.fingerprint.to_bytes(), new.fingerprint.blocks)
            for at, (new, _) in changes.new.items()
        ]
        self._log.append(rows, [record for _, record in changes.new.values()])
        self._log.lease(changes.leases)

    def _take_in(self, batch: _Batch, changes: _Changes) -> None:
        """Take what a call has written into RAM, now that the log has it."""
        if not changes.new:
            return
        indexes, positions = list(changes.positions), list(changes.new)
        self._neighbours.add(positions, batch.words[indexes], batch.blocks[indexes])
        self._seen = positions[-1]
        for position, (arrival, record) in changes.new.items():
            if record.lease is not None:
                self._open.setdefault(arrival.key, set()).add(position)

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Neighbour]:  # noqa: D102
        batch = _Batch([Arrival("", fingerprint, scope)], self.spec)
        with self._lock:
            self._follow()
            near = self._find(batch)
            records = self._records(near)
        found = [(distance, records[at]) for distance, at in near[0] if at in records]
        return [
            Neighbour(r.position, r.key, distance, r.facts, r.time, r.lease is not None)
            for distance, r in found
            if r.scope == scope
        ]

    # The log in RAM.

    def _follow(self) -> None:
        """Take what the log holds since the last look into RAM."""
        while rows := self._log.follow(self._seen, _ROWS):
            packed = b"".join(row.value for row in rows)
            scoped = [(row.scope, row.blocks) for row in rows]
            sizes = {(8 * len(row.value), len(row.blocks) / 4) for row in rows}
            if sizes != {(self.spec.bits, self.spec.blocks)}:
                raise StoreDamaged(
                    f"{self._log.name} is damaged: a fingerprint does not have {self.spec.bits} "
                    f"bits and {self.spec.blocks} block values"
                )
            positions = [row.position for row in rows]
            words = packed_words(packed, self.spec.bits)
            self._neighbours.add(positions, words, _scoped(scoped, self.spec.blocks))
            self._seen = positions[-1]

    def _find(self, batch: _Batch) -> list[list[tuple[int, int]]]:
        found = self._neighbours.find(batch.words, batch.blocks)
        self.flooded = self._neighbours.flooded
        return found

    def _records(self, near: Sequence[list[tuple[int, int]]]) -> dict[int, Record]:
        """Return the records of entries that were found."""
        wanted = {position for some in near for _, position in some}
        if not wanted:
            return {}
        records = self._log.records(wanted)
        if gone := wanted - records.keys():
            self._neighbours.forget(sorted(gone))
        return records

    # Leases.

    def confirm(self, keys: Iterable[str]) -> None:  # noqa: D102
        keys = list(keys)
        with self._lock:
            with self._log.transaction():
                self._log.settle(self._positions(keys))
            self._forget(keys)

    def release(self, keys: Iterable[str]) -> None:  # noqa: D102
        keys = list(keys)
        with self._lock:
            with self._log.transaction():
                self._log.delete(self._own(keys))
            self._forget(keys)

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        now = time.time() if now is None else now
        with self._lock, self._log.transaction():
            own = self._own(list(keys))
            self._log.lease(
                {at: lease._replace(expires=now + self.spec.lease) for at, lease in own.items()}
            )

    def _positions(self, keys: list[str]) -> list[int]:
        return [position for key in keys for position in self._open.get(key, ())]

    def _own(self, keys: list[str]) -> dict[int, Lease]:
        """Return the leases of these keys that nobody has taken over."""
        records = self._log.records(self._positions(keys))
        return {
            record.position: record.lease
            for record in records.values()
            if record.lease is not None and record.lease.owner == self._name
        }

    def _forget(self, keys: list[str]) -> None:
        for key in keys:
            self._open.pop(key, None)

    def orphans(self, *, limit: int = 100, now: float | None = None) -> list[Orphan]:  # noqa: D102
        now = time.time() if now is None else now
        crawlers = self._name.partition("@")[0] + "@"
        orphans, leases, deleted = [], {}, []
        with self._lock:
            if not self._log.expired(crawlers, now, 1):
                return []
            with self._log.transaction():
                for record in self._log.expired(crawlers, now, limit):
                    lease = record.lease
                    assert lease is not None
                    if lease.request is None or lease.adoptions >= MAX_ADOPTIONS:
                        deleted.append(record)
                        continue
                    adopted = Lease(
                        self._name, now + self.spec.lease, lease.adoptions + 1, lease.request
                    )
                    leases[record.position] = adopted
                    orphans.append(Orphan(record.key, lease.request))
                self._log.lease(leases)
                self._log.delete([record.position for record in deleted])
            for orphan, position in zip(orphans, leases, strict=True):
                self._open.setdefault(orphan.key, set()).add(position)
        for record in deleted:
            if record.lease and record.lease.request is not None:
                logger.warning(
                    "%s is not crawled again: %d crawlers that had it in progress have ended",
                    record.key,
                    MAX_ADOPTIONS + 1,
                )
        return orphans

    def unsettled(self, entries: Iterable[int], *, now: float | None = None) -> Unsettled:  # noqa: D102
        now = time.time() if now is None else now
        asked = frozenset(entries)
        with self._lock:
            records = self._log.records(asked)
            leased = {at: record.lease for at, record in records.items() if record.lease}
            expired = {at for at, lease in leased.items() if self._log.is_expired(lease, now)}
        return Unsettled(frozenset(leased.keys() - expired), asked - records.keys() | expired)

    # Acts of an operator.

    def put(self, entries: Iterable[Entry]) -> int:  # noqa: D102
        iterator = iter(entries)
        count = 0
        while some := list(islice(iterator, _PUT)):
            pages = [Arrival(e.key, e.fingerprint, e.scope, e.facts) for e in some]
            batch = _Batch(pages, self.spec)
            with self._lock:
                with self._log.transaction():
                    self._follow()
                    known = self._known(batch)
                    changes = _Changes(self._log.last())
                    for index, (page, entry) in enumerate(zip(pages, some, strict=True)):
                        name = (page.key, page.scope, page.fingerprint.value)
                        if name not in known:
                            known.add(name)
                            changes.admit(index, page, int(entry.time), None)
                    self._write(changes)
                self._take_in(batch, changes)
            count += len(changes.new)
        return count

    def _known(self, batch: _Batch) -> set[tuple[str, str, int]]:
        """Return key, scope and value of the confirmed entries with a fingerprint of a batch."""
        found = self._find(batch)
        same = [[near for near in some if near[0] == 0] for some in found]
        records = self._records(same)
        return {
            (record.key, record.scope, page.fingerprint.value)
            for page, some in zip(batch.arrivals, same, strict=True)
            for _, position in some
            if (record := records.get(position)) and record.lease is None
        }

    def remove(self, key: str) -> int:  # noqa: D102
        with self._lock, self._log.transaction():
            positions = self._log.positions(key)
            self._log.delete(positions)
        return len(positions)

    def clear(self) -> None:  # noqa: D102
        with self._lock:
            with self._log.transaction():
                self._log.clear()
            self._neighbours.clear()
            self._open.clear()

    def census(self) -> Census:  # noqa: D102
        with self._lock:
            return self._log.census()

    def __len__(self) -> int:
        with self._lock:
            return len(self._log)

    def __iter__(self) -> Iterator[Entry]:
        position = 0
        while True:
            with self._lock:
                entries = self._log.entries(position, _ENTRIES)
            for position, entry in entries:
                yield entry
            if not entries:
                return

    def close(self) -> None:  # noqa: D102
        with self._lock:
            self._log.close()


def memory_index(spec: IndexSpec) -> LocalIndex:
    """Return an index in this process's RAM."""
    neighbours = Neighbours(spec.bits, spec.blocks, spec.distance)
    log = MemoryLog(spec.bits, neighbours)
    return LocalIndex(spec, log, neighbours, Liveness(spec.spider).name)


def _scoped(pages: Sequence[tuple[str, bytes]], blocks: int) -> Uint32s:
    """Return block values within their scopes, a row for each page."""
    packed = b"".join(values for _, values in pages)
    rows = np.frombuffer(packed, "<u4").astype(np.uint32).reshape(len(pages), blocks)
    for scope in {scope for scope, _ in pages if scope}:
        of_scope = [i for i, (own, _) in enumerate(pages) if own == scope]
        rows[of_scope] = in_scope(rows[of_scope], scope)
    return rows
