"""The index in a SQLite file: several processes of one machine, restarts, kill -9."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from scrapy_simhash.fingerprint.blocks import Layout, plan_layout
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import base
from scrapy_simhash.index.base import (
    DEFAULT_LEASE,
    Entry,
    StoreUnavailable,
)
from scrapy_simhash.index.header import agreed_layout
from scrapy_simhash.index.local import LocalIndex
from scrapy_simhash.index.log import Record, Row, Waiting
from scrapy_simhash.index.sqlite_file import (
    BUSY_TIMEOUT,
    SCHEMA,
    check_ours,
    open_read_only,
    read_header,
    translated,
)
from scrapy_simhash.index.stored import Census

# Parameters in one statement that every build of SQLite allows.
_PARAMETERS = 500

T = TypeVar("T")

_RECORD = "SELECT position, key, time, worker, expires, request FROM entries"
_ENTRY = (
    "SELECT position, key, value, scope, time, worker IS NOT NULL FROM entries "
    "LEFT JOIN leases USING (key, position)"
)


class SqliteIndex(LocalIndex):
    """An index in a SQLite file.

    Args:
        path: the file; it is made if missing, its folder is not.
        recipe: identity of the recipe that makes the fingerprints.
        bits: width of the fingerprints.
        distance: k; pages within k bits match.
        expected_pages: what the layout of a new index is planned for.
        lease: seconds that a provisional entry or a hand-over belongs to its worker.
        layout: of a new index instead of the planned one; a stored one must be the same.
        spider: whose pages this worker crawls; only those are handed over to it.
        read_only: neither make nor change anything.

    Raises:
        StoreMissing: there is no index, and none is made.
        StoreMismatch: the file was made by another recipe, width, layout or version.
        StoreDamaged: the file is not an index, or is damaged.
        StoreUnavailable: the file cannot be opened or written.
        ValueError: no layout can be planned.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        recipe: str,
        bits: int,
        distance: int,
        expected_pages: int = 1_000_000,
        lease: float = DEFAULT_LEASE,
        layout: Layout | None = None,
        spider: str = "",
        read_only: bool = False,
    ) -> None:
        self._path = Path(path).absolute()
        self._is_read_only = read_only
        self.recipe = recipe
        self.options = {}
        self._closed = False
        self._inherited: list[sqlite3.Connection] = []
        self._connect()
        try:
            if read_only:
                stored = read_header(self._path)
            else:
                planned = layout or plan_layout(bits, distance, expected_pages)
                stored = self._header({"recipe": recipe, "layout": str(planned)})
            used = agreed_layout(
                str(self._path),
                stored,
                instead="another file",
                recipe=recipe,
                bits=bits,
                distance=distance,
                layout=layout,
            )
            super().__init__(used, distance, lease, spider)
            if not read_only:
                self._write_ahead()
                self._follow()
        except BaseException:
            self._connection.close()
            raise

    # Opening.

    def _connect(self) -> None:
        if not self._path.parent.is_dir():
            raise StoreUnavailable(f"cannot open {self._path}: {self._path.parent} is no folder")
        self._pid = os.getpid()
        with translated(self._path):
            if self._is_read_only:
                self._connection = open_read_only(self._path)
                return
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            # In WAL mode this survives kill -9; only a power cut may lose the last claims.
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def _header(self, new: dict[str, str]) -> dict[str, str]:
        """Return the stored header; a new file gets the one given. Nothing else is changed."""
        with self._transaction():
            ((application,),) = self._run("PRAGMA application_id")
            ((tables,),) = self._run("SELECT count(*) FROM sqlite_master")
            if not tables and not application:
                for statement in SCHEMA:
                    self._run(statement)
                for item in new.items():
                    self._run("INSERT INTO header VALUES (?, ?)", item)
                return new
            check_ours(self._path, self._run)
            return dict(self._run("SELECT name, value FROM header"))

    def _write_ahead(self) -> None:
        """Switch to WAL mode; SQLite does not wait by itself for others that do so just now."""
        deadline = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                self._run("PRAGMA journal_mode = WAL")
            except StoreUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def close(self) -> None:
        """Close the file. Closing twice does no harm."""
        with self._lock:
            super().close()
            self._closed = True
            if self._pid == os.getpid():
                self._connection.close()

    def __del__(self) -> None:
        # A crawl that does not get to its start closes nothing.
        if "_connection" in vars(self) and self._pid == os.getpid():
            self._connection.close()

    # Talking to SQLite.

    def _after_fork(self) -> None:
        """Open the file anew: a connection must not cross a fork, nor be closed behind it."""
        self._inherited.append(self._connection)
        self._connect()
        self._enlist()

    def _run(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        return self._do(lambda connection: connection.execute(sql, parameters).fetchall())

    def _run_many(self, sql: str, parameters: Sequence[tuple[Any, ...]]) -> None:
        self._do(lambda connection: connection.executemany(sql, parameters))

    def _do(self, act: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise StoreUnavailable(f"the index {self._path} is closed")
        if self._pid != os.getpid():
            self._after_fork()
        try:
            return act(self._connection)
        except sqlite3.Error:
            with translated(self._path):
                raise

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            # After some errors SQLite has rolled back by itself.
            if self._connection.in_transaction:
                self._connection.rollback()
            raise

    # The memory of bodies.

    def find_bodies(self, digests: Sequence[bytes]) -> list[Fingerprint | None]:  # noqa: D102
        bits = self.layout.bits
        found: dict[bytes, bytes] = {}
        with self._lock:
            for start in range(0, len(digests), _PARAMETERS):
                some = digests[start : start + _PARAMETERS]
                sql = "SELECT digest, value FROM bodies WHERE length(value) = ? AND digest IN (%s)"
                found.update(self._run(sql % ",".join("?" * len(some)), (bits // 8, *some)))
        return [
            Fingerprint(int.from_bytes(found[digest], "big"), bits) if digest in found else None
            for digest in digests
        ]

    def note_bodies(self, bodies: Mapping[bytes, Fingerprint]) -> None:  # noqa: D102
        with self._lock, self._transaction():
            self._run_many(
                "INSERT OR REPLACE INTO bodies (digest, value) VALUES (?, ?)",
                [(digest, fingerprint.to_bytes()) for digest, fingerprint in bodies.items()],
            )
            # The numbers grow, so the newest have the last ones.
            self._run(
                "DELETE FROM bodies WHERE number <= (SELECT max(number) FROM bodies) - ?",
                (base.BODIES,),
            )

    # The primitives.

    def _rows(self, after: int, limit: int) -> list[Row]:
        rows = self._run(
            "SELECT position, scope, value FROM entries WHERE position > ? "
            "ORDER BY position LIMIT ?",
            (after, limit),
        )
        return list(map(Row._make, rows))

    def _entries(self, after: int, limit: int) -> list[tuple[int, Entry]]:
        return self._some("WHERE position > ? ORDER BY position LIMIT ?", (after, limit))

    def _some(self, which: str, parameters: Sequence[object]) -> list[tuple[int, Entry]]:
        bits = self.layout.bits
        return [
            (
                position,
                Entry(key, Fingerprint(int.from_bytes(value, "big"), bits), scope, time, bool(own)),
            )
            for position, key, value, scope, time, own in self._run(f"{_ENTRY} {which}", parameters)
        ]

    def find(self, keys: Collection[str]) -> list[Entry]:  # noqa: D102
        wanted = sorted(set(keys))
        found: list[tuple[int, Entry]] = []
        with self._lock:
            for start in range(0, len(wanted), _PARAMETERS):
                some = wanted[start : start + _PARAMETERS]
                found += self._some(f"WHERE key IN ({','.join('?' * len(some))})", some)
        return [entry for _, entry in sorted(found, key=lambda one: one[0])]

    def _spread(self, count: int) -> list[tuple[int, Entry]]:
        ((first, last),) = self._run("SELECT min(position), max(position) FROM entries")
        if first is None:
            return []
        if last - first < count:
            return self._entries(first - 1, count)
        places = [first + (last - first) * i // max(count - 1, 1) for i in range(count)]
        found: list[tuple[int, Entry]] = []
        for start in range(0, len(places), _PARAMETERS):
            some = places[start : start + _PARAMETERS]
            found += self._some(f"WHERE position IN ({','.join('?' * len(some))})", some)
        return found

    def _census(self) -> Census:
        def count(what: str) -> int:
            return int(self._run(f"SELECT {what}")[0][0])

        pages, size = count("* FROM pragma_page_count"), count("* FROM pragma_page_size")
        free = count("* FROM pragma_freelist_count")
        sizes = {"file": (pages - free) * size, "free pages": free * size}
        beside = self._path.with_name(self._path.name + "-wal")
        sizes["write-ahead log"] = beside.stat().st_size if beside.exists() else 0
        return Census(
            pages=len(self),
            provisional=count("count(*) FROM leases"),
            waiting=count("count(*) FROM waiting"),
            bodies=count("count(*) FROM bodies"),
            sizes={part: size for part, size in sizes.items() if size},
        )

    def _append(self, entries: Sequence[Entry]) -> None:
        with self._lock, self._transaction():
            first = self._last() + 1
            self._insert(
                [
                    (Row(at, entry.scope, entry.fingerprint.to_bytes()), entry.key, int(entry.time))
                    for at, entry in enumerate(entries, first)
                ]
            )

    def _records(self, positions: Sequence[int]) -> list[Record]:
        records: list[Record] = []
        for start in range(0, len(positions), _PARAMETERS):
            some = positions[start : start + _PARAMETERS]
            sql = f"{_RECORD} LEFT JOIN leases USING (key, position) WHERE position IN (%s)"
            records += map(Record._make, self._run(sql % ",".join("?" * len(some)), some))
        return records

    def _provisional(self, key: str | None = None) -> list[Record]:
        # CROSS JOIN: the few leases first, whatever SQLite thinks of their number.
        sql = (
            "SELECT position, key, time, worker, expires, request FROM leases "
            "CROSS JOIN entries USING (key, position)"
        )
        if key is None:
            return list(map(Record._make, self._run(sql)))
        return list(map(Record._make, self._run(f"{sql} WHERE leases.key = ?", (key,))))

    def _positions(self, key: str) -> list[int]:
        return [row[0] for row in self._run("SELECT position FROM entries WHERE key = ?", (key,))]

    def _last(self) -> int:
        rows = self._run("SELECT seq FROM sqlite_sequence WHERE name = 'entries'")
        return int(rows[0][0]) if rows else 0

    def _insert(self, entries: Sequence[tuple[Row, str, float]]) -> None:
        self._run_many(
            "INSERT INTO entries (position, scope, value, key, time) VALUES (?, ?, ?, ?, ?)",
            [(*row, key, time) for row, key, time in entries],
        )

    def _delete(self, key: str, position: int) -> None:
        self._run("DELETE FROM entries WHERE position = ?", (position,))
        self._run("DELETE FROM leases WHERE key = ? AND position = ?", (key, position))

    def _set_leases(self, records: Sequence[Record]) -> None:
        self._run_many(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
            [(r.key, r.position, r.worker, r.expires, r.request) for r in records],
        )

    def _end_leases(self, entries: Sequence[tuple[str, int]]) -> None:
        self._run_many("DELETE FROM waiting WHERE original = ?", [(at,) for _, at in entries])
        self._run_many("DELETE FROM leases WHERE key = ? AND position = ?", entries)

    def _put_waiting(self, waiting: Waiting) -> None:
        self._run("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?, ?)", waiting)

    def _waiting_of(self, key: str) -> Waiting | None:
        rows = self._run("SELECT * FROM waiting WHERE key = ?", (key,))
        return Waiting._make(rows[0]) if rows else None

    def _drop_waiting(self, keys: Sequence[str]) -> None:
        self._run_many(
            "DELETE FROM waiting WHERE key = ? AND substr(request, 1, ?) = ?",
            [(key, len(self._mark), self._mark) for key in keys],
        )

    def _waiting_on(self, original: int | None) -> list[Waiting]:
        rows = self._run("SELECT * FROM waiting WHERE original IS ? ORDER BY key", (original,))
        return list(map(Waiting._make, rows))

    def _wipe(self) -> None:
        for table in ("entries", "leases", "waiting", "bodies"):
            self._run(f"DELETE FROM {table}")  # noqa: S608 (names from the line above)

    def __len__(self) -> int:
        with self._lock:
            ((count,),) = self._run("SELECT count(*) FROM entries")
        return int(count)
