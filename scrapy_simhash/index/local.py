"""The index on this machine: a log that decides, and its fingerprints in this process's RAM.

RAM holds a superset of the log: an entry that was deleted is noticed, and forgotten, when its
record is read.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import MAX_ADOPTIONS, MAX_ORPHANS, Index, StoreMissing, warn_of
from scrapy_simhash.index.decision import RULINGS, Decision, Era
from scrapy_simhash.index.log import Content, Log, Record
from scrapy_simhash.index.neighbours import Near, Neighbours, unpacked
from scrapy_simhash.index.pages import KEY_BYTES, Pages, read_fingerprint
from scrapy_simhash.index.registry import file_of
from scrapy_simhash.index.runs import Runs
from scrapy_simhash.index.sqlite_file import SqliteFile, open_file, stored_spec
from scrapy_simhash.index.values import (
    Arrival,
    Census,
    Claim,
    Entry,
    IndexSpec,
    Match,
    Orphan,
    Run,
    Unsettled,
)

# Entries that one call looks at, to see whether they expire.
_LOOKED_AT = 1 << 13
# Rows of the log that are followed at a time, and entries that are read at a time.
_ROWS = 1 << 16
_ENTRIES = 1 << 12
# Pages that claim, or are put, at a time: each is compared with those before it.
_PAGES = 1 << 8
# Near entries of a page that are read at most: some of them may be gone.
_NEAREST = 4 * RULINGS


def open_local(url: str, spec: IndexSpec | None) -> "LocalIndex":
    """Open the index in a file, or a new one in RAM; without a spec, one that is there."""
    path = file_of(url)
    if spec is not None:
        return LocalIndex(open_file(path, spec), spec)
    if path is None:
        raise StoreMissing("an index in memory is gone with the process that made it")
    if not path.is_file():
        raise StoreMissing(f"there is no index {path}")
    file = SqliteFile(path)
    try:
        return LocalIndex(file, stored_spec(file))
    except BaseException:
        file.close()
        raise


class LocalIndex(Index):
    def __init__(self, file: SqliteFile, spec: IndexSpec) -> None:
        self.spec = spec
        self._log = Log(file, spec, self.pass_over)
        self._runs = Runs(file, self._log.crawler, spec.lease)
        self._era = Era()
        self._neighbours = Neighbours(spec.bits, spec.blocks + 1, spec.reach)
        self._lock = threading.RLock()
        # The last position that is in RAM.
        self._seen = 0
        # The positions of the entries that this crawler has in progress.
        self._open: dict[str, set[int]] = {}
        # The keys of those that it adopted.
        self._adopted: set[str] = set()
        # Up to which position it was looked whether entries expire.
        self._expired = 0

    # Claims.

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        self.spec.check(arrivals)
        parts = (arrivals[at : at + _PAGES] for at in range(0, len(arrivals), _PAGES))
        return [claim for part in parts for claim in self._claim(part)]

    def _claim(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        now = self.spec.clock()
        pages, log = Pages(arrivals, self.spec), self._log
        with self._lock:
            with self._admission(pages) as new:
                near, records = self._look(pages, _NEAREST)
                decision = Decision(pages, self.spec, log, self._era, now, near, records, new)
                log.delete(decision.deleted)
                log.see(decision.seen, self._era.run)
                log.lease([*decision.leased.values(), *decision.waited_on.values()])
            self._hold(decision.leased.values())
            self.unjudged += decision.unjudged + self._neighbours.left_out
            self._neighbours.left_out = 0
        return decision.claims

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        sought = [Arrival("", fingerprint, scope)]
        self.spec.check(sought)
        with self._lock:
            self._follow()
            (near,), records = self._look(Pages(sought, self.spec))
        near = [(d, at) for d, at in near if d <= self.spec.reach and at in records]
        return [records[at].match(distance) for distance, at in near]

    # The log in RAM.

    def _follow(self) -> None:
        """Take what the log holds since the last look into RAM."""
        while rows := self._log.rows(self._seen, _ROWS):
            positions, contents = zip(*rows, strict=True)
            own = unpacked(b"".join(contents), self.spec.bits, self.spec.blocks + 1)
            self._neighbours.add(positions, *own)
            self._seen = positions[-1]

    @contextmanager
    def _admission(self, pages: Pages) -> Iterator[dict[int, Record]]:
        """Hold the log; when left, it and RAM get the entries given for pages by their index."""
        new: dict[int, Record] = {}
        self._follow()  # much may have come since the last look, and others can write meanwhile
        with self._log.transaction():
            self._follow()
            yield new
            self._log.append((record, pages.contents[index]) for index, record in new.items())
        if new:
            positions = [record.position for record in new.values()]
            self._neighbours.add(positions, pages.words[[*new]], pages.values[[*new]])
            self._seen = positions[-1]

    def _look(self, pages: Pages, most: int | None = None) -> tuple[list[Near], dict[int, Record]]:
        """Return what may be near each page, and the entries; deleted ones are missing."""
        near = pages.near(self._neighbours.find(*pages.sought, most))
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
                self._adopted.discard(key)

    def renew(self, keys: Iterable[str]) -> None:
        expires = self.spec.clock() + self.spec.lease
        with self._lock, self._log.transaction():
            self._log.renew(self._positions(keys), expires)
            self._runs.renew(expires - self.spec.lease)

    def _positions(self, keys: Iterable[str]) -> list[int]:
        return [position for key in keys for position in self._open.get(key, ())]

    def _hold(self, records: Iterable[Record]) -> None:
        for record in records:
            self._open.setdefault(record.key, set()).add(record.position)

    def orphans(self) -> list[Orphan]:
        now = self.spec.clock()
        owner, expires = self._log.crawler, now + self.spec.lease
        adopted, given_up, again = list[Record](), list[Record](), list[Record]()
        with self._lock:
            if self._adopted:
                return []
            with self._log.transaction():
                living = self._runs.living(self._era.run, now)
                for record in self._log.expired(now, MAX_ORPHANS):
                    if record.is_copys and record.owner in living:
                        continue  # the copy's crawler has its request
                    times = record.adoptions + 1
                    if record.request is None or times > MAX_ADOPTIONS:
                        given_up.append(record)
                        continue
                    some = again if record.adoptions else adopted
                    some.append(record._replace(owner=owner, expires=expires, adoptions=times))
                adopted = adopted or again[:1]
                self._log.lease(adopted)
                self._log.take_back([record.position for record in given_up])
            self._hold(adopted)
            self._adopted.update(record.key for record in adopted)
        for record in given_up:
            if record.request is not None:
                warn_of(record.key)
        return [Orphan(record.key, record.request or "") for record in adopted]

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        now = self.spec.clock()
        asked = frozenset(entries)
        with self._lock:
            records = self._log.records(asked)
            expired = {at for at, r in records.items() if self._log.is_expired(r, now)}
        provisional = {at for at, r in records.items() if r.owner is not None} - expired
        taken_back = {at for at, r in records.items() if r.run in self._era.earlier} - provisional
        return Unsettled(frozenset(provisional), asked - records.keys() | expired | taken_back)

    def withdraw(self, entries: Iterable[int]) -> None:
        with self._lock, self._log.transaction():
            self._log.withdraw([*entries])

    # Acts of an operator.

    def put(self, entries: Iterable[Entry]) -> int:
        count, rest = 0, iter(entries)
        while some := list(islice(rest, _PAGES)):
            arrivals = [Arrival(e.key, e.fingerprint, e.scope, e.facts) for e in some]
            self.spec.check(arrivals)
            pages = Pages(arrivals, self.spec)
            with self._lock, self._admission(pages) as new:
                (_, records), last = self._look(pages), self._log.last()
                known = {(r.key, r.scope) for r in records.values() if r.delivered}
                for index, e in enumerate(some):
                    if (e.key, e.scope) not in known:
                        known.add((e.key, e.scope))
                        position, when = last + len(new) + 1, float(int(e.time))
                        new[index] = Record(position, e.key, e.scope, e.facts, when)
            count += len(new)
        return count

    def clear(self) -> None:
        with self._lock:
            with self._log.transaction():
                self._log.clear()
            self._neighbours = Neighbours(self.spec.bits, self.spec.blocks + 1, self.spec.reach)
            self._open.clear()

    def check(self) -> list[str]:
        with self._lock:
            return self._log.check()

    def census(self) -> Census:
        with self._lock:
            return self._log.census()

    def __len__(self) -> int:
        with self._lock:
            return len(self._log)

    # Runs.

    def begin_run(self, resumed: int | None = None) -> Run:
        with self._lock, self._log.transaction():
            run = self._runs.begin(self.spec.spider, resumed, self.spec.clock())
            self._era = Era.of(run, self._runs.all())
        return run

    def end_run(self, *, finished: bool) -> None:
        with self._lock, self._log.transaction():
            self._runs.end(self._era.run, self.spec.clock(), finished=finished)

    def runs(self) -> list[Run]:
        with self._lock:
            return self._runs.all()

    def expire(self, keep: int, most: int) -> int:
        old = {run.number for run in self.old_runs(keep)}
        if not old:
            return 0
        with self._lock, self._log.transaction():
            looked_at = self._log.seen_in(self._expired, _LOOKED_AT)
            some = [at for at, run in looked_at if run in old][:most]
            self._log.delete(some)
            self._runs.forget(old)
            is_end = len(looked_at) < _LOOKED_AT and len(some) < most
            self._expired = 0 if is_end else some[-1] if len(some) == most else looked_at[-1][0]
        return len(some)

    # By keys.

    def entries_of(self, keys: Iterable[str]) -> list[Entry]:
        with self._lock:
            rows = [row for at in self._of_keys(keys) for row in self._log.rows(at - 1, 1)]
            return [*self._entries(rows)]

    def gone(self, keys: Iterable[str]) -> int:
        with self._lock, self._log.transaction():
            positions = self._of_keys(keys)
            self._log.delete(positions)
        return len(positions)

    def _of_keys(self, keys: Iterable[str]) -> list[int]:
        wanted, found = [*dict.fromkeys(keys)], set[int]()
        nothing = Fingerprint(0, self.spec.bits, bytes(4 * self.spec.blocks))
        self._follow()
        for start in range(0, len(wanted), _PAGES):
            some = wanted[start : start + _PAGES]
            _, records = self._look(Pages([Arrival(key, nothing) for key in some], self.spec))
            found |= {at for at, record in records.items() if record.key in some}
        return sorted(found)

    def __iter__(self) -> Iterator[Entry]:
        after = 0
        while True:
            with self._lock:
                rows = self._log.rows(after, _ENTRIES)
                entries = self._entries(rows)
            if not rows:
                return
            after = rows[-1][0]
            yield from entries

    def _entries(self, rows: Sequence[Content]) -> list[Entry]:
        positions = [row[0] for row in rows]
        # The rows of an index in RAM are empty.
        rows = rows if self._log.has_fingerprints else self._neighbours.at(positions)
        records, entries = self._log.records(positions), []
        for position, content in rows:
            if record := records.get(position):
                _, key, scope, facts, time, run, owner, *_ = record
                own = read_fingerprint(content[:-KEY_BYTES], scope, self.spec.bits)
                entries.append(Entry(key, own, scope, facts, time, owner is not None, run))
        return entries

    def close(self) -> None:
        with self._lock:
            self._log.close()
