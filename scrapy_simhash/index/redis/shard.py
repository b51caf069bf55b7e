"""A log in Redis: lists of entries, and leaves of values, which are appended to.

``commit.lua`` tells what the keys hold. Outside, the position of an entry has more
digits than its *place* in Redis: the generation of the index before it, so that an
entry of a deleted index is not taken for one of its successor, and a checksum of the
entry behind it, because a crash or a failover that loses the end of the log lets its
places be used again.
"""

from __future__ import annotations

import math
import secrets
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from scrapy_simhash.index.header import DISTANCE, check_header, header_of
from scrapy_simhash.index.lookups import Near
from scrapy_simhash.index.redis.client import Client, script
from scrapy_simhash.index.store import (
    Answer,
    Part,
    Stored,
    StoreDamaged,
    readable,
)
from scrapy_simhash.index.values import BUCKET_LIMIT, KEY_LIMIT, IndexSpec

FORMAT = 21
# Positions in a group of entries, leaves of a block in a small index, and places: as in
# commit.lua.
GROUP = 32
LEAVES = 1 << 13
PLACES = 1 << 29
# Leaves of a block, each of which has 256 places as the index grows.
_MOST_LEAVES = PLACES >> 8
# Keys, or entries, that one command reads or deletes.
KEYS_AT_ONCE = 1024
# Leaves of a block by which others may lengthen a log while it is read.
_MEANWHILE = 1024
# Bits of a generation, which has four letters, of a place, and of a checksum.
_GENERATION_BITS = 32
_PLACE_BITS = 32
_CHECK_BITS = 16
# A clock that goes on while the machine sleeps, if there is one.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
# The run and the lease of an entry that is deleted.
_GONE = ("", "")
_PART_HEAD = struct.Struct(">4HI")
_COMMIT, _OPEN = map(script, ("commit", "open"))


def now() -> float:
    return time.clock_gettime(_BOOT_CLOCK)


class _Result(NamedTuple):
    """The answer of ``commit.lua``.

    Attributes:
        last: the last place that has an entry.
        seconds, microseconds: the time of Redis.
        firsts: for each part, the place of its first new entry; below 0 if it was
            refused, and -1 if its pages were looked at.
        looks: for each of these pages, the entries near it: distances and places by
            turns.
        places: the places of all these entries, and of the entries that refused parts
            check.
        rows: their leases and contents by turns.
    """

    generation: bytes
    last: int
    seconds: bytes
    microseconds: bytes
    firsts: list[int]
    looks: list[list[int]]
    places: list[int]
    rows: list[bytes]


class Shard:
    """A log, which is an index, or a part of one.

    Args:
        name: the index's, or another one, with another slot in a cluster.
        number: its number among ``count`` shards, by which their positions differ.

    Attributes:
        where: what messages call it.
        generation: what tells the index from one that was deleted.
        last: the last place that has an entry, as far as this crawler knows.
        leaf_bound: a number that no leaf of a block has, even if some split meanwhile.

    Raises:
        StoreMismatch: the index there is another one.
    """

    def __init__(
        self, client: Client, spec: IndexSpec, name: str, number: int, count: int
    ) -> None:
        self.where = f"the index {name!r} at {client.address.shown}"
        self.meta, self.leases, self.prefix = (
            client.key(part, name) for part in ("meta", "leases", "")
        )
        self.generation = ""
        self.last = 0
        self._client = client
        self._spec = spec
        self._width = spec.bits // 8
        self._number = number
        self._count = count
        self._header = {
            "format": str(FORMAT),
            **header_of(spec),
            "shard": f"{number} of {count}",
        }
        self._ahead = -math.inf
        self.begin()

    def begin(self) -> None:
        """Read or make the header, and go on with the log that is there now."""
        made = {
            DISTANCE: self._spec.distance,
            "last": 0,
            "generation": secrets.token_urlsafe(3),
        }
        begun = now()
        answer, is_whole, time_there = self._client.call(
            "EVALSHA",
            _OPEN,
            2,
            self.meta,
            self.leases,
            *chain(*(self._header | made).items()),
        )
        with readable(self.where):
            header = text_fields(answer)
            if header:
                check_header(header, self._header, self.where)
            if not is_whole:
                raise StoreDamaged(
                    f"{self.where} is damaged, because a part is gone: Redis may have deleted it "
                    "to make room (set maxmemory-policy to noeviction); delete this index to "
                    "start anew"
                )
            if header["generation"] != self.generation:
                self.last = 0
            self.generation = header["generation"]
            self._base = _base_of(self.generation)
            self.last = max(self.last, _number(header, "last", 0, PLACES - 1))
            leaves = _number(header, "leaves", LEAVES, _MOST_LEAVES)
            self.leaf_bound = min(leaves + _MEANWHILE, _MOST_LEAVES)
        self._set_clock(begun, *time_there)

    # Time.

    def _set_clock(self, before: float, seconds: bytes, microseconds: bytes) -> None:
        """Note the time of Redis, which it told between a moment and now.

        An answer that was read late, because the process was stopped, tells only
        between which times it was.
        """
        server_time = int(seconds) + int(microseconds) / 1e6
        self._ahead = min(max(self._ahead, server_time - now()), server_time - before)

    def time(self) -> float:
        return now() + self._ahead

    # Keys, places and positions.

    def group(self, number: int) -> str:
        """Return the key of a group of entries, as commit.lua names it."""
        return f"{self.prefix}{self.generation}:{number}"

    def leaf(self, block: int, number: int) -> bytes:
        """Return the key of a leaf, as commit.lua names it."""
        later, low = divmod(number, LEAVES)
        name = bytes([block, *low.to_bytes(2, "big")]) + (
            bytes([later]) if later else b""
        )
        return f"{self.prefix}{self.generation};".encode() + name

    def place(self, position: int) -> int:
        """Return where Redis has an entry; 0, which is nowhere, for one of another generation."""
        place = self._places_from_start(position)
        return place if 0 <= place < 1 << _PLACE_BITS else 0

    def position(self, place: int, fingerprint_and_body: bytes = b"") -> int:
        """Return the position of an entry; without it, one that means the place alone."""
        check = zlib.crc32(fingerprint_and_body) & (1 << _CHECK_BITS) - 1
        return (
            self._base + (place << _CHECK_BITS | check)
        ) * self._count + self._number

    def _places_from_start(self, position: int) -> int:
        return position // self._count - self._base >> _CHECK_BITS

    # Commits.

    def commit_command(
        self, parts: Sequence[Part], looks: Sequence[bytes]
    ) -> tuple[Any, ...]:
        """Return the command that commits parts, given what each page looks for."""
        spec = self._spec
        limits = (self._width, spec.reach, spec.blocks, BUCKET_LIMIT, KEY_LIMIT)
        arguments: list[Any] = [self.generation, self.last, *limits]
        for part in parts:
            arguments += self._arguments_of(part, looks)
        return ("EVALSHA", _COMMIT, 3, self.meta, self.leases, self.prefix, *arguments)

    def _arguments_of(self, part: Part, looks: Sequence[bytes]) -> list[Any]:
        counts = map(len, (part.members, part.checks, part.new, part.writes))
        since = min(max(self._places_from_start(part.since), 0), (1 << _PLACE_BITS) - 1)
        arguments: list[Any] = [_PART_HEAD.pack(*counts, since)]
        arguments += [looks[number] for number in part.members]
        for at, state in part.checks.items():
            arguments += (self.place(at), *state)
        for number, (state, body) in part.new.items():
            arguments += (part.members.index(number), *state, body)
        for at, after in part.writes.items():
            arguments += (self.place(at), *(after or _GONE))
        return arguments

    def answered(
        self,
        parts: Sequence[Part],
        looks: Sequence[bytes],
        answer: list[Any],
        begun: float,
    ) -> Answer:
        """Read the answer of ``commit.lua`` to a question that was sent at a time."""
        with readable(self.where):
            result = _Result(*answer)
            self._set_clock(begun, result.seconds, result.microseconds)
            self.last = max(self.last, result.last)
            pairs = [*zip(parts, result.firsts, strict=True)]
            written: list[Sequence[int] | None] = [
                None if first < 0 else self._written(first, part, looks)
                for part, first in pairs
            ]
            pages = [
                number
                for part, first in pairs
                if first == -1
                for number in part.members
            ]
            return self._found(result, pages)._replace(written=written)

    def _found(self, result: _Result, pages: Sequence[int]) -> Answer:
        """Return what is near the pages that were looked at."""
        rows = zip(result.places, result.rows[::2], result.rows[1::2], strict=True)
        entries = {row[0]: self._row(*row) for row in rows}
        near: dict[int, Near] = {}
        for page, look in zip(pages, result.looks, strict=True):
            positions = [entries[place][0] for place in look[1::2]]
            near[page] = sorted(zip(look[::2], positions, strict=True))
        end = self.position(result.last + 1) - self._number
        return Answer(near, dict(entries.values()), dict.fromkeys(near, end))

    def _row(self, place: int, lease: bytes, entry: bytes) -> tuple[int, Stored]:
        """Return position and entry, given the entry as Redis has it."""
        fingerprint = 1 + entry[0]
        body = fingerprint + self._width
        # as commit.lua reads it
        run = int.from_bytes(entry[1 : min(fingerprint, 5)], "big")
        stored = Stored((run, lease), entry[body:], entry[fingerprint:body])
        return self.position(place, entry[fingerprint:]), stored

    def _written(self, first: int, part: Part, looks: Sequence[bytes]) -> list[int]:
        return [
            self.position(first + n, looks[number][: self._width] + body)
            for n, (number, (_, body)) in enumerate(part.new.items())
        ]

    # All of it.

    def entries(self, after: int) -> Iterator[tuple[int, Stored]]:
        """Yield positions and entries from behind a place to the one that is last now.

        It ends when the index is cleared.

        Raises:
            StoreDamaged: the leases are gone.
        """
        generation = self.generation.encode()
        last = self.last
        for start in range((after + 1) // GROUP * GROUP, last + 1, KEYS_AT_ONCE):
            # Leases come first: an entry that is deleted meanwhile never seems to be
            # confirmed.
            leases, *groups = self._client.send(self._commands_from(start))
            if leases[0] != generation:
                self.begin()  # of another generation, or damaged, which shows here
                return
            with readable(self.where):
                yield from [
                    self._row(place, leases[1 + place - start] or b"", entry)
                    for first, group in enumerate(groups)
                    for place, entry in enumerate(group, start + GROUP * first)
                    if entry and after < place <= last
                ]

    def _commands_from(self, start: int) -> list[tuple[Any, ...]]:
        """Return the commands that read leases and groups from a place on."""
        places = range(start, start + KEYS_AT_ONCE)
        groups = (self.group(place // GROUP) for place in places[::GROUP])
        return [
            ("HMGET", self.leases, "", *places),
            *(("LRANGE", group, 0, GROUP - 1) for group in groups),
        ]


def _base_of(generation: str) -> int:
    """Return what the positions of a generation begin with."""
    number = int.from_bytes(generation.encode(), "big")
    if number >= 1 << _GENERATION_BITS:
        raise ValueError(f"no generation is {generation:.20}")
    return number << _PLACE_BITS + _CHECK_BITS


def _number(header: dict[str, str], name: str, least: int, most: int) -> int:
    number = int(header.get(name, least))
    if not least <= number <= most:
        raise ValueError(f"its {name} cannot be {number}")
    return number


def text_fields(fields: Any) -> dict[str, str]:
    """Return fields and values of a hash, which a script returns one after the other."""
    if not isinstance(fields, dict):
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    return {name.decode(): value.decode() for name, value in fields.items()}
