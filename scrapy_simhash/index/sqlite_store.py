"""A store in a SQLite file or in RAM: a table decides, fingerprints in this process's RAM find.

RAM holds a superset of the table: an entry that was deleted is noticed, and forgotten,
when it is read. Leases are apart from the entries: an entry's row is hardly ever
written again, so the file is as compact as it can be.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrapy_simhash.index.header import DISTANCE, check_header, header_of, spec_in
from scrapy_simhash.index.lookups import KEY_BYTES, Lookups, Near, unpacked
from scrapy_simhash.index.neighbours import Neighbours
from scrapy_simhash.index.registry import file_of
from scrapy_simhash.index.store import (
    ROWS_AT_ONCE,
    Answer,
    Counts,
    PackedState,
    Part,
    Stored,
    StoreDamaged,
    StoreError,
    StoreMissing,
    StoreUnavailable,
    readable,
)
from scrapy_simhash.index.values import IndexSpec

# It tells a file of this package from other SQLite files.
APPLICATION_ID = int.from_bytes(b"simh", "big")
FORMAT = 11
_SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE header (name TEXT, value TEXT)",
    # SQLite uses no position twice.
    """CREATE TABLE entries (
        position INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, body BLOB NOT NULL,
        content BLOB NOT NULL)""",
    "CREATE TABLE leases (position INTEGER PRIMARY KEY, lease BLOB NOT NULL)",
    "CREATE TABLE runs (run INTEGER PRIMARY KEY, pages INTEGER NOT NULL)",
    "CREATE TABLE cells (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
)
# The positions that RAM can have.
_POSITIONS = 1 << 32
# Seconds to wait for another process's write lock.
BUSY_TIMEOUT = 5.0


class SqliteFile:
    """A connection to a file, or to a database in RAM; it is not thread-safe.

    Args:
        path: the file, which is made if it is missing, readable by its owner alone;
            None for RAM.

    Raises:
        StoreUnavailable: of every method; the file cannot be used just now.
        StoreDamaged: of every method; it holds no index, or a damaged one.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = str(path or "memory://")
        self._pid = os.getpid()
        try:
            if path:
                # SQLite gives the files beside it the same permissions.
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                # Opened by "mode=ro", SQLite leaves the files of its write-ahead log
                # behind.
                f"file://{quote(self.name)}?mode=rw" if path else ":memory:",
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
        except (OSError, sqlite3.Error) as error:
            raise self._failure(error) from error

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        if self.path and self._pid != os.getpid():
            raise StoreUnavailable(
                f"{self.name} was opened by the process that forked this one"
            )
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._failure(error) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; undo everything when left by an exception."""
        self.run("BEGIN IMMEDIATE")
        try:
            with self._connection:
                yield
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StoreError:
        """Return the error that tells of one of SQLite or of the system, and names the file."""
        # Also SQLite's messages may be no text.
        text = getattr(error, "strerror", None) or str(error)
        kinds = OSError, sqlite3.OperationalError, sqlite3.ProgrammingError
        is_damage = text.startswith(("no such", "Could not decode"))
        if isinstance(error, kinds) and not is_damage:
            return StoreUnavailable(f"cannot use {self.name}: {text}")
        return StoreDamaged(
            f"{self.name} is damaged or not an index: {text}; use another file, or, if "
            "this was an index, delete it to start anew"
        )

    def close(self) -> None:
        """Close the connection, in the process that opened it. Closing twice does no harm."""
        if self._pid == os.getpid():
            self._connection.close()

    def __del__(self) -> None:
        # A store that was refused before it began has nothing to close.
        if "_connection" in vars(self):
            self.close()


def open_sqlite(url: str, spec: IndexSpec | None) -> tuple[SqliteStore, IndexSpec]:
    """Open the store in a file, or a new one in RAM; without a spec, one that is there."""
    path = file_of(url)
    if spec is None and not (path and path.is_file()):
        raise StoreMissing(
            f"there is no index {path or 'of another process in memory'}"
        )
    file = SqliteFile(path)
    with file.transaction():
        kinds = {
            kind for (kind,) in file.run("SELECT DISTINCT type FROM sqlite_master")
        }
        if kinds - {"table", "index"}:
            # A view may have no end, and a trigger may do anything.
            raise StoreDamaged(f"{file.name} is no index: it has a view or a trigger")
        if spec and not kinds and file.run("PRAGMA application_id") == [(0,)]:
            for statement in _SCHEMA:
                file.run(statement)
            header = header_of(spec) | {DISTANCE: str(spec.distance)}
            sql = "INSERT INTO header SELECT key, value FROM json_each(?)"
            file.run(sql, (json.dumps(header),))
        spec = _fitting(file, spec)
    # In WAL mode this survives kill -9; only a power cut may lose the last claims.
    file.run("PRAGMA synchronous = NORMAL")
    with contextlib.suppress(StoreUnavailable):
        # It fails while another that opens the file does the same, once for all.
        file.run("PRAGMA journal_mode = WAL")
    return SqliteStore(file, spec), spec


def _fitting(file: SqliteFile, spec: IndexSpec | None) -> IndexSpec:
    """Return the spec with which a file is opened, or else the file's own."""
    if file.run("PRAGMA application_id") != [(APPLICATION_ID,)]:
        raise StoreDamaged(
            f"{file.name} is a SQLite file of another program: use another file"
        )
    # The tables of other formats may have other columns.
    ((version,),) = file.run("PRAGMA user_version")
    check_header({"format": str(version)}, {"format": str(FORMAT)}, file.name)
    header = dict(file.run("SELECT name, value FROM header LIMIT 9"))
    with readable(f"the header of {file.name}"):
        stored = spec_in(header)
    check_header(header, header_of(spec or stored), file.name)
    return spec or stored


class SqliteStore:
    """See :class:`.Store`. In RAM the table has no fingerprints, because the neighbours have them.

    Args:
        file: a file, or RAM, with the tables.
    """

    is_here = True

    def __init__(self, file: SqliteFile, spec: IndexSpec) -> None:
        self._file = file
        self._spec = spec
        self._run = file.run
        self._neighbours = Neighbours(spec)
        # Bytes of a fingerprint and its values.
        self._size = spec.bits // 8 + 4 * spec.blocks + KEY_BYTES
        # The last position that is in RAM.
        self._seen = 0
        self.time = time.time
        self.close = file.close

    # Neighbours.

    def _follow(self) -> None:
        """Take what the table holds since the last look into RAM."""
        sql = "SELECT position, content FROM entries WHERE position > ? ORDER BY position LIMIT ?"
        while rows := self._run(sql, (self._seen, ROWS_AT_ONCE)):
            positions, contents = zip(*rows, strict=True)
            added = unpacked(
                b"".join(map(self._checked, positions, contents)),
                self._spec.bits,
                self._spec.blocks + 1,
            )
            self._neighbours.add(positions, *added)
            self._seen = positions[-1]

    def _near(self, lookups: Lookups) -> Answer:
        near = lookups.near(self._neighbours.find(*lookups.sought))
        entries = self.read({position for pairs in near for _, position in pairs})
        living = {
            number: [pair for pair in pairs if pair[1] in entries]
            for number, pairs in enumerate(near)
        }
        return Answer(living, entries, dict.fromkeys(living, self._seen + 1))

    def find(self, lookups: Lookups) -> Answer:
        self._follow()
        return self._near(lookups)

    # Writing.

    def commit(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Answer:
        seen = Answer({}, {}, {})
        with self._file.transaction():
            if lookups:
                self._follow()
                if any(part.since <= self._seen for part in parts):
                    seen = self._near(lookups)
            checked = self.read({at for part in parts for at in part.checks})
            written = [
                None
                if _stands(part, seen.near, checked)
                else self._write(part, checked, lookups)
                for part in parts
            ]
        if lookups:
            self._take_in(parts, written, lookups)
        seen.entries.update(checked)
        return seen._replace(written=written)

    def _write(
        self, part: Part, checked: Mapping[int, Stored], lookups: Lookups | None
    ) -> Sequence[int]:
        """Write a part; return the positions of its new entries."""
        for at, after in part.writes.items():
            self._change(at, checked[at].state, after)
        positions = list[int]()
        for number, (state, body) in part.new.items():
            content = lookups.contents[number] if lookups and self._file.path else b""
            positions.append(self._inserted(content, state, body))
        return positions

    def _inserted(self, content: bytes, state: PackedState, body: bytes) -> int:
        """Write a new entry; return its position."""
        run, lease = state
        # As bytes a value would take SQLite's module longer than all others together.
        row = run, bytearray(body), bytearray(content)
        sql = "INSERT INTO entries (run, body, content) VALUES (?, ?, ?) RETURNING position"
        ((position,),) = self._run(sql, row)
        if position >= _POSITIONS:
            raise StoreDamaged(
                f"{self._file.name} is damaged: its last position is {position}"
            )
        self._set_lease(position, lease)
        self._count(run, 1)
        return int(position)

    def _change(
        self, position: int, before: PackedState, after: PackedState | None
    ) -> None:
        """Write a new state of an entry; None deletes it."""
        run, lease = after or (None, b"")
        self._set_lease(position, lease)
        if run == before[0]:
            return
        self._count(before[0], -1)
        if run is None:
            self._run("DELETE FROM entries WHERE position = ?", (position,))
        else:
            self._run("UPDATE entries SET run = ? WHERE position = ?", (run, position))
            self._count(run, 1)

    def _count(self, run: int, more: int) -> None:
        """Note that a run has more entries, or fewer."""
        sql = "INSERT INTO runs VALUES (?, ?)"
        sql += " ON CONFLICT DO UPDATE SET pages = pages + excluded.pages"
        self._run(sql, (run, more))

    def _set_lease(self, position: int, lease: bytes) -> None:
        if lease:
            self._run("REPLACE INTO leases VALUES (?, ?)", (position, lease))
        else:
            self._run("DELETE FROM leases WHERE position = ?", (position,))

    def _take_in(
        self,
        parts: Sequence[Part],
        written: Sequence[Sequence[int] | None],
        lookups: Lookups,
    ) -> None:
        """Take new entries into RAM."""
        numbers: dict[int, int] = {}
        for part, positions in zip(parts, written, strict=True):
            numbers |= zip(positions or (), part.new, strict=False)
        if numbers:
            pages = [*numbers.values()]
            words, values = lookups.sought
            self._neighbours.add([*numbers], words[pages], values[pages])
            self._seen = max(numbers)

    # Reading.

    def read(self, positions: Collection[int]) -> dict[int, Stored]:
        if not positions:
            return {}
        # Values of other types become some of no meaning.
        sql = """SELECT position, CAST(ifnull(run, 0) AS INTEGER),
            CAST(ifnull(lease, '') AS BLOB), CAST(ifnull(body, '') AS BLOB), content
            FROM entries LEFT JOIN leases USING (position)
            WHERE position IN (SELECT value FROM json_each(?)) ORDER BY position"""
        rows = self._run(sql, (json.dumps([*positions]),))
        if self._file.path:
            contents = [
                self._checked(at, content)[:-KEY_BYTES] for at, *_, content in rows
            ]
        else:
            contents = self._neighbours.fingerprints([at for at, *_ in rows])
        return {
            at: Stored((run, lease), body, content)
            for (at, run, lease, body, _), content in zip(rows, contents, strict=True)
        }

    def scan(
        self, after: int = 0, *, blocks: bool = False
    ) -> Iterator[tuple[int, Stored]]:
        del blocks  # they are there in any file
        sql = (
            "SELECT position FROM entries WHERE position > ? ORDER BY position LIMIT ?"
        )
        while rows := self._run(sql, (after, ROWS_AT_ONCE)):
            yield from self.read([position for (position,) in rows]).items()
            (after,) = rows[-1]

    def _checked(self, position: int, content: object) -> bytes:
        if not (
            position < _POSITIONS
            and type(content) is bytes
            and len(content) == self._size
        ):
            raise StoreDamaged(
                f"{self._file.name} is damaged: the fingerprint at {position} does not have "
                f"{self._spec.bits} bits and {self._spec.blocks} block values"
            )
        return content

    def cells(self, family: str) -> dict[str, bytes]:
        sql = "SELECT name, value FROM cells WHERE name >= ? AND name < ?"
        return dict(self._run(sql, (family, family + chr(0x10FFFF))))

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        with self._file.transaction():
            rows = self._run("SELECT value FROM cells WHERE name = ?", (name,))
            if rows != ([] if old is None else [(old,)]):
                return False
            self._run("DELETE FROM cells WHERE name = ?", (name,))
            if new is not None:
                self._run("INSERT INTO cells VALUES (?, ?)", (name, new))
        return True

    def counts(self) -> Counts:
        # A number that cannot be is passed over; a check tells of it.
        sql = "SELECT run, pages FROM runs WHERE typeof(pages) = 'integer'"
        by_run = dict(self._run(f"{sql} AND pages > 0 AND (run | pages) >> 32 = 0"))
        ((leases,),) = self._run("SELECT count(*) FROM leases")
        return Counts(by_run, leases)

    def check(self) -> list[str]:
        rows = self._run("PRAGMA quick_check(20)")
        return [f"SQLite: {text}" for (text,) in rows if text != "ok"]

    def clear(self) -> None:
        with self._file.transaction():
            for table in ("entries", "leases", "runs"):
                self._run(f"DELETE FROM {table}")  # noqa: S608
        self._neighbours = Neighbours(self._spec)


def _stands(
    part: Part, near: Mapping[int, Near], entries: Mapping[int, Stored]
) -> bool:
    """Return whether something stands against a part, given the entries that it checks."""
    for at, state in part.checks.items():
        if at not in entries or entries[at].state != state:
            return True
    positions = (at for number in part.members for _, at in near.get(number, ()))
    return any(at >= part.since for at in positions)
