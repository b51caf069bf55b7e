"""The log of a local index: a table in a SQLite file, or in RAM."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from scrapy_simhash.index.contract import StoreDamaged
from scrapy_simhash.index.liveness import is_dead, leave, names_of, new_crawler
from scrapy_simhash.index.sqlite_file import SqliteFile
from scrapy_simhash.index.values import MAX_FACTS, Census, IndexSpec, Match

_ENTRIES = (
    "SELECT position, key, scope, facts, time, run, owner, ifnull(expires, 0.0), "
    "ifnull(adoptions, 0), request, back, copier, waiting "
    "FROM entries LEFT JOIN leases USING (position) WHERE "
)


class Record(NamedTuple):
    """One entry without its fingerprint; key, scope and facts are those of its arrival.

    Attributes:
        position: its place in the log, from 1 on.
        time: when it was admitted, in whole seconds since the Unix epoch.
        run: in which its page was last seen.
        owner: name of the crawler that has it in progress; None once it is confirmed.
        expires: when its lease runs out, in seconds since the Unix epoch.
        adoptions: how often a crawler has adopted it.
        back: of an entry in progress that was confirmed already, the run that it was seen in then.
        copier: name of the crawler that dropped the copy that waits on it.
        waiting: the request of that copy; None if there is none.
    """

    position: int
    key: str
    scope: str
    facts: bytes
    time: float
    run: int = 0
    owner: str | None = None
    expires: float = 0.0
    adoptions: int = 0
    request: str | None = None
    back: int | None = None
    copier: str | None = None
    waiting: str | None = None

    @property
    def delivered(self) -> bool:
        return self.owner is None or self.back is not None

    @property
    def is_copys(self) -> bool:
        """True if it was taken back, and is adopted once the crawler of its copy is dead."""
        return self.owner is not None and self.expires == 0.0

    @property
    def copy(self) -> tuple[str | None, str | None] | None:
        """The crawler and the request of the copy that waits on it."""
        own = (self.owner, self.request) if self.is_copys else (self.copier, self.waiting)
        return own if own[1] is not None else None

    def match(self, distance: int, *, expired: bool = False) -> Match:
        return Match(
            *(self.position, self.key, distance, self.time, self.owner is not None, "", self.facts),
            *(self.run, self.scope, expired, self.delivered, self.waiting is not None),
        )


_TEXT_OR_NONE = (str, type(None))
_NUMBER_OR_NONE = (int, type(None))
_TYPES: Any = (
    *(int, str, str, bytes, float, int),
    *(_TEXT_OR_NONE, float, int, _TEXT_OR_NONE, _NUMBER_OR_NONE, _TEXT_OR_NONE, _TEXT_OR_NONE),
)
# Position, and the bytes of the fingerprint and of the block values within the scope, and of the
# key's value.
Content = tuple[int, bytes]


class Log:
    """The entries of an index and their leases; it is not thread-safe.

    A read sees what was committed, and inside a transaction also what was written there. Writes
    happen inside a transaction only. Positions grow, and none is used twice. In RAM it keeps no
    fingerprints, because the neighbours have them.

    Args:
        pass_over: is told of entries that cannot be read.

    Attributes:
        crawler: the name of this crawler, which owns the leases that it writes.
        transaction: holds the store's write lock; undoes everything when left by an exception.
    """

    def __init__(self, file: SqliteFile, spec: IndexSpec, pass_over: Callable[[str], None]) -> None:
        self._file = file
        self._spec = spec
        self._pass_over = pass_over
        self.crawler = new_crawler(spec.spider)
        self.transaction = file.transaction
        self.has_fingerprints = file.path is not None

    def close(self) -> None:
        leave(self.crawler)
        self._file.close()

    def _run_for(self, sql: str, values: Collection[int | str], *given: Any) -> list[Any]:
        """Run a statement that ends in IN for some values; ``given`` stands before them."""
        if not values:
            return []
        some = json.dumps([*values])
        return self._file.run(f"{sql} (SELECT value FROM json_each(?))", (*given, some))  # noqa: S608

    def _count(self, what: str) -> int:
        ((count,),) = self._file.run(f"SELECT {what}")
        return int(count)

    # Entries.

    def rows(self, after: int, limit: int) -> list[Content]:
        """Return the fingerprints of entries after a position, in order; in RAM they are empty."""
        rows = self._file.run(
            "SELECT position, fingerprint FROM entries WHERE position > ? "
            "ORDER BY position LIMIT ?",
            (after, limit),
        )
        size = self._spec.bits // 8 + 4 * (self._spec.blocks + 1) if self.has_fingerprints else 0
        for position, own in rows:
            if not (position < 1 << 32 and type(own) is bytes and len(own) == size):
                raise StoreDamaged(
                    f"{self._file.name} is damaged: the fingerprint at {position} does not have "
                    f"{self._spec.bits} bits and {self._spec.blocks} block values"
                )
        return rows

    def seen_in(self, after: int, limit: int) -> list[tuple[int, int]]:
        sql = "SELECT position, run FROM entries WHERE position > ? ORDER BY position LIMIT ?"
        return self._file.run(sql, (after, limit))

    def last(self) -> int:
        """Return the last position that was ever used, 0 if none."""
        last = self._count("CAST(last AS INTEGER) FROM header")
        if not 0 <= last < (1 << 32) - (1 << 16):  # those of a call come after it
            raise StoreDamaged(f"{self._file.name} is damaged: its last position is {last}")
        return last

    def records(self, positions: Collection[int]) -> dict[int, Record]:
        """Return the entries at these positions, without the deleted ones."""
        found = {}
        for row in self._run_for(_ENTRIES + "position IN", positions):
            try:
                found[row[0]] = self._record(row)
            except StoreDamaged as error:
                self._pass_over(str(error))
        return found

    def _record(self, row: Sequence[Any]) -> Record:
        sound = all(map(isinstance, row, _TYPES)) and len(row[3]) <= MAX_FACTS
        if not (sound and 0 <= row[4] < 1 << 32):
            raise StoreDamaged(f"{self._file.name} is damaged: entry {row[0]} has a wrong value")
        return Record._make(row)

    def append(self, entries: Iterable[tuple[Record, bytes]]) -> None:
        end = None if self.has_fingerprints else 0
        rows = [
            # As bytes a value would take SQLite's module longer than all others together.
            (position, key, scope, bytearray(facts), time, run, bytearray(own[:end]))
            for (position, key, scope, facts, time, run, *_), own in entries
        ]
        if rows:
            self._file.run_many("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            self._file.run("UPDATE header SET last = ?", (rows[-1][0],))
            # A trigger would take as long as everything else. The entries of a call are of one run.
            sql = "UPDATE runs SET pages = pages + ? WHERE number = ?"
            self._file.run(sql, (len(rows), rows[0][5]))

    def delete(self, positions: Collection[int]) -> None:
        self._run_for("DELETE FROM entries WHERE position IN", positions)
        self.settle(positions)

    def clear(self) -> None:
        for table in ("entries", "leases", "runs", "crawlers"):
            self._file.run(f"DELETE FROM {table}")  # noqa: S608

    # Leases.

    def lease(self, records: Iterable[Record]) -> None:
        self._file.run_many(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(record.position, *record[6:]) for record in records],
        )

    def settle(self, positions: Collection[int]) -> None:
        self._run_for("DELETE FROM leases WHERE position IN", positions)

    def renew(self, positions: Collection[int], expires: float) -> None:
        sql = "UPDATE leases SET expires = ? WHERE owner = ? AND expires != 0.0 AND position IN"
        self._run_for(sql, positions, expires, self.crawler)

    def release(self, positions: Collection[int]) -> None:
        """Take back this crawler's own entries."""
        sql = "SELECT position FROM leases WHERE owner = ? AND expires != 0.0 AND position IN"
        self.take_back([at for (at,) in self._run_for(sql, positions, self.crawler)])

    def take_back(self, positions: Collection[int]) -> None:
        """Delete entries in progress, or give them to their copies.

        Entries that were confirmed before are as they were then.
        """
        waited = "SELECT position FROM leases WHERE waiting IS NOT NULL AND position IN"
        if copied := {at for (at,) in self._run_for(waited, positions)}:
            self._run_for(
                "UPDATE leases SET owner = copier, expires = 0.0, adoptions = 0, request = waiting,"
                " copier = NULL, waiting = NULL WHERE position IN",
                copied,
            )
        positions = set(positions) - copied
        confirmed = "SELECT position FROM leases WHERE back IS NOT NULL AND position IN"
        before = {at for (at,) in self._run_for(confirmed, positions)}
        self._run_for(
            "UPDATE entries SET run = (SELECT back FROM leases WHERE position = entries.position) "
            "WHERE position IN",
            before,
        )
        self.settle(before)
        self.delete(positions - before)

    def withdraw(self, positions: Collection[int]) -> None:
        """Take away this crawler's copies that wait on entries, or that have them by now."""
        sql = "UPDATE leases SET copier = NULL, waiting = NULL WHERE copier = ? AND position IN"
        self._run_for(sql, positions, self.crawler)
        sql = "SELECT position FROM leases WHERE owner = ? AND expires = 0.0 AND position IN"
        self.take_back([at for (at,) in self._run_for(sql, positions, self.crawler)])

    def see(self, positions: Collection[int], run: int) -> None:
        self._run_for("UPDATE entries SET run = ? WHERE position IN", positions, run)

    def is_expired(self, record: Record, now: float) -> bool:
        """Return whether an entry's lease has run out, or its crawler is known to be dead."""
        if record.owner is None:
            return False
        # An adopted page waits for its lease, because it may have ended its first crawler.
        return record.expires <= now or (record.adoptions == 0 and is_dead(record.owner))

    def expired(self, now: float, limit: int) -> list[Record]:
        """Return some of the expired entries of the other crawlers of this crawler's spider.

        Entries that were adopted before come last.
        """
        found: list[Record] = []
        for (owner,) in self._file.run("SELECT DISTINCT owner FROM leases"):
            if owner != self.crawler and str(owner).startswith(names_of(self._spec.spider)):
                sql = f"{_ENTRIES} owner = ? AND (expires <= ? OR adoptions < ?)"
                sql += " ORDER BY adoptions, expires LIMIT ?"
                rows = self._file.run(sql, (owner, now, is_dead(owner), limit))
                found += map(self._record, rows)
        return sorted(found, key=lambda record: (record.adoptions, record.expires))[:limit]

    # Counts.

    def check(self) -> list[str]:
        found = [f"SQLite: {text}" for (text,) in self._file.run("PRAGMA quick_check(20)")]
        found = [text for text in found if text != "SQLite: ok"]
        for row in self._file.run(_ENTRIES + "true"):
            try:
                self._record(row)
            except StoreDamaged as error:
                found.append(str(error))
        for what, sql in (
            ("leases of no entry", "leases WHERE position NOT IN (SELECT position FROM entries)"),
            (
                "runs that count wrongly",
                "runs WHERE pages != (SELECT count(*) FROM entries WHERE run = number)",
            ),
        ):
            if count := self._count(f"count(*) FROM {sql}"):
                found.append(f"{what}: {count}")
        return found

    def census(self) -> Census:
        """Count what is there, and the bytes of the file without its write-ahead log."""
        leases = self._count("count(*) FROM leases")
        size = self._count("page_count * page_size FROM pragma_page_count, pragma_page_size")
        return Census(len(self), leases, {"file" if self._file.path else "RAM": size})

    def __len__(self) -> int:
        return self._count("count(*) FROM entries")
