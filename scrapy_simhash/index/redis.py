"""The index in Redis: many workers on many machines.

Decisions are made in one place, the *log slot*: a script compares a new fingerprint with what was
admitted since the worker last looked, and appends it if nothing is near. What was admitted before
is found through buckets, and told by records, which may be anywhere; so in a cluster all but the
log's tail and the pages in progress spread over the nodes, and the protocol is the same on one.

A claim is safe because an admitted neighbour is, when the claim follows the log, either in the
tail, which the worker compares in RAM, or before it, and then in its buckets for good; or it is
appended later, and then the script compares it. An entry found is provisional, with a lease in the
log slot, or confirmed, with a record. Its record is written before its lease ends, so an entry
without a lease whose record is read *afterwards* and is not there was deleted, for ever.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from scrapy_simhash.blocks import Layout, plan_layout
from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index import base
from scrapy_simhash.index.base import (
    DEFAULT_LEASE,
    Arrival,
    Claim,
    Entry,
    Index,
    Match,
    Outcome,
    Page,
    StoreDamaged,
    StoreMismatch,
    StoreUnavailable,
)
from scrapy_simhash.index.header import agreed_layout
from scrapy_simhash.index.redis_address import parse_address
from scrapy_simhash.index.redis_claims import Claimant, Lease, Own
from scrapy_simhash.index.redis_client import Client
from scrapy_simhash.index.redis_entries import Entries, Known
from scrapy_simhash.index.redis_log import AnotherLog, LogView
from scrapy_simhash.index.redis_pages import BucketPages, Record

logger = logging.getLogger(__name__)

FORMAT = 1
# Entries of the log that are frozen at a time, in a new index; a multiple of 64.
SEGMENT = 1024
# How often a claim begins anew because others were faster, before the store counts as unavailable.
_ATTEMPTS = 100
# Milliseconds after which another worker may take up a flush that was begun.
_FLUSH_LEASE = 10_000
# An entry is moved to the log's end when it is seen a while after it was admitted, not each time;
# so the log is forgotten that much later.
_GRACE = 1.25
_HORIZON_SECONDS = 60
# Leases, pages or keys in one request.
_AT_ONCE = 500

T = TypeVar("T")


class RedisIndex(Index):
    """An index in Redis, Sentinel or Cluster.

    Args:
        url: where it is; see :func:`scrapy_simhash.index.index_from_url`.
        recipe: identity of the recipe that makes the fingerprints.
        bits: width of the fingerprints.
        distance: k; pages within k bits match.
        expected_pages: what the layout of a new index is planned for.
        lease: seconds that a provisional entry or a hand-over belongs to its worker.
        layout: of a new index instead of the planned one; a stored one must be the same.

    Raises:
        StoreMismatch: the index was made by another recipe, width, layout or version.
        StoreDamaged: what is there is no index of ours.
        StoreUnavailable: Redis is away, or refuses.
        ValueError: the URL is of no known form, or no layout can be planned.
    """

    def __init__(
        self,
        url: str,
        *,
        recipe: str,
        bits: int,
        distance: int,
        expected_pages: int = 1_000_000,
        lease: float = DEFAULT_LEASE,
        layout: Layout | None = None,
    ) -> None:
        address = parse_address(url)
        self.distance = distance
        self.lease = lease
        self._options = address.options
        self._expire = address.expire
        self._horizon, self._horizon_until = 0, 0.0
        self._agree = partial(
            agreed_layout,
            instead="another ?name=",
            recipe=recipe,
            bits=bits,
            distance=distance,
            layout=layout,
        )
        planned = layout or plan_layout(bits, distance, expected_pages)
        self._new = {
            "format": str(FORMAT),
            "recipe": recipe,
            "layout": str(planned),
            "segment": str(SEGMENT),
            "expected_pages": str(expected_pages),
            # In a cluster a block's pages are spread over the nodes.
            "shards": "16" if address.topology == "cluster" else "1",
            **address.options,
        }
        self._closed = False
        self._client = Client(address)
        try:
            self._open()
        except BaseException:
            self._client.close()
            raise
        self._enlist()
        self._warn_of_eviction()

    def _open(self) -> None:
        """Read or make the header, and begin to follow the log."""
        answer = self._client.run("open", *(text for item in self._new.items() for text in item))
        header = _header(answer, self._client.shown)
        where = f"the index {self._client.name!r} at {self._client.shown}"
        if header.get("format") != str(FORMAT):
            raise StoreMismatch(
                f"{where} has format {header.get('format')}, this version of scrapy-simhash reads "
                f"{FORMAT}: use the version that made it, or another name with ?name="
            )
        self.layout = self._agree(where, header)
        if header.get("keys") != self._options["keys"]:
            raise StoreMismatch(
                f"{where} was made with keys={header.get('keys')}: use the same, or another ?name="
            )
        stored, wanted = header.get("buckets"), self._options["buckets"]
        if stored == "local" and wanted == "redis":
            raise StoreMismatch(
                f"{where} has no buckets, it was made with buckets=local: use the same, or another "
                "?name="
            )
        try:
            names = ("segment", "expected_pages", "shards")
            segment, expected, shards = (int(header[name]) for name in names)
        except (KeyError, ValueError) as error:
            raise StoreDamaged(f"{where} has a damaged header: {error}") from error
        self._is_local = wanted == "local"
        self._client.segment = segment
        self._log = LogView(self._client, self.layout, whole=self._is_local)
        pages = BucketPages(self.layout, expected, shards) if stored == "redis" else None
        self._entries = Entries(self._client, self._log, pages)

    def _enlist(self) -> None:
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._worker = f"{socket.gethostname()}:{self._pid}:{secrets.token_hex(4)}"
        self._own: dict[str, dict[int, Own]] = {}
        # Pages handed over to this worker, until they claim.
        self._handed: set[str] = set()

    def _warn_of_eviction(self) -> None:
        policy = self._client.setting("maxmemory-policy")
        if policy not in (None, "noeviction") and self._client.setting("maxmemory") != "0":
            logger.warning(
                "maxmemory-policy of %s is %s: when its memory is full, Redis deletes parts of the "
                "index, and pages are crawled twice; set it to noeviction",
                self._client.shown,
                policy,
            )

    # The contract.

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:  # noqa: D102
        with self._use():
            claimant = self._claimant(Arrival("", fingerprint, scope))
            self._find([claimant])
            provisional: dict[int, Match] = {}
            if unknown := claimant.unknown():
                leases = {lease.position: lease for lease in self._leases()}
                for position in unknown:
                    if (lease := leases.get(position)) is None:
                        # Confirmed meanwhile, or gone.
                        claimant.unleased.add(position)
                    elif lease.scope == scope:
                        distance = claimant.near[position]
                        provisional[position] = Match(lease.key, distance, lease.time, True)
                self._look([claimant])
            return list(claimant.matches(provisional))

    def claim(  # noqa: D102
        self,
        key: str,
        fingerprint: Fingerprint,
        *,
        scope: str = "",
        request: str | None = None,
        now: float | None = None,
    ) -> Claim:
        (answer,) = self.claim_all([Arrival(key, fingerprint, scope, request)], now=now)
        return answer

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        now = time.time() if now is None else now
        answers: dict[int, Claim] = {}
        with self._use():
            everyone = list(map(self._claimant, arrivals))
            claimants = dict(enumerate(everyone))
            self._find(everyone)
            for _ in range(_ATTEMPTS):
                for number, claimant in list(claimants.items()):
                    if answer := claimant.settled():
                        answers[number] = answer
                        del claimants[number]
                if not claimants:
                    break
                answers.update(self._submit(claimants, now))
                for number in answers.keys() & claimants.keys():
                    del claimants[number]
                if claimants:
                    self._find(list(claimants.values()))
            else:
                raise StoreUnavailable(f"the index at {self._client.shown} is too busy")
            self._keep_up(everyone, now)
        return [answers[number] for number in range(len(arrivals))]

    def confirm(self, keys: Iterable[str]) -> None:  # noqa: D102
        with self._use():
            names = [self._name(key) for key in keys]
            own = [
                (position, name, entry)
                for name in names
                for position, entry in self._own.get(name, {}).items()
            ]
            for some in _parts(own):
                # In this order: an entry without a lease has its record, or is gone.
                self._entries.confirm(
                    (position, entry.fingerprint, Record(name, entry.scope, entry.time))
                    for position, name, entry in some
                )
                self._client.run("settle", *(position for position, _, _ in some))
            for name in names:
                self._own.pop(name, None)

    def release(self, keys: Iterable[str], *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = time.time() if now is None else now
        with self._use():
            names = [self._name(key) for key in keys]
            pages: list[Page] = []
            for some in _parts([p for name in names for p in self._own.get(name, ())]):
                answer = self._client.run("release", self._worker, now, self.lease, *some)
                pages += self._handed_over(*answer)
            for name in names:
                self._own.pop(name, None)
        return pages

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        now = time.time() if now is None else now
        with self._use():
            for some in _parts([p for key in keys for p in self._own.get(self._name(key), ())]):
                self._client.run("renew", self._worker, now + self.lease, *some)

    def orphans(self, *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = time.time() if now is None else now
        pages: dict[str, Page] = {}
        with self._use():
            more = True
            while more:
                *handed, more = self._client.run("orphans", self._worker, now, self.lease, _AT_ONCE)
                pages.update((page.key, page) for page in self._handed_over(*handed))
        return list(pages.values())

    def foreign_lease(self, *, now: float | None = None) -> float | None:  # noqa: D102
        now = time.time() if now is None else now
        with self._use():
            ends = [float(end) for end in self._client.run("foreign", self._worker) if end]
        return max(max(ends) - now, 0.0) if ends else None

    def remove(self, key: str) -> int:  # noqa: D102
        name = self._name(key)
        found = [
            (position, value) for position, value, record, _ in self._living() if record.key == name
        ]
        with self._use():
            for some in _parts(found):
                self._client.run("remove", *(position for position, _ in some))
                self._entries.bury(some)
        return len(found)

    def clear(self) -> None:  # noqa: D102
        with self._use():
            self._follow()
            # First the log: without it, what is left of the rest is never looked at.
            self._client.clear()
            self._entries.wipe()
            self._own.clear()
            self._open()

    def __len__(self) -> int:
        control = self._client.control
        with self._use():
            flushed, tail, dead = self._client.all(
                [
                    ("HGET", control("meta"), "flushed"),
                    ("STRLEN", control("tail")),
                    ("HGET", control("dead"), "all"),
                ]
            )
        return int(flushed or 0) + int(tail) // self._log.width - int(dead or 0)

    def __iter__(self) -> Iterator[Entry]:
        for _, value, record, provisional in self._living():
            fingerprint = int.from_bytes(value, "big") ^ self._mask(record.scope)
            yield Entry(
                record.key,
                Fingerprint(fingerprint, self.layout.bits),
                record.scope,
                record.time,
                provisional,
            )

    def close(self) -> None:  # noqa: D102
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._pid == os.getpid():
                    self._client.run("abandon", self._worker)
            except StoreUnavailable as error:
                logger.debug("Leases are left to run out: %s", error)
            finally:
                self._client.close()

    # Claiming.

    @contextlib.contextmanager
    def _use(self) -> Iterator[None]:
        """Let one thread at a time through, if the index is open."""
        if self._pid != os.getpid():
            # After a fork this is another worker, and the parent's claims are the parent's.
            self._enlist()
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"the index at {self._client.shown} is closed")
            yield

    def _name(self, key: str) -> str:
        """Return a key as it is stored."""
        if self._options["keys"] == "url":
            return key
        return "#" + hashlib.blake2b(key.encode(), digest_size=8).hexdigest()

    def _mask(self, scope: str) -> int:
        """Return what a scope's fingerprints are XORed with, so that no other scope's are near."""
        if not scope:
            return 0
        digest = hashlib.blake2b(scope.encode(), digest_size=self.layout.bits // 8).digest()
        return int.from_bytes(digest, "big")

    def _claimant(self, arrival: Arrival) -> Claimant:
        own = arrival.fingerprint
        masked = Fingerprint(own.value ^ self._mask(arrival.scope), own.bits, own.margins)
        name = self._name(arrival.key)
        return Claimant(arrival, name, masked, was_handed=name in self._handed)

    def _follow(self) -> bool:
        """Take in what is new in the log; return whether it is another log than before."""
        try:
            self._log.follow()
        except AnotherLog:
            self._open()
            self._log.follow()
            return True
        return False

    def _find(self, claimants: Sequence[Claimant]) -> None:
        """Find what is near the claimants, and what is stored of that."""
        if self._follow():
            for claimant in claimants:
                claimant.unleased.clear()
        for claimant in claimants:
            claimant.records.clear()
            claimant.near = self._log.near(claimant.fingerprint, self.distance)
        if not self._is_local:
            found = self._entries.candidates([c.fingerprint for c in claimants], self.distance)
            for claimant, positions in zip(claimants, found, strict=True):
                # Their distances are told when they are looked at.
                claimant.near.update((p, 0) for p in positions if p not in claimant.near)
        self._look(claimants)

    def _look(self, claimants: Sequence[Claimant]) -> None:
        """Look at what may be near, and drop what is not, or not any more."""
        positions = sorted({p for claimant in claimants for p in claimant.unknown()})
        if not positions:
            return
        known = self._entries.look(positions)
        for claimant in claimants:
            for position in claimant.unknown():
                self._judge(claimant, position, known.get(position))

    def _judge(self, claimant: Claimant, position: int, known: Known | None) -> None:
        if known is None:
            del claimant.near[position]
            return
        value, record, is_gone = known
        if record is None and (is_gone or position in claimant.unleased):
            self._log.forget([position])
            del claimant.near[position]
            return
        distance = (int.from_bytes(value, "big") ^ claimant.fingerprint.value).bit_count()
        if distance > self.distance or (record and record.scope != claimant.arrival.scope):
            del claimant.near[position]
            return
        claimant.near[position] = distance
        if record:
            claimant.records[position] = record

    def _submit(self, claimants: Mapping[int, Claimant], now: float) -> dict[int, Claim]:
        """Let the script decide; return the answers of those that need not claim again."""
        values = [claimant.fingerprint.value for claimant in claimants.values()]
        pages: list[Any] = []
        for claimant in claimants.values():
            own = claimant.fingerprint
            near = sum((own.value ^ v).bit_count() <= self.distance for v in values) > 1
            pages += (
                own.to_bytes(),
                claimant.name,
                claimant.arrival.scope,
                _stored_request(claimant.arrival.request),
                "b" * near + "c" * bool(claimant.records) + "o" * claimant.is_own(),
                b"".join(
                    position.to_bytes(4, "big") + claimant.near[position].to_bytes(2, "big")
                    for position in claimant.unknown()
                ),
            )
        head = (*self._log.mark(), self.distance, now, self.lease, self._worker)
        answer = self._client.run("claim", *head, *pages)
        if not answer:
            return {}
        end, given_up, deleted, *results = answer
        admitted = b"".join(
            claimant.fingerprint.to_bytes()
            for claimant, result in zip(claimants.values(), results, strict=True)
            if result[0] == b"original"
        )
        if self._log.end + len(admitted) // self._log.width == end:
            self._log.extend(admitted)
        self._handed_over(given_up, deleted, [])
        answers: dict[int, Claim] = {}
        for (number, claimant), (outcome, *details) in zip(claimants.items(), results, strict=True):
            if outcome == b"again":
                claimant.unleased.update(details[::2])
            else:
                answers[number] = self._answer(claimant, outcome.decode(), now, *details)
        return answers

    def _answer(
        self,
        claimant: Claimant,
        outcome: str,
        now: float,
        position: int,
        waiting: int,
        handed: Sequence[bytes],
        *matches: Sequence[Any],
    ) -> Claim:
        self._handed.discard(claimant.name)
        scope = claimant.arrival.scope
        own = self._own.setdefault(claimant.name, {}) if outcome != "duplicate" else {}
        if outcome == "original":
            own[position] = Own(claimant.fingerprint.to_bytes(), scope, now)
            pages = _pages(handed)
            self._handed.update(page.key for page in pages)
            return Claim(Outcome.ORIGINAL, handed_back=tuple(pages))
        provisional: dict[int, Match] = {}
        for place, distance, key, entered, value in matches:
            provisional[place] = Match(key.decode(), distance, float(entered), True)
            if key.decode() == claimant.name:
                own[place] = Own(value, scope, float(entered))
        return Claim(Outcome(outcome), claimant.matches(provisional), bool(waiting))

    def _handed_over(
        self, given_up: Sequence[bytes], deleted: Sequence[Any], handed: Sequence[bytes]
    ) -> list[Page]:
        """Note what a script did; return the pages that it handed over."""
        for key in given_up:
            logger.warning(
                "%s was handed over %d times and never claimed: given up",
                key.decode(),
                base.MAX_HANDOVERS,
            )
        # This spares others the search for their leases.
        self._entries.bury(list(zip(deleted[::2], deleted[1::2], strict=True)))
        pages = _pages(handed)
        self._handed.update(page.key for page in pages)
        return pages

    # Upkeep.

    def _leases(self) -> list[Lease]:
        return [
            Lease(position, key.decode(), scope.decode(), value, float(entered))
            for position, key, scope, value, entered in self._client.run("leases")
        ]

    def _living(self) -> Iterator[tuple[int, bytes, Record, bool]]:
        """Yield position, stored fingerprint and record of each entry, and if it is provisional."""
        with self._use():
            self._follow()
            head, end = self._log.head, self._log.end
            leases = {lease.position: lease for lease in self._leases()}
        for first in range(head, end, self._client.segment):
            with self._use():
                entries = self._entries.between(first, min(first + self._client.segment, end))
            for position, (value, record, is_gone) in entries:
                if record:
                    yield position, value, record, False
                elif not is_gone and (lease := leases.get(position)):
                    yield position, value, Record(lease.key, lease.scope, lease.time), True

    def _keep_up(self, claimants: Iterable[Claimant], now: float) -> None:
        """Do what is not urgent; what fails is left to whoever claims next."""
        try:
            if self._expire is not None:
                self._refresh(claimants, now, self._expire)
            if self._log.first_segment():
                self._flush()
        except StoreUnavailable as error:
            logger.debug("The log was not kept up: %s", error)

    def _refresh(self, claimants: Iterable[Claimant], now: float, expire: float) -> None:
        """Move entries that were seen again to the log's end, before they expire."""
        if time.monotonic() > self._horizon_until:
            self._horizon = self._client.run("horizon", now - expire * (_GRACE - 1))
            self._horizon_until = time.monotonic() + _HORIZON_SECONDS
        seen = {p for claimant in claimants for p in claimant.records if p < self._horizon}
        for some in _parts(sorted(seen)):
            known = self._entries.look(some)
            moved = [(p, k.value, k.record) for p, k in known.items() if k.record]
            texts = [
                text
                for _, value, record in moved
                for text in (value, record.key, record.scope, record.time)
            ]
            positions = self._client.run("admit", self._worker, now + self.lease, *texts)
            self._entries.confirm(
                (position, value, record)
                for position, (_, value, record) in zip(positions, moved, strict=True)
            )
            self._client.run("settle", *positions)
            self._client.run("remove", *(position for position, _, _ in moved))
            self._entries.bury([(position, value) for position, value, _ in moved])

    def _flush(self) -> None:
        """Freeze the tail's first segment, unless another worker is at it."""
        flusher = self._client.control("flusher")
        taken = ("SET", flusher, self._worker, "NX", "PX", _FLUSH_LEASE)
        if not self._client.all([taken])[0] or self._follow():
            return
        while self._log.first_segment():
            self._entries.freeze()
            if self._follow():
                return
        if self._expire is not None:
            self._entries.expire(time.time() - self._expire * _GRACE)
        self._client.all([("UNLINK", flusher)])


def _header(answer: Sequence[Any], where: str) -> dict[str, str]:
    try:
        texts = [text.decode() for text in answer if isinstance(text, bytes)]
    except UnicodeDecodeError as error:
        raise StoreDamaged(f"the index at {where} has a damaged header: {error}") from error
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _stored_request(request: str | None) -> str:
    return "" if request is None else "=" + request


def _pages(handed: Sequence[bytes]) -> list[Page]:
    return [
        Page(key.decode(), request.decode()[1:] if request else None)
        for key, request in zip(handed[::2], handed[1::2], strict=True)
    ]


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the items in parts that do not hold the server up."""
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
