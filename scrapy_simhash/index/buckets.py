"""The fingerprints of one scope in RAM: compared one by one while few, found by buckets later."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.simhash import Fingerprint

# Entries up to which comparing all is as fast as probing buckets.
SCAN_LIMIT = {64: 1 << 14, 128: 1 << 16, 256: 1 << 16}
# Rows compared at a time, so that what is computed stays in the processor's cache.
_CHUNK = 1 << 14
# Candidates up to which a Python loop is faster than numpy.
_FEW = 128
# Bytes of a bucket that an insertion may have to copy.
_TAIL = 1 << 12

_ID = (1 << 32) - 1
_NONE = np.empty(0, np.uint32)


class Neighbours:
    """Finds the fingerprints of one scope that are within a distance.

    It is not thread-safe. Memory is about ``bits / 8`` + 9 bytes an entry, and above the scan
    limit that of the buckets.

    Args:
        layout: how the fingerprints are cut and probed.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._words = layout.bits // 64
        self._side = min(self._words, 2)
        self._scan_limit = SCAN_LIMIT[layout.bits]
        self._count = 0
        # Two words side by side, so that picking a candidate out misses the cache once; the first
        # two apart from the others, since most candidates need no more to be told apart.
        parts = self._words // self._side
        self._parts = [np.empty((4, self._side), np.uint64) for _ in range(parts)]
        self._positions = np.empty(4, np.int64)
        self._living = np.empty(4, np.bool_)
        self._buckets: _Buckets | None = None

    def __len__(self) -> int:
        """Return how many entries were added, those forgotten among them."""
        return self._count

    def add(self, position: int, value: int) -> None:
        """Add an entry; positions must increase."""
        number = self._count
        if number == len(self._positions):
            self._grow(2 * number)
        for part, words in zip(self._parts, self._split(value), strict=True):
            part[number] = words
        self._positions[number] = position
        self._living[number] = True
        self._count += 1
        if self._buckets is not None:
            self._buckets.add(number, value)
        elif self._count > self._scan_limit:
            self._build()

    def extend(self, positions: npt.NDArray[np.int64], values: npt.NDArray[np.uint64]) -> None:
        """Add many entries; ``values`` has the shape (n, bits / 64), most significant first."""
        first, end = self._count, self._count + len(positions)
        if end > len(self._positions):
            self._grow(max(end, 2 * first))
        for i, part in enumerate(self._parts):
            part[first:end] = values[:, i * self._side : (i + 1) * self._side]
        self._positions[first:end] = positions
        self._living[first:end] = True
        self._count = end
        if self._buckets is not None:
            self._buckets.extend(first, values)
        elif self._count > self._scan_limit:
            self._build()

    def forget(self, positions: Sequence[int]) -> None:
        """Never find these entries again, as far as they are there."""
        known, sought = self._positions[: self._count], np.array(positions, np.int64)
        numbers = known.searchsorted(sought)
        sought, numbers = sought[numbers < self._count], numbers[numbers < self._count]
        self._living[numbers[known[numbers] == sought]] = False

    def find(self, fingerprint: Fingerprint, distance: int) -> list[tuple[int, int]]:
        """Return (distance, position) of the entries within a distance, sorted.

        All of them while they are few, or the distance is the layout's guaranteed distance; else
        as many as the layout's recall promises.
        """
        if self._buckets is None:
            return self.scan(fingerprint, distance)
        # Above this many, picking rows out is slower than comparing all in order.
        ids = self._buckets.candidates(fingerprint, distance, self._count // 8)
        if ids is None:
            return self.scan(fingerprint, distance)
        if not len(ids):
            return []
        return self._within(fingerprint, distance, ids)

    def scan(
        self, fingerprint: Fingerprint, distance: int, first: int = 0
    ) -> list[tuple[int, int]]:
        """Compare with every entry, or those after the first so many; return as ``find``."""
        found: list[tuple[int, int]] = []
        for start in range(first, self._count, _CHUNK):
            numbers = slice(start, min(start + _CHUNK, self._count))
            found += self._within(fingerprint, distance, numbers)
        return sorted(found)

    def _grow(self, capacity: int) -> None:
        """Make room; memory that is not yet used is not touched, and so costs nothing."""

        def grown(old: npt.NDArray[Any]) -> npt.NDArray[Any]:
            new = np.empty((capacity, *old.shape[1:]), old.dtype)
            new[: self._count] = old[: self._count]
            return new

        self._parts = [grown(part) for part in self._parts]
        self._positions = grown(self._positions)
        self._living = grown(self._living)

    def _split(self, value: int) -> npt.NDArray[np.uint64]:
        """Return the words of a value, the most significant first, a row for each part."""
        packed = np.frombuffer(value.to_bytes(8 * self._words, "big"), ">u8")
        return packed.astype(np.uint64).reshape(-1, self._side)

    def _build(self) -> None:
        self._buckets = _Buckets(self._layout)
        self._buckets.extend(0, np.hstack([part[: self._count] for part in self._parts]))

    def _within(
        self, fingerprint: Fingerprint, distance: int, numbers: slice | npt.NDArray[np.uint32]
    ) -> list[tuple[int, int]]:
        first, *others = self._split(fingerprint.value)
        rows = self._parts[0]
        # With take(), numpy copies each row at once.
        rows = rows[numbers] if isinstance(numbers, slice) else rows.take(numbers, axis=0)
        distances = bit_count(rows[:, 0] ^ first[0])
        for i in range(1, self._side):
            distances += bit_count(rows[:, i] ^ first[i])
        near = np.flatnonzero(distances <= distance)
        if not len(near):
            return []
        ids = near + numbers.start if isinstance(numbers, slice) else numbers[near]
        living = self._living[ids]
        ids, exact = ids[living], distances[near[living]].astype(np.uint16)
        for part, words in zip(self._parts[1:], others, strict=True):
            exact += bit_count(part[ids] ^ words).sum(axis=1, dtype=np.uint16)
        within = exact <= distance
        positions = self._positions[ids[within]].tolist()
        # An entry may share several buckets with the fingerprint.
        return sorted(set(zip(exact[within].tolist(), positions, strict=True)))


class _Buckets:
    """Which entries have an address, for every block.

    A bucket is a bytes object of packed entries: no other structure is as small, since most
    buckets hold a few dozen, and copying so few bytes to add one costs nothing. A full one is
    set aside and begun anew.

    An entry is its number, 4 bytes. With 64 bits it is 8 bytes, the other 4 being a digest of the
    value, both halves XORed: digests of fingerprints within k bits are within k bits too, and of
    the others hardly any are while k is small. So the values themselves are seldom read.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._tagged = layout.bits == 64
        self._mask = (1 << layout.width) - 1
        self._slices = [
            (block << layout.width, layout.bits - start - layout.width)
            for block, start in enumerate(layout.starts)
        ]
        self._tails = [b""] * (layout.blocks << layout.width)
        self._full: dict[int, list[bytes]] = {}

    def add(self, number: int, value: int) -> None:
        if self._tagged:
            entry = (_tag(value) << 32 | number).to_bytes(8, sys.byteorder)
        else:
            entry = number.to_bytes(4, sys.byteorder)
        for base, shift in self._slices:
            self._put(base | value >> shift & self._mask, entry)

    def extend(self, first: int, values: npt.NDArray[np.uint64]) -> None:
        numbers = np.arange(first, first + len(values), dtype=np.uint64)
        if self._tagged:
            entries = (values[:, 0] ^ values[:, 0] >> np.uint64(32)) << np.uint64(32) | numbers
        else:
            entries = numbers.astype(np.uint32)
        addresses = self._layout.addresses(values)
        for block, (base, _) in enumerate(self._slices):
            order = addresses[:, block].argsort(kind="stable")
            ordered = addresses[order, block]
            packed = entries[order].tobytes()
            cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
            starts = [0, *(cuts * entries.itemsize).tolist(), len(packed)]
            for address, start, end in zip(
                ordered[np.append(0, cuts)].tolist(), starts[:-1], starts[1:], strict=True
            ):
                self._put(base | address, packed[start:end])

    def _put(self, bucket: int, entries: bytes) -> None:
        tail = self._tails[bucket] + entries
        if len(tail) >= _TAIL:
            self._full.setdefault(bucket, []).append(tail)
            tail = b""
        self._tails[bucket] = tail

    def candidates(
        self, fingerprint: Fingerprint, distance: int, limit: int
    ) -> npt.NDArray[np.uint32] | None:
        """Return the numbers of the entries in the probed buckets; None if over the limit."""
        layout = self._layout
        value = fingerprint.value
        if layout.probes == layout.blocks:
            buckets = [base | value >> shift & self._mask for base, shift in self._slices]
        else:
            blocks, addresses = layout.probe(fingerprint)
            buckets = (blocks << layout.width | addresses).tolist()
        parts = [self._tails[bucket] for bucket in buckets]
        if self._full:
            for bucket in buckets:
                parts += self._full.get(bucket, ())
        size = sum(map(len, parts))
        if size > limit * (8 if self._tagged else 4):
            return None
        packed = b"".join(parts)
        if not self._tagged:
            return np.frombuffer(packed, np.uint32)
        tag = _tag(value) << 32
        if size <= 8 * _FEW:
            few = memoryview(packed).cast("Q")
            found = [e & _ID for e in few if ((e ^ tag) >> 32).bit_count() <= distance]
            return np.array(found, np.uint32) if found else _NONE
        many = np.frombuffer(packed, np.uint64)
        near = bit_count((many ^ np.uint64(tag)) >> np.uint64(32)) <= distance
        return many[near].astype(np.uint32)


def _tag(value: int) -> int:
    return (value >> 32 ^ value) & _ID


if hasattr(np, "bitwise_count"):

    def bit_count(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
        """Return the number of ones in each word."""
        counts: npt.NDArray[np.uint8] = np.bitwise_count(words)
        return counts

else:  # numpy 1
    _ONES = np.array([bin(i).count("1") for i in range(1 << 16)], np.uint8)

    def bit_count(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
        """Return the number of ones in each word."""
        counts = _ONES[words.view(np.uint16)].reshape(*words.shape, 4)
        total: npt.NDArray[np.uint8] = counts.sum(axis=-1, dtype=np.uint8)
        return total
