"""A store whose scopes are spread over several stores, each in another slot of a cluster.

Pages of different scopes never match, so each decides about its scopes as if it were alone. One of
them, the *home*, has the name of the index itself, and the cells. The position of an entry, divided
by the number of stores, leaves the number of its store.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import xxhash
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from scrapy_simhash.index.lookups import Lookups
from scrapy_simhash.index.redis.client import Client, Talk
from scrapy_simhash.index.redis.location import MOST_SHARDS, parse_location
from scrapy_simhash.index.redis.redis_store import (
    RedisStore,
    check_server,
    stored_header,
    stored_spec,
)
from scrapy_simhash.index.store import (
    Answer,
    Counts,
    Found,
    Part,
    Store,
    Stored,
    StoreDamaged,
    StoreRefused,
)
from scrapy_simhash.index.values import IndexSpec

# Shards of a new index of pages with scopes on a cluster: as many on each of 3, 4, 6 or 8 nodes.
_SHARDS = 24

T = TypeVar("T")


def open_redis(url: str, spec: IndexSpec | None) -> tuple[Store, IndexSpec]:
    """Open the store in Redis; without a spec, one that is there."""
    client = Client(parse_location(url))
    address = client.address
    try:
        header = stored_header(client)
        if spec is None:
            spec = stored_spec(header, client)
        else:
            check_server(client)
        count = address.shards or _stored_count(header, client)
        count = count or (_SHARDS if spec.scoped and address.topology == "cluster" else 1)
        return _open_shards(client, spec, count), spec
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # other types of answers
        client.close()
        raise StoreRefused(f"{address.shown} does not answer as Redis does: {error}") from error
    except BaseException:
        client.close()
        raise


def _open_shards(client: Client, spec: IndexSpec, count: int) -> Store:
    name = client.address.name
    tags = hash_tags(name, count)
    # If the home is of other shards, no other one is made.
    home = RedisStore(client, spec, tags.index(name), count)
    stores = [
        home
        if tag == name
        else RedisStore(client.of_shard(tag), spec, number, count, f"{number} of {count}")
        for number, tag in enumerate(tags)
    ]
    return home if count == 1 else ShardedStore(stores, home)


def _stored_count(header: Mapping[str, str], client: Client) -> int:
    """Return the number of shards of an index, 0 if the header does not say."""
    text = header.get("shards", "")
    if not text or " of " in text:  # a shard of another index is refused when it is opened
        return 0
    if not (text.isdecimal() and 0 < int(text) <= MOST_SHARDS):
        raise StoreDamaged(f"{client.where} has a damaged header: it has {text!r} shards")
    return int(text)


def hash_tags(name: str, count: int) -> list[str]:
    """Return the tags of an index's shards, one of them the name of the index.

    Each has an equal stretch of the slots for itself, so that nodes with as many slots have as many
    shards.
    """
    tags: dict[int, str] = {}
    for number in itertools.count():
        tag = f"{name}:{number}" if number else name
        tags.setdefault(key_slot(tag.encode()) * count // REDIS_CLUSTER_HASH_SLOTS, tag)
        if len(tags) == count:
            break
    return [tags[stretch] for stretch in range(count)]


class ShardedStore:
    """See :class:`.Store`."""

    is_here = False

    def __init__(self, stores: Sequence[RedisStore], home: RedisStore) -> None:
        self._stores = stores
        self._client = home.client
        self.time = home.time
        self.cells = home.cells
        self.swap = home.swap
        self.close = home.close

    def _number(self, scope: str) -> int:
        number: int = xxhash.xxh32_intdigest(scope.encode()) % len(self._stores)
        return number

    def _together(self, talks: Mapping[int, Talk[T]]) -> dict[int, T]:
        return dict(zip(talks, self._client.together([*talks.values()]), strict=True))

    def commit(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Answer:
        split = defaultdict[int, list[int]](list)
        for place, part in enumerate(parts):
            if part.members and lookups:
                number = self._number(lookups.arrivals[part.members[0]].scope)
            else:
                number = next(iter(part.checks)) % len(self._stores)
            split[number].append(place)
        talks = {
            number: self._stores[number].committing([parts[place] for place in places], lookups)
            for number, places in split.items()
        }
        written = dict[int, Sequence[int] | None]()
        found = Found({}, {}, {})
        for number, answer in self._together(talks).items():
            written |= dict(zip(split[number], answer.written, strict=True))
            found.update(answer.found)
        return Answer([written[place] for place in range(len(parts))], found)

    def find(self, lookups: Lookups) -> Found:
        everywhere = range(len(self._stores))
        split = defaultdict[int, list[int]](list)
        for page, arrival in enumerate(lookups.arrivals):
            for number in everywhere if lookups.everywhere else [self._number(arrival.scope)]:
                split[number].append(page)
        talks = {number: self._stores[number].finding(lookups, split[number]) for number in split}
        found = Found({}, {}, {})
        for answer in self._together(talks).values():
            found.update(answer)
        return found

    def read(self, positions: Collection[int]) -> dict[int, Stored]:
        split = defaultdict[int, list[int]](list)
        for position in positions:
            split[position % len(self._stores)].append(position)
        talks = {number: self._stores[number].reading(group) for number, group in split.items()}
        return {at: row for rows in self._together(talks).values() for at, row in rows.items()}

    def scan(self, after: int, most: int, *, blocks: bool = False) -> list[tuple[int, Stored]]:
        for store in self._stores[after % len(self._stores) :]:
            if rows := store.scan(after, most, blocks=blocks):
                return rows
            after = 0
        return []

    def counts(self) -> Counts:
        counts = [store.counts() for store in self._stores]
        by_run = sum((Counter(count.by_run) for count in counts), Counter[int]())
        return Counts(dict(by_run), sum(count.provisional for count in counts))

    def size(self) -> int:
        return sum(store.size() for store in self._stores)

    def check(self) -> list[str]:
        texts = ((n, text) for n, store in enumerate(self._stores) for text in store.check())
        return [f"shard {number}: {text}" for number, text in texts]

    def clear(self) -> None:
        for store in self._stores:
            store.clear()
