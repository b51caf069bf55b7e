"""Cells beside an index, in its SQLite file or in Redis, until the index has its own."""

from typing import Any, Protocol

from scrapy_simhash.index.contract import StoreMissing
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.registry import file_of, store_of
from scrapy_simhash.index.sqlite_file import SqliteFile

_SWAP = """
local now = redis.call('HGET', KEYS[1], ARGV[1])
if (now and '=' .. now or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], string.sub(ARGV[3], 2)) end
return 1"""


class Cells(Protocol):
    """Small named values of an index, each of which is swapped as a whole."""

    def cells(self, prefix: str) -> dict[str, bytes]:
        """Return the cells whose names begin so."""

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        """Replace a cell if it is ``old`` still; None stands for no cell."""

    def close(self) -> None: ...


def open_cells(url: str) -> Cells:
    """Open the cells of an index, which must be there if it is a file.

    Raises:
        StoreMissing: the index is in memory. For other errors see :func:`.open_existing`.
    """
    store = store_of(url)
    if not store.patterns:
        raise StoreMissing("what was learned with this index ends with its crawl")
    cells: Cells = store.call("patterns", url)
    return cells


class RedisCells:
    """The fields of one hash."""

    def __init__(self, url: str) -> None:
        self._client = Client(parse_location(url))
        self._key = self._client.key("patterns")

    def cells(self, prefix: str) -> dict[str, bytes]:
        values: Any = self._client.call("HGETALL", self._key)
        names = {name.decode("utf-8", "replace"): value for name, value in values.items()}
        return {name: value for name, value in names.items() if name.startswith(prefix)}

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        values = (b"" if value is None else b"=" + value for value in (old, new))
        return bool(self._client.call("EVAL", _SWAP, 1, self._key, name, *values))

    def close(self) -> None:
        self._client.close()


class SqliteCells:
    """The rows of a table."""

    def __init__(self, url: str) -> None:
        self._file = SqliteFile(file_of(url))
        sql = "CREATE TABLE IF NOT EXISTS patterns (name TEXT PRIMARY KEY, value BLOB NOT NULL)"
        with self._file.transaction():
            self._file.run(sql)

    def cells(self, prefix: str) -> dict[str, bytes]:
        rows = self._file.run("SELECT name, value FROM patterns")
        return {name: value for name, value in rows if name.startswith(prefix)}

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        with self._file.transaction():
            now = self._file.run("SELECT value FROM patterns WHERE name = ?", (name,))
            if now != ([] if old is None else [(old,)]):
                return False
            self._file.run("DELETE FROM patterns WHERE name = ?", (name,))
            if new is not None:
                self._file.run("INSERT INTO patterns VALUES (?, ?)", (name, new))
        return True

    def close(self) -> None:
        self._file.close()
