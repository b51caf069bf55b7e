"""Counts of address patterns in Redis, beside the index, in the same slot."""

import time
from collections.abc import Iterable
from importlib.resources import files

from scrapy_simhash.index.contract import StoreDamaged
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.url_patterns.store import BATCH, MOST_ROWS, Counts, Tally

# It stands between host and signature in a row's name, and between the parts of its value.
_BETWEEN = "\n"


class RedisPatternStore:
    """Rows in a hash, and their names in the order of their changes; see :class:`.PatternStore`."""

    def __init__(self, url: str) -> None:
        self._client = Client(parse_location(url))
        self._keys = [self._client.key(part) for part in ("patterns", "patterns:changed")]
        self._script = (files(__package__) / "redis_store.lua").read_text("utf-8")

    def add(self, rows: Iterable[Tally]) -> None:
        # Versions begin with the time: where Redis was emptied, they still go on.
        arguments: list[str | int] = [MOST_ROWS, int(time.time() * 1000)]
        for row in rows:
            arguments += [_name(row.host, row.signature), *row.counts, row.mark, row.example]
        self._client.call("EVAL", self._script, 2, *self._keys, *arguments)

    def changes(self, since: int = 0) -> tuple[list[Tally], int]:
        rows, changed = self._keys
        bounds = (f"({since}", "+inf", "LIMIT", 0, BATCH)
        names = self._client.call("ZRANGEBYSCORE", changed, *bounds)
        if not names:
            return [], since
        values = self._client.call("HMGET", rows, *names)
        version = self._client.call("ZSCORE", changed, names[-1])
        try:
            found = [_row(name, value) for name, value in zip(names, values, strict=True) if value]
            return found, int(float(version)) if version else since
        except (ValueError, TypeError, OverflowError) as error:
            where = self._client.where
            raise StoreDamaged(f"the address patterns of {where} are damaged: {error}") from error

    def remove(self, host: str, signature: str) -> bool:
        rows, changed = self._keys
        name = _name(host, signature)
        removed = self._client.call("HDEL", rows, name)
        self._client.call("ZREM", changed, name)
        return bool(removed)

    def close(self) -> None:
        self._client.close()


def _name(host: str, signature: str) -> str:
    return f"{host}{_BETWEEN}{signature}"


def _row(name: bytes, value: bytes) -> Tally:
    host, signature = name.decode("utf-8", "replace").split(_BETWEEN, 1)
    numbers, mark, example = value.decode("utf-8", "replace").split(_BETWEEN, 2)
    return Tally(host, signature, Counts(*map(int, numbers.split())), mark, example)
