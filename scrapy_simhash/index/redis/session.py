"""One crawler's use of an index in Redis: its name in the leases, and the log that it looks at."""

import contextlib
import math
import re
import secrets
import struct
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from scrapy_simhash.fingerprint.recipe import reach_of
from scrapy_simhash.index.contract import (
    StoreDamaged,
    StoreMismatch,
    StoreMissing,
    StoreUnavailable,
)
from scrapy_simhash.index.decision import Era
from scrapy_simhash.index.pages import Pages
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.finders import AnotherLog, Finder, InRam, InRedis
from scrapy_simhash.index.redis.location import Location, parse_location
from scrapy_simhash.index.redis.rows import HEAD, NEVER
from scrapy_simhash.index.redis.scripts import Geometry, script
from scrapy_simhash.index.redis.steps import Steps, done
from scrapy_simhash.index.values import IndexSpec, spider_mark
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

FORMAT = 12
# Shards of a new index of pages with scopes on a cluster: as many on each of 3, 4, 6 or 8 nodes.
# Each shard that a call concerns costs a script.
_SHARDS = 24
# The scripts need this version of Redis.
_OLDEST = (6, 2)
# Requests for the same pages, while what others admit is too much to be compared with.
_ATTEMPTS = 100


def stored_spec(url: str) -> tuple[str, IndexSpec]:
    """Return the URL, with the place of the buckets, and the spec of the index that is there."""
    address = parse_location(url)
    with _speaks_redis(address):
        with contextlib.closing(Client(address)) as client:
            answer = client.call("HGETALL", client.key("meta"))
        if not answer:
            raise StoreMissing(f"there is no {client.where.removeprefix('the ')}")
        try:
            header = {name.decode(): value.decode() for name, value in answer.items()}
            bits, distance, blocks = (int(header[name]) for name in ("bits", "distance", "blocks"))
            reach = reach_of(bits, distance)
            spec = IndexSpec(header["recipe"], bits, distance, blocks, reach=reach)
            buckets = header["buckets"]
        except (KeyError, ValueError) as error:
            raise StoreDamaged(f"{client.where} has a damaged header: {error}") from error
    if address.buckets != buckets and "buckets=" not in url:
        url += f"{'&' if '?' in url else '?'}buckets={buckets}"
    return url, spec


@contextlib.contextmanager
def _speaks_redis(address: Location) -> Iterator[None]:
    """Turn the errors of answers that are of other types into one that says so."""
    try:
        yield
    except (AttributeError, LookupError, TypeError) as error:
        raise StoreDamaged(f"{address.shown} does not answer as Redis does: {error}") from error


class LogReplaced(StoreUnavailable):
    """The log is another one than before; the next call is about that one."""


class Session:
    """A crawler's use of an index.

    Args:
        shard: which shard of another index it is, as "17 of 64"; empty if it is none.
        name: the crawler's in the shards of an index; a new one without.

    Attributes:
        generation: which of the logs under this name it is.
        shards: over how many shards the scopes of the index are spread.
        finder: finds what is near.
        name: the crawler's in the leases, 8 bytes.
        own: positions of the provisional entries that it claimed or adopted, by key.
        adopted: the keys of those that it adopted.
        era: the run in which it takes part.
    """

    def __init__(
        self, client: Client, spec: IndexSpec, shard: str = "", name: bytes | None = None
    ) -> None:
        self._spec = spec
        self._shard = shard
        self._address = client.address
        self._mark = spider_mark(spec.spider)
        self.geometry = Geometry(spec.bits, spec.blocks, self._address.buckets == "redis")
        self.client = client
        self.shards = client.address.shards
        self.generation = ""
        self._lock, self._closed = threading.RLock(), False
        self.name = name or secrets.token_bytes(8)
        self.own: defaultdict[str, set[int]] = defaultdict(set)
        self.adopted: set[str] = set()
        self.era = Era()
        self._ahead = -math.inf
        try:
            with _speaks_redis(self._address), self.use():
                if not shard:
                    self._check_version()
                self.begin()
                if not shard:
                    self._warn_of_eviction()
        except BaseException:
            self.client.close()
            raise

    def begin(self) -> None:
        """Read or make the header, read the clock, and look at the log from the beginning.

        The generation differs between indexes that were made under one name one after the other.
        """
        spec, where = self._spec, self.client.where
        asked = {
            "format": str(FORMAT),
            "recipe": spec.recipe,
            "bits": str(spec.bits),
            "blocks": str(spec.blocks),
            "buckets": self._address.buckets,
        }
        if self._shard or self.shards:
            asked["shards"] = self._shard or str(self.shards)
        is_spread = spec.scoped and self._address.topology == "cluster"
        header = {"shards": str(_SHARDS if is_spread else 1), "distance": str(spec.distance)}
        header |= {**asked, "generation": secrets.token_hex(4)}
        at = time.monotonic()
        *answers, seconds, microseconds = self.client.run(
            script("open", self.geometry), *(text for item in header.items() for text in item)
        )
        stored = {name: value.decode() for name, value in zip(header, answers, strict=True)}
        for name, value in asked.items():
            if stored[name] != value:
                raise StoreMismatch(
                    f"{where} was made with {name}={stored[name]}, not {value}: use the same or "
                    "another name with ?name=, or delete this index to start anew"
                )
        if not self._shard and " of " in stored["shards"]:
            raise StoreMismatch(f"{where} is a part of another index: use another name")
        self.shards = int(stored["shards"].rpartition(" of ")[2])
        self.set_clock(at, seconds, microseconds)
        if len(bytes.fromhex(stored["generation"])) != 4:
            raise ValueError("its log has no generation")
        if stored["generation"] != self.generation:
            self.own.clear()
            self.adopted.clear()
        self.generation = stored["generation"]
        is_far = self.geometry.in_redis
        self.finder: Finder = InRedis() if is_far else InRam(self.run, self.geometry, spec.reach)

    def begin_anew(self) -> None:
        """Go on with the log that is there now."""
        with self.use():
            self.begin()

    def _check_version(self) -> None:
        try:
            version = self.client.call("INFO", "server").get("redis_version", "")
        except StoreUnavailable:
            # Not every user may ask, and then a script tells.
            return
        match = re.match(r"(\d{1,5})\.(\d{1,5})", version)
        if match and (int(match[1]), int(match[2])) < _OLDEST:
            raise StoreMismatch(
                f"{self._address.shown} is Redis {version}: the index needs 6.2 or newer"
            )

    def _warn_of_eviction(self) -> None:
        try:
            settings = self.client.call("CONFIG GET", "maxmemory*")
        except StoreUnavailable:
            # Not every user may read settings.
            return
        policy = settings.get("maxmemory-policy", "noeviction")
        if policy != "noeviction" and settings["maxmemory"] != "0":
            logger.warning(
                "maxmemory-policy of %s is %s: when its memory is full, Redis deletes parts of the "
                "index, and pages are crawled twice; set it to noeviction",
                self._address.shown,
                policy,
            )

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Let one thread at a time through, if the index is open.

        Raises:
            LogReplaced: the log is another one than before.
            StoreDamaged: what Redis holds cannot be read, which shows as a ValueError or the like.
        """
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"the index at {self._address.shown} is closed")
            try:
                yield
            except AnotherLog:
                self.begin_anew()
                raise LogReplaced(
                    f"{self.client.where} was cleared just now, or a failover lost its end"
                ) from None
            except (ValueError, struct.error, zlib.error) as error:
                raise StoreDamaged(f"{self.client.where} is damaged: {error}") from error

    def asked(self, name: str, *arguments: Any) -> Steps[Any]:
        """Run a script on the log; raise AnotherLog if it is another one by now."""
        answer = yield script(name, self.geometry), [self.generation, *arguments]
        if answer is None:
            raise AnotherLog
        return answer

    def run(self, name: str, *arguments: Any) -> Any:
        return done(self.client, self.asked(name, *arguments))

    def near(
        self, name: str, pages: Pages, head: Sequence[Any], parts: Sequence[Sequence[Any]]
    ) -> Steps[Any]:
        """Run a script that looks for what is near some pages.

        Its arguments are those of all pages, the head, then those of each page: its record, its
        part, and what the finder adds.
        """
        records = [own[: self.geometry.record] for own in pages.contents]
        for _ in range(_ATTEMPTS):
            arguments: list[Any] = []
            found = self.finder.arguments(pages)
            for record, part, near in zip(records, parts, found, strict=True):
                arguments += (record, *part, near)
            given = (self._spec.reach, self.finder.seen, *head, *arguments)
            answer = yield from self.asked(name, *given)
            if answer != [b"behind"]:
                return answer
        raise StoreUnavailable(f"others are always faster at {self.client.where}")

    def set_clock(self, asked: float, seconds: bytes, microseconds: bytes) -> None:
        """Take in the time of Redis, which it told between a moment and now.

        Our monotonic clock stands still while the machine sleeps. An answer that was read late,
        because the process was stopped, tells only between which times it was.
        """
        told = int(seconds) + int(microseconds) / 1e6
        self._ahead = min(max(self._ahead, told - time.monotonic()), told - asked)

    def leases(self) -> tuple[float, int, bytes]:
        """Return the time, the end of leases that begin then, and what stands before their rows.

        It is the time of Redis, because the clocks of crawlers may be far apart. Redis adds members
        to a sorted set faster if their scores are whole numbers.
        """
        clock = self._spec.clock
        at = time.monotonic() + self._ahead if clock is time.time else clock()
        ends = at + self._spec.lease
        return at, math.ceil(ends), HEAD.pack(ends, self.name, self._mark, 0, NEVER)

    def close(self) -> None:
        with self._lock:  # what runs now may end
            self._closed = True
            self.client.close()
