"""A connection to a SQLite file, or to a database in RAM, with the errors of this package."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrapy_simhash.index.errors import StoreDamaged, StoreUnavailable

# Seconds to wait for another process's write lock.
BUSY_TIMEOUT = 5.0


class SqliteFile:
    """It is not thread-safe.

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
