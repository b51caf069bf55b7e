"""A store whose scopes are spread over several, each in a slot of its own of a cluster.

Pages of different scopes never match, so each decides about its scopes as if it were alone. One of
them, the *home*, has the name of the index itself, and the cells. The position of an entry is that
in its store, times the number of stores, and the number of its store.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import xxhash
from redis.crc import key_slot

from scrapy_simhash.index.lookups import Lookups
from scrapy_simhash.index.redis.client import Client, Talk
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.redis.redis_store import (
    RedisStore,
    check_server,
    count_of_shards,
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
    count = (client.call("HGET", client.key("meta"), "shards") or b"").decode("utf-8", "replace")
    # A shard of another index is refused when it is opened.
    return count_of_shards(count, client) if count and " of " not in count else 0


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

    looks_first = False

    def __init__(self, stores: Sequence[RedisStore], home: RedisStore) -> None:
        self._stores, self._home, self._count = stores, home, len(stores)
        self.time, self.cells, self.swap, self.close = home.time, home.cells, home.swap, home.close

    @property
    def flooded(self) -> int:
        return sum(store.flooded for store in self._stores)

    def _number(self, scope: str) -> int:
        number: int = xxhash.xxh32_intdigest(scope.encode()) % self._count
        return number

    def _inside(self, values: Mapping[int, T]) -> dict[int, T]:
        return {at // self._count: value for at, value in values.items()}

    def _outside(self, number: int, values: Mapping[int, T]) -> dict[int, T]:
        return {at * self._count + number: value for at, value in values.items()}

    def _found(self, answers: Mapping[int, Found]) -> Found:
        """Return what the stores have found with positions as they are outside."""
        merged = Found({}, {}, {})
        for number, answer in answers.items():
            for page, pairs in answer.near.items():
                near = [(distance, at * self._count + number) for distance, at in pairs]
                merged.near[page] = sorted(merged.near.get(page, []) + near)
                merged.ends[page] = answer.ends[page] * self._count + number
            merged.entries.update(self._outside(number, answer.entries))
        return merged

    def _together(self, talks: Mapping[int, Talk[T]]) -> dict[int, T]:
        answers = self._home.client.together([*talks.values()])
        return dict(zip(talks, answers, strict=True))

    def commit(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Answer:
        split = defaultdict[int, list[int]](list)
        for place, part in enumerate(parts):
            split[self._store_of(part, lookups)].append(place)
        talks = {
            number: self._stores[number].committing(
                [
                    part._replace(
                        checks=self._inside(part.checks),
                        writes=self._inside(part.writes),
                        since=part.since // self._count,
                    )
                    for part in map(parts.__getitem__, places)
                ],
                lookups,
            )
            for number, places in split.items()
        }
        answers = self._together(talks)
        written: list[Sequence[int] | None] = [None] * len(parts)
        for number, answer in answers.items():
            for place, positions in zip(split[number], answer.written, strict=True):
                if positions is not None:
                    written[place] = [at * self._count + number for at in positions]
        found = self._found({number: answer.found for number, answer in answers.items()})
        return Answer(written, found)

    def _store_of(self, part: Part, lookups: Lookups | None) -> int:
        if part.members and lookups:
            return self._number(lookups.arrivals[part.members[0]].scope)
        return next(iter(part.checks)) % self._count

    def find(self, lookups: Lookups) -> Found:
        split = defaultdict[int, list[int]](list)
        for page, arrival in enumerate(lookups.arrivals):
            numbers = range(self._count) if lookups.everywhere else [self._number(arrival.scope)]
            for number in numbers:
                split[number].append(page)
        talks = {n: self._stores[n].finding(lookups, pages) for n, pages in split.items()}
        return self._found(self._together(talks))

    def read(self, positions: Collection[int]) -> dict[int, Stored]:
        split = defaultdict[int, list[int]](list)
        for position in positions:
            split[position % self._count].append(position // self._count)
        talks = {number: self._stores[number].reading(own) for number, own in split.items()}
        stored: dict[int, Stored] = {}
        for number, rows in self._together(talks).items():
            stored |= self._outside(number, rows)
        return stored

    def scan(self, after: int, most: int, *, blocks: bool = False) -> list[tuple[int, Stored]]:
        first, place = after % self._count, after // self._count
        for number in range(first, self._count):
            if rows := self._stores[number].scan(place, most, blocks=blocks):
                return [*self._outside(number, dict(rows)).items()]
            place = 0
        return []

    def counts(self) -> Counts:
        counts = [store.counts() for store in self._stores]
        by_run = sum((Counter(count.by_run) for count in counts), Counter[int]())
        return Counts(dict(by_run), sum(count.provisional for count in counts))

    def sizes(self) -> dict[str, int]:
        return dict(sum((Counter(store.sizes()) for store in self._stores), Counter[str]()))

    def check(self) -> list[str]:
        texts = ((n, text) for n, store in enumerate(self._stores) for text in store.check())
        return [f"shard {number}: {text}" for number, text in texts]

    def clear(self) -> None:
        for store in self._stores:
            store.clear()
