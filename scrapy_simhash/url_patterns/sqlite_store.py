"""Counts of address patterns in the index's SQLite file."""

from collections.abc import Iterable

from scrapy_simhash.index.registry import file_of
from scrapy_simhash.index.sqlite_file import SqliteFile
from scrapy_simhash.url_patterns.store import BATCH, MOST_ROWS, Counts, Tally

_NAMES = tuple(f'"{name}"' for name in Counts._fields)  # quoted: some are words of SQL
_COLUMNS = ", ".join(("host", "signature", *_NAMES, "mark", "example"))
_SCHEMA = (
    f"""CREATE TABLE IF NOT EXISTS patterns (
        host TEXT NOT NULL, signature TEXT NOT NULL,
        {", ".join(f"{name} INTEGER NOT NULL" for name in _NAMES)},
        mark TEXT NOT NULL, example TEXT NOT NULL, version INTEGER NOT NULL,
        PRIMARY KEY (host, signature))""",
    "CREATE UNIQUE INDEX IF NOT EXISTS patterns_by_version ON patterns (version)",
)
_ADD = f"""
    INSERT INTO patterns ({_COLUMNS}, version)
    VALUES ({", ".join("?" * (len(_NAMES) + 4))},
        (SELECT coalesce(max(version), 0) + 1 FROM patterns))
    ON CONFLICT DO UPDATE SET
        {", ".join(f"{name} = {name} + excluded.{name}" for name in _NAMES)},
        version = excluded.version, mark = iif(excluded.mark = '', mark, excluded.mark),
        example = iif(excluded.example = '', example, excluded.example)"""  # noqa: S608


class SqlitePatternStore:
    """Rows in a table of an index that is there; see :class:`.PatternStore`."""

    def __init__(self, url: str) -> None:
        self._file = SqliteFile(file_of(url))
        with self._file.transaction():
            for statement in _SCHEMA:
                self._file.run(statement)

    def add(self, rows: Iterable[Tally]) -> None:
        values = [(row.host, row.signature, *row.counts, row.mark, row.example) for row in rows]
        with self._file.transaction():
            self._file.run_many(_ADD, values)
            self._file.run(
                "DELETE FROM patterns WHERE version IN (SELECT version FROM patterns "
                "ORDER BY version LIMIT max(0, (SELECT count(*) FROM patterns) - ?))",
                (MOST_ROWS,),
            )

    def changes(self, since: int = 0) -> tuple[list[Tally], int]:
        found = self._file.run(
            f"SELECT {_COLUMNS}, version FROM patterns WHERE version > ? "  # noqa: S608
            "ORDER BY version LIMIT ?",
            (since, BATCH),
        )
        rows = [
            Tally(host, signature, Counts(*counts), mark, example)
            for host, signature, *counts, mark, example, _ in found
        ]
        return rows, found[-1][-1] if found else since

    def remove(self, host: str, signature: str) -> bool:
        sql = "DELETE FROM patterns WHERE host = ? AND signature = ? RETURNING 1"
        return bool(self._file.run(sql, (host, signature)))

    def close(self) -> None:
        self._file.close()
