"""What an index in Redis holds, and how a worker follows it; all but the life of a claim."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.base import (
    DEFAULT_LEASE,
    Entry,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
)
from scrapy_simhash.index.redis_address import parse_address
from scrapy_simhash.index.redis_bodies import Bodies
from scrapy_simhash.index.redis_census import sizes
from scrapy_simhash.index.redis_claims import Finder, Lease
from scrapy_simhash.index.redis_client import Client, number, parts, seconds, text
from scrapy_simhash.index.redis_entries import Entries
from scrapy_simhash.index.redis_header import open_header
from scrapy_simhash.index.redis_log import AnotherLog, LogView
from scrapy_simhash.index.redis_pages import BucketPages
from scrapy_simhash.index.redis_records import Record
from scrapy_simhash.index.redis_upkeep import Upkeep
from scrapy_simhash.index.redis_worker import Worker
from scrapy_simhash.index.stored import DIGEST_KEY, Census, StoredIndex

logger = logging.getLogger(__name__)


class RedisStore(StoredIndex):
    """An index in Redis without its claims; arguments and errors as of ``RedisIndex``."""

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
        spider: str = "",
    ) -> None:
        address = parse_address(url)
        self._spider = spider
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
        self._bodies = Bodies(self._client, self.layout.bits)
        self._finder = Finder(self._log, self._entries, self.distance, self._is_local)
        self._upkeep = Upkeep(self._client, self._log, self._entries, self._expire)

    def _enlist(self) -> None:
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._worker = Worker(self._client, self.distance, self.lease, self._spider)

    def _warn_of_eviction(self) -> None:
        policy = self._client.setting("maxmemory-policy")
        if policy not in (None, "noeviction") and self._client.setting("maxmemory") != "0":
            logger.warning(
                "maxmemory-policy of %s is %s: when its memory is full, Redis deletes parts of the "
                "index, and pages are crawled twice; set it to noeviction",
                self._client.shown,
                policy,
            )

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
            self._client.start_anew()
            self._enlist()

    def _name(self, key: str) -> str:
        """Return a key as it is stored."""
        if self._digests_keys and not DIGEST_KEY.fullmatch(key):
            return "#" + hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
        return key

    def _mask(self, scope: str) -> int:
        """Return what a scope's fingerprints are XORed with, so that no other scope's are near."""
        if not scope:
            return 0
        digest = hashlib.blake2b(scope.encode(), digest_size=self.layout.bits // 8).digest()
        return int.from_bytes(digest, "big")

    def _follow(self) -> None:
        """Take in what is new in the log."""
        self._on_its_log(lambda: self._log.follow())

    def _on_its_log(self, act: Callable[[], None]) -> None:
        """Do what may find the log to be another than before; then once more, on that one."""
        try:
            act()
        except AnotherLog:
            self._open()
            try:
                act()
            except AnotherLog as error:
                raise StoreDamaged(f"the log of {self._client.name!r} is damaged") from error

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
                self._client.run("remove", *chain.from_iterable(some))
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
            self._bodies.wipe()
            self._worker = Worker(self._client, self.distance, self.lease, self._spider)
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
                self._upkeep.append(added, self._worker.name, self._client.time() + self.lease)
                self._follow()
                self._on_its_log(lambda: self._upkeep.flush(self._worker.name))

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
                    ("ZCOUNT", control("handed"), "-inf", "(inf"),
                    ("HGET", control("meta"), "crowded"),
                ]
            )
            return Census(
                pages=pages,
                provisional=len(self._leases()),
                waiting=number(waiting) + number(handed),
                bodies=self._bodies.count(),
                sizes=sizes(self._client, log, self._pages, self._bodies),
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

    # Reading all.

    def _leases(self) -> list[Lease]:
        return [
            Lease(position, text(key), text(scope), value, seconds(entered))
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
