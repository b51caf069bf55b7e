"""A store in Redis: lists of entries, and leaves of values, which are appended to.

``commit.lua`` tells what the keys hold. Outside, the position of an entry has more digits than its
*place* in Redis: the generation of the index before it, so that an entry of a deleted index is not
taken for one of its successor, and a checksum of the entry behind
it, because a crash or a failover that loses the end of the log lets its places be used again.
"""

from __future__ import annotations

import contextlib
import math
import re
import secrets
import struct
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, groupby, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.hashing import Uint64s
from scrapy_simhash.fingerprint.normalisation import Uint32s
from scrapy_simhash.fingerprint.recipe import reach_of
from scrapy_simhash.index.lookups import SPREAD, Lookups
from scrapy_simhash.index.redis.client import Client, Talk, script
from scrapy_simhash.index.store import (
    Answer,
    Counts,
    Found,
    Part,
    Stored,
    StoreDamaged,
    StoreMismatch,
    StoreMissing,
    StoreUnavailable,
)
from scrapy_simhash.index.values import BUCKET_LIMIT, KEY_LIMIT, IndexSpec
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

FORMAT = 17
# Positions in a group of entries, as in commit.lua.
_GROUP = 32
# Leaves of a block in a small index, as in commit.lua.
_LEAVES = 1 << 13
# Bits of a place, and of a checksum.
_PLACE = 32
_CHECK = 16
_POSITIONS = 2**29  # as in commit.lua
# A clock that goes on while the machine sleeps, if there is one.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_PART_HEAD = struct.Struct(">5HI")
# Keys that one command reads or deletes.
_KEYS = 1024
_COMMIT, _OPEN, _SWAP = map(script, ("commit", "open", "swap"))
# A state that no entry has, at a position that no entry has.
_NEVER: dict[int, bytes] = {0: b"-"}


class _Result(NamedTuple):
    """The answer of ``commit.lua``.

    Attributes:
        last: the last place that has an entry.
        seconds, microseconds: the time of Redis.
        firsts: for each part, the place of its first new entry; below 0 if it was refused, and -1
            if its pages were looked at.
        looks: for each of these pages, the entries near it: distances and places by turns.
        places: those of all these entries.
        rows: their states and contents by turns.
    """

    generation: bytes
    last: int
    seconds: bytes
    microseconds: bytes
    firsts: list[int]
    looks: list[list[int]]
    places: list[int]
    rows: list[bytes]


class RedisStore:
    """See :class:`.Store`.

    Args:
        shard: its number among ``shards`` ones, by which their positions differ.
        shown: the shard as the header has it; the header of the whole index has their number.

    Raises:
        StoreMismatch: the index there is another one.
    """

    is_here = False

    def __init__(
        self,
        client: Client,
        spec: IndexSpec,
        shard: int,
        shards: int,
        shown: str = "",
    ) -> None:
        self.client = client
        self._spec = spec
        self._width = spec.bits // 8
        self._shard = shard
        self._shards = shards
        self._meta, self._leases, self._prefix = map(client.key, ("meta", "leases", ""))
        self._asked = {
            "format": str(FORMAT),
            "recipe": spec.recipe,
            "bits": str(spec.bits),
            "blocks": str(spec.blocks),
            "shards": shown or str(shards),
        }
        self._base = self._last = 0
        self._ahead = -math.inf
        self._begin()

    def _begin(self) -> None:
        """Read or make the header, and go on with the log that is there now."""
        fields = {"distance": str(self._spec.distance), "last": str(self._last)}
        fields |= {**self._asked, "generation": secrets.token_hex(4)}
        before = time.clock_gettime(_BOOT_CLOCK)
        answer, is_whole, now = self.client.call(
            "EVALSHA", _OPEN, 2, self._meta, self._leases, *chain(*fields.items())
        )
        where = self.client.where
        header = _text_fields(answer, where)
        for name, value in self._asked.items():
            if header and header.get(name) != value:
                raise StoreMismatch(
                    f"{where} was made with {name}={header.get(name)}, not {value}: use the same "
                    "or another name with ?name=, or delete this index to start anew"
                )
        if not is_whole:
            raise StoreDamaged(
                f"{where} is damaged, because a part is gone: Redis may have deleted it to make "
                "room (set maxmemory-policy to noeviction); delete this index to start anew"
            )
        try:
            self._base = int(header["generation"], 16) << _PLACE + _CHECK
            self._generation = header["generation"]
            self._last = _last_place(header["last"])
        except (KeyError, ValueError) as error:
            raise StoreDamaged(f"{where} has a damaged header: {error}") from error
        self._set_clock(before, *now)

    def _set_clock(self, before: float, seconds: bytes, microseconds: bytes) -> None:
        """Note the time of Redis, which it told between a moment and now.

        An answer that was read late, because the process was stopped, tells only between which
        times it was.
        """
        server_time = int(seconds) + int(microseconds) / 1e6
        self._ahead = min(
            max(self._ahead, server_time - time.clock_gettime(_BOOT_CLOCK)), server_time - before
        )

    def time(self) -> float:
        return time.clock_gettime(_BOOT_CLOCK) + self._ahead

    def _place(self, position: int) -> int:
        """Return where Redis has an entry; 0, which is nowhere, for one of another generation."""
        place = position // self._shards - self._base >> _CHECK
        return place if 0 <= place < 1 << _PLACE else 0

    def _position(self, place: int, fingerprint_and_body: bytes) -> int:
        check = zlib.crc32(fingerprint_and_body) & (1 << _CHECK) - 1
        return (self._base + (place << _CHECK | check)) * self._shards + self._shard

    def _row(self, place: int, entry: bytes, lease: bytes | None) -> tuple[int, Stored]:
        """Return position and entry, given the entry as Redis has it."""
        fingerprint = 1 + entry[0]
        body = fingerprint + self._width
        state = lease or entry[1:fingerprint]
        stored = Stored(state, entry[body:], entry[fingerprint:body])
        return self._position(place, entry[fingerprint:]), stored

    def commit(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Answer:
        (answer,) = self.client.together([self.committing(parts, lookups)])
        return answer

    def find(self, lookups: Lookups) -> Found:
        (answer,) = self.client.together([self.finding(lookups, range(len(lookups.arrivals)))])
        return answer

    def read(self, positions: Collection[int]) -> dict[int, Stored]:
        (rows,) = self.client.together([self.reading(positions)])
        return rows

    # Talks, which several stores have at the same time.

    def committing(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Talk[Answer]:
        for _ in range(3):
            begun = time.clock_gettime(_BOOT_CLOCK)
            arguments = self._arguments(parts, lookups)
            keys = (self._meta, self._leases, self._prefix)
            (answer,) = yield [("EVALSHA", _COMMIT, len(keys), *keys, *arguments)]
            if len(answer) > 1:
                with self._readable():
                    return self._answered(parts, lookups, answer, begun)
            self._begin()  # of another generation, or damaged, which shows here
        raise StoreUnavailable("the index is deleted again and again")

    def finding(self, lookups: Lookups, pages: Collection[int]) -> Talk[Found]:
        found = Found({}, {}, {})
        while left := [page for page in pages if page not in found.near]:
            # A part that checks what is never there is refused, and so it is told what is near.
            parts = [Part((page,), _NEVER) for page in left]
            found.update((yield from self.committing(parts, lookups)).found)
        return found

    def reading(self, positions: Collection[int]) -> Talk[dict[int, Stored]]:
        places = sorted({place for at in positions if (place := self._place(at))})
        rows = yield from self._rows(places)
        positions = frozenset(positions)
        return {at: stored for at, stored in rows if at in positions}

    def _rows(self, places: Sequence[int]) -> Talk[list[tuple[int, Stored]]]:
        """Return positions and entries of places."""
        rows: list[tuple[int, Stored]] = []
        for first in range(0, len(places), _KEYS):
            batch = places[first : first + _KEYS]
            # Leases come before entries: one that is confirmed meanwhile is as it was.
            leases, *lists, generation = yield [
                ("HMGET", self._leases, "", *batch),
                *map(self._reading, _by_group(batch)),
                ("HGET", self._meta, "generation"),
            ]
            if not leases[0] == generation == self._generation.encode():
                self._begin()
                return []
            with self._readable():
                entries = _entries_at(batch, lists)
                found = zip(batch, entries, leases[1:], strict=True)
                rows += [self._row(*row) for row in found if row[1]]
        return rows

    def _reading(self, places: Sequence[int]) -> tuple[Any, ...]:
        """Return the command that reads a group from the first of some places to the last."""
        key = self._group(places[0] // _GROUP)
        return "LRANGE", key, places[0] % _GROUP, places[-1] % _GROUP

    def _group(self, number: int) -> str:
        """Return the key of a group of entries, as commit.lua names it."""
        return f"{self._prefix}{self._generation}:{number}"

    def _arguments(self, parts: Sequence[Part], lookups: Lookups | None) -> list[Any]:
        """Return the arguments of ``commit.lua``."""
        arguments: list[Any] = [self._generation, self._last, self._width, self._spec.reach]
        arguments += [self._spec.blocks, BUCKET_LIMIT, KEY_LIMIT]
        looks = _looks(lookups, self._spec) if lookups else []
        for part in parts:
            arguments += self._arguments_of(part, looks)
        return arguments

    def _arguments_of(self, part: Part, looks: Sequence[bytes]) -> list[Any]:
        changed = [(at, state) for at, state in part.writes.items() if state is not None]
        deleted = [at for at, state in part.writes.items() if state is None]
        counts = map(len, (part.members, part.checks, part.new, changed, deleted))
        since = min(max(part.since // self._shards - self._base >> _CHECK, 0), (1 << 32) - 1)
        arguments: list[Any] = [_PART_HEAD.pack(*counts, since)]
        arguments += [looks[number] for number in part.members]
        for at, state in part.checks.items():
            arguments += (self._place(at), state)
        for number, (state, body) in part.new.items():
            arguments += (part.members.index(number), self._look_size, state)
            arguments.append(looks[number][: self._width] + body)
        for at, state in changed:
            arguments += (self._place(at), state)
        return arguments + [self._place(at) for at in deleted]

    @property
    def _look_size(self) -> int:
        """The bytes of the look-up of a page without aliases."""
        return self._width + 6 * (self._spec.blocks + 1)

    def _answered(
        self, parts: Sequence[Part], lookups: Lookups | None, answer: list[Any], begun: float
    ) -> Answer:
        """Read the answer of ``commit.lua``."""
        result = _Result(*answer)
        self._set_clock(begun, result.seconds, result.microseconds)
        self._last = max(self._last, result.last)
        written: list[Sequence[int] | None] = [
            None if first < 0 else self._written(first, part, lookups)
            for part, first in zip(parts, result.firsts, strict=True)
        ]
        return Answer(written, self._found(result, _refused(parts, result.firsts)))

    def _found(self, result: _Result, pages: Sequence[int]) -> Found:
        """Return what is near the pages that were looked at."""
        rows = zip(result.places, result.rows[1::2], result.rows[::2], strict=True)
        entries = {row[0]: self._row(*row) for row in rows}
        looks = [
            sorted(
                (distance, entries[place][0])
                for distance, place in zip(look[::2], look[1::2], strict=True)
            )
            for look in result.looks
        ]
        end = (self._base + (result.last + 1 << _CHECK)) * self._shards + self._shard
        near = dict(zip(pages, looks, strict=True))
        return Found(near, dict(entries.values()), dict.fromkeys(near, end))

    def _written(self, first: int, part: Part, lookups: Lookups | None) -> list[int]:
        if lookups is None:
            return []
        return [
            self._position(first + n, lookups.contents[number][: self._width] + body)
            for n, (number, (_, body)) in enumerate(part.new.items())
        ]

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Tell of what cannot be read as damage."""
        try:
            yield
        except (ValueError, TypeError, IndexError, KeyError, struct.error) as error:
            raise StoreDamaged(f"{self.client.where} is damaged: {error}") from error

    # All of it.

    def scan(self, after: int, most: int, *, blocks: bool = False) -> list[tuple[int, Stored]]:
        with self._readable():
            last = _last_place(self.client.call("HGET", self._meta, "last") or 0)
        rows: list[tuple[int, Stored]] = []
        place = self._place(after)
        while place < last and not rows:
            end = min(place + most, last)
            (rows,) = self.client.together([self._rows(range(place + 1, end + 1))])
            place = end
        if not rows:
            self._blocks = None
        elif blocks:
            values = self._values(place, last)
            rows = [
                (at, stored._replace(content=stored.content + values[self._place(at)].tobytes()))
                for at, stored in rows
            ]
        return rows

    def _values(self, place: int, last: int) -> npt.NDArray[np.uint32]:
        """Return the block values of all entries, up to a place at least, shape (n, blocks).

        They are read leaf by leaf, and kept for the next call; values that no leaf has are 0.
        """
        if self._blocks is not None and len(self._blocks) > place:
            return self._blocks
        values = np.zeros((last + 1, self._spec.blocks), "<u4")
        gather = np.uint32(pow(int(SPREAD), -1, 1 << 32))
        for block, leaves in self._leaves_of_blocks(self._spec.blocks):
            names = [self._leaf(block, number) for number in leaves]
            for number, leaf in zip(leaves, self.client.call("MGET", *names), strict=True):
                if leaf is None:  # as nearly all leaves of a small index are
                    continue
                packed = _numbers(leaf)
                packed = packed[packed & _POSITIONS - 1 <= last]
                spread = (packed >> 29 << 13 | number % _LEAVES).astype(np.uint32)
                values[packed & _POSITIONS - 1, block] = spread * gather
        self._blocks = values
        return values

    _blocks: npt.NDArray[np.uint32] | None = None

    def _leaf(self, block: int, number: int) -> bytes:
        """Return the key of a leaf, as commit.lua names it."""
        later, low = divmod(number, _LEAVES)
        name = bytes([block, *low.to_bytes(2, "big")]) + (bytes([later]) if later else b"")
        return self._prefix.encode() + name

    def _leaf_count(self) -> int:
        """Return the number of leaves of each block."""
        with self._readable():
            count = int(self.client.call("HGET", self._meta, "leaves") or _LEAVES)
            if not _LEAVES <= count <= _POSITIONS >> 8:
                raise ValueError(f"no index has {count} leaves of a block")
        return count

    def _leaves_of_blocks(self, blocks: int) -> Iterator[tuple[int, range]]:
        """Yield the numbers of the leaves of each block, as many as one command reads."""
        first = 0
        while first < (count := self._leaf_count()):  # some may split meanwhile
            leaves = range(first, min(first + _KEYS, count))
            for block in range(blocks):
                yield block, leaves
            first = leaves.stop

    def cells(self, prefix: str) -> dict[str, bytes]:
        fields = self.client.call("HGETALL", self.client.key(f"cells:{prefix.partition(':')[0]}"))
        named = {name.decode("utf-8", "replace"): value for name, value in fields.items()}
        return {name: value for name, value in named.items() if name.startswith(prefix)}

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        key = self.client.key(f"cells:{name.partition(':')[0]}")
        marked = [b"" if value is None else b"=" + value for value in (old, new)]
        return bool(self.client.call("EVALSHA", _SWAP, 1, key, name, *marked))

    def counts(self) -> Counts:
        header = _text_fields(self.client.call("HGETALL", self._meta), self.client.where)
        try:
            by_run = {
                int(name.removesuffix(":pages")): int(value)
                for name, value in header.items()
                if name.endswith(":pages")
            }
        except ValueError as error:
            raise StoreDamaged(f"{self.client.where} has a damaged header: {error}") from error
        leases = self.client.call("HLEN", self._leases) - 1
        return Counts({run: pages for run, pages in by_run.items() if pages}, max(leases, 0))

    def size(self) -> int:
        """Return the bytes, of the leaves by a sample; 0 where the server does not tell."""
        blocks = self._spec.blocks + 1
        try:
            count = self._leaf_count()
            some = range(0, count, count // 64)
            leaves = [self._leaf(block, number) for block in (0, blocks - 1) for number in some]
            groups = range(self._last // _GROUP + 1)
            sample = [*map(self._group, groups[:: len(groups) // 64 + 1])]
            return (
                self._memory([self._meta, self._leases])
                + self._memory(leaves) * count * blocks // len(leaves)
                + self._memory(sample) * len(groups) // len(sample)
            )
        except StoreUnavailable:
            return 0

    def _memory(self, keys: Iterable[str | bytes]) -> int:
        sizes = (self.client.call("MEMORY USAGE", key, "SAMPLES", 64) for key in keys)
        return sum(size or 0 for size in sizes)

    def check(self) -> list[str]:
        self._begin()
        self._blocks = None
        missing = after = 0
        while rows := self.scan(after, _KEYS, blocks=True):
            after = rows[-1][0]
            contents = b"".join(stored.content[self._width :] for _, stored in rows)
            missing += int((np.frombuffer(contents, np.uint32) == 0).sum())
        if missing:
            return [f"{missing} block values stand in no bucket: buckets are full, or gone"]
        return []

    def clear(self) -> None:
        last = self.client.call("HGET", self._meta, "last") or 0
        with contextlib.suppress(ValueError):  # a damaged index is cleared, too
            self._last = max(self._last, _last_place(last))
        first = self._last // _GROUP
        groups = map(self._group, count())
        while some := [*islice(groups, min(first, _KEYS))]:
            self.client.call("UNLINK", *some)
            first -= len(some)
        for block, leaves in self._leaves_of_blocks(self._spec.blocks + 1):
            self.client.call("UNLINK", *(self._leaf(block, number) for number in leaves))
        # Together, because an index of which only a part is there is a damaged one.
        self.client.call("UNLINK", self._meta, self._leases)
        # Until now others may have written into the last group, and into those behind it.
        while self.client.call("UNLINK", *islice(groups, _KEYS)):
            pass
        self._blocks = None
        self._begin()

    def close(self) -> None:
        self.client.close()


def _looks(lookups: Lookups, spec: IndexSpec) -> list[bytes]:
    """Return for each page its fingerprint and its values, with its aliases' values last."""
    rows = _packed(lookups.values, np.arange(spec.blocks + 1, dtype=np.uint64))
    looks = [
        content[: spec.bits // 8] + row.tobytes()
        for content, row in zip(lookups.contents, rows, strict=True)
    ]
    for number, names in enumerate(lookups.names):
        if names[1:]:
            values = np.frombuffer(b"".join(names[1:]), "<u4")
            looks[number] += _packed(values, np.uint64(spec.blocks)).tobytes()
    return looks


def _packed(values: Uint32s, columns: Uint64s | np.uint64) -> npt.NDArray[np.uint8]:
    """Return values of columns in 6 bytes each: the column, and the value's last and first bits."""
    spread = (values * SPREAD).astype(np.uint64)
    packed = columns << 40 | (spread & 0x1FFF) << 24 | spread >> 13 << 5
    return packed.astype(">u8").view(np.uint8).reshape(*values.shape, 8)[..., 2:]


def _numbers(leaf: bytes) -> Uint64s:
    """Return the numbers of 6 bytes that a leaf has."""
    octets = np.frombuffer(leaf, np.uint8)
    octets = octets[: len(octets) // 6 * 6].reshape(-1, 6)
    padded = np.pad(octets, ((0, 0), (2, 0)))
    return padded.view(">u8").astype(np.uint64).ravel()


def _refused(parts: Sequence[Part], firsts: Sequence[int]) -> list[int]:
    """Return the pages of refused parts that were looked at."""
    pairs = zip(parts, firsts, strict=True)
    return [number for part, first in pairs if first == -1 for number in part.members]


def _last_place(text: str | bytes | int) -> int:
    """Return the last place of a log, given how Redis has it."""
    if not 0 <= (last := int(text)) < _POSITIONS:
        raise ValueError(f"no position is {last}")
    return last


def _by_group(places: Iterable[int]) -> list[list[int]]:
    return [[*group] for _, group in groupby(places, lambda place: place // _GROUP)]


def _entries_at(places: Sequence[int], lists: Sequence[Sequence[bytes]]) -> list[Any]:
    """Return the entries at places, given what was read of their groups; None for a missing one."""
    entries: dict[int, bytes] = {}
    for group, read in zip(_by_group(places), lists, strict=True):
        entries |= enumerate(read, group[0])
    return [entries.get(place) for place in places]


def _text_fields(fields: Any, where: str) -> dict[str, str]:
    """Return fields and values of a hash, which a script returns one after the other."""
    if not isinstance(fields, dict):
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    try:
        return {name.decode(): value.decode() for name, value in fields.items()}
    except UnicodeDecodeError as error:
        raise StoreDamaged(f"{where} has a damaged header: {error}") from error


def stored_header(client: Client) -> dict[str, str]:
    """Return the header of an index, by field; an empty one if the index is missing."""
    return _text_fields(client.call("HGETALL", client.key("meta")), client.where)


def stored_spec(header: Mapping[str, str], client: Client) -> IndexSpec:
    """Return the spec with which the index was made."""
    if not header:
        names = ", ".join(client.names_beside())
        listed = f"; there are {names}" if names else ""
        raise StoreMissing(f"there is no {client.where.removeprefix('the ')}{listed}")
    try:
        bits, distance, blocks = (int(header[name]) for name in ("bits", "distance", "blocks"))
        return IndexSpec(header["recipe"], bits, distance, blocks, reach=reach_of(bits, distance))
    except (KeyError, ValueError) as error:
        raise StoreDamaged(f"{client.where} has a damaged header: {error}") from error


def check_server(client: Client) -> None:
    """Refuse a Redis that is too old; warn of one that deletes parts of the index."""
    with contextlib.suppress(StoreUnavailable):  # not every user may ask, and then a script tells
        version = client.call("INFO", "server").get("redis_version", "")
        numbers = re.match(r"(\d{1,5})\.(\d{1,5})", version)
        if numbers and (int(numbers[1]), int(numbers[2])) < (6, 2):
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
