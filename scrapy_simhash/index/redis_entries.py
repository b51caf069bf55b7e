"""What is stored of the entries: their fingerprints, once frozen, their records, their buckets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index.redis_client import Client
from scrapy_simhash.index.redis_log import LogView
from scrapy_simhash.index.redis_pages import (
    PAGE_LIMIT,
    RECORDS,
    BucketPages,
    Record,
    compress_records,
    pack_delete,
    pack_record,
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
        self._append((p, pack_record(p, value[-4:], record)) for p, value, record in entries)

    def bury(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """Note entries, given with their fingerprints, as deleted."""
        self._append((p, pack_delete(p, value[-4:])) for p, value in entries)
        self._log.forget([position for position, _ in entries])

    def _append(self, records: Iterable[tuple[int, bytes]]) -> None:
        pages: dict[str, bytes] = {}
        for position, record in records:
            key = self._record_page(position)
            pages[key] = pages.get(key, b"") + record
        self._client.all([("APPEND", key, packed) for key, packed in pages.items()])

    def look(self, positions: Sequence[int]) -> dict[int, Known]:
        """Return what is stored of the entries at these positions, if there is one."""
        values = {position: self._log.fingerprint(position) for position in positions}
        frozen = [position for position, value in values.items() if value is None]
        pages = sorted({self._record_page(position) for position in positions})
        answers = self._client.all(
            [self._range_of(position) for position in frozen] + [("GET", page) for page in pages]
        )
        values.update(zip(frozen, answers, strict=False))
        stored = dict(zip(pages, answers[len(frozen) :], strict=True))
        contents = {page: read_records(content or b"", page) for page, content in stored.items()}
        known: dict[int, Known] = {}
        for position, value in values.items():
            if value:
                records, deleted = contents[self._record_page(position)]
                place = (position % RECORDS, value[-4:])
                known[position] = Known(value, records.get(place), place in deleted)
        return known

    def between(self, first: int, last: int) -> list[tuple[int, Known]]:
        """Return what is stored of the entries from one position to before another.

        Args:
            first: where a segment begins.
            last: at most where it ends.
        """
        keys = [self._record_page(position) for position in range(first, last, RECORDS)]
        segment = self._log.segment_key(first)
        values, *pages = self._client.all([("GET", key) for key in (segment, *keys)])
        values = values or self._log.tail_from(first)
        known: list[tuple[int, Known]] = []
        contents = [read_records(page or b"", key) for key, page in zip(keys, pages, strict=True)]
        for number, position in enumerate(range(first, last)):
            value = values[number * self._width : (number + 1) * self._width]
            records, deleted = contents[number // RECORDS]
            place = (position % RECORDS, value[-4:])
            if value:
                known.append((position, Known(value, records.get(place), place in deleted)))
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
        probed = [self._pages.probed(fingerprint) for fingerprint in fingerprints]
        commands = [
            ("HMGET", f"{self._client.prefix}:{part}", *fields)
            for places in probed
            for _, part, fields in places
        ]
        answers = iter(self._client.all(commands))
        found: list[list[int]] = []
        for fingerprint, places in zip(fingerprints, probed, strict=True):
            contents = [(block, next(answers)) for block, _, _ in places]
            near = self._pages.candidates(fingerprint, contents, distance)
            found.append([position for position in near if position >= self._log.head])
        return found

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
        self._client.run("advance", self._width, first, time.time(), crowded)
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
