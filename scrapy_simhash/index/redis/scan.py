"""Reading all entries of an index in Redis, and what they take."""

import os
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import numpy.typing as npt

from scrapy_simhash.index.contract import StoreUnavailable
from scrapy_simhash.index.neighbours import GATHER, SPREAD, Uint32s
from scrapy_simhash.index.pages import KEY_BYTES, read_fingerprint
from scrapy_simhash.index.redis.client import KEYS, Client
from scrapy_simhash.index.redis.finders import AnotherLog
from scrapy_simhash.index.redis.rows import NEVER, ROWS, field_of, read_lease, read_row, read_rows
from scrapy_simhash.index.redis.scripts import LEAST_LEAVES, SEEN, Geometry
from scrapy_simhash.index.values import Entry

# Positions that are read at a time.
_STEP = 16 * ROWS
# Leaves of a block that are read at a time.
_LEAVES = 32
# Fields of a hash from which its size is told.
_SAMPLES = 200


class Scan:
    """Reads the entries that an index has now.

    Its methods raise AnotherLog when the log is not of this generation by now, ValueError and the
    like when it is damaged.

    Args:
        pass_over: is told of entries that cannot be read.
    """

    def __init__(
        self, client: Client, generation: str, geometry: Geometry, pass_over: Callable[[str], None]
    ) -> None:
        self._pass_over = pass_over
        self._client = client
        self._generation = generation
        self._geometry = geometry

    def size(self) -> tuple[int, int]:
        """Return how many entries there are, and how many of them are provisional."""
        end, (dead,) = self._end(), self.state("dead")
        return max(end - dead, 0), self._client.call("HLEN", self._client.key("leases")) - 1

    def lost_values(self) -> int:
        end = self._end()
        if not self._geometry.in_redis:
            return 0
        known = sum(len(positions) for _, positions, _ in self._leaves())
        return max(self._geometry.blocks * end - known, 0)

    def bytes_of_parts(self) -> dict[str, int]:
        """Return the bytes of each part, from a sample; none where the server does not tell."""
        sizes = Counter[str]()
        end = self._end()
        keys = [*zip(KEYS, self._client.keys, strict=True)]
        later = range(1, (end - 1) // SEEN + 1)
        keys += [("seen", self._client.key(f"seen:{part}")) for part in later]
        try:
            for part, key in keys:
                size = self._client.call("MEMORY USAGE", key, "SAMPLES", _SAMPLES)
                sizes[part] += size or 0
        except StoreUnavailable:
            return {}
        return +sizes

    def entries(self, *, with_blocks: bool = False) -> Iterator[tuple[int, Entry]]:
        """Yield position and entry in the order of the log.

        With buckets in Redis, fingerprints have block values only if they are asked for.
        """
        end = self._end()
        with TemporaryFile() as file:
            values = (
                self._read_blocks(file, end) if with_blocks and self._geometry.in_redis else None
            )
            for first in range(0, end, _STEP):
                yield from self._between(first, min(first + _STEP, end), values)

    def state(self, *names: str) -> list[int]:
        state = self._client.call("HMGET", self._client.key("meta"), "generation", *names)
        if state[0] != self._generation.encode():
            raise AnotherLog
        numbers = [int(value or b"") for value in state[1:]]
        if not all(0 <= number < 1 << 32 for number in numbers):
            raise ValueError(f"{names} are {numbers}")
        return numbers

    def _end(self) -> int:
        """Return how many entries the log has; a header may tell of billions that are not there."""
        (end,) = self.state("end")
        segments = self._client.call("HLEN", self._client.key("log")) - 1
        if end > 2 * segments * self._geometry.segment:  # some of them may be lost
            raise ValueError(f"the log has {segments} segments for {end} entries")
        return end

    def _between(self, first: int, end: int, blocks: Uint32s | None) -> Iterator[tuple[int, Entry]]:
        size, key, call = self._geometry.segment, self._client.key, self._client.call
        segments = range(first // size, (end - 1) // size + 1)
        numbers = range(first // ROWS, (end - 1) // ROWS + 1)
        content = b"".join(part or b"" for part in call("HMGET", key("log"), *segments))
        # Leases come before rows: an entry that is confirmed meanwhile has both, not neither.
        leases = call("HMGET", key("leases"), *range(first, end))
        rows = call("HMGET", key("rows"), *numbers, *map(field_of, range(first, end)))
        alone = rows[len(numbers) :]
        known: dict[int, dict[int, bytes]] = {}
        for number, some in zip(numbers, rows, strict=False):
            try:
                known[number] = read_rows(some) if some else {}
            except (ValueError, struct.error, zlib.error):
                known[number] = {}  # each of its entries is told of
        dead = call("GETRANGE", key("dead"), first // 8, (end - 1) // 8)
        bits = np.unpackbits(np.frombuffer(dead, np.uint8))
        seen = self.runs_of(first, end)
        own = None
        if blocks is not None:
            positions = np.arange(first, end, dtype=np.uint32)[:, None]
            own = blocks[first:end] ^ _made_up(
                positions, np.arange(blocks.shape[1], dtype=np.uint32)
            )
        for position in range(first, end):
            place = position - first // 8 * 8
            if place < len(bits) and bits[place]:
                continue
            at = (position - segments[0] * size) * self._geometry.record
            record = content[at : at + self._geometry.record]
            packed = alone[position - first] or known[position // ROWS].get(position % ROWS)
            lease = leases[position - first]
            values = b"" if own is None else own[position - first].astype("<u4").tobytes()
            try:
                entry = self._entry(record, packed, lease, values, seen[position - first])
            except (ValueError, struct.error) as error:
                self._pass_over(f"entry {position}: {error}")
            else:
                yield position, entry

    def _entry(
        self, record: bytes, packed: bytes | None, lease: bytes | None, values: bytes, run: int
    ) -> Entry:
        if len(record) != self._geometry.record:
            raise ValueError("the log lacks it")
        if packed is None and not lease:
            raise ValueError("it has no row")
        # An entry that is confirmed meanwhile has both, and so has one that was before.
        _, back, leased = read_lease(lease) if lease else (0, NEVER, None)
        is_open = bool(lease) and (packed is None or back != NEVER)
        row = leased if is_open and leased else read_row(packed or b"")
        if not self._geometry.in_redis:
            record = record[:-KEY_BYTES]
        key, scope, facts, time = row
        own = read_fingerprint(record + values, scope, self._geometry.bits)
        return Entry(key, own, scope, facts, time, is_open, run)

    def runs_of(self, first: int, end: int) -> list[int]:
        """Return the runs in which the entries between two positions were last seen."""
        octets = b""
        for part in range(first // SEEN, (end - 1) // SEEN + 1):
            at, to = max(first - part * SEEN, 0), min(end - part * SEEN, SEEN)
            key = self._client.key(f"seen:{part}" if part else "seen")
            # Entries that nobody has counted were seen in no run.
            octets += self._client.call("GETRANGE", key, 3 * at, 3 * to - 1).ljust(
                3 * (to - at), b"\0"
            )
        return [int.from_bytes(octets[at : at + 3], "big") for at in range(0, len(octets), 3)]

    def _read_blocks(self, file: IO[bytes], end: int) -> Uint32s:
        """Return the block values of all entries, XORed with made up ones, shape (n, blocks).

        Every leaf is read once, in the order of the values, into a file where they stand in the
        order of the log. Values that are not there, because their bucket was flooded, are 0.
        """
        shape = end, self._geometry.blocks
        if not end:
            return np.empty(shape, np.uint32)
        if hasattr(os, "posix_fallocate"):  # else a full disk would end the process
            os.posix_fallocate(file.fileno(), 0, 4 * end * self._geometry.blocks)
        values: Uint32s = np.memmap(file, np.uint32, shape=shape)
        for block, places, some in self._leaves():
            inside = places < end
            own = places[inside]
            values[own, block] = some[inside] * GATHER ^ _made_up(own, block)
        return values

    def _leaves(self) -> Iterator[tuple[int, Uint32s, Uint32s]]:
        """Yield block, positions and spread values of all leaves, some of them twice."""
        blocks = range(self._geometry.blocks)
        first = 0
        while True:
            count, end = self.state("leaves", "end")
            if not LEAST_LEAVES <= count <= LEAST_LEAVES + end:
                raise ValueError(f"there cannot be {count} leaves")
            # A leaf that is split meanwhile comes again as two, which have higher numbers.
            first = max(first, count)
            numbers = range(first, min(first + _LEAVES, 2 * count))
            if not numbers:
                return
            leaves = [(block, number) for number in numbers for block in blocks]
            names = [(block << 32 | number).to_bytes(5, "big") for block, number in leaves]
            contents = self._client.call("HMGET", self._client.key("buckets"), *names)
            for (block, number), content in zip(leaves, contents, strict=True):
                if content:
                    yield block, *self._entries(number, content)
            first = numbers.stop

    def _entries(self, number: int, content: bytes) -> tuple[Uint32s, Uint32s]:
        """Return positions, and spread values, of a leaf's entries."""
        octets = np.frombuffer(content, np.uint8).reshape(-1, self._geometry.entry)
        own = octets[:, :6].astype(np.uint64) << np.arange(40, -8, -8, dtype=np.uint64)
        packed: npt.NDArray[np.uint64] = own.sum(1)
        row = number.bit_length() - 1
        # Bits of the value that the name has in place of the entry; the position has as many more.
        known = 16 if row >= 16 else 8
        positions = packed & np.uint64((1 << known + 16) - 1)
        top = np.uint64((number >> row - known & (1 << known) - 1) << 32 - known)
        values = packed >> np.uint64(known + 16) | top
        return positions.astype(np.uint32), values.astype(np.uint32)


def _made_up(positions: Uint32s, block: Uint32s | int) -> Uint32s:
    """Return values that no other entry has in a block."""
    made_up: Uint32s = positions * SPREAD + np.uint32(block)
    return made_up
