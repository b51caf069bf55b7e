"""A store in Redis, which is one log, or several: the *shards*, each in another slot of a cluster.

Pages of different scopes never match, so each shard decides about its scopes as if it
were alone. One of them, the *home*, has the name of the index itself, and the cells.
The position of an entry, divided by the number of shards, leaves the number of its
shard.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import xxhash
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from scrapy_simhash.fingerprint.normalisation import Uint32s
from scrapy_simhash.index.header import spec_in
from scrapy_simhash.index.lookups import SPREAD, Lookups
from scrapy_simhash.index.redis.client import Client, script
from scrapy_simhash.index.redis.location import parse_location, shards_in
from scrapy_simhash.index.redis.shard import (
    KEYS_AT_ONCE,
    LEAVES,
    PLACES,
    Shard,
    now,
    text_fields,
)
from scrapy_simhash.index.store import (
    Answer,
    Counts,
    PackedState,
    Part,
    Store,
    Stored,
    StoreMismatch,
    StoreMissing,
    StoreUnavailable,
    batches,
    readable,
)
from scrapy_simhash.index.values import IndexSpec
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Shards of a new index of pages with scopes on a cluster: as many on each of 3, 4, 6 or
# 8 nodes.
_SHARDS = 24
_SWAP = script("swap")
# A block value in the place of one that was lost; slices of a fingerprint are smaller.
_MISSING = (1 << 32) - 1
# A state that no entry has. Whoever expects it is refused, and told the entry's state.
_NEVER: PackedState = (0, b"-")


def open_redis(url: str, spec: IndexSpec | None) -> tuple[Store, IndexSpec]:
    """Open the store in Redis; without a spec, one that is there."""
    client = Client(parse_location(url))
    try:
        with readable(client.where):
            return _opened(client, spec)
    except BaseException:
        client.close()
        raise


def _opened(client: Client, spec: IndexSpec | None) -> tuple[Store, IndexSpec]:
    header = text_fields(client.call("HGETALL", client.key("meta")))
    if spec:
        _check_server(client)
    elif not header:
        names = ", ".join(client.names_beside())
        listed = f"; there are {names}" if names else ""
        raise StoreMissing(f"there is no {client.where.removeprefix('the ')}{listed}")
    spec = spec or spec_in(header)
    is_spread = spec.scoped and client.address.topology == "cluster"
    count = (
        client.address.shards
        or shards_in(header.get("shard", "").rpartition(" ")[2])
        or (_SHARDS if is_spread else 1)
    )
    return RedisStore(client, spec, count), spec


def _check_server(client: Client) -> None:
    """Refuse a Redis that is too old; warn of one that deletes parts of the index."""
    # not every user may ask, and then a script tells
    with contextlib.suppress(StoreUnavailable):
        version = client.call("INFO", "server").get("redis_version", "")
        if re.match(r"[1-5]\.|6\.[01]\.", version):
            raise StoreMismatch(
                f"{client.address.shown} is Redis {version}: the index needs 6.2 or newer"
            )
    with contextlib.suppress(StoreUnavailable):
        settings = client.call("CONFIG GET", "maxmemory*")
        policy = settings.get("maxmemory-policy", "noeviction")
        if policy != "noeviction" and settings["maxmemory"] != "0":
            logger.warning(
                "maxmemory-policy of %s is %s: when its memory is full, Redis deletes parts of the "
                "index, and pages are crawled twice; set it to noeviction",
                client.address.shown,
                policy,
            )


def hash_tags(name: str, count: int) -> list[str]:
    """Return the names of an index's shards, the first of them the name of the index.

    Each has an equal stretch of the slots for itself, so that nodes with as many slots
    have as many shards.
    """
    tags: dict[int, str] = {}
    for number in itertools.count():
        tag = f"{name}:{number}" if number else name
        tags.setdefault(key_slot(tag.encode()) * count // REDIS_CLUSTER_HASH_SLOTS, tag)
        if len(tags) == count:
            break
    return [*tags.values()]


class RedisStore:
    """See :class:`.Store`."""

    is_here = False

    def __init__(self, client: Client, spec: IndexSpec, count: int) -> None:
        self._client = client
        self._spec = spec
        # The home comes first: if it is of other shards, no other one is made.
        self._shards = [
            Shard(client, spec, name, number, count)
            for number, name in enumerate(hash_tags(client.address.name, count))
        ]
        self.close = client.close
        self.time = self._shards[0].time

    # Commits.

    def _shard_of(self, part: Part, lookups: Lookups | None) -> Shard:
        if lookups:
            scope = lookups.arrivals[part.members[0]].scope
            number = xxhash.xxh32_intdigest(scope.encode())
        else:
            number = next(iter(part.checks))
        return self._shards[number % len(self._shards)]

    def commit(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Answer:
        numbers = defaultdict[Shard, list[int]](list)
        for number, part in enumerate(parts):
            numbers[self._shard_of(part, lookups)].append(number)
        asked = {shard: [parts[n] for n in numbers[shard]] for shard in numbers}
        total = Answer({}, {}, {})
        written: dict[int, Sequence[int] | None] = {}
        for shard, answer in self._committed(asked, lookups).items():
            _extend(total, answer)
            written |= zip(numbers[shard], answer.written, strict=True)
        return total._replace(written=[written[n] for n in range(len(parts))])

    def _committed(
        self, parts: Mapping[Shard, Sequence[Part]], lookups: Lookups | None
    ) -> dict[Shard, Answer]:
        """Commit the parts of each shard; what they ask at a time is sent together."""
        looks = _looks(lookups, self._spec) if lookups else []
        answers: dict[Shard, Answer] = {}
        for _ in range(3):
            begun = now()
            waiting = [shard for shard in parts if shard not in answers]
            sent = self._client.send(
                [shard.commit_command(parts[shard], looks) for shard in waiting]
            )
            for shard, answer in zip(waiting, sent, strict=True):
                if len(answer) > 1:
                    answers[shard] = shard.answered(parts[shard], looks, answer, begun)
                else:
                    shard.begin()  # of another generation, or damaged, which shows here
            if len(answers) == len(parts):
                return answers
        raise StoreUnavailable("the index is deleted again and again")

    def find(self, lookups: Lookups) -> Answer:
        # The part is refused, and an entry that has a key may be of any scope.
        part = Part(range(len(lookups.arrivals)), {0: _NEVER})
        asked = {shard: [part] for shard in self._shards}
        total = Answer({}, {}, {})
        for answer in self._committed(asked, lookups).values():
            _extend(total, answer)
        return total

    # Reading.

    def read(self, positions: Collection[int]) -> dict[int, Stored]:
        parts = [Part(checks={position: _NEVER}) for position in positions]
        entries = self.commit(parts).entries
        # Another entry may have the place of one that was lost.
        return {at: entries[at] for at in positions if at in entries}

    def scan(
        self, after: int = 0, *, blocks: bool = False
    ) -> Iterator[tuple[int, Stored]]:
        for shard in self._shards[after % len(self._shards) :]:
            shard.begin()
            values = self._values(shard) if blocks else None
            # The position is in one shard; the others are read from their start.
            for position, stored in shard.entries(shard.place(after)):
                if values is not None:
                    blocks_of_entry = values[shard.place(position)].tobytes()
                    stored = stored._replace(content=stored.content + blocks_of_entry)
                yield position, stored

    def _values(self, shard: Shard) -> npt.NDArray[np.uint32]:
        """Return the block values of all entries by their places, shape (n, blocks).

        They are read leaf by leaf; one that no leaf has is ``_MISSING``.
        """
        values = np.full((shard.last + 1, self._spec.blocks), _MISSING, "<u4")
        gather = np.uint32(pow(int(SPREAD), -1, 1 << 32))
        for block, number, leaf in self._leaves(shard):
            # 19 bits of a value, and 29 of a place.
            entries = np.frombuffer(leaf, ">u2,>u4", len(leaf) // 6)
            entries = entries[entries["f1"] & PLACES - 1 <= shard.last]
            tags = entries["f0"].astype(np.uint32) << 3 | entries["f1"] >> 29
            places = entries["f1"] & PLACES - 1
            spread = tags << 13 | number % LEAVES
            values[places, block] = spread * gather
        return values

    def _leaves(self, shard: Shard) -> Iterator[tuple[int, int, bytes]]:
        """Yield the leaves of blocks, each with the numbers of its block and of itself."""
        for block in range(self._spec.blocks):
            for numbers in batches(range(shard.leaf_bound), KEYS_AT_ONCE):
                names = [shard.leaf(block, number) for number in numbers]
                leaves = self._client.call("MGET", *names)
                for number, leaf in zip(numbers, leaves, strict=True):
                    if leaf:  # nearly all leaves of a small index are missing
                        yield block, number, leaf

    # Cells.

    def cells(self, family: str) -> dict[str, bytes]:
        fields = self._client.call("HGETALL", self._cells(family))
        return {
            name.decode("utf-8", "replace"): value for name, value in fields.items()
        }

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        marked = [b"" if value is None else b"=" + value for value in (old, new)]
        answer = self._client.call(
            "EVALSHA", _SWAP, 1, self._cells(name), name, *marked
        )
        return bool(answer)

    def _cells(self, name: str) -> str:
        """Return the key of the cells of a family."""
        return self._client.key(f"cells:{name.partition(':')[0]}")

    # All of it.

    def counts(self) -> Counts:
        by_run = Counter[int]()
        provisional = 0
        for shard in self._shards:
            with readable(shard.where):
                header = self._client.call("HGETALL", shard.meta)
                for name, value in text_fields(header).items():
                    run, _, kind = name.partition(":")
                    # A number that cannot be is passed over; a check tells of it.
                    if kind == "pages" and 0 < int(value) < PLACES:
                        by_run[int(run)] += int(value)
            provisional += max(self._client.call("HLEN", shard.leases) - 1, 0)
        return Counts(dict(by_run), provisional)

    def check(self) -> list[str]:
        missing = 0
        for _, stored in self.scan(blocks=True):
            values = np.frombuffer(stored.content[self._spec.bits // 8 :], np.uint32)
            missing += int((values == _MISSING).sum())
        if missing:
            return [
                f"{missing} block values stand in no bucket: buckets are full, or gone"
            ]
        return []

    def clear(self) -> None:
        for shard in self._shards:
            # Together, because an index of which only a part is there is a damaged one.
            # From now on other crawlers write into another generation.
            self._client.call("UNLINK", shard.meta, shard.leases)
            shard.begin()
        # Groups and leaves go, of every log that was ever cleared.
        for keys in batches(self._client.scan("{*}:????[:;]*"), KEYS_AT_ONCE):
            for shard in self._shards:
                shard.begin()  # after the keys were read, which are no newer
                prefix = shard.prefix.encode()
                living = prefix + shard.generation.encode()
                ours = (key for key in keys if key.startswith(prefix))
                ended = [key for key in ours if not key.startswith(living)]
                self._client.send([("UNLINK", key) for key in ended])


def _extend(total: Answer, more: Answer) -> None:
    """Add what a shard has found; the entries of a key may be in several."""
    for number, near in more.near.items():
        total.near[number] = sorted(total.near.get(number, []) + near)
    total.entries.update(more.entries)
    total.ends.update(more.ends)


def _looks(lookups: Lookups, spec: IndexSpec) -> list[bytes]:
    """Return for each page its fingerprint and its values, with its aliases' values last."""
    rows = _packed(lookups.sought[1])
    end = len(lookups.contents)
    looks = [
        content[: spec.bits // 8] + row.tobytes()
        for content, row in zip(lookups.contents, rows[:end], strict=True)
    ]
    for number, row in zip(lookups.pages[end:], rows[end:], strict=True):
        looks[number] += row[-1].tobytes()
    return looks


def _packed(values: Uint32s) -> npt.NDArray[np.uint8]:
    """Return values in 6 bytes each: the column, and the value's last and first bits."""
    columns = np.arange(values.shape[-1], dtype=np.uint64)
    spread = (values * SPREAD).astype(np.uint64)
    packed = columns << 40 | (spread & 0x1FFF) << 24 | spread >> 13 << 5
    return packed.astype(">u8").view(np.uint8).reshape(*values.shape, 8)[..., 2:]
