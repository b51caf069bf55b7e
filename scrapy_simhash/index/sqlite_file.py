"""SQLite as this package uses it: its tables, how a file is opened, and why it is refused."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrapy_simhash.fingerprint.recipe import reach_of
from scrapy_simhash.index.contract import StoreDamaged, StoreMismatch, StoreUnavailable
from scrapy_simhash.index.values import IndexSpec

# "simh", so that a file of this package is told from other SQLite files.
APPLICATION_ID = 0x73696D68
FORMAT = 7
# Seconds to wait for another process's write lock.
BUSY_TIMEOUT = 5.0

# Leases are apart from the entries: an entry's row is never written again, so the log is as
# compact as it can be.
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    """CREATE TABLE header (
        recipe TEXT, bits INTEGER, distance INTEGER, blocks INTEGER, last INTEGER NOT NULL)""",
    """CREATE TABLE entries (
        position INTEGER PRIMARY KEY, key TEXT NOT NULL, scope TEXT NOT NULL, facts BLOB NOT NULL,
        time REAL NOT NULL, run INTEGER NOT NULL, fingerprint BLOB NOT NULL)""",
    """CREATE TABLE leases (
        position INTEGER PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL,
        adoptions INTEGER NOT NULL, request TEXT, back INTEGER, copier TEXT, waiting TEXT)""",
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT, spider TEXT NOT NULL, begun REAL NOT NULL,
        ended REAL, finished INTEGER NOT NULL, pages INTEGER NOT NULL)""",
    "CREATE TABLE crawlers (owner TEXT PRIMARY KEY, run INTEGER NOT NULL, expires REAL NOT NULL)",
    """CREATE TRIGGER went AFTER DELETE ON entries WHEN OLD.run > 0 BEGIN
        UPDATE runs SET pages = pages - 1 WHERE number = OLD.run; END""",
    """CREATE TRIGGER was_seen AFTER UPDATE OF run ON entries BEGIN
        UPDATE runs SET pages = pages - 1 WHERE number = OLD.run;
        UPDATE runs SET pages = pages + 1 WHERE number = NEW.run; END""",
)


class SqliteFile:
    """A connection to a file, or to a database in RAM; it is not thread-safe.

    Args:
        path: the file; None for RAM.
        make: make the file if there is none, readable by its owner alone.

    Raises:
        StoreUnavailable: of every method; the file cannot be used just now.
        StoreDamaged: of every method; it holds no index, or a damaged one.
    """

    def __init__(self, path: Path | None, *, make: bool = False) -> None:
        self.path = path
        self.name = str(path or "memory://")
        self._pid = os.getpid()
        with self._translated():
            if path and make:
                # SQLite gives its other files the permissions of this one.
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                # Opened by "mode=ro", SQLite leaves the files of its write-ahead log behind.
                f"file://{quote(self.name)}?mode=rw" if path else ":memory:",
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        with self._translated():
            return list(self._connection.execute(sql, parameters))

    def run_many(self, sql: str, parameters: Iterable[Sequence[object]]) -> None:
        with self._translated():
            self._connection.executemany(sql, parameters)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; undo everything when left by an exception."""
        self.run("BEGIN IMMEDIATE")
        with self._translated(), self._connection:
            yield

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise SQLite's and the system's errors as ours, which name the file."""
        if self.path and self._pid != os.getpid():
            raise StoreUnavailable(f"{self.name} was opened by the process that forked this one")
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            if str(error).startswith(("no such", "Could not decode")):
                raise StoreDamaged(f"{self.name} is not a complete index: {error}") from error
            raise StoreUnavailable(f"cannot use {self.name}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # of a message of SQLite
            raise StoreDamaged(
                f"{self.name} is damaged or not an index: {error}; use another file, or, if "
                "this was an index, delete it to start anew"
            ) from error
        except OSError as error:
            raise StoreUnavailable(f"cannot use {self.name}: {error.strerror}") from error

    def close(self) -> None:
        """Close the connection, in the process that opened it. Closing twice does no harm."""
        if self._pid == os.getpid():
            self._connection.close()

    def __del__(self) -> None:
        # A crawl that does not get to its start closes nothing.
        if "_connection" in vars(self):
            self.close()


def open_file(path: Path | None, spec: IndexSpec) -> SqliteFile:
    """Open the index in a file, or in RAM, and check that it fits; make it if there is none."""
    if path and not path.parent.is_dir():
        raise StoreUnavailable(f"cannot open {path}: {path.parent} is no folder")
    file = SqliteFile(path, make=True)
    try:
        _prepare(file, spec)
    except BaseException:
        file.close()
        raise
    return file


def _prepare(file: SqliteFile, spec: IndexSpec) -> None:
    """Make the tables, if there are none, and check that the index fits."""
    with file.transaction():
        tables = file.run("SELECT name FROM sqlite_master")
        if not tables and file.run("PRAGMA application_id") == [(0,)]:
            for statement in SCHEMA:
                file.run(statement)
            header = (spec.recipe, spec.bits, spec.distance, spec.blocks)
            file.run("INSERT INTO header VALUES (?, ?, ?, ?, 0)", header)
        stored = stored_spec(file)
        for name in ("recipe", "bits", "blocks"):
            there, asked = getattr(stored, name), getattr(spec, name)
            if there != asked:
                raise StoreMismatch(
                    f"{file.name} was made with the {name} {there}, not {asked}: use the same "
                    f"{name} or another file, or delete this one to start anew"
                )
    # In WAL mode this survives kill -9; only a power cut may lose the last claims.
    file.run("PRAGMA synchronous = NORMAL")
    with contextlib.suppress(StoreUnavailable):
        # It fails while another that opens the file does the same, once for all.
        file.run("PRAGMA journal_mode = WAL")


def stored_spec(file: SqliteFile) -> IndexSpec:
    """Return how the index in a file was opened first."""
    ((application,),) = file.run("PRAGMA application_id")
    ((version,),) = file.run("PRAGMA user_version")
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{file.name} is a SQLite file of another program: use another file")
    if version != FORMAT:
        raise StoreMismatch(
            f"{file.name} has format {version}, this version of scrapy-simhash reads {FORMAT}: "
            "use the version that made it, or another file"
        )
    try:
        (row,) = file.run("SELECT recipe, bits, distance, blocks FROM header")
        recipe, bits, distance, blocks = row
        return IndexSpec(recipe, bits, distance, blocks, reach=reach_of(bits, distance))
    except (ValueError, TypeError) as error:
        raise StoreDamaged(f"{file.name} has a damaged header: {error}") from error
