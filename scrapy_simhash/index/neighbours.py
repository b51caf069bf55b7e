"""The fingerprints of a log in RAM: the newest are compared one by one, the older by buckets.

Entries are numbered in the order in which they come. The newest ones, the *tail*, are compared with
every page. When the tail is full it becomes a *run*: for each block, the entries sorted by their
value of that block. Runs of like size are merged, so there are few, as in a log-structured merge
tree (O'Neil, Cheng, Gawlick, O'Neil 1996, section 2). A look-up is one pass of numpy over all
blocks of all pages of a call, for each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from mmap import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.values import BUCKET_LIMIT

Uint64s = npt.NDArray[np.uint64]
Uint32s = npt.NDArray[np.uint32]
# Distance and position of the entries near a fingerprint, sorted.
Near = list[tuple[int, int]]
#: The numbers of two fingerprints, the lesser first.
Numbers = tuple[int, int]
# Numbers of fingerprints or of look-ups, and of entries.
_Pairs = tuple[npt.NDArray[np.intp], npt.NDArray[np.integer[Any]]]

# Entries that are compared one by one with every page.
TAIL = 512
# Entries of the largest run: merging two of half the size takes up to a second.
LARGEST = 1 << 20
# A run is merged with the next one unless it has this many times its entries.
RATIO = 4
# Multiplying by an odd number spreads values over 32 bits, and can be undone (Knuth, 6.4).
SPREAD = np.uint32(0x9E3779B1)
GATHER = np.uint32(pow(0x9E3779B1, -1, 1 << 32))
_LOW = np.uint64((1 << 32) - 1)
_QUERY = np.uint64(48)


class Neighbours:
    """Finds the entries that are within a distance of a fingerprint and share a block with it.

    The last of the values of an entry is that of its key: entries that share it are found at any
    distance. It is not thread-safe. An entry takes ``bits / 8`` + 9 bytes and, for each value, 6
    to 9.

    Args:
        columns: values of an entry, one more than its blocks.

    Attributes:
        flooded: look-ups that read only the newest entries of a bucket, see ``BUCKET_LIMIT``.
    """

    def __init__(self, bits: int, columns: int, distance: int) -> None:
        self._columns = columns
        self._distance = distance
        self._words = np.empty((TAIL, bits // 64), np.uint64)
        self._positions = np.empty(TAIL, np.uint32)
        self._living = np.empty(TAIL, np.bool_)
        self._tail = np.empty((TAIL, columns), np.uint32)
        self._runs: list[_Run] = []
        self._count = 0
        self.flooded = 0

    @property
    def _in_runs(self) -> int:
        return self._runs[-1].end if self._runs else 0

    def add(self, positions: Sequence[int], words: Uint64s, values: Uint32s) -> None:
        """Add entries; positions must increase.

        Args:
            positions: where they stand in the log, less than 2**32.
            words: shape (n, bits / 64).
            values: shape (n, columns).
        """
        first, end = self._count, self._count + len(positions)
        if end > len(self._positions):
            self._grow(max(end, 2 * first))
        self._words[first:end] = words
        self._positions[first:end] = positions
        self._living[first:end] = True
        self._count = end
        at = first - self._in_runs
        if at + len(positions) < TAIL:
            self._tail[at : at + len(positions)] = values
        else:
            self._append_run(np.concatenate((self._tail[:at], values)))

    def find(self, words: Uint64s, values: Uint32s, most: int | None = None) -> list[Near]:
        """Return, for each of some fingerprints, the entries near it; shapes as for :meth:`add`.

        The nearest ones come first, then the oldest; at most ``most`` of a fingerprint, if that is
        given, besides those of its key.
        """
        tail = self._words[self._in_runs : self._count]
        keys = self._tail[: len(tail), -1]
        close = distances(words[:, None], tail) <= self._distance
        close |= values[:, -1:] == keys
        close = close.ravel()
        # In an array of two dimensions numpy looks for the few that are true one by one.
        queries, numbers = np.divmod(close.nonzero()[0], len(tail))
        # Older entries are found by shared values alone, so that is asked of these, too: what a
        # page repeats does not hang on how long ago the other one came.
        shared = (values[queries] == self._tail[numbers]).any(1)
        queries, numbers = queries[shared], numbers[shared]
        # Entries of other keys count as found by their first values.
        by_key = (values[queries, -1] == keys[numbers]) * (self._columns - 1)
        candidates: list[_Pairs] = [(queries * self._columns + by_key, numbers + self._in_runs)]
        spread = values * SPREAD
        # Entries that a look-up may still read, and look-ups that may not read all.
        left, flooded = np.full(values.size, BUCKET_LIMIT), set[int]()
        newer = _Newer(self._tail[: len(tail)], values, left)
        candidates += [run.find(spread, left, newer, flooded) for run in reversed(self._runs)]
        self.flooded += len(flooded)
        lookups, numbers = map(np.concatenate, zip(*candidates, strict=True))
        queries, columns = np.divmod(lookups, self._columns)
        between = distances(words.take(queries, axis=0), self._words.take(numbers, axis=0))
        is_named = columns == self._columns - 1
        near = ((between <= self._distance) | is_named).nonzero()[0]
        near = near[self._living[numbers[near]]]
        positions = self._positions[numbers[near]]
        # An entry may share several blocks with the fingerprint.
        sought = queries[near].astype(np.uint64) << _QUERY
        found_by = sought | between[near].astype(np.uint64) << np.uint64(32) | positions
        pairs = np.unique(found_by)
        if most and len(pairs) > most:
            place = np.arange(len(pairs)) - pairs.searchsorted(pairs >> _QUERY << _QUERY)
            stays = (place < most) | np.isin(pairs, found_by[is_named[near]])
            pairs = pairs[stays]
        near_pages: list[Near] = [[] for _ in words]
        parts = (pairs >> _QUERY, pairs >> np.uint64(32) & np.uint64(0xFFFF), pairs & _LOW)
        for query, distance, position in zip(*(part.tolist() for part in parts), strict=True):
            near_pages[query].append((distance, position))
        return near_pages

    def forget(self, positions: Sequence[int]) -> None:
        self._living[self._numbers(positions)] = False

    def at(self, positions: Sequence[int], *, values: bool) -> list[bytes]:
        """Return the fingerprints of entries, maybe with their values, for which it reads all."""
        numbers = self._numbers(positions)
        words = [row.tobytes() for row in self._words[numbers]]
        if not values:
            return words
        tail = self._tail[: self._count - self._in_runs]
        rows = np.concatenate([*(run.blocks() for run in self._runs), tail])[numbers]
        return [own + row.tobytes() for own, row in zip(words, rows.astype("<u4"), strict=True)]

    def _numbers(self, positions: Sequence[int]) -> npt.NDArray[np.intp]:
        return self._positions[: self._count].searchsorted(np.array(positions, np.uint32))

    def _grow(self, capacity: int) -> None:
        """Make room; memory that is not yet used is not touched, and so costs nothing."""
        for name in ("_words", "_positions", "_living"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), old.dtype)
            new[: self._count] = old[: self._count]
            setattr(self, name, new)

    def _append_run(self, blocks: Uint32s) -> None:
        numbers = np.arange(self._in_runs, self._count, dtype=np.uint64)
        spread = (blocks * SPREAD).T.astype(np.uint64) << np.uint64(32)
        run = _Run(self._in_runs, self._count, self._columns, spread | numbers)
        while self._runs and len(self._runs[-1]) < RATIO * len(run):
            if len(self._runs[-1]) + len(run) > LARGEST:
                break
            run = self._runs.pop().merged(run)
        self._runs.append(run)


class _Newer:
    """Takes the entries of the tail from those that a look-up may still read, where that matters.

    Args:
        left: entries that each look-up may still read.
    """

    def __init__(self, tail: Uint32s, values: Uint32s, left: npt.NDArray[np.int64]) -> None:
        self._tail = tail
        self._values = values
        self._left = left
        self._counted: set[int] = set()

    def flooded(self, lengths: npt.NDArray[np.int64]) -> list[int]:
        """Return the look-ups that would read more than is left, of so many entries each."""
        lookups = []
        for lookup in (lengths > self._left - len(self._tail)).nonzero()[0].tolist():
            if lookup not in self._counted:
                self._counted.add(lookup)
                query, column = divmod(lookup, self._values.shape[1])
                same = self._tail[:, column] == self._values[query, column]
                self._left[lookup] -= np.count_nonzero(same)
            if lengths[lookup] > self._left[lookup]:
                lookups.append(lookup)
        return lookups


class _Run:
    """The entries of a range of numbers, for each block sorted by its value, then by number.

    Only the low bits of each 32-bit value are kept. The high ones name a place in the directory,
    which says where the entries with these high bits begin. ``keys`` has the values (high 32 bits)
    and numbers (low 32 bits) of each block in any order, and is overwritten.
    """

    def __init__(self, first: int, end: int, blocks: int, keys: Iterable[Uint64s]) -> None:
        self.first, self.end, self._blocks = first, end, blocks
        size = end - first
        # Four to eight entries a place. From 2**18 entries on, 16 low bits are left to be kept.
        self._high = size.bit_length() - 3
        self._places = 1 << self._high
        self._shift = np.uint32(32 - self._high)
        self._mask = np.uint32((1 << 32 - self._high) - 1)
        self._offsets = np.arange(blocks, dtype=np.uint32) << np.uint32(self._high)
        lows = np.uint16 if self._high >= 16 else np.uint32
        self._lows = _mapped(blocks * size, lows)
        self._numbers = _mapped(blocks * size, np.uint32)
        self._starts = _mapped(blocks * self._places + 1, np.uint32)
        for block, ordered in enumerate(keys):
            ordered.sort()
            part = slice(block * size, (block + 1) * size)
            np.bitwise_and(ordered, _LOW, out=self._numbers[part], casting="unsafe")
            ordered >>= np.uint64(32)
            np.bitwise_and(ordered, self._mask, out=self._lows[part], casting="unsafe")
            ordered >>= np.uint64(32 - self._high)
            ends = np.bincount(ordered.view(np.int64), minlength=self._places).cumsum()
            at = block * self._places + 1
            self._starts[at : at + self._places] = ends + block * size

    def __len__(self) -> int:
        return self.end - self.first

    def find(
        self, values: Uint32s, left: npt.NDArray[np.int64], newer: _Newer, flooded: set[int]
    ) -> _Pairs:
        """Look up the block values of some pages, shape (n, blocks).

        A look-up reads at most as many entries as ``left`` has for it, the newest ones, by which
        ``left`` gets smaller. If there are more, it is put into ``flooded``. The answer is pairs:
        the number of a look-up, counted page by page, and that of an entry.
        """
        places = ((values >> self._shift) + self._offsets).ravel()
        starts = self._starts.take(places).astype(np.int64)
        lengths = self._starts.take(places + 1) - starts
        lows = (values & self._mask).astype(self._lows.dtype).ravel()
        for lookup in newer.flooded(lengths):
            start, low = int(starts[lookup]), lows[lookup]
            place = self._lows[start : start + int(lengths[lookup])]
            first, end = place.searchsorted(low), place.searchsorted(low, "right")
            if end - first > left[lookup]:
                flooded.add(lookup)
                first = end - left[lookup]
            starts[lookup], lengths[lookup] = start + first, end - first
        lookups = np.arange(len(starts)).repeat(lengths)
        # The entries of all places, one place after the other.
        entries = (starts + lengths - lengths.cumsum()).take(lookups)
        entries += np.arange(len(entries))
        same = (self._lows.take(entries) == lows.take(lookups)).nonzero()[0]
        lookups = lookups.take(same)
        left -= np.bincount(lookups, minlength=len(left))
        return lookups, self._numbers.take(entries.take(same))

    def merged(self, later: _Run) -> _Run:
        keys = (np.concatenate((self._keys(i), later._keys(i))) for i in range(self._blocks))
        return _Run(self.first, later.end, self._blocks, keys)

    def _keys(self, block: int) -> Uint64s:
        """Return values and numbers of a block, sorted."""
        size = len(self)
        part = slice(block * size, (block + 1) * size)
        at = block * self._places
        lengths = np.diff(self._starts[at : at + self._places + 1])
        high = np.repeat(np.arange(self._places, dtype=np.uint64), lengths)
        high <<= np.uint64(32 - self._high)
        high |= self._lows[part]
        high <<= np.uint64(32)
        high |= self._numbers[part]
        return high

    def blocks(self) -> Uint32s:
        values = np.empty((len(self), self._blocks), np.uint32)
        for block in range(self._blocks):
            keys = self._keys(block)
            values[(keys & _LOW) - self.first, block] = keys >> np.uint64(32)
        return values * GATHER


def _mapped(size: int, dtype: type) -> npt.NDArray[Any]:
    """Return zeros in memory of their own.

    Memory of malloc stays with the process in part after a merge, which took a third of the memory
    of a million entries.
    """
    return np.frombuffer(mmap(-1, size * np.dtype(dtype).itemsize), dtype)


def unpacked(content: bytes, bits: int, blocks: int) -> tuple[Uint64s, Uint32s]:
    """Return words and block values, shapes as for ``add``, of fingerprints one after the other."""
    width = bits // 8
    octets = np.frombuffer(content, np.uint8).reshape(-1, width + 4 * blocks)
    values = np.ascontiguousarray(octets[:, width:]).view("<u4")
    return np.ascontiguousarray(octets[:, :width]).view(np.uint64), values


def distances(left: Uint64s, right: Uint64s) -> npt.NDArray[np.uint16]:
    """Return the distances of fingerprints, whose words are in the last of the dimensions."""
    total: npt.NDArray[np.uint16]
    total = np.bitwise_count(left[..., 0] ^ right[..., 0]).astype(np.uint16)
    for i in range(1, left.shape[-1]):
        total += np.bitwise_count(left[..., i] ^ right[..., i])
    return total


def near_pairs(
    fingerprints: Sequence[Fingerprint | None], distance: int
) -> list[tuple[Numbers, int]]:
    """Compare all pairs; return those within the distance, in bits, the nearest first.

    A document without a fingerprint is near to none.
    """
    by_number = {
        number: fingerprint
        for number, fingerprint in enumerate(fingerprints)
        if fingerprint is not None
    }
    if not by_number:
        return []
    present, bits = list(by_number), next(iter(by_number.values())).bits
    words, _ = unpacked(
        b"".join([fingerprint.to_bytes() for fingerprint in by_number.values()]), bits, 0
    )
    near: list[tuple[Numbers, int]] = []
    for row, number in enumerate(present[:-1]):
        apart = distances(words[row + 1 :], words[row])
        columns = np.flatnonzero(apart <= distance).tolist()
        near += [((number, present[row + 1 + column]), int(apart[column])) for column in columns]
    return sorted(near, key=lambda pair: pair[1])
