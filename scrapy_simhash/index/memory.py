"""The index in the RAM of one process, gone when it ends."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

from scrapy_simhash.index.sqlite import SqliteIndex


class MemoryIndex(SqliteIndex):
    """An index in a SQLite database in RAM, shared by the threads of a process.

    Of a claim SQLite takes some 20 us, less than finding the neighbours; a second log, as Python
    objects, is not worth that.
    Arguments and errors are those of :class:`SqliteIndex` without the path.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__("memory://", **arguments)

    def _connect(self) -> None:
        self._pid = os.getpid()
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )

    def _after_fork(self) -> None:
        """Go on with the copy of the database that the fork made."""
        self._pid = os.getpid()
        self._enlist()
