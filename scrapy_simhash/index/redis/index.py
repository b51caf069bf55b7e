"""The index in Redis: many crawlers on many machines.

Decisions are made in one place: a script looks for what is near a page, and appends the page to the
log if nothing is. With buckets in Redis it looks into them itself; with buckets in the RAM of the
crawlers it gets what is near from the caller, and compares with what was admitted since the caller
looked. So a claim is safe however old the caller's view is, and a page that is near nothing, or
near a living copy, costs one request. What is near comes back with its facts; where it is judged to
be another page, the claim is repeated with its position.

All keys of an index lie in one slot, so in a cluster it is on one node.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

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
)
from scrapy_simhash.index.redis.claims import (
    Claimant,
    Near,
    in_colours,
    mates,
    packed_entry,
    read_near,
    sought,
)
from scrapy_simhash.index.redis.finders import AnotherLog, Sought
from scrapy_simhash.index.redis.rows import ROWS, Row, pack_row, squeeze_rows
from scrapy_simhash.index.redis.scan import Scan
from scrapy_simhash.index.redis.session import Session

logger = logging.getLogger(__name__)

# Pages, and entries, of one call of a script.
_PAGES = 32
_ENTRIES = 128
# Requests of one claim that bring it no nearer to an answer, because others are faster.
_ATTEMPTS = 100
# Positions whose rows are squeezed at a time, once as many positions follow them: by then most of
# their entries are confirmed.
_SQUEEZED = 16 * ROWS


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
        self._session = Session(url, spec)
        self._client = self._session.client
        self._flooded = 0
        # Rows that can be squeezed begin here.
        self._unsqueezed: list[int] = []

    # Claims.

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        for page in arrivals:
            self.spec.check(page.fingerprint, page.facts, page.key, page.scope, page.request)
        answers: dict[int, Claim] = {}

        def claim() -> list[Claim]:
            # Judgements in a log that was lost play no part.
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

        return self._session.on_its_log(claim)

    def _submit(self, claimants: Sequence[Claimant], now: float | None) -> list[Claim | None]:
        """Let the script decide; return the answers, None for pages that have to claim again."""
        at, ends, head = self._session.leases(now)
        arrivals = [claimant.arrival for claimant in claimants]
        pages = sought([(arrival.fingerprint, arrival.scope) for arrival in arrivals])
        records = self._records(pages)
        together = mates(pages, arrivals, self.spec.distance)
        found = self._session.finder.arguments(pages)
        arguments: list[bytes] = []
        for claimant, record, near, own in zip(claimants, records, together, found, strict=True):
            arrival = claimant.arrival
            row = pack_row(Row(arrival.key, arrival.scope, arrival.facts, at))
            request = (arrival.request or "").encode()
            arguments += (record, row, request, *claimant.judged(), near, *own)
        asked = (self.spec.distance, *self._session.finder.head(), repr(at), ends, head)
        answer = self._session.run("claim", *asked, *arguments)
        if self._session.refused(answer):
            return [None] * len(claimants)
        results, told, flooded, lesson = answer
        new = [r for r, result in zip(records, results, strict=True) if isinstance(result, int)]
        self._take_in(flooded, lesson, new)
        judged = [result for result in results if isinstance(result, list)]
        described = iter(read_near(judged, told, self._session.generation))
        answers: list[Claim | None] = []
        for claimant, result in zip(claimants, results, strict=True):
            if isinstance(result, int):
                self._admit(claimant, result)
                answers.append(Claim(Outcome.ORIGINAL, (), claimant.near()))
            else:
                answers.append(self._judge(claimant, next(described), at))
        return answers

    def _take_in(self, flooded: int, lesson: bytes, admitted: Sequence[bytes]) -> None:
        """Take in what a script tells beside its answers."""
        self._session.finder.took(lesson, admitted)
        self._flooded += flooded
        self.flooded = self._flooded + self._session.finder.flooded

    def _records(self, pages: Sought) -> list[bytes]:
        """Return what the log gets of some pages."""
        if self._session.geometry.in_redis:
            return pages.fingerprints
        blocks = pages.blocks.astype("<u4")
        return [
            fingerprint + own.tobytes()
            for fingerprint, own in zip(pages.fingerprints, blocks, strict=True)
        ]

    def _admit(self, claimant: Claimant, position: int) -> None:
        self._session.own.setdefault(claimant.arrival.key, set()).add(position)
        self._session.finder.forget(list(claimant.expired))
        self._note_unsqueezed([position])

    def _note_unsqueezed(self, admitted: Iterable[int]) -> None:
        for position in admitted:
            if not position % _SQUEEZED and position >= 2 * _SQUEEZED:
                self._unsqueezed.append(position - 2 * _SQUEEZED)

    def _judge(self, claimant: Claimant, near: Sequence[Near], now: float) -> Claim | None:
        for entry in near:
            if entry.is_provisional and entry.row.key == claimant.arrival.key:
                # The script has leased it to this crawler.
                self._session.own.setdefault(entry.row.key, set()).add(entry.position)
        return claimant.hear(near, now, self.spec.judge)

    def query(  # noqa: D102
        self, fingerprint: Fingerprint, *, scope: str = ""
    ) -> list[Neighbour]:
        self.spec.check(fingerprint)
        (near,) = self._session.on_its_log(lambda: self._look([(fingerprint, scope)]))
        return [entry.neighbour() for entry in near]

    def _look(self, fingerprints: Sequence[tuple[Fingerprint, str]]) -> list[list[Near]]:
        """Return what is near some fingerprints, given with their scopes."""
        found: list[list[Near]] = []
        while len(found) < len(fingerprints):
            pages = sought(fingerprints[len(found) : len(found) + _PAGES])
            own = self._session.finder.arguments(pages)
            arguments = [
                part
                for fingerprint, parts in zip(pages.fingerprints, own, strict=True)
                for part in (fingerprint, *parts)
            ]
            answer = self._session.run(
                "look", self.spec.distance, *self._session.finder.head(), *arguments
            )
            if self._session.refused(answer):
                continue
            results, told, flooded, lesson = answer
            self._take_in(flooded, lesson, [])
            found += read_near(results, told, self._session.generation)
        return found

    # The life of an entry.

    def _owned(self, keys: Iterable[str]) -> Iterator[list[Any]]:
        """Yield positions and keys of this crawler's entries, as many as one script takes."""
        owned = (
            (p, key) for key in dict.fromkeys(keys) for p in sorted(self._session.own.get(key, ()))
        )
        while some := list(islice(owned, _ENTRIES)):
            yield [part for p, key in some for part in (p, key.encode())]

    def _let_go(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._session.own.pop(key, None)

    def confirm(self, keys: Iterable[str]) -> None:  # noqa: D102
        wanted = list(keys)
        with self._session.use():
            with self._unless_lost():
                for some in self._owned(wanted):
                    self._session.run("confirm", *some)
                self._squeeze()
            self._let_go(wanted)

    def release(self, keys: Iterable[str]) -> None:  # noqa: D102
        wanted = list(keys)
        with self._session.use():
            with self._unless_lost():
                for some in self._owned(wanted):
                    self._session.run("release", self._session.name, *some)
            self._let_go(wanted)

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        with self._session.use(), self._unless_lost():
            _, ends, head = self._session.leases(now)
            for some in self._owned(keys):
                self._session.run("renew", self._session.name, ends, head[:8], *some)

    @contextlib.contextmanager
    def _unless_lost(self) -> Iterator[None]:
        """Do nothing about entries that were lost with their log."""
        try:
            yield
        except AnotherLog:
            self._session.begin()

    def orphans(self, *, limit: int = 100, now: float | None = None) -> list[Orphan]:  # noqa: D102
        def adopt() -> list[Orphan]:
            at, ends, head = self._session.leases(now)
            most = min(limit, _ENTRIES)
            adopted, given_up = self._session.run(
                "orphans", repr(at), ends, head, most, MAX_ADOPTIONS
            )
            for key in given_up:
                logger.warning(
                    "%s was adopted %d times and never finished: it is given up",
                    _text(key),
                    MAX_ADOPTIONS,
                )
            found = []
            for position, key, request in zip(*[iter(adopted)] * 3, strict=True):
                self._session.own.setdefault(_text(key), set()).add(position)
                found.append(Orphan(_text(key), _text(request)))
            return found

        return self._session.on_its_log(adopt)

    def unsettled(  # noqa: D102
        self, entries: Iterable[int], *, now: float | None = None
    ) -> Unsettled:
        asked = list(entries)

        def ask() -> Unsettled:
            at, _, _ = self._session.leases(now)
            fared: dict[bytes, set[int]] = {b"p": set(), b"g": set(), b"c": set()}
            for start in range(0, len(asked), _ENTRIES):
                some = asked[start : start + _ENTRIES]
                packed = b"".join(packed_entry(entry, self._session.generation) for entry in some)
                letters = self._session.run("unsettled", repr(at), packed)
                for i, entry in enumerate(some):
                    fared[letters[i : i + 1]].add(entry)
            return Unsettled(frozenset(fared[b"p"]), frozenset(fared[b"g"]))

        return self._session.on_its_log(ask)

    # All entries.

    def put(self, entries: Iterable[Entry]) -> int:  # noqa: D102
        count, rest = 0, iter(entries)
        while some := list(islice(rest, _PAGES)):
            for entry in some:
                self.spec.check(entry.fingerprint, entry.facts, entry.key, entry.scope)
            count += self._session.on_its_log(partial(self._put, some))
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
        rest = list(new.values())
        while rest:
            pages = sought([(entry.fingerprint, entry.scope) for entry in rest])
            rows = [pack_row(Row(e.key, e.scope, e.facts, e.time)) for e in rest]
            found = self._session.finder.arguments(pages)
            arguments = [
                part
                for record, row, own in zip(self._records(pages), rows, found, strict=True)
                for part in (record, row, *own)
            ]
            # In RAM nothing is to be found, only written.
            head = self._session.finder.head()[0] if self._session.geometry.in_redis else ""
            answer = self._session.run("put", self.spec.distance, head, "", *arguments)
            if not self._session.refused(answer):
                first, count = answer
                del rest[:count]
                self._note_unsqueezed(range(first, first + count))
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
                self._session.run("squeeze", *arguments)
            self._unsqueezed.pop()

    def remove(self, keys: Iterable[str]) -> int:  # noqa: D102
        wanted = set(keys)

        def delete() -> int:
            found = [stored for stored in self._scan() if stored.row.key in wanted]
            count = 0
            for start in range(0, len(found), _ENTRIES):
                some = found[start : start + _ENTRIES]
                named = [part for stored in some for part in (stored.position, stored.value)]
                count += self._session.run("remove", *named)
                self._session.finder.forget([stored.position for stored in some])
            return count

        return self._session.on_its_log(delete)

    def clear(self) -> None:  # noqa: D102
        with self._session.use():
            self._client.all([("UNLINK", *self._client.keys)])
            self._session.begin()

    def _scan(self) -> Scan:
        return Scan(self._client, self._session.generation, self._session.geometry)

    def __len__(self) -> int:
        return self._session.on_its_log(lambda: self._scan().size()[0])

    def __iter__(self) -> Iterator[Entry]:
        len(self)
        entries = self._scan().with_blocks(
            self._session.finder if self._session.geometry.in_redis else None
        )
        while True:
            with self._session.use():
                try:
                    found = next(entries, None)
                except AnotherLog:
                    raise StoreUnavailable(f"{self._client.where} was cleared just now") from None
            if found is None:
                return
            stored, blocks = found
            value = int.from_bytes(stored.value, "big")
            row, bits = stored.row, self.spec.bits
            fingerprint = Fingerprint(in_colours(value, bits, row.scope), bits, blocks)
            yield Entry(row.key, fingerprint, row.scope, row.facts, row.time, stored.is_provisional)

    def census(self) -> Census:  # noqa: D102
        pages, provisional = self._session.on_its_log(lambda: self._scan().size())
        with self._session.use():
            return Census(pages, provisional, self._scan().bytes_of_parts())

    def close(self) -> None:  # noqa: D102
        self._session.close()


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise StoreDamaged(f"{value!r:.80} in Redis is no text of an index") from error
