"""What keeps an index in Redis in order: segments are frozen, and old ones forgotten."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import chain

from scrapy_simhash.index.redis_claims import Claimant
from scrapy_simhash.index.redis_client import Client, parts
from scrapy_simhash.index.redis_entries import Entries
from scrapy_simhash.index.redis_log import LogView
from scrapy_simhash.index.redis_records import Record

# Milliseconds after which another worker may take up a flush that was begun.
_FLUSH_LEASE = 10_000
# An entry is moved to the log's end when it is seen a while after it was admitted, not each time;
# so the log is forgotten that much later.
_GRACE = 1.25
# Seconds for which the age of the log's parts is not asked for again.
_HORIZON_SECONDS = 60.0


class Upkeep:
    """What a worker does for the index beside its claims.

    Args:
        client: where the index is.
        log: the worker's view of the log.
        entries: what is stored of them.
        expire: seconds after which entries that were not seen again are forgotten, or None.
    """

    def __init__(
        self, client: Client, log: LogView, entries: Entries, expire: float | None
    ) -> None:
        self._client = client
        self._log = log
        self._entries = entries
        self._expire = expire
        self._horizon, self._horizon_until = 0, 0.0

    def refresh(self, claimants: Iterable[Claimant], worker: str, lease_ends: float) -> None:
        """Move entries that were seen again to the log's end, before they expire."""
        if self._expire is None:
            return
        if time.monotonic() > self._horizon_until:
            before = self._client.time() - self._expire * (_GRACE - 1)
            self._horizon = self._client.run("horizon", before)
            self._horizon_until = time.monotonic() + min(_HORIZON_SECONDS, self._expire / 100)
        seen = {p for claimant in claimants for p in claimant.records if p < self._horizon}
        for some in parts(sorted(seen)):
            known = self._entries.look(some)
            moved = [(p, k.value, k.record) for p, k in known.items() if k.record]
            if not moved:
                continue
            self.append([(value, record) for _, value, record in moved], worker, lease_ends)
            self._client.run(
                "remove", *chain.from_iterable((position, value) for position, value, _ in moved)
            )
            self._entries.bury([(position, value) for position, value, _ in moved])

    def append(self, added: Sequence[tuple[bytes, Record]], worker: str, lease_ends: float) -> None:
        """Append confirmed entries, given by fingerprint and record, whatever is near."""
        texts = [
            text
            for value, record in added
            for text in (value, record.key, record.scope, record.time)
        ]
        # As a claim does: leased, so that nobody takes a new entry for a deleted one.
        positions = self._client.run("admit", worker, lease_ends, *texts)
        self._entries.confirm(
            (position, value, record)
            for position, (value, record) in zip(positions, added, strict=True)
        )
        values = [value for value, _ in added]
        self._client.run("settle", len(positions), *positions, *values)

    def flush(self, worker: str) -> None:
        """Freeze the tail's full segments, unless another worker is at it.

        Raises:
            AnotherLog: the view of the log is of no use any more.
        """
        if not self._log.first_segment():
            return
        flusher = self._client.control("flusher")
        taken = ("SET", flusher, worker, "NX", "PX", _FLUSH_LEASE)
        if not self._client.all([taken])[0]:
            return
        self._log.follow()
        while self._log.first_segment():
            self._entries.freeze()
            self._log.follow()
        if self._expire is not None:
            self._entries.expire(self._client.time() - self._expire * _GRACE)
        self._client.all([("UNLINK", flusher)])
