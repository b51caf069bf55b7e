"""A SQLite file of this package: its tables and header, how it is opened, and why it is refused."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from scrapy_simhash.index.contract import (
    IndexSpec,
    Judge,
    StoreDamaged,
    StoreMismatch,
    StoreMissing,
    StoreUnavailable,
    by_distance,
)

# "simh", so that a file of this package is told from other SQLite files.
APPLICATION_ID = 0x73696D68
FORMAT = 1
# Seconds to wait for another process's write lock.
BUSY_TIMEOUT = 5.0

# Leases are apart from the entries: an entry's row is never written again, so the log is as
# compact as it can be.
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE entries (
        position INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, scope TEXT NOT NULL,
        facts BLOB NOT NULL, time REAL NOT NULL, value BLOB NOT NULL, blocks BLOB NOT NULL)""",
    """CREATE TABLE leases (
        position INTEGER PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL,
        adoptions INTEGER NOT NULL, request TEXT)""",
    "CREATE INDEX leases_by_owner ON leases (owner, expires)",
)


def open_file(path: Path, spec: IndexSpec, *, read_only: bool) -> sqlite3.Connection:
    """Open the index in a file, and check that it fits; make it if it may be made.

    Raises:
        StoreMissing: there is no index, and none is made.
        StoreMismatch: the file was made by another recipe, width, number of blocks or format.
        StoreDamaged: the file is not an index, or is damaged.
        StoreUnavailable: the file cannot be opened or written.
    """
    if read_only:
        return _open_read_only(path)
    if not path.parent.is_dir():
        raise StoreUnavailable(f"cannot open {path}: {path.parent} is no folder")
    connection = None
    with translated(path):
        try:
            # SQLite gives its other files the permissions of this one.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = connect(path)
            # In WAL mode this survives kill -9; only a power cut may lose the last claims.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            ((application,),) = connection.execute("PRAGMA application_id")
            ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
            if not tables and not application:
                for statement in SCHEMA:
                    connection.execute(statement)
                connection.executemany("INSERT INTO header VALUES (?, ?)", _header(spec).items())
            stored = _stored_spec(path, connection, spec.judge)
            connection.execute("COMMIT")
            _check_fits(path, stored, spec)
            _write_ahead(connection)
        except BaseException:
            if connection is not None:
                connection.close()
            raise
    return connection


def read_spec(path: str | os.PathLike[str], judge: Judge = by_distance) -> IndexSpec:
    """Return how the index in a file was opened first; the file is neither changed nor made.

    Raises:
        StoreMissing: there is no such file.
        StoreMismatch: it has another format.
        StoreDamaged: it is no index.
        StoreUnavailable: it cannot be read.
    """
    path = Path(path).absolute()
    with contextlib.closing(_open_read_only(path)) as connection, translated(path):
        return _stored_spec(path, connection, judge)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise SQLite's and the system's errors as ours, which name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(error).startswith(("no such", "Could not decode")):
            raise StoreDamaged(f"{path} is not a complete index: {error}") from error
        raise StoreUnavailable(f"cannot use {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreDamaged(
            f"{path} is damaged or not an index: {error}; use another file, or delete this one to "
            "start anew"
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"cannot use {path}: {error.strerror}") from error


def connect(path: Path) -> sqlite3.Connection:
    """Open a file that is there, and let threads share the connection."""
    # Opened by "mode=ro", SQLite leaves the files of its write-ahead log behind.
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )


def _open_read_only(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StoreMissing(f"there is no index {path}")
    with translated(path):
        connection = connect(path)
        connection.execute("PRAGMA query_only = ON")
        return connection


def _header(spec: IndexSpec) -> dict[str, str]:
    return {
        "recipe": spec.recipe,
        "bits": str(spec.bits),
        "distance": str(spec.distance),
        "blocks": str(spec.blocks),
    }


def _stored_spec(path: Path, connection: sqlite3.Connection, judge: Judge) -> IndexSpec:
    ((application,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{path} is a SQLite file of another program: use another file")
    if version != FORMAT:
        raise StoreMismatch(
            f"{path} has format {version}, this version of scrapy-simhash reads {FORMAT}: "
            "use the version that made it, or another file"
        )
    header = dict(connection.execute("SELECT name, value FROM header"))
    try:
        bits, distance, blocks = (int(header[name]) for name in ("bits", "distance", "blocks"))
        return IndexSpec(str(header["recipe"]), bits, distance, blocks, judge=judge)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreDamaged(f"{path} has a damaged header: {error}") from error


def _check_fits(path: Path, stored: IndexSpec, spec: IndexSpec) -> None:
    for name in ("recipe", "bits", "blocks"):
        there, asked = getattr(stored, name), getattr(spec, name)
        if there != asked:
            raise StoreMismatch(
                f"{path} was made with the {name} {there}, not {asked}: use the same {name} or "
                "another file, or delete this one to start anew"
            )


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode; SQLite does not wait by itself for others that do so just now."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
