"""What a SQLite file of ours is: its tables and header, and how it is opened and refused."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrapy_simhash.index.base import (
    StoreDamaged,
    StoreMismatch,
    StoreMissing,
    StoreUnavailable,
)

# "simh", so that a file of ours is told from other SQLite files.
APPLICATION_ID = 0x73696D68
FORMAT = 3
# Seconds to wait for another process's write lock.
BUSY_TIMEOUT = 5.0

# Leases are apart from the entries: an entry's row is never written again, so the log is as
# compact as it can be, and the few leases are found without an index on every key.
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE entries (
        position INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, value BLOB NOT NULL,
        key TEXT NOT NULL, time REAL NOT NULL)""",
    """CREATE TABLE leases (
        key TEXT, position INTEGER, worker TEXT NOT NULL, expires REAL NOT NULL, request TEXT,
        PRIMARY KEY (key, position)) WITHOUT ROWID""",
    """CREATE TABLE waiting (
        key TEXT PRIMARY KEY, request TEXT NOT NULL, original INTEGER,
        handovers INTEGER NOT NULL, worker TEXT NOT NULL, expires REAL NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX waiting_by_original ON waiting (original)",
    """CREATE TABLE bodies (
        number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, value BLOB NOT NULL)""",
)


def read_header(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the header of the index in a file, which is not changed, nor made.

    Raises:
        StoreMissing: there is no such file.
        StoreMismatch: it has another format.
        StoreDamaged: it is no index.
        StoreUnavailable: it cannot be read.
    """
    path = Path(path).absolute()
    if not path.is_file():
        raise StoreMissing(f"there is no index {path}")
    with translated(path), contextlib.closing(open_read_only(path)) as connection:
        check_ours(path, connection.execute)
        return dict(connection.execute("SELECT name, value FROM header"))


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open an index that is not to be changed."""
    # Opened by "mode=ro", SQLite leaves the files of its write-ahead log behind.
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    connection.execute("PRAGMA query_only = ON")
    return connection


def check_ours(path: Path, run: Callable[[str], Iterable[Any]]) -> None:
    """Raise an error unless a file, on which ``run`` runs statements, is ours."""
    ((application,),) = run("PRAGMA application_id")
    ((version,),) = run("PRAGMA user_version")
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{path} is a SQLite file of another program: use another file")
    if version != FORMAT:
        raise StoreMismatch(
            f"{path} has format {version}, this version of scrapy-simhash reads {FORMAT}: "
            "use the version that made it, or another file"
        )


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as ours, which name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(error).startswith("no such"):
            raise StoreDamaged(f"{path} is not a complete index: {error}") from error
        raise StoreUnavailable(f"cannot use {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreDamaged(
            f"{path} is damaged or not an index: {error}; use another file, or delete this one to "
            "start anew"
        ) from error
