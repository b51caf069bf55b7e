"""The index on this machine: a log that decides, and its fingerprints in this process's RAM.

RAM holds a superset of the log: an entry that was deleted is noticed, and forgotten, when its
record is read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    MAX_ADOPTIONS,
    Arrival,
    Census,
    Claim,
    Entry,
    Index,
    IndexSpec,
    Neighbour,
    Orphan,
    Unsettled,
)
from scrapy_simhash.index.decision import Decision, Pages
from scrapy_simhash.index.liveness import Liveness
from scrapy_simhash.index.log import Lease, Log, Record, Row
from scrapy_simhash.index.memory_log import MemoryLog
from scrapy_simhash.index.neighbours import Near, Neighbours, packed_words, scoped

logger = logging.getLogger(__name__)

# Rows of the log that are followed at a time, and entries that are read or put at a time.
_ROWS = 1 << 16
_ENTRIES = 1 << 12
_PUT = 1 << 8


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
        # The positions of the entries that this crawler has in progress.
        self._open: dict[str, set[int]] = {}

    # Claims.

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        if not arrivals:
            return []
        now = time.time() if now is None else now
        pages = Pages(arrivals, self.spec)
        lease = Lease(self._name, now + self.spec.lease)
        with self._lock:
            self._follow()
            # Most of the time goes into this, while other crawlers can write.
            compared = len(self._neighbours)
            is_expired = partial(self._log.is_expired, now=now)
            decision = Decision(pages, self._find(pages), self.spec, is_expired, lease, now)
            decision.settle(self._records(decision.open_near))
            settled = [claim for claim in decision.claims if claim is not None]
            if len(settled) == len(arrivals):
                return settled
            with self._log.transaction():
                self._follow()
                # Whatever came meanwhile is compared exactly: no race admits two.
                later = self._neighbours.scan(pages.words, compared)
                records = self._records([*decision.open_near, *later])
                claims = decision.decide(records, later, self._log.last())
                self._log.delete(decision.deleted)
                self._append(pages, decision.admitted, decision.new)
                self._lease(decision.leased.values())
            self._take_in(pages, decision.admitted, decision.new)
            self._hold([*decision.new.values(), *decision.leased.values()])
            return claims

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Neighbour]:  # noqa: D102
        pages = Pages([Arrival("", fingerprint, scope)], self.spec)
        with self._lock:
            self._follow()
            near = self._find(pages)
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
            positions = [row.position for row in rows]
            words = packed_words([row.value for row in rows], self.spec.bits)
            blocks = scoped([(row.scope, row.blocks) for row in rows], self.spec.blocks)
            self._neighbours.add(positions, words, blocks)
            self._seen = positions[-1]

    def _append(self, pages: Pages, admitted: list[int], new: dict[int, Record]) -> None:
        """Write new entries into the log."""
        rows = [
            Row(
                position,
                record.scope,
                pages.values[index],
                pages.arrivals[index].fingerprint.blocks,
            )
            for index, (position, record) in zip(admitted, new.items(), strict=True)
        ]
        self._log.append(rows, list(new.values()))

    def _take_in(self, pages: Pages, admitted: list[int], new: dict[int, Record]) -> None:
        """Take new entries into RAM, now that the log has them."""
        if new:
            self._neighbours.add(list(new), pages.words[admitted], pages.blocks[admitted])
            self._seen = max(new)

    def _find(self, pages: Pages) -> list[Near]:
        found = self._neighbours.find(pages.words, pages.blocks)
        self.flooded = self._neighbours.flooded
        return found

    def _records(self, near: Sequence[Near]) -> dict[int, Record]:
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
        expires = now + self.spec.lease
        with self._lock, self._log.transaction():
            own = self._own(list(keys))
            self._log.lease({at: lease._replace(expires=expires) for at, lease in own.items()})

    def _lease(self, records: Iterable[Record]) -> None:
        self._log.lease({record.position: record.lease for record in records if record.lease})

    def _hold(self, records: Iterable[Record]) -> None:
        """Remember that this crawler has these entries in progress."""
        for record in records:
            self._open.setdefault(record.key, set()).add(record.position)

    def _positions(self, keys: list[str]) -> list[int]:
        return [position for key in keys for position in self._open.get(key, ())]

    def _own(self, keys: list[str]) -> dict[int, Lease]:
        """Return the leases of these keys that nobody has taken over."""
        leases = {at: r.lease for at, r in self._log.records(self._positions(keys)).items()}
        return {at: lease for at, lease in leases.items() if lease and lease.owner == self._name}

    def _forget(self, keys: list[str]) -> None:
        for key in keys:
            self._open.pop(key, None)

    def orphans(self, *, limit: int = 100, now: float | None = None) -> list[Orphan]:  # noqa: D102
        now = time.time() if now is None else now
        crawlers = self._name.partition("@")[0] + "@"
        adopted: list[Record] = []
        given_up: list[Record] = []
        with self._lock:
            if not self._log.expired(crawlers, now, 1):
                return []
            with self._log.transaction():
                for record in self._log.expired(crawlers, now, limit):
                    lease = record.lease
                    if lease is None or lease.request is None or lease.adoptions >= MAX_ADOPTIONS:
                        given_up.append(record)
                    else:
                        lease = lease._replace(
                            owner=self._name,
                            expires=now + self.spec.lease,
                            adoptions=lease.adoptions + 1,
                        )
                        adopted.append(record._replace(lease=lease))
                self._lease(adopted)
                self._log.delete([record.position for record in given_up])
            self._hold(adopted)
        for record in given_up:
            if record.lease and record.lease.request is not None:
                logger.warning(
                    "%s is not crawled again: %d crawlers that had it in progress have ended",
                    record.key,
                    MAX_ADOPTIONS + 1,
                )
        return [Orphan(r.key, r.lease.request) for r in adopted if r.lease and r.lease.request]

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
            pages = Pages(
                [Arrival(e.key, e.fingerprint, e.scope, e.facts) for e in some], self.spec
            )
            new: dict[int, Record] = {}
            admitted = []
            with self._lock:
                with self._log.transaction():
                    self._follow()
                    known, last = self._known(pages), self._log.last()
                    for index, entry in enumerate(some):
                        name = (entry.key, entry.scope, entry.fingerprint.value)
                        if name not in known:
                            known.add(name)
                            admitted.append(index)
                            at, time_ = last + len(admitted), float(int(entry.time))
                            new[at] = Record(at, entry.key, entry.scope, entry.facts, time_)
                    self._append(pages, admitted, new)
                self._take_in(pages, admitted, new)
            count += len(new)
        return count

    def _known(self, pages: Pages) -> set[tuple[str, str, int]]:
        """Return key, scope and value of the confirmed entries with these fingerprints."""
        same = [[near for near in some if near[0] == 0] for some in self._find(pages)]
        records = self._records(same)
        return {
            (record.key, record.scope, page.fingerprint.value)
            for page, some in zip(pages.arrivals, same, strict=True)
            for _, position in some
            if (record := records.get(position)) and record.lease is None
        }

    def remove(self, keys: Iterable[str]) -> int:  # noqa: D102
        wanted = set(keys)
        with self._lock, self._log.transaction():
            positions = self._log.positions(wanted)
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
            if not entries:
                return
            yield from (entry for _, entry in entries)
            position = entries[-1][0]

    def close(self) -> None:  # noqa: D102
        with self._lock:
            self._log.close()


def memory_index(spec: IndexSpec) -> LocalIndex:
    """Return an index in this process's RAM."""
    neighbours = Neighbours(spec.bits, spec.blocks, spec.distance)
    log = MemoryLog(spec.bits, neighbours)
    return LocalIndex(spec, log, neighbours, Liveness(spec.spider).name)
