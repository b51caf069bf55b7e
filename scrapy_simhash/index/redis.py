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
import itertools
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

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
from scrapy_simhash.index.redis_client import SEGMENT, Client, parse_address
from scrapy_simhash.index.redis_log import AnotherLog, LogView, segment_key
from scrapy_simhash.index.redis_pages import (
    PAGE_LIMIT,
    RECORDS,
    BucketPages,
    Record,
    as_values,
    compress_records,
    pack_delete,
    pack_record,
    read_records,
)

logger = logging.getLogger(__name__)

FORMAT = 1
# How often a claim begins anew because others were faster, before the store counts as unavailable.
_ATTEMPTS = 100
# Milliseconds after which another worker may take up a flush that was begun.
_FLUSH_LEASE = 10_000
# Leases, pages or keys in one request.
_AT_ONCE = 500

T = TypeVar("T")


class _Own(NamedTuple):
    """An entry that this worker claimed and has not settled."""

    fingerprint: bytes
    scope: str
    time: float


class _Lease(NamedTuple):
    """A provisional entry."""

    position: int
    key: str
    scope: str
    fingerprint: bytes
    time: float


@dataclass(slots=True)
class _Claimant:
    """A page on its way to its answer.

    Attributes:
        name: its key as it is stored.
        fingerprint: in the colours of its scope.
        near: distance of each entry near it, by position, but for those known to be deleted.
        records: those of them that are confirmed.
        unleased: positions without a lease, so that what has no record now is gone.
        waits: the page itself is noted as waiting or handed over.
    """

    arrival: Arrival
    name: str
    fingerprint: Fingerprint
    near: dict[int, int] = field(default_factory=dict)
    records: dict[int, Record] = field(default_factory=dict)
    unleased: set[int] = field(default_factory=set)
    waits: bool = False

    def unknown(self) -> list[int]:
        """Return the positions that may be provisional."""
        return [position for position in self.near if position not in self.records]

    def matches(self, provisional: dict[int, Match]) -> tuple[Match, ...]:
        """Return the confirmed entries and these, nearest first, then oldest."""
        found = dict(provisional)
        for position, record in self.records.items():
            found[position] = Match(record.key, self.near[position], record.time, False)
        ordered = sorted((match.distance, position) for position, match in found.items())
        return tuple(found[position] for _, position in ordered)

    def is_own(self) -> bool:
        """Return whether an entry of the same key is confirmed."""
        return any(record.key == self.name for record in self.records.values())

    def settled(self) -> Claim | None:
        """Return the answer if it changes nothing in the index."""
        if not self.records or self.waits or self.unknown():
            return None
        return Claim(Outcome.REVISIT if self.is_own() else Outcome.DUPLICATE, self.matches({}))


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
            expected, shards = int(header["expected_pages"]), int(header["shards"])
        except (KeyError, ValueError) as error:
            raise StoreDamaged(f"{where} has a damaged header: {error}") from error
        self._pages = BucketPages(self.layout, expected, shards)
        self._stores_buckets = stored == "redis"
        self._is_local = wanted == "local"
        self._width = self.layout.bits // 8
        self._shards = shards
        self._log = LogView(self._client, self.layout, whole=self._is_local)

    def _enlist(self) -> None:
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._worker = f"{socket.gethostname()}:{self._pid}:{secrets.token_hex(4)}"
        self._own: dict[str, dict[int, _Own]] = {}

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
                self._read([claimant])
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
            claimants = dict(enumerate(map(self._claimant, arrivals)))
            self._find(list(claimants.values()))
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
            self._flush()
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
                self._append(
                    (position, pack_record(position, entry.fingerprint[-4:], record))
                    for position, name, entry in some
                    for record in [Record(name, entry.scope, entry.time)]
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
            (position, value)
            for position, value, record, _ in self._entries()
            if record.key == name
        ]
        with self._use():
            for some in _parts(found):
                self._client.run("remove", *(position for position, _ in some))
                self._bury(some)
        return len(found)

    def clear(self) -> None:  # noqa: D102
        with self._use():
            self._follow()
            segments = self._log.end // SEGMENT + 1
            pages = self._log.end // RECORDS + 1
            # First the log: without it, what is left of the rest is never looked at.
            self._client.clear()
            self._client.all(
                [("UNLINK", segment_key(self._client, number)) for number in range(segments)]
                + [("UNLINK", self._record_page(n * RECORDS)) for n in range(pages)]
                + [("UNLINK", f"{self._client.name}:{part}") for part in self._pages.hashes()]
            )
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
        return int(flushed or 0) + int(tail) // self._width - int(dead or 0)

    def __iter__(self) -> Iterator[Entry]:
        for _, value, record, provisional in self._entries():
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
        digest = hashlib.blake2b(scope.encode(), digest_size=self._width).digest()
        return int.from_bytes(digest, "big")

    def _claimant(self, arrival: Arrival) -> _Claimant:
        own = arrival.fingerprint
        masked = Fingerprint(own.value ^ self._mask(arrival.scope), own.bits, own.margins)
        return _Claimant(arrival, self._name(arrival.key), masked)

    def _follow(self) -> bool:
        """Take in what is new in the log; return whether it is another log than before."""
        try:
            self._log.follow()
        except AnotherLog:
            self._open()
            self._log.follow()
            return True
        return False

    def _find(self, claimants: Sequence[_Claimant]) -> None:
        """Find what is near the claimants, and read the records of that."""
        replaced = self._follow()
        for claimant in claimants:
            if replaced:
                claimant.unleased.clear()
            claimant.records.clear()
            claimant.near = self._log.near(claimant.fingerprint, self.distance)
        if not self._is_local:
            self._probe(claimants)
        self._read(claimants)

    def _probe(self, claimants: Sequence[_Claimant]) -> None:
        """Add what the stored buckets hold; distances are yet unknown, and noted as 0."""
        probed = [self._pages.probed(claimant.fingerprint) for claimant in claimants]
        commands, blocks = [], []
        for pages in probed:
            for (block, part), fields in groupby(pages, key=lambda page: page[:2]):
                key = f"{self._client.name}:{part}"
                commands.append(("HMGET", key, *(name for _, _, name in fields)))
                blocks.append(block)
        answers = iter(zip(blocks, self._client.all(commands), strict=True))
        for claimant, pages in zip(claimants, probed, strict=True):
            hashes = len({page[:2] for page in pages})
            found = [
                (block, page)
                for block, answer in itertools.islice(answers, hashes)
                for page in answer
                if page is not None
            ]
            for position in self._pages.candidates(claimant.fingerprint, found, self.distance):
                claimant.near.setdefault(position, 0)

    def _read(self, claimants: Sequence[_Claimant]) -> None:
        """Read the fingerprints and the records of what may be near, and drop what is not."""
        positions = sorted({p for claimant in claimants for p in claimant.unknown()})
        if not positions:
            return
        values = {position: self._log.fingerprint(position) for position in positions}
        frozen = [position for position in positions if values[position] is None]
        pages = sorted({position // RECORDS for position in positions})
        asking = [claimant for claimant in claimants if claimant.near]
        answers = self._client.all(
            [self._range_of(position) for position in frozen]
            + [("GET", self._record_page(page * RECORDS)) for page in pages]
            + [("HEXISTS", self._client.control("waiting"), f"{c.name}:r") for c in asking]
        )
        values.update(zip(frozen, answers, strict=False))
        stored = answers[len(frozen) :]
        records = {
            page: read_records(content or b"", self._record_page(page * RECORDS))
            for page, content in zip(pages, stored, strict=False)
        }
        for claimant, waits in zip(asking, stored[len(pages) :], strict=True):
            claimant.waits = bool(waits)
        for claimant in claimants:
            for position in claimant.unknown():
                value = values[position]
                found, deleted = records[position // RECORDS]
                self._judge(claimant, position, value, found, deleted)

    def _judge(
        self,
        claimant: _Claimant,
        position: int,
        value: bytes | None,
        found: Mapping[tuple[int, bytes], Record],
        deleted: Collection[tuple[int, bytes]],
    ) -> None:
        """Note what is known of an entry that may be near."""
        if not value:
            del claimant.near[position]
            return
        distance = (int.from_bytes(value, "big") ^ claimant.fingerprint.value).bit_count()
        name = (position % RECORDS, value[-4:])
        record = found.get(name)
        if record is None and (name in deleted or position in claimant.unleased):
            self._log.forget([position])
            del claimant.near[position]
        elif distance > self.distance or (record and record.scope != claimant.arrival.scope):
            del claimant.near[position]
        else:
            claimant.near[position] = distance
            if record:
                claimant.records[position] = record

    def _submit(self, claimants: Mapping[int, _Claimant], now: float) -> dict[int, Claim]:
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
        if self._log.end + len(admitted) // self._width == end:
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
        claimant: _Claimant,
        outcome: str,
        now: float,
        position: int,
        waiting: int,
        handed: Sequence[bytes],
        *matches: Sequence[Any],
    ) -> Claim:
        scope = claimant.arrival.scope
        own = self._own.setdefault(claimant.name, {}) if outcome != "duplicate" else {}
        if outcome == "original":
            own[position] = _Own(claimant.fingerprint.to_bytes(), scope, now)
            return Claim(Outcome.ORIGINAL, handed_back=tuple(_pages(handed)))
        provisional: dict[int, Match] = {}
        for place, distance, key, entered, value in matches:
            provisional[place] = Match(key.decode(), distance, float(entered), True)
            if key.decode() == claimant.name:
                own[place] = _Own(value, scope, float(entered))
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
        self._bury(list(zip(deleted[::2], deleted[1::2], strict=True)))
        return _pages(handed)

    def _bury(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """Note entries as deleted, which spares others the search for their leases."""
        self._append((p, pack_delete(p, value[-4:])) for p, value in entries)
        self._log.forget([position for position, _ in entries])

    # Records, segments and buckets.

    def _record_page(self, position: int) -> str:
        return f"{self._client.name}:r:{position // RECORDS}"

    def _range_of(self, position: int) -> tuple[Any, ...]:
        number, offset = divmod(position, SEGMENT)
        start = offset * self._width
        return ("GETRANGE", segment_key(self._client, number), start, start + self._width - 1)

    def _append(self, records: Iterable[tuple[int, bytes]]) -> None:
        pages: dict[str, bytes] = {}
        for position, record in records:
            key = self._record_page(position)
            pages[key] = pages.get(key, b"") + record
        self._client.all([("APPEND", key, packed) for key, packed in pages.items()])

    def _leases(self) -> list[_Lease]:
        return [
            _Lease(position, key.decode(), scope.decode(), value, float(entered))
            for position, key, scope, value, entered in self._client.run("leases")
        ]

    def _entries(self) -> Iterator[tuple[int, bytes, Record, bool]]:
        """Yield position, stored fingerprint and record of each entry, and if it is provisional."""
        with self._use():
            self._follow()
            end = self._log.end
            leases = {
                lease.position: Record(lease.key, lease.scope, lease.time)
                for lease in self._leases()
            }
        for first in range(0, end, SEGMENT):
            last = min(first + SEGMENT, end)
            with self._use():
                keys = [self._record_page(p) for p in range(first, last, RECORDS)]
                values, *pages = self._client.all(
                    [("GET", key) for key in (segment_key(self._client, first // SEGMENT), *keys)]
                )
                at = (first - self._log.flushed) * self._width
                values = values or self._log.tail[at:]
            contents = [read_records(p or b"", k) for k, p in zip(keys, pages, strict=True)]
            for position in range(first, last):
                at = (position - first) * self._width
                value = values[at : at + self._width]
                found, deleted = contents[(position - first) // RECORDS]
                name = (position % RECORDS, value[-4:])
                if record := found.get(name):
                    yield position, value, record, False
                elif position in leases and name not in deleted:
                    yield position, value, leases[position], True

    def _flush(self) -> None:
        """Freeze the tail's first segment when it is full, unless another worker is at it."""
        if len(self._log.tail) < SEGMENT * self._width:
            return
        flusher = self._client.control("flusher")
        try:
            taken = ("SET", flusher, self._worker, "NX", "PX", _FLUSH_LEASE)
            if self._client.all([taken])[0] and not self._follow():
                while len(self._log.tail) >= SEGMENT * self._width:
                    self._freeze(self._log.tail[: SEGMENT * self._width])
                    self._follow()
                self._client.all([("UNLINK", flusher)])
        except StoreUnavailable as error:
            # The claims stand; whoever claims next goes on.
            logger.debug("The log was not flushed: %s", error)

    def _freeze(self, segment: bytes) -> None:
        """Do what makes a segment ready to be cut from the tail; twice does no harm."""
        first = self._log.flushed
        self._client.all([("SET", segment_key(self._client, first // SEGMENT), segment)])
        crowded = 0
        if self._stores_buckets:
            values = as_values(segment, self._width)
            for part, entries in self._pages.entries(first, values).items():
                crowded += self._client.put(f"{self._client.name}:{part}", PAGE_LIMIT, entries)
        self._client.run("advance", self._width, first, first + SEGMENT, crowded)
        # Most pages of the segment before have been confirmed by now.
        keys = [self._record_page(p) for p in range(max(first - SEGMENT, 0), first, RECORDS)]
        pages = self._client.all([("GET", key) for key in keys])
        for key, page in zip(keys, pages, strict=True):
            if page and len(packed := compress_records(page, key)) < len(page):
                self._client.replace(key, len(page), packed)


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
