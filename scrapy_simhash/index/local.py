"""The life of a claim over a log on this machine, with the buckets in this process's RAM.

The log is the store's; :class:`LocalIndex` follows it into RAM and decides under the store's
write lock.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import base
from scrapy_simhash.index.base import (
    Arrival,
    Claim,
    Match,
    Outcome,
    Page,
    mark_of,
)
from scrapy_simhash.index.buckets import Neighbours
from scrapy_simhash.index.local_store import LocalStore
from scrapy_simhash.index.log import Record, Row, Waiting
from scrapy_simhash.index.presence import Presence

logger = logging.getLogger(__name__)


class _Found(NamedTuple):
    distance: int
    record: Record
    living: bool

    @property
    def match(self) -> Match:
        provisional = self.record.worker is not None
        return Match(self.record.key, self.distance, self.record.time, provisional)


class _Look(NamedTuple):
    """What a page is near to, of the first so many entries; the claim, if they settle it."""

    near: list[tuple[int, int]]
    compared: int
    claim: Claim | None


class _New:
    """What a batch adds to the log, by position; it is written some at a time.

    Args:
        last: the last position in the log.
    """

    def __init__(self, last: int) -> None:
        self.last = last
        self.entries: dict[int, Arrival] = {}
        # Those of the batch that may be noted as waiting by now.
        self.claimed: set[str] = set()
        self._unwritten: list[tuple[int, Arrival]] = []

    def add(self, page: Arrival) -> None:
        self.last += 1
        self.entries[self.last] = page
        self._unwritten.append((self.last, page))

    def take_unwritten(self) -> list[tuple[int, Arrival]]:
        unwritten, self._unwritten = self._unwritten, []
        return unwritten


class LocalIndex(LocalStore):
    """An index whose log a subclass stores.

    Args:
        layout: how the fingerprints are cut and probed.
        distance: k, at most the layout's.
        lease: seconds that a provisional entry or a hand-over belongs to its worker.
        spider: whose pages this worker crawls.
    """

    def __init__(self, layout: Layout, distance: int, lease: float, spider: str) -> None:
        self.layout = layout
        self.distance = distance
        self.lease = lease
        self._spider = mark_of(spider)
        # What stands before a request as it is stored.
        self._mark = f"{self._spider}="
        self._scopes: dict[str, Neighbours] = {}
        self._seen = 0
        self._enlist()

    def _enlist(self) -> None:
        """Become a worker of this process."""
        self._lock = threading.RLock()
        self._presence = Presence(self._spider)
        self._worker = self._presence.name
        # Where the entries are that this worker claimed and has not settled.
        self._claimed: dict[str, set[int]] = {}

    # The contract.

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:  # noqa: D102
        with self._lock:
            self._follow()
            near = self._neighbours(scope).find(fingerprint, self.distance)
            return [found.match for found in self._read(scope, near, time.time())]

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        now = time.time() if now is None else now
        arrivals = [
            page if page.request is None else replace(page, request=self._mark + page.request)
            for page in arrivals
        ]
        with self._lock:
            self._follow()
            # Most of the time goes into this, while others can write.
            looks = [self._look(page, now) for page in arrivals]
            settled = [look.claim for look in looks if look.claim]
            if len(settled) == len(looks):
                return settled
            with self._transaction():
                self._follow()
                new = _New(self._last())
                claims = [
                    self._decide(page, look, new, now)
                    for page, look in zip(arrivals, looks, strict=True)
                ]
                self._write(new, now)
            # Now that the log has them.
            for position, page in new.entries.items():
                self._neighbours(page.scope).add(position, page.fingerprint.value)
                self._claimed.setdefault(page.key, set()).add(position)
                self._seen = position
            return claims

    def _look(self, page: Arrival, now: float) -> _Look:
        """Compare with what is known so far."""
        neighbours = self._neighbours(page.scope)
        near = neighbours.find(page.fingerprint, self.distance)
        claim = self._settled(page.key, self._read(page.scope, near, now)) if near else None
        if claim and self._waiting_of(page.key):
            claim = None
        return _Look(near, len(neighbours), claim)

    def _decide(self, page: Arrival, look: _Look, new: _New, now: float) -> Claim:
        """Answer a claim under the store's write lock; what it makes an original is new."""
        scope, value = page.scope, page.fingerprint.value
        # Whatever came meanwhile is compared exactly: no race admits two.
        near = self._neighbours(scope).scan(page.fingerprint, self.distance, look.compared)
        for position, other in new.entries.items():
            distance = (other.fingerprint.value ^ value).bit_count()
            if distance <= self.distance and other.scope == scope:
                near.append((distance, position))
        if look.claim and not near and page.key not in new.claimed:
            return look.claim
        new.claimed.add(page.key)
        handed_back: list[Page] = []
        if near := sorted(look.near + near):
            self._write(new, now)
            found = self._read(scope, near, now)
            self._drop_waiting([page.key])
            claim = self._settled(page.key, found) or self._joined(page, found, now)
            if claim:
                return claim
            handed_back = self._replace(found, new.last + 1, now)
        new.add(page)
        return Claim(Outcome.ORIGINAL, handed_back=tuple(handed_back))

    def _write(self, new: _New, now: float) -> None:
        """Write the new entries that are not yet in the log, and their leases."""
        entries = new.take_unwritten()
        if not entries:
            return
        expires = now + self.lease
        self._drop_waiting([page.key for _, page in entries])
        self._insert(
            [
                (Row(position, page.scope, page.fingerprint.to_bytes()), page.key, now)
                for position, page in entries
            ]
        )
        self._set_leases(
            [
                Record(position, page.key, now, self._worker, expires, page.request)
                for position, page in entries
            ]
        )

    def _settled(self, key: str, found: list[_Found]) -> Claim | None:
        """Return the answer to a claim that changes no entry; None if there is none."""
        own = [f.record for f in found if f.record.key == key]
        matches = tuple(f.match for f in found if f.living or f.record.key == key)
        if own:
            settled = all(record.worker is None for record in own)
            return Claim(Outcome.REVISIT, matches) if settled else None
        if any(not match.provisional for match in matches):
            return Claim(Outcome.DUPLICATE, matches)
        return None

    def _joined(self, page: Arrival, found: list[_Found], now: float) -> Claim | None:
        """Take over the own provisional entry, or wait on another's; None if there is neither."""
        key, request = page.key, page.request
        own = [f.record for f in found if f.record.key == key]
        living = [f for f in found if f.living or f.record.key == key]
        matches = tuple(f.match for f in living)
        for record in own:
            if record.worker is not None:
                lease = record._replace(
                    worker=self._worker,
                    expires=now + self.lease,
                    request=record.request if request is None else request,
                )
                self._set_leases([lease])
                self._claimed.setdefault(key, set()).add(record.position)
        if own:
            return Claim(Outcome.REVISIT, matches)
        if not living:
            return None
        # What another spider noted of the key is not replaced: it may be all that brings that back.
        waits = request is not None and self._waiting_of(key) is None
        if request is not None and waits:
            self._put_waiting(Waiting(key, request, living[0].record.position))
        return Claim(Outcome.DUPLICATE, matches, waiting=waits)

    def _replace(self, found: list[_Found], position: int, now: float) -> list[Page]:
        """Delete the expired entries in a new one's way; return the pages handed back."""
        pages: list[Page] = []
        for record in (f.record for f in found):
            pages += self._hand_over(record.position, now)
            self._delete(record.key, record.position)
            if record.request is not None:
                self._put_waiting(Waiting(record.key, record.request, position))
        return pages

    def confirm(self, keys: Iterable[str]) -> None:  # noqa: D102
        keys = list(keys)
        with self._lock:
            with self._transaction():
                self._end_leases([(key, at) for key in keys for at in self._claimed.get(key, ())])
            for key in keys:
                self._claimed.pop(key, None)

    def release(self, keys: Iterable[str], *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = time.time() if now is None else now
        keys = list(keys)
        pages: list[Page] = []
        with self._lock:
            with self._transaction():
                for key in keys:
                    for record in self._provisional(key):
                        if record.worker == self._worker:
                            pages += self._hand_over(record.position, now)
                            self._delete(record.key, record.position)
            for key in keys:
                self._claimed.pop(key, None)
        return pages

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        now = time.time() if now is None else now
        with self._lock, self._transaction():
            for key in keys:
                for record in self._provisional(key):
                    if record.worker == self._worker:
                        self._set_leases([record._replace(expires=now + self.lease)])
                handed = self._waiting_of(key)
                if handed and handed.worker == self._worker:
                    self._put_waiting(handed._replace(expires=now + self.lease))

    def orphans(self, *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = time.time() if now is None else now
        with self._lock:
            if not any(self._lost(now)):
                return []
            pages: list[Page] = []
            with self._transaction():
                entries, handed_over = self._lost(now)
                for waiting in handed_over:
                    pages += self._take_over(waiting, now)
                for record in entries:
                    pages += self._hand_over(record.position, now)
                    self._delete(record.key, record.position)
                    if record.request is not None:
                        pages += self._take_over(Waiting(record.key, record.request), now)
            return list({page.key: page for page in pages}.values())

    def last_lease(self, *, now: float | None = None) -> float | None:  # noqa: D102
        now = time.time() if now is None else now
        with self._lock:
            entries = [r for r in self._provisional() if r.worker != self._worker]
            living = [r for r in entries if self._lives(r.worker, r.expires, now)]
            if any(self._waits_on_a_stranger(record) for record in living):
                return math.inf
            leases = [(r.worker, r.expires) for r in entries]
            leases += [(w.worker, w.expires) for w in self._handed_over()]
            left = [
                expires - now if expires and self._lives(worker, expires, now) else 0.0
                for worker, expires in leases
            ]
        return max(left, default=None)

    def give_up(self, keys: Iterable[str]) -> None:  # noqa: D102
        with self._lock, self._transaction():
            noted = [self._waiting_of(key) for key in keys]
            self._drop_waiting([page.key for page in noted if page and page.original is None])

    def close(self) -> None:  # noqa: D102
        self._presence.leave()

    # Records and leases.

    def _read(self, scope: str, near: list[tuple[int, int]], now: float) -> list[_Found]:
        """Return the records of the entries found, nearest first, then oldest."""
        if not near:
            return []
        records = {r.position: r for r in self._records([position for _, position in near])}
        if gone := [position for _, position in near if position not in records]:
            self._neighbours(scope).forget(gone)
        return [
            _Found(distance, record, self._lives(record.worker, record.expires, now))
            for distance, position in near
            if (record := records.get(position))
        ]

    def _lost(self, now: float) -> tuple[list[Record], list[Waiting]]:
        """Return the provisional entries and the hand-overs whose lease ran out or worker died."""
        return (
            [r for r in self._provisional() if not self._lives(r.worker, r.expires, now)],
            [w for w in self._handed_over() if not self._lives(w.worker, w.expires, now)],
        )

    def _handed_over(self) -> list[Waiting]:
        """Return the hand-overs of this worker's spider."""
        return [w for w in self._waiting_on(None) if w.request.startswith(self._mark)]

    def _waits_on_a_stranger(self, record: Record) -> bool:
        """Return whether a page of this worker's spider waits on an entry of another's."""
        if record.worker is not None and record.worker.startswith(f"{self._spider}@"):
            return False
        return any(w.request.startswith(self._mark) for w in self._waiting_on(record.position))

    def _lives(self, worker: str | None, expires: float | None, now: float) -> bool:
        """Return whether an entry is confirmed, or its lease runs and its worker lives."""
        if worker is None or expires is None or worker == self._worker:
            return expires is None or expires > now
        return expires > now and self._presence.is_alive(worker)

    def _hand_over(self, original: int, now: float) -> list[Page]:
        """Hand the pages that wait on an entry to this worker."""
        pages: list[Page] = []
        for waiting in self._waiting_on(original):
            pages += self._take_over(waiting, now)
        return pages

    def _take_over(self, waiting: Waiting, now: float) -> list[Page]:
        """Lease a page to this worker; return it unless it was handed over too often.

        A page of another spider is left for whichever worker of that asks for orphans first.
        """
        if not waiting.request.startswith(self._mark):
            self._put_waiting(waiting._replace(original=None, worker="", expires=0.0))
            return []
        if waiting.handovers >= base.MAX_HANDOVERS:
            self._drop_waiting([waiting.key])
            logger.warning(
                "%s was handed over %d times and never claimed: given up",
                waiting.key,
                waiting.handovers,
            )
            return []
        self._put_waiting(
            Waiting(
                waiting.key,
                waiting.request,
                None,
                waiting.handovers + 1,
                self._worker,
                now + self.lease,
            )
        )
        return [Page(waiting.key, waiting.request.removeprefix(self._mark))]
