"""The index in Redis: many crawlers on many machines.

Decisions are made in one place: a script looks for what is near a page, and appends the page to the
log if nothing is. With buckets in Redis it looks into them itself; with buckets in the RAM of the
crawlers it gets what is near from the caller, and compares with what was admitted since the caller
looked. So a claim is safe however old the caller's view is, and a page that is near nothing, or near
a living copy, costs one request. What is near comes back with its facts; where it is judged to be
another page, the claim is repeated with its position.

All keys of an index lie in one slot, so in a cluster it is on one node.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    MAX_ADOPTIONS,
    Arrival,
    Census,
    Claim,
    Entry,
    Index,
    IndexSpec,
    Neighbour,
    Orphan,
    Outcome,
    StoreDamaged,
    StoreUnavailable,
    Unsettled,
    spider_mark,
)
from scrapy_simhash.index.redis.address import parse_address
from scrapy_simhash.index.redis.claims import (
    Claimant,
    Near,
    in_scope,
    mates,
    packed_entry,
    read_near,
    sought,
)
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.finders import AnotherLog, Finder, LogInRam, RedisBuckets, Sought
from scrapy_simhash.index.redis.header import open_header
from scrapy_simhash.index.redis.rows import HEAD, ROWS, Row, pack_row, squeeze_rows
from scrapy_simhash.index.redis.scan import Scan
from scrapy_simhash.index.redis.scripts import Geometry

logger = logging.getLogger(__name__)

# Pages that claim, pages that are put, and entries of one call of a script.
_PAGES = 32
_PUT = 16
_ENTRIES = 128
# Requests of one claim that bring it no nearer to an answer, because others are faster.
_ATTEMPTS = 100
# Positions whose rows are squeezed at a time, once as many positions follow them: by then most of
# their entries are confirmed.
_SQUEEZED = 16 * ROWS

T = TypeVar("T")


class RedisIndex(Index):
    """An index in Redis, Sentinel or Cluster.

    Args:
        url: where it is; see :func:`scrapy_simhash.index.open_index`.
        spec: how it is opened.

    Raises:
        ValueError: the URL is of no known form.
        StoreError: the index cannot be opened or does not fit.
    """

    def __init__(self, url: str, spec: IndexSpec) -> None:
        self.spec = spec
        self._address = parse_address(url)
        self._in_redis = self._address.buckets == "redis"
        self._geometry = Geometry(spec.bits, spec.blocks, self._in_redis)
        self._mark = spider_mark(spec.spider)
        self._client = Client(self._address, self._mark, self._geometry)
        self._generation = ""
        self._closed = False
        self._flooded = 0
        self._enlist()
        try:
            self._open()
            self._warn_of_eviction()
        except BaseException:
            self._client.close()
            raise

    def _enlist(self) -> None:
        """Be a crawler of one's own, with a name in the leases."""
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._name = secrets.token_bytes(8)
        # Positions of the provisional entries of each key that this crawler claimed or adopted.
        self._own: dict[str, set[int]] = {}

    def _open(self) -> None:
        """Read or make the header, and look at its log from the beginning."""
        generation = open_header(self._client, self._address, self.spec)
        if generation != self._generation:
            self._own.clear()
        self._generation = generation
        self._unsqueezed: list[int] = []
        self._finder: Finder = (
            RedisBuckets(self._geometry)
            if self._in_redis
            else LogInRam(self._client, generation, self._geometry, self.spec.distance)
        )

    def _warn_of_eviction(self) -> None:
        policy = self._client.setting("maxmemory-policy")
        if policy not in (None, "noeviction") and self._client.setting("maxmemory") != "0":
            logger.warning(
                "maxmemory-policy of %s is %s: when its memory is full, Redis deletes parts of the "
                "index, and pages are crawled twice; set it to noeviction",
                self._address.shown,
                policy,
            )

    @contextlib.contextmanager
    def _use(self) -> Iterator[None]:
        """Let one thread at a time through, if the index is open."""
        if self._pid != os.getpid():
            # The parent's claims, connection and lock are the parent's.
            self._client.start_anew()
            self._enlist()
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"the index at {self._address.shown} is closed")
            yield

    def _on_its_log(self, act: Callable[[], T]) -> T:
        """Do what may find the log to be another than before; then once more, on that one."""
        with self._use():
            try:
                return act()
            except AnotherLog:
                self._open()
            try:
                return act()
            except AnotherLog:
                raise StoreDamaged(f"{self._client.where} is damaged: its log changes") from None

    def _run(self, script: str, *arguments: Any) -> Any:
        answer = self._client.run(script, self._generation, *arguments)
        if answer is None:
            raise AnotherLog
        return answer

    def _heads(self, now: float) -> tuple[str, bytes]:
        """Return when leases that begin now end, and what stands before their rows."""
        ends = now + self.spec.lease
        return repr(ends), HEAD.pack(ends, self._name, self._mark, 0)

    # Claims.

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        for page in arrivals:
            self.spec.check(page.fingerprint, page.facts, page.key, page.scope, page.request)
        answers: dict[int, Claim] = {}

        def claim() -> list[Claim]:
            # What was judged in a log that was lost plays no part.
            claimants = [Claimant(arrival) for arrival in arrivals]
            waiting = [number for number in range(len(claimants)) if number not in answers]
            attempts = 0
            while waiting:
                some = waiting[:_PAGES]
                found = self._submit([claimants[number] for number in some], now)
                answers.update((n, answer) for n, answer in zip(some, found, strict=True) if answer)
                attempts = 0 if any(found) else attempts + 1
                if attempts > _ATTEMPTS:
                    raise StoreUnavailable(f"others are always faster at {self._client.where}")
                waiting = [number for number in waiting if number not in answers]
            return [answers[number] for number in range(len(claimants))]

        return self._on_its_log(claim)

    def _submit(self, claimants: Sequence[Claimant], now: float | None) -> list[Claim | None]:
        """Let the script decide; return the answers, None for pages that have to claim again."""
        now = self._client.time() if now is None else now
        arrivals = [claimant.arrival for claimant in claimants]
        pages = sought([(arrival.fingerprint, arrival.scope) for arrival in arrivals])
        records = self._records(pages)
        together = mates(pages, arrivals, self.spec.distance)
        found = self._finder.arguments(pages)
        ends, head = self._heads(now)
        arguments: list[bytes] = []
        for claimant, record, near, own in zip(claimants, records, together, found, strict=True):
            arrival = claimant.arrival
            row = pack_row(Row(arrival.key, arrival.scope, arrival.facts, now))
            request = (arrival.request or "").encode()
            arguments += (record, row, request, *claimant.judged(), near, *own)
        answer = self._run(
            "claim", self.spec.distance, *self._finder.head(), repr(now), ends, head, *arguments
        )
        if self._refused(answer):
            return [None] * len(claimants)
        results, told, flooded, lesson = answer
        admitted = [isinstance(result, int) for result in results]
        self._count_floods(flooded)
        self._finder.took(
            lesson, [r for r, is_new in zip(records, admitted, strict=True) if is_new]
        )
        judged = [result for result in results if isinstance(result, list)]
        described = iter(read_near(judged, told, self._generation))
        answers: list[Claim | None] = []
        for claimant, result in zip(claimants, results, strict=True):
            if isinstance(result, int):
                self._admit(claimant, result)
                answers.append(Claim(Outcome.ORIGINAL, (), claimant.near()))
            else:
                answers.append(self._judge(claimant, next(described), now))
        return answers

    def _count_floods(self, in_redis: int) -> None:
        self._flooded += in_redis
        self.flooded = self._flooded + self._finder.flooded

    def _records(self, pages: Sought) -> list[bytes]:
        """Return what the log gets of some pages."""
        if self._in_redis:
            return pages.fingerprints
        blocks = pages.blocks.astype("<u4")
        return [
            fingerprint + own.tobytes()
            for fingerprint, own in zip(pages.fingerprints, blocks, strict=True)
        ]

    def _refused(self, answer: Sequence[Any]) -> bool:
        """Return whether a script did nothing, and have the finder learn from its reason."""
        is_refusal = bool(answer) and isinstance(answer[0], bytes)
        if is_refusal:
            self._finder.refused(*answer)
        return is_refusal

    def _admit(self, claimant: Claimant, position: int) -> None:
        self._own.setdefault(claimant.arrival.key, set()).add(position)
        self._finder.forget(list(claimant.expired))
        if not position % _SQUEEZED and position >= 2 * _SQUEEZED:
            self._unsqueezed.append(position - 2 * _SQUEEZED)

    def _judge(self, claimant: Claimant, near: Sequence[Near], now: float) -> Claim | None:
        for entry in near:
            if entry.is_provisional and entry.row.key == claimant.arrival.key:
                # The script has leased it to this crawler.
                self._own.setdefault(entry.row.key, set()).add(entry.position)
        return claimant.hear(near, now, self.spec.judge)

    def query(  # noqa: D102
        self, fingerprint: Fingerprint, *, scope: str = ""
    ) -> list[Neighbour]:
        self.spec.check(fingerprint)
        (near,) = self._on_its_log(lambda: self._look([(fingerprint, scope)]))
        return [entry.neighbour() for entry in near]

    def _look(self, fingerprints: Sequence[tuple[Fingerprint, str]]) -> list[list[Near]]:
        """Return what is near some fingerprints, given with their scopes."""
        found: list[list[Near]] = []
        while len(found) < len(fingerprints):
            pages = sought(fingerprints[len(found) : len(found) + _PAGES])
            own = self._finder.arguments(pages)
            arguments = [
                part
                for fingerprint, parts in zip(pages.fingerprints, own, strict=True)
                for part in (fingerprint, *parts)
            ]
            answer = self._run("look", self.spec.distance, *self._finder.head(), *arguments)
            if self._refused(answer):
                continue
            results, told, flooded, lesson = answer
            self._count_floods(flooded)
            self._finder.took(lesson, [])
            found += read_near(results, told, self._generation)
        return found

    # The life of an entry.

    def _owned(self, keys: Iterable[str]) -> Iterator[list[Any]]:
        """Yield positions and keys of this crawler's entries, as many as one script takes."""
        owned = ((p, key) for key in dict.fromkeys(keys) for p in sorted(self._own.get(key, ())))
        while some := list(islice(owned, _ENTRIES)):
            yield [part for p, key in some for part in (p, key.encode())]

    def _let_go(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._own.pop(key, None)

    def confirm(self, keys: Iterable[str]) -> None:  # noqa: D102
        wanted = list(keys)
        with self._use():
            with self._unless_lost():
                for some in self._owned(wanted):
                    self._run("confirm", *some)
                self._squeeze()
            self._let_go(wanted)

    def release(self, keys: Iterable[str]) -> None:  # noqa: D102
        wanted = list(keys)
        with self._use():
            with self._unless_lost():
                for some in self._owned(wanted):
                    self._run("release", self._name, *some)
            self._let_go(wanted)

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        with self._use(), self._unless_lost():
            ends, head = self._heads(self._client.time() if now is None else now)
            for some in self._owned(keys):
                self._run("renew", self._name, ends, head[:8], *some)

    @contextlib.contextmanager
    def _unless_lost(self) -> Iterator[None]:
        """Do nothing about entries that were lost with their log."""
        try:
            yield
        except AnotherLog:
            self._open()

    def orphans(self, *, limit: int = 100, now: float | None = None) -> list[Orphan]:  # noqa: D102
        def adopt() -> list[Orphan]:
            at = self._client.time() if now is None else now
            ends, head = self._heads(at)
            most = min(limit, _ENTRIES)
            adopted, given_up = self._run("orphans", repr(at), ends, head, most, MAX_ADOPTIONS)
            for key in given_up:
                logger.warning(
                    "%s was adopted %d times and never finished: it is given up",
                    _text(key),
                    MAX_ADOPTIONS,
                )
            found = []
            for position, key, request in zip(*[iter(adopted)] * 3, strict=True):
                self._own.setdefault(_text(key), set()).add(position)
                found.append(Orphan(_text(key), _text(request)))
            return found

        return self._on_its_log(adopt)

    def unsettled(  # noqa: D102
        self, entries: Iterable[int], *, now: float | None = None
    ) -> Unsettled:
        asked = list(entries)

        def ask() -> Unsettled:
            at = self._client.time() if now is None else now
            fared: dict[bytes, set[int]] = {b"p": set(), b"g": set(), b"c": set()}
            for start in range(0, len(asked), _ENTRIES):
                some = asked[start : start + _ENTRIES]
                packed = b"".join(packed_entry(entry, self._generation) for entry in some)
                letters = self._run("unsettled", repr(at), packed)
                for i, entry in enumerate(some):
                    fared[letters[i : i + 1]].add(entry)
            return Unsettled(frozenset(fared[b"p"]), frozenset(fared[b"g"]))

        return self._on_its_log(ask)

    # All entries.

    def put(self, entries: Iterable[Entry]) -> int:  # noqa: D102
        count, rest = 0, iter(entries)
        while some := list(islice(rest, _PUT)):
            for entry in some:
                self.spec.check(entry.fingerprint, entry.facts, entry.key, entry.scope)
            count += self._on_its_log(lambda some=some: self._put(some))  # type: ignore[misc]
        return count

    def _put(self, entries: Sequence[Entry]) -> int:
        known = self._look([(entry.fingerprint, entry.scope) for entry in entries])
        new = {
            (entry.key, entry.scope, entry.fingerprint.value): entry
            for entry, near in zip(entries, known, strict=True)
            if not any(
                not other.distance and other.row.key == entry.key and not other.is_provisional
                for other in near
            )
        }
        if not new:
            return 0
        pages = sought([(entry.fingerprint, entry.scope) for entry in new.values()])
        records = self._records(pages)
        rows = [pack_row(Row(e.key, e.scope, e.facts, e.time)) for e in new.values()]
        while True:
            found = self._finder.arguments(pages)
            # In RAM nothing is to be found, only written.
            head = self._finder.head()[0] if self._in_redis else ""
            arguments = [
                part
                for record, row, own in zip(records, rows, found, strict=True)
                for part in (record, row, *own)
            ]
            answer = self._run("put", self.spec.distance, head, "", *arguments)
            if not self._refused(answer):
                break
        (first,) = answer
        for position in range(first, first + len(new)):
            if not position % _SQUEEZED and position >= 2 * _SQUEEZED:
                self._unsqueezed.append(position - 2 * _SQUEEZED)
        self._squeeze()
        return len(new)

    def _squeeze(self) -> None:
        """Let the rows of confirmed entries take fewer bytes."""
        while self._unsqueezed:
            first = self._unsqueezed[-1] // ROWS
            numbers = range(first, first + _SQUEEZED // ROWS)
            (contents,) = self._client.all([("HMGET", self._client.key("rows"), *numbers)])
            arguments: list[Any] = []
            for number, content in zip(numbers, contents, strict=True):
                if content and len(packed := squeeze_rows(content)) < len(content):
                    arguments += (number, len(content), packed)
            if arguments:
                self._run("squeeze", *arguments)
            self._unsqueezed.pop()

    def remove(self, keys: Iterable[str]) -> int:  # noqa: D102
        wanted = set(keys)

        def delete() -> int:
            found = [
                part
                for stored in self._scan()
                if stored.row.key in wanted
                for part in (stored.position, stored.value)
            ]
            count = 0
            for start in range(0, len(found), 2 * _ENTRIES):
                some = found[start : start + 2 * _ENTRIES]
                count += self._run("remove", *some)
                self._finder.forget(some[::2])
            return count

        return self._on_its_log(delete)

    def clear(self) -> None:  # noqa: D102
        with self._use():
            self._client.all([("UNLINK", *self._client.keys)])
            self._open()

    def _scan(self) -> Scan:
        return Scan(self._client, self._generation, self._geometry)

    def __len__(self) -> int:
        return self._on_its_log(lambda: self._scan().size()[0])

    def __iter__(self) -> Iterator[Entry]:
        len(self)
        entries = self._scan().with_blocks(self._finder if self._in_redis else None)
        while True:
            with self._use():
                try:
                    found = next(entries, None)
                except AnotherLog:
                    raise StoreUnavailable(f"{self._client.where} was cleared just now") from None
            if found is None:
                return
            stored, blocks = found
            value = int.from_bytes(stored.value, "big")
            row, bits = stored.row, self.spec.bits
            fingerprint = Fingerprint(in_scope(value, bits, row.scope), bits, blocks)
            yield Entry(row.key, fingerprint, row.scope, row.facts, row.time, stored.is_provisional)

    def census(self) -> Census:  # noqa: D102
        pages, provisional = self._on_its_log(lambda: self._scan().size())
        with self._use():
            return Census(pages, provisional, self._scan().bytes_of_parts())

    def close(self) -> None:  # noqa: D102
        if not self._closed:
            self._closed = True
            self._client.close()


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise StoreDamaged(f"{value!r:.80} in Redis is no text of an index") from error
