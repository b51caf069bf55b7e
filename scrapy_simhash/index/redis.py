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
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from scrapy_simhash.blocks import Layout
from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index.base import (
    DEFAULT_LEASE,
    Arrival,
    Claim,
    Entry,
    Match,
    Page,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
)
from scrapy_simhash.index.redis_address import parse_address
from scrapy_simhash.index.redis_census import sizes
from scrapy_simhash.index.redis_claims import Claimant, Finder, Lease
from scrapy_simhash.index.redis_client import Client, flat, number, parts, text
from scrapy_simhash.index.redis_entries import Entries
from scrapy_simhash.index.redis_header import open_header
from scrapy_simhash.index.redis_log import AnotherLog, LogView
from scrapy_simhash.index.redis_pages import BucketPages, Record
from scrapy_simhash.index.redis_upkeep import Upkeep
from scrapy_simhash.index.redis_worker import Worker
from scrapy_simhash.index.stored import Census, StoredIndex

logger = logging.getLogger(__name__)

# How often a claim begins anew because others were faster, before the store counts as unavailable.
_ATTEMPTS = 100
# A key of an index with digests.
_DIGEST = re.compile("#[0-9a-f]{16}")
# Orphans handed over by one script.
_AT_ONCE = 500


class RedisIndex(StoredIndex):
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
        self.recipe = recipe
        self.options = dict(address.options)
        self.distance = distance
        self.lease = lease
        self._is_local = address.options["buckets"] == "local"
        self._digests_keys = address.options["keys"] == "digest"
        self._expire = address.expire
        self._open_header = partial(
            open_header,
            address=address,
            recipe=recipe,
            bits=bits,
            distance=distance,
            expected_pages=expected_pages,
            layout=layout,
        )
        self._closed = False
        self._client = Client(address)
        self._enlist()
        try:
            self._open()
        except BaseException:
            self._client.close()
            raise
        self._warn_of_eviction()

    def _open(self) -> None:
        """Read or make the header, and begin to follow the log."""
        header = self._open_header(self._client)
        self.layout = header.layout
        self._log = LogView(self._client, self.layout, whole=self._is_local)
        self._pages = None
        if header.has_buckets:
            self._pages = BucketPages(self.layout, header.expected_pages, header.shards)
        self._entries = Entries(self._client, self._log, self._pages)
        self._finder = Finder(self._log, self._entries, self.distance, self._is_local)
        self._upkeep = Upkeep(self._client, self._log, self._entries, self._expire)

    def _enlist(self) -> None:
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._worker = Worker(self._client, self.distance, self.lease)

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
            self._log.is_behind = True
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
                self._finder.look([claimant])
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
                for some in parts(list(claimants)):
                    asking = {number: claimants[number] for number in some}
                    answers.update(self._worker.submit(asking, now, self._log, self._entries))
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
            for some in parts(self._worker.own(names)):
                # In this order: an entry without a lease has its record, or is gone.
                self._entries.confirm(
                    (position, entry.fingerprint, Record(name, entry.scope, entry.time))
                    for position, name, entry in some
                )
                self._client.run(
                    "settle",
                    len(some),
                    *(position for position, _, _ in some),
                    *(entry.fingerprint for _, _, entry in some),
                )
            self._worker.let_go(names)

    def release(self, keys: Iterable[str], *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = time.time() if now is None else now
        with self._use():
            names = [self._name(key) for key in keys]
            pages: list[Page] = []
            for some in parts(self._worker.own(names)):
                own = flat((p, own.fingerprint) for p, _, own in some)
                answer = self._client.run("release", self._worker.name, now, self.lease, *own)
                pages += self._worker.took(self._entries, *answer)
            self._worker.let_go(names)
        return pages

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        now = time.time() if now is None else now
        with self._use():
            names = [self._name(key) for key in keys]
            for some in parts(self._worker.own(names)):
                own = flat((p, own.fingerprint) for p, _, own in some)
                self._client.run("renew", self._worker.name, now + self.lease, *own)
            handed = [name for name in names if self._worker.was_handed(name)]
            for ours in parts(handed):
                self._client.run("extend", self._worker.name, now + self.lease, *ours)

    def expect(self, pages: Iterable[Page], *, now: float | None = None) -> None:  # noqa: D102
        now = time.time() if now is None else now
        expected = [(self._name(p.key), p.request) for p in pages if p.request is not None]
        with self._use():
            for some in parts(expected):
                texts = (text for name, request in some for text in (name, "=" + request))
                self._client.run("expect", self._worker.name, now + self.lease, *texts)
                self._worker.expect(name for name, _ in some)

    def dismiss(self, keys: Iterable[str]) -> None:  # noqa: D102
        with self._use():
            names = [name for name in map(self._name, keys) if self._worker.was_handed(name)]
            for some in parts(names):
                self._client.run("dismiss", self._worker.name, *some)
                self._worker.dismiss(some)

    def orphans(self, *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = time.time() if now is None else now
        pages: dict[str, Page] = {}
        with self._use():
            more = True
            while more:
                *handed, more = self._client.run(
                    "orphans", self._worker.name, now, self.lease, _AT_ONCE
                )
                pages.update((page.key, page) for page in self._worker.took(self._entries, *handed))
        return list(pages.values())

    def foreign_lease(self, *, now: float | None = None) -> float | None:  # noqa: D102
        now = time.time() if now is None else now
        with self._use():
            ends = [float(end) for end in self._client.run("foreign", self._worker.name) if end]
        return max(max(ends) - now, 0.0) if ends else None

    def remove(self, key: str) -> int:  # noqa: D102
        name = self._name(key)
        return self.remove_where(lambda entry: entry.key == name)

    def remove_where(self, condition: Callable[[Entry], bool]) -> int:  # noqa: D102
        found = [
            (position, value)
            for position, value, record, provisional in self._living()
            if condition(self._entry(value, record, provisional))
        ]
        with self._use():
            for some in parts(found):
                self._client.run("remove", *flat(some))
                self._entries.bury(some)
        return len(found)

    def clear(self) -> None:  # noqa: D102
        with self._use():
            # What is damaged can be cleared, too.
            with contextlib.suppress(StoreDamaged):
                self._follow()
            # First the log: without it, what is left of the rest is never looked at.
            self._client.clear()
            self._entries.wipe()
            self._worker = Worker(self._client, self.distance, self.lease)
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
        # Who removes an entry that another removes at the same time counts it twice.
        count = number(flushed or 0) + number(tail) // self._log.width - number(dead or 0)
        return max(count, 0)

    def __iter__(self) -> Iterator[Entry]:
        for _, value, record, provisional in self._living():
            yield self._entry(value, record, provisional)

    def _entry(self, value: bytes, record: Record, provisional: bool) -> Entry:
        own = Fingerprint(int.from_bytes(value, "big") ^ self._mask(record.scope), self.layout.bits)
        return Entry(record.key, own, record.scope, record.time, provisional)

    # What an operator needs.

    def stored_key(self, key: str) -> str:  # noqa: D102
        return self._name(key)

    def _append(self, entries: Sequence[Entry]) -> None:
        with self._use():
            for some in parts(entries):
                records = [Record(e.key, e.scope, int(e.time)) for e in some]
                values = [
                    (e.fingerprint.value ^ self._mask(e.scope)).to_bytes(self._log.width, "big")
                    for e in some
                ]
                added = list(zip(values, records, strict=True))
                self._upkeep.append(added, self._worker.name, time.time() + self.lease)
                self._follow()
                self._upkeep.flush(self._worker.name)

    def _confirmed(self) -> Iterator[Entry]:
        with self._use():
            # Also those whose worker died just before their leases would have ended.
            leased = {lease.position for lease in self._leases()}
        for position, value, record, _ in self._living():
            if position not in leased:
                yield self._entry(value, record, False)

    def sample(self, count: int) -> list[Entry]:  # noqa: D102
        def choose(segments: Sequence[int]) -> Sequence[int]:
            wanted = min(max(count // self._client.segment, 2), len(segments))
            return [segments[(len(segments) - 1) * i // max(wanted - 1, 1)] for i in range(wanted)]

        found = [self._entry(value, record, own) for _, value, record, own in self._living(choose)]
        step = max(len(found) // count, 1)
        return [*found[:-1:step], *found[-1:]]

    def census(self) -> Census:  # noqa: D102
        with self._use():
            log = self._snapshot()
            pages = len(self)
            control = self._client.control
            waiting, handed, crowded = self._client.all(
                [
                    ("ZCOUNT", control("waiters"), 0, "+inf"),
                    ("ZCOUNT", control("handed"), 0, "(inf"),
                    ("HGET", control("meta"), "crowded"),
                ]
            )
            return Census(
                pages=pages,
                provisional=len(self._leases()),
                waiting=number(waiting) + number(handed),
                sizes=sizes(self._client, log, self._pages),
                crowded=number(crowded) if self._pages else None,
            )

    def close(self) -> None:  # noqa: D102
        self._notice_fork()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._client.run("abandon", self._worker.name)
            except StoreError as error:
                logger.debug("Leases are left to run out: %s", error)
            finally:
                self._client.close()

    # Claiming.

    @contextlib.contextmanager
    def _use(self) -> Iterator[None]:
        """Let one thread at a time through, if the index is open."""
        self._notice_fork()
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"the index at {self._client.shown} is closed")
            yield

    def _notice_fork(self) -> None:
        """After a fork, be another worker: the parent's claims and its lock are the parent's."""
        if self._pid != os.getpid():
            self._enlist()

    def _name(self, key: str) -> str:
        """Return a key as it is stored."""
        if self._digests_keys and not _DIGEST.fullmatch(key):
            return "#" + hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
        return key

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
        return Claimant(arrival, name, masked, was_handed=self._worker.was_handed(name))

    def _follow(self) -> bool:
        """Take in what is new in the log; return whether it is another log than before."""
        try:
            self._log.follow()
        except AnotherLog:
            self._open()
        else:
            return False
        try:
            self._log.follow()
        except AnotherLog as error:
            raise StoreDamaged(f"the log of {self._client.name!r} is damaged") from error
        return True

    def _find(self, claimants: Sequence[Claimant]) -> None:
        """Find what is near the claimants now."""
        if self._log.is_behind:
            self._follow_for(claimants)
            self._finder.find(claimants)
            return
        self._finder.find(claimants)
        # Most pages are near nothing, and the script compares them with what is new. What is told
        # of the others is complete.
        if any(claimant.near for claimant in claimants):
            end = self._log.end
            if self._follow_for(claimants) or self._log.end != end:
                self._finder.find(claimants)

    def _follow_for(self, claimants: Sequence[Claimant]) -> bool:
        replaced = self._follow()
        if replaced:
            for claimant in claimants:
                claimant.unleased.clear()
        return replaced

    def _keep_up(self, claimants: Iterable[Claimant], now: float) -> None:
        """Do what is not urgent; what fails is left to whoever claims next."""
        try:
            self._upkeep.refresh(claimants, self._worker.name, now + self.lease)
            self._upkeep.flush(self._worker.name)
        except StoreUnavailable as error:
            logger.debug("The log was not kept up: %s", error)
        except AnotherLog:
            self._open()

    # Reading all.

    def _leases(self) -> list[Lease]:
        return [
            Lease(position, text(key), text(scope), value, float(entered))
            for position, key, scope, value, entered in self._client.run("leases")
        ]

    def _snapshot(self) -> LogView:
        """Return a view of the log as it is now, of which nothing but the tail is in RAM."""
        self._follow()
        log = LogView(self._client, self.layout, whole=False)
        try:
            log.follow()
        except AnotherLog as error:
            raise StoreUnavailable(f"{self._client.name!r} was cleared just now") from error
        return log

    def _living(
        self, choose: Callable[[Sequence[int]], Sequence[int]] = lambda segments: segments
    ) -> Iterator[tuple[int, bytes, Record, bool]]:
        """Yield position, stored fingerprint and record of each entry, and if it is provisional.

        Args:
            choose: picks segments of the log, given by where they begin.
        """
        with self._use():
            log = self._snapshot()
            leases = {lease.position: lease for lease in self._leases()}
            stored = Entries(self._client, log, None)
        for first in choose(range(log.head, log.end, self._client.segment)):
            with self._use():
                entries = stored.between(first, min(first + self._client.segment, log.end))
            for position, (value, record, is_gone) in entries:
                if record:
                    yield position, value, record, False
                elif not is_gone and (lease := leases.get(position)):
                    yield position, value, Record(lease.key, lease.scope, lease.time), True
