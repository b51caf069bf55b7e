"""A log in a SQLite file: several processes of one machine, restarts, kill -9."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import MAX_FACTS, Census, Entry, IndexSpec, StoreDamaged
from scrapy_simhash.index.liveness import Liveness
from scrapy_simhash.index.log import Lease, Record, Row
from scrapy_simhash.index.sqlite_file import open_file

# Parameters in one statement that every build of SQLite allows.
_PARAMETERS = 500

_ENTRIES = (
    "SELECT position, key, scope, facts, time, owner, expires, adoptions, request, value, blocks "
    "FROM entries LEFT JOIN leases USING (position) WHERE "
)
# The types of the columns, in a record and in its lease with a request or without.
_RECORD = (int, str, str, bytes, float)
_LEASES = ((str, float, int, str), (str, float, int, type(None)))


class SqliteLog:
    """See :class:`~.log.Log`.

    Args:
        path: the file; it is made if missing, its folder is not.
        spec: how the index is opened.
        read_only: neither make nor change anything.

    Raises:
        StoreError: the file cannot be used, see :func:`.sqlite_file.open_file`.
    """

    def __init__(self, path: str, spec: IndexSpec, *, read_only: bool = False) -> None:
        self._spec = spec
        self._file = open_file(Path(path).absolute(), spec, read_only=read_only)
        self._liveness = Liveness(spec.spider)
        self.crawler = self._liveness.name
        self.is_dead = self._liveness.is_dead
        self.transaction = self._file.transaction

    def close(self) -> None:  # noqa: D102
        self._liveness.leave()
        self._file.close()

    def _run_for(self, sql: str, positions: Collection[int]) -> list[Any]:
        """Run a statement that ends in IN for some positions at a time."""
        rows, wanted = [], sorted(positions)
        for start in range(0, len(wanted), _PARAMETERS):
            some = wanted[start : start + _PARAMETERS]
            rows += self._file.run(f"{sql} ({','.join('?' * len(some))})", some)
        return rows

    def _count(self, what: str) -> int:
        ((count,),) = self._file.run(f"SELECT {what}")
        return int(count)

    def _damaged(self, what: str) -> StoreDamaged:
        return StoreDamaged(f"{self._file.path} is damaged: {what}")

    # Entries.

    def follow(self, after: int, limit: int) -> list[Row]:  # noqa: D102
        rows = self._file.run(
            "SELECT position, scope, value, blocks FROM entries WHERE position > ? "
            "ORDER BY position LIMIT ?",
            (after, limit),
        )
        sizes = (self._spec.bits // 8, 4 * self._spec.blocks)
        for position, scope, value, blocks in rows:
            if not (
                position < 1 << 32
                and type(scope) is str
                and type(value) is type(blocks) is bytes
                and (len(value), len(blocks)) == sizes
            ):
                raise self._damaged(
                    f"the fingerprint at {position} does not have {self._spec.bits} bits and "
                    f"{self._spec.blocks} block values"
                )
        return list(map(Row._make, rows))

    def last(self) -> int:  # noqa: D102
        return self._count("coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entries'")

    def records(self, positions: Collection[int]) -> dict[int, Record]:  # noqa: D102
        rows = self._run_for(_ENTRIES + "position IN", positions)
        return {row[0]: self._record(row) for row in rows}

    def _record(self, row: Sequence[Any]) -> Record:
        types = tuple(map(type, row))
        lease = None if row[5] is None else Lease(*row[5:9])
        if types[:5] != _RECORD or len(row[3]) > MAX_FACTS or (lease and types[5:9] not in _LEASES):
            raise self._damaged(f"the entry at {row[0]} has a value of another type")
        return Record(*row[:5], lease)

    def entries(self, after: int, limit: int) -> list[tuple[int, Entry]]:  # noqa: D102
        rows = self._file.run(_ENTRIES + "position > ? ORDER BY position LIMIT ?", (after, limit))
        return [(row[0], self._record(row).entry(self._fingerprint(*row[9:]))) for row in rows]

    def _fingerprint(self, value: Any, blocks: Any) -> Fingerprint:
        try:
            fingerprint = Fingerprint(int.from_bytes(value, "big"), self._spec.bits, bytes(blocks))
            self._spec.check(fingerprint)
        except (TypeError, ValueError) as error:
            raise self._damaged(str(error)) from error
        return fingerprint

    def append(self, entries: Sequence[tuple[Record, Fingerprint]]) -> None:  # noqa: D102
        self._file.run_many(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(*record[:5], page.to_bytes(), page.blocks) for record, page in entries],
        )
        self.lease({record.position: record.lease for record, _ in entries if record.lease})

    def delete(self, positions: Collection[int]) -> None:  # noqa: D102
        self._run_for("DELETE FROM entries WHERE position IN", positions)
        self.settle(positions)

    def positions(self, keys: Collection[str]) -> list[int]:  # noqa: D102
        rows = self._file.rows("SELECT position, key FROM entries")
        return [position for position, key in rows if key in keys]

    def clear(self) -> None:  # noqa: D102
        self._file.run("DELETE FROM entries")
        self._file.run("DELETE FROM leases")

    # Leases.

    def lease(self, leases: Mapping[int, Lease]) -> None:  # noqa: D102
        self._file.run_many(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
            [(position, *lease) for position, lease in leases.items()],
        )

    def settle(self, positions: Collection[int]) -> None:  # noqa: D102
        self._run_for("DELETE FROM leases WHERE position IN", positions)

    def expired(self, now: float, limit: int) -> list[Record]:  # noqa: D102
        found: list[Record] = []
        for (owner,) in self._file.run("SELECT DISTINCT owner FROM leases"):
            if str(owner).startswith(self._liveness.spider):
                sql = f"{_ENTRIES} owner = ? AND (expires <= ? OR adoptions < ?) LIMIT ?"
                dead = int(self.is_dead(owner))
                rows = self._file.run(sql, (owner, now, dead, limit - len(found)))
                found += map(self._record, rows)
        return found

    # Counts.

    def census(self) -> Census:  # noqa: D102
        path = self._file.path
        parts = {"file": path, "write-ahead log": path.with_name(path.name + "-wal")}
        sizes = {part: file.stat().st_size for part, file in parts.items() if file.exists()}
        return Census(len(self), self._count("count(*) FROM leases"), sizes)

    def __len__(self) -> int:
        return self._count("count(*) FROM entries")
