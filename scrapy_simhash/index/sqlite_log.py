"""A log in a SQLite file: several processes of one machine, restarts, kill -9."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    MAX_FACTS,
    Census,
    Entry,
    IndexSpec,
    StoreDamaged,
    StoreUnavailable,
)
from scrapy_simhash.index.liveness import Liveness
from scrapy_simhash.index.log import Lease, Record, Row
from scrapy_simhash.index.sqlite_file import open_file, translated

# Parameters in one statement that every build of SQLite allows.
_PARAMETERS = 500

_ENTRIES = (
    "SELECT position, key, scope, facts, time, owner, expires, adoptions, request, value, blocks "
    "FROM entries LEFT JOIN leases USING (position) WHERE "
)


class SqliteLog:
    """See :class:`~.log.Log`.

    Args:
        path: the file; it is made if missing, its folder is not.
        spec: how the index is opened.
        liveness: who this crawler is, and which of the others live.
        read_only: neither make nor change anything.

    Raises:
        StoreError: the file cannot be used, see :func:`.sqlite_file.open_file`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        spec: IndexSpec,
        liveness: Liveness,
        *,
        read_only: bool = False,
    ) -> None:
        self._path = Path(path).absolute()
        self.name = str(self._path)
        self._spec = spec
        self._liveness = liveness
        self._pid = os.getpid()
        self._is_closed = False
        self._connection = open_file(self._path, spec, read_only=read_only)

    def close(self) -> None:  # noqa: D102
        self._is_closed = True
        self._liveness.leave()
        if self._pid == os.getpid():
            self._connection.close()

    def __del__(self) -> None:
        # A crawl that does not get to its start closes nothing.
        if "_connection" in vars(self) and self._pid == os.getpid():
            self._connection.close()

    # Talking to SQLite.

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        if self._is_closed:
            raise StoreUnavailable(f"the index {self._path} is closed")
        if self._pid != os.getpid():
            raise StoreUnavailable(f"{self._path} was opened by the process that forked this one")
        with translated(self._path):
            yield self._connection

    def _run(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        with self._using() as connection:
            return connection.execute(sql, parameters).fetchall()

    def _run_many(self, sql: str, parameters: Iterable[tuple[Any, ...]]) -> None:
        with self._using() as connection:
            connection.executemany(sql, parameters)

    def _run_for(self, sql: str, positions: Collection[int]) -> list[Any]:
        """Run a statement that ends in IN for some positions at a time."""
        rows, wanted = [], sorted(positions)
        for start in range(0, len(wanted), _PARAMETERS):
            some = wanted[start : start + _PARAMETERS]
            rows += self._run(f"{sql} ({','.join('?' * len(some))})", some)
        return rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:  # noqa: D102
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            # After some errors SQLite has rolled back by itself.
            if self._connection.in_transaction:
                self._connection.rollback()
            raise

    def _damaged(self, what: str) -> StoreDamaged:
        return StoreDamaged(f"{self._path} is damaged: {what}")

    # The log.

    def follow(self, after: int, limit: int) -> list[Row]:  # noqa: D102
        rows = self._run(
            "SELECT position, scope, value, blocks FROM entries WHERE position > ? "
            "ORDER BY position LIMIT ?",
            (after, limit),
        )
        value, blocks = self._spec.bits // 8, 4 * self._spec.blocks
        for row in rows:
            if not (
                row[0] < 1 << 32
                and type(row[1]) is str
                and type(row[2]) is type(row[3]) is bytes
                and len(row[2]) == value
                and len(row[3]) == blocks
            ):
                raise self._damaged(
                    f"the fingerprint at {row[0]} does not have {self._spec.bits} bits and "
                    f"{self._spec.blocks} block values"
                )
        return list(map(Row._make, rows))

    def last(self) -> int:  # noqa: D102
        rows = self._run("SELECT seq FROM sqlite_sequence WHERE name = 'entries'")
        return int(rows[0][0]) if rows else 0

    def records(self, positions: Collection[int]) -> dict[int, Record]:  # noqa: D102
        rows = self._run_for(_ENTRIES + "position IN", positions)
        return {row[0]: self._record(row) for row in rows}

    def _record(self, row: Sequence[Any]) -> Record:
        position, key, scope, facts, time, owner, expires, adoptions, request = row[:9]
        is_ours = (
            type(key) is type(scope) is str
            and type(facts) is bytes
            and len(facts) <= MAX_FACTS
            and type(time) is float
        )
        lease = None
        if owner is not None:
            lease = Lease(owner, expires, adoptions, request)
            is_ours = is_ours and type(owner) is str and type(request) in (str, type(None))
            is_ours = is_ours and type(expires) is float and type(adoptions) is int
        if not is_ours:
            raise self._damaged(f"the entry at {position} has a value of another type")
        return Record(position, key, scope, facts, time, lease)

    def append(self, rows: Sequence[Row], records: Sequence[Record]) -> None:  # noqa: D102
        self._run_many(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (*record[:5], row.value, row.blocks)
                for row, record in zip(rows, records, strict=True)
            ],
        )
        self.lease({r.position: r.lease for r in records if r.lease is not None})

    def delete(self, positions: Collection[int]) -> None:  # noqa: D102
        self._run_for("DELETE FROM entries WHERE position IN", positions)
        self.settle(positions)

    def lease(self, leases: Mapping[int, Lease]) -> None:  # noqa: D102
        self._run_many(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
            [(position, *lease) for position, lease in leases.items()],
        )

    def settle(self, positions: Collection[int]) -> None:  # noqa: D102
        self._run_for("DELETE FROM leases WHERE position IN", positions)

    # Leases.

    def expired(self, crawlers: str, now: float, limit: int) -> list[Record]:  # noqa: D102
        found: list[Record] = []
        for owner in self._owners(crawlers):
            condition = (
                "expires <= ? OR adoptions = 0" if self._liveness.is_dead(owner) else "expires <= ?"
            )
            sql = f"{_ENTRIES} owner = ? AND ({condition}) ORDER BY expires LIMIT ?"
            rows = self._run(sql, (owner, now, limit - len(found)))
            found += map(self._record, rows)
        return found

    def _owners(self, crawlers: str) -> list[str]:
        """Return the crawlers that have leases: one look into the leases for each."""
        owners: list[str] = []
        after = crawlers
        while row := self._run("SELECT min(owner) FROM leases WHERE owner > ?", (after,))[0][0]:
            if type(row) is not str:
                raise self._damaged("a lease has an owner of another type")
            if not row.startswith(crawlers):
                break
            owners.append(row)
            after = row
        return owners

    def is_expired(self, lease: Lease, now: float) -> bool:  # noqa: D102
        return lease.expires <= now or (
            lease.adoptions == 0 and self._liveness.is_dead(lease.owner)
        )

    # All of it.

    def positions(self, keys: Collection[str]) -> list[int]:  # noqa: D102
        with self._using() as connection:
            rows = connection.execute("SELECT position, key FROM entries")
            return [position for position, key in rows if key in keys]

    def entries(self, after: int, limit: int) -> list[tuple[int, Entry]]:  # noqa: D102
        rows = self._run(_ENTRIES + "position > ? ORDER BY position LIMIT ?", (after, limit))
        return [(row[0], self._record(row).entry(self._fingerprint(*row[9:]))) for row in rows]

    def _fingerprint(self, value: Any, blocks: Any) -> Fingerprint:
        try:
            fingerprint = Fingerprint(int.from_bytes(value, "big"), self._spec.bits, bytes(blocks))
            self._spec.check(fingerprint)
        except (TypeError, ValueError) as error:
            raise self._damaged(str(error)) from error
        return fingerprint

    def census(self) -> Census:  # noqa: D102
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
            sizes={part: size for part, size in sizes.items() if size},
        )

    def __len__(self) -> int:
        ((count,),) = self._run("SELECT count(*) FROM entries")
        return int(count)

    def clear(self) -> None:  # noqa: D102
        self._run("DELETE FROM entries")
        self._run("DELETE FROM leases")
