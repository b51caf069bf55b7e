"""A store whose scopes are spread over several, each in a slot of its own of a cluster.

Pages of different scopes never match, so each decides about its scopes as if it were alone. One of
them, the *home*, has the name of the index itself, and the cells. The position of an entry is that
in its store, times the number of stores, and the number of its store.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import xxhash
from redis.crc import key_slot

from scrapy_simhash.index.lookups import Lookups
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.redis.redis_store import (
    RedisStore,
    check_server,
    commit_together,
    find_together,
    read_together,
    speaking_redis,
    stored_spec,
)
from scrapy_simhash.index.values import IndexSpec
from scrapy_simhash.index.verbs import Answer, Counts, Found, Part, Store, Stored

_SLOTS = 1 << 14
# Shards of a new index of pages with scopes on a cluster: as many on each of 3, 4, 6 or 8 nodes.
_SHARDS = 24

T = TypeVar("T")


def open_redis(url: str, spec: IndexSpec | None) -> tuple[Store, IndexSpec]:
    """Open the store in Redis; without a spec, one that is there."""
    client = Client(parse_location(url))
    address = client.address
    try:
        with speaking_redis(client):
            count = address.shards
            if spec is None:
                spec, count = stored_spec(client)
            else:
                check_server(client)
                count = count or _stored_count(client)
            count = count or (_SHARDS if spec.scoped and address.topology == "cluster" else 1)
            if count == 1:
                return RedisStore(client, spec, {"shards": "1"}), spec
            home = RedisStore(client, spec, {"shards": str(count)})
            stores = [
                home
                if tag == address.name
                else RedisStore(client.of_shard(tag), spec, {"shards": f"{number} of {count}"})
                for number, tag in enumerate(hash_tags(address.name, count))
            ]
            return ShardedStore(stores, home), spec
    except BaseException:
        client.close()
        raise


def _stored_count(client: Client) -> int:
    count = client.call("HGET", client.key("meta"), "shards") or b""
    return int(count) if count.isdigit() else 0


def hash_tags(name: str, count: int) -> list[str]:
    """Return the tags of an index's shards, one of them the name of the index.

    Each has an equal stretch of the slots for itself, so that nodes with as many slots have as many
    shards.
    """
    tags: dict[int, str] = {}
    for number in itertools.count():
        tag = f"{name}:{number}" if number else name
        tags.setdefault(key_slot(tag.encode()) * count // _SLOTS, tag)
        if len(tags) == count:
            break
    return [tags[stretch] for stretch in range(count)]


class ShardedStore:
    """See :class:`.Store`."""

    looks_first = is_here = False

    def __init__(self, stores: Sequence[RedisStore], home: RedisStore) -> None:
        self._stores, self._home = stores, home

    @property
    def flooded(self) -> int:
        return sum(store.flooded for store in self._stores)

    def time(self) -> float:
        return self._home.time()

    def _number(self, scope: str) -> int:
        number: int = xxhash.xxh32_intdigest(scope.encode()) % len(self._stores)
        return number

    def _split(self, positions: Iterable[int]) -> dict[int, list[int]]:
        """Return positions in their stores by the stores' numbers."""
        split = defaultdict[int, list[int]](list)
        for position in positions:
            split[position % len(self._stores)].append(position // len(self._stores))
        return split

    def _inside(self, values: Mapping[int, T]) -> dict[int, T]:
        return {at // len(self._stores): value for at, value in values.items()}

    def _outside(self, number: int, values: Mapping[int, T]) -> dict[int, T]:
        return {at * len(self._stores) + number: value for at, value in values.items()}

    def _found(self, number: int, answer: Found) -> Found:
        """Return what a store has found with positions as they are outside."""
        count = len(self._stores)
        near = {
            n: [(d, at * count + number) for d, at in pairs] for n, pairs in answer.near.items()
        }
        ends = {n: end * count + number for n, end in answer.ends.items()}
        return Found(near, self._outside(number, answer.entries), ends)

    def commit(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Answer:
        split = defaultdict[int, list[int]](list)
        for place, part in enumerate(parts):
            split[self._store_of(part, lookups)].append(place)
        jobs = []
        for number, places in split.items():
            inside = [
                Part(
                    members,
                    self._inside(checks),
                    new,
                    self._inside(writes),
                    since // len(self._stores),
                )
                for members, checks, new, writes, since in (parts[place] for place in places)
            ]
            jobs.append((self._stores[number], inside, lookups))
        written: list[Sequence[int] | None] = [None] * len(parts)
        merged = Found({}, {}, {})
        for (number, places), answer in zip(split.items(), commit_together(jobs), strict=True):
            for place, positions in zip(places, answer.written, strict=True):
                if positions is not None:
                    written[place] = [at * len(self._stores) + number for at in positions]
            merged.update(self._found(number, answer.found))
        return Answer(written, merged)

    def _store_of(self, part: Part, lookups: Lookups | None) -> int:
        if part.members and lookups:
            return self._number(lookups.arrivals[part.members[0]].scope)
        return next(iter(part.checks)) % len(self._stores)

    def find(self, lookups: Lookups) -> Found:
        split = defaultdict[int, list[int]](list)
        for page, arrival in enumerate(lookups.arrivals):
            for number in range(len(self._stores)):
                if lookups.everywhere or number == self._number(arrival.scope):
                    split[number].append(page)
        answers = find_together([(self._stores[n], lookups, pages) for n, pages in split.items()])
        merged = Found({}, {}, {})
        for number, part in zip(split, answers, strict=True):
            near, entries, ends = self._found(number, part)
            for page, pairs in near.items():
                merged.near[page] = sorted(merged.near.get(page, []) + pairs)
            merged.entries.update(entries)
            merged.ends.update(ends)
        return merged

    def read(self, positions: Collection[int], *, contents: bool = False) -> dict[int, Stored]:
        del contents  # they are there in any case
        split = self._split(positions)
        jobs = [(self._stores[n], self._stores[n].places(some)) for n, some in split.items()]
        stored: dict[int, Stored] = {}
        for number, rows in zip(split, read_together(jobs), strict=True):
            stored |= self._outside(number, dict(rows))
        return {at: stored[at] for at in positions if at in stored}

    def scan(self, after: int, most: int, *, blocks: bool = False) -> list[tuple[int, Stored]]:
        first, place = after % len(self._stores), after // len(self._stores)
        for number in range(first, len(self._stores)):
            if rows := self._stores[number].scan(place, most, blocks=blocks):
                return [*self._outside(number, dict(rows)).items()]
            place = 0
        return []

    def cells(self, prefix: str) -> dict[str, bytes]:
        return self._home.cells(prefix)

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        return self._home.swap(name, old, new)

    def counts(self) -> Counts:
        counts = [store.counts() for store in self._stores]
        by_run = sum((Counter(count.by_run) for count in counts), Counter[int]())
        return Counts(dict(by_run), sum(count.provisional for count in counts))

    def sizes(self) -> dict[str, int]:
        sizes = (Counter(store.sizes()) for store in self._stores)
        return dict(sum(sizes, Counter[str]()))

    def check(self) -> list[str]:
        return [
            f"shard {number}: {text}"
            for number, store in enumerate(self._stores)
            for text in store.check()
        ]

    def clear(self) -> None:
        for store in self._stores:
            store.clear()

    def close(self) -> None:
        self._home.close()
