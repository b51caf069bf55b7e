"""What is stored of the entries: their fingerprints, once frozen, their records, their buckets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.redis_client import Client, parts
from scrapy_simhash.index.redis_log import LogView
from scrapy_simhash.index.redis_pages import PAGE_LIMIT, BucketPages
from scrapy_simhash.index.redis_records import (
    RECORDS,
    Record,
    compress_records,
    pack_delete,
    pack_record,
    place_of,
    read_records,
)

# Segments that are forgotten at a time.
_AT_ONCE = 16


class Known(NamedTuple):
    """What is stored of an entry.

    Attributes:
        value: its fingerprint.
        record: None if it is not confirmed.
        is_deleted: it is gone for ever.
    """

    value: bytes
    record: Record | None
    is_deleted: bool


def _known(position: int, value: bytes, records: dict[bytes, Record | None]) -> Known:
    place = place_of(position, value)
    record = records.get(place)
    return Known(value, record, record is None and place in records)


class Entries:
    """Reads and writes what is stored of entries.

    Args:
        client: where it is.
        log: the worker's view of the log.
        pages: how the buckets are packed; None if there are none.
    """

    def __init__(self, client: Client, log: LogView, pages: BucketPages | None) -> None:
        self._client = client
        self._log = log
        self._pages = pages
        self._width = log.width

    # Records.

    def confirm(self, entries: Iterable[tuple[int, bytes, Record]]) -> None:
        """Write the records of entries, given with position and fingerprint."""
        self._append((p, pack_record(p, value, record)) for p, value, record in entries)

    def bury(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """Note entries, given with their fingerprints, as deleted."""
        self._append((p, pack_delete(p, value)) for p, value in entries)
        if entries:
            self._log.forget([position for position, _ in entries])

    def _append(self, records: Iterable[tuple[int, bytes]]) -> None:
        pages: dict[str, bytes] = {}
        for position, record in records:
            key = self._record_page(position)
            pages[key] = pages.get(key, b"") + record
        self._client.all([("APPEND", key, packed) for key, packed in pages.items()])

    def look(self, positions: Iterable[int]) -> dict[int, Known]:
        """Return what is stored of the entries at these positions, if there is one.

        On the way the log is followed, so that a look alone tells whether there is more.

        Raises:
            AnotherLog: the log is not the one that the positions are of.
        """
        values = {position: self._log.fingerprint(position) for position in positions}
        frozen = [position for position, value in values.items() if value is None]
        pages = list({self._record_page(position): None for position in values})
        following = self._log.reading()
        answers = self._client.all(
            following
            + [self._range_of(position) for position in frozen]
            + [("GET", page) for page in pages]
        )
        rest = answers[len(following) :]
        values.update(zip(frozen, rest, strict=False))
        contents = dict(zip(pages, rest[len(frozen) :], strict=True))
        wanted: dict[str, set[bytes]] = {page: set() for page in pages}
        for position, value in values.items():
            wanted[self._record_page(position)].add(place_of(position, value or b""))
        told = {
            page: read_records(content or b"", page, wanted[page])
            for page, content in contents.items()
        }
        known = {
            position: _known(position, value, told[self._record_page(position)])
            for position, value in values.items()
            if value
        }
        self._log.take(answers[: len(following)])
        return known

    def fingerprints(self, positions: Iterable[int]) -> dict[int, int]:
        """Return the values of the entries at these positions, as far as they are there."""
        values = {position: self._log.fingerprint(position) for position in positions}
        frozen = [position for position, value in values.items() if value is None]
        answers = self._client.all([self._range_of(position) for position in frozen])
        values.update(zip(frozen, answers, strict=True))
        return {p: int.from_bytes(value, "big") for p, value in values.items() if value}

    def between(self, first: int, last: int) -> list[tuple[int, Known]]:
        """Return what is stored of the entries from one position to before another.

        Args:
            first: where a segment begins.
            last: at most where it ends.
        """
        keys = [self._record_page(position) for position in range(first, last, RECORDS)]
        commands = [("GET", key) for key in (self._log.segment_key(first), *keys)]
        values, *pages = self._client.all(commands)
        # After a failover there may be a segment of which the log's own node knows nothing.
        if first >= self._log.flushed:
            values = self._log.tail_from(first)
        contents = [read_records(page or b"", key) for key, page in zip(keys, pages, strict=True)]
        known: list[tuple[int, Known]] = []
        for number, position in enumerate(range(first, last)):
            if value := (values or b"")[number * self._width : (number + 1) * self._width]:
                known.append((position, _known(position, value, contents[number // RECORDS])))
        return known

    def _record_page(self, position: int) -> str:
        return f"{self._client.prefix}:r:{position // RECORDS}"

    def _range_of(self, position: int) -> tuple[Any, ...]:
        start = position % self._client.segment * self._width
        key = self._log.segment_key(position)
        return ("GETRANGE", key, start, start + self._width - 1)

    # Buckets.

    def candidates(self, fingerprints: Sequence[Fingerprint], distance: int) -> list[list[int]]:
        """Return the positions that the buckets hold of what may be near each fingerprint."""
        assert self._pages is not None
        probes = self._pages.probed(fingerprints)
        answers = self._client.all(
            [
                ("HMGET", f"{self._client.prefix}:{part}", *some)
                for part, fields in probes.fields.items()
                for some in parts(fields)
            ]
        )
        pages = list(chain.from_iterable(answers))
        found = self._pages.candidates(fingerprints, probes, pages, distance)
        return [[position for position in near if position >= self._log.head] for near in found]

    # Upkeep.

    def freeze(self) -> None:
        """Cut the first segment from the tail; done twice, or by several, it does no harm."""
        first, segment = self._log.flushed, self._log.first_segment()
        self._client.all([("SET", self._log.segment_key(first), segment)])
        crowded = 0
        if self._pages is not None:
            for part, entries in self._pages.entries(first, segment).items():
                key = f"{self._client.prefix}:{part}"
                crowded += self._client.put(key, PAGE_LIMIT, self._log.head, entries)
        self._client.run("advance", self._width, first, self._client.time(), crowded)
        # By now most pages of the segment before are confirmed.
        before = range(max(first - self._client.segment, self._log.head), first, RECORDS)
        keys = [self._record_page(position) for position in before]
        pages = self._client.all([("GET", key) for key in keys])
        for key, page in zip(keys, pages, strict=True):
            if page and len(packed := compress_records(page, key)) < len(page):
                self._client.replace(key, page, packed)

    def expire(self, before: float) -> None:
        """Forget segments that were frozen before a time, a few of them."""
        swept, head = self._client.run("expire", before, _AT_ONCE)
        if swept < head:
            self._client.all([("UNLINK", key) for key in self._keys(swept, head)])
            self._client.run("swept", head)

    def wipe(self) -> None:
        """Delete all that is stored, after the log itself."""
        keys = self._keys(0, self._log.end + self._client.segment)
        if self._pages is not None:
            keys += [f"{self._client.prefix}:{part}" for part in self._pages.hashes()]
        self._client.all([("UNLINK", key) for key in keys])

    def _keys(self, first: int, last: int) -> list[str]:
        segments = range(first, last, self._client.segment)
        return [
            *(self._log.segment_key(position) for position in segments),
            *(self._record_page(position) for position in range(first, last, RECORDS)),
        ]
