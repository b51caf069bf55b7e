"""The fingerprints of a log in RAM: the newest are compared one by one, the older by buckets.

Entries are numbered in the order in which they come. The newest ones, the *tail*, are compared with
every page. When the tail is full it becomes a *run*: the values of its entries, sorted. Runs of
like size are merged, so there are few, as in a log-structured merge tree (O'Neil, Cheng, Gawlick,
O'Neil 1996, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from mmap import mmap

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.hashing import Uint64s
from scrapy_simhash.fingerprint.normalisation import Uint32s
from scrapy_simhash.index.lookups import SPREAD, Near, distances
from scrapy_simhash.index.values import BUCKET_LIMIT, KEY_LIMIT

# Numbers of look-ups, and of the entries that they find, shape (2, n).
_Pairs = npt.NDArray[np.intp]

# Entries that are compared one by one with every page.
TAIL = 512
# Entries of the largest run, which bounds the time of a merge.
LARGEST = 1 << 20
# A run is merged with the next one unless it has this many times its entries.
RATIO = 4
# Places of a directory that are made at a time: the memory of more would stay with the process.
_PLACES_AT_ONCE = 1 << 14
_LOW = np.uint64((1 << 32) - 1)
_HIGH = np.uint64(32)
_QUERY_SHIFT = np.uint64(48)


class Neighbours:
    """Finds the entries that are within a distance of a fingerprint and share a block with it.

    The last value of an entry is its key's: entries that share it are found at any distance. Now
    and then an entry is found by a value of another column, which does no harm. It is not
    thread-safe. An entry takes ``bits / 8`` + 5 bytes, and 9 for each value.

    Args:
        columns: values of an entry, one more than its blocks.
    """

    def __init__(self, bits: int, columns: int, distance: int) -> None:
        self._columns = columns
        self._distance = distance
        # Entries that are read of a bucket, by column.
        self._limits = np.full(columns, BUCKET_LIMIT)
        self._limits[-1] = KEY_LIMIT
        self._words = np.empty((TAIL, bits // 64), np.uint64)
        self._positions = np.empty(TAIL, np.uint32)
        self._living = np.empty(TAIL, np.bool_)
        self._tail = np.empty((TAIL, columns), np.uint32)
        self._runs: list[_Run] = []
        self._count = self._in_runs = 0

    def add(self, positions: Sequence[int], words: Uint64s, values: Uint32s) -> None:
        """Add entries; positions must increase.

        Args:
            positions: their positions in the log, less than 2**32.
            words: shape (n, bits / 64).
            values: shape (n, columns).
        """
        first = self._count
        end = first + len(positions)
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

        The nearest ones come first, then the oldest; at most ``most`` for each fingerprint, if that
        is given, besides the entries of its key.
        """
        found = np.concatenate((self._in_tail(words, values), self._in_runs_of(values)), axis=1)
        lookups: npt.NDArray[np.intp] = found[0]
        numbers = found[1]
        queries = lookups // self._columns
        between = distances(words.take(queries, axis=0), self._words.take(numbers, axis=0))
        is_named = lookups % self._columns == self._columns - 1
        near = ((between <= self._distance) | is_named).nonzero()[0]
        near = near[self._living[numbers[near]]]
        packed = queries[near].astype(np.uint64) << _QUERY_SHIFT
        packed |= between[near].astype(np.uint64) << _HIGH | self._positions[numbers[near]]
        # An entry may share several blocks with the fingerprint.
        pairs = np.unique(packed)
        if most and len(pairs) > most:
            pairs = pairs[_is_among_first(pairs, most) | np.isin(pairs, packed[is_named[near]])]
        return _by_query(pairs, len(words))

    def _in_tail(self, words: Uint64s, values: Uint32s) -> _Pairs:
        """Return look-ups, counted page by page, and the entries of the tail that they find."""
        tail = self._words[self._in_runs : self._count]
        tail_values = self._tail[: len(tail)]
        close = distances(words[:, None], tail) <= self._distance
        close |= values[:, -1:] == tail_values[:, -1]
        # Older entries are found in their buckets alone, and so are these: what a page repeats does
        # not hang on how long ago the other page came.
        for query in np.flatnonzero(close.any(1)).tolist():
            same = tail_values == values[query]
            places = same[::-1].cumsum(0)[::-1]
            close[query] &= (same & (places <= self._limits)).any(1)
        # In an array of two dimensions numpy looks for the few that are true one by one.
        queries, numbers = np.divmod(close.ravel().nonzero()[0], len(tail))
        # Entries of other keys count as found by their first values.
        columns = (values[queries, -1] == tail_values[numbers, -1]) * (self._columns - 1)
        return np.array((queries * self._columns + columns, numbers + self._in_runs))

    def _in_runs_of(self, values: Uint32s) -> _Pairs:
        """Return look-ups, counted page by page, and the entries of the runs that they find."""
        needles = self._mixed(values).ravel()
        bounds = np.empty((len(self._runs), 2, len(needles)), np.intp)
        for number, run in enumerate(self._runs):
            bounds[number] = run.places(needles)
        limits = np.tile(self._limits, len(values))
        counts = (bounds[:, 1] - bounds[:, 0]).sum(0)
        for lookup in (counts > limits).nonzero()[0].tolist():
            self._narrow(bounds[:, :, lookup], needles[lookup], limits[lookup])
        found = [np.empty((2, 0), np.intp)]
        found += [run.found(needles, *bounds[number]) for number, run in enumerate(self._runs)]
        return self._without_old(values, np.concatenate(found, axis=1))

    def _narrow(self, bounds: npt.NDArray[np.intp], needle: np.uint64, left: int) -> None:
        """Bound a bucket by its newest entries, which are read."""
        for number in reversed(range(len(self._runs))):
            first, end = self._runs[number].bucket(needle)
            bounds[number] = max(first, end - left), end
            left -= end - max(first, end - left)

    def _without_old(self, values: Uint32s, pairs: _Pairs) -> _Pairs:
        """Leave out the older entries of buckets whose newest ones are in the tail."""
        tail = self._tail[: self._count - self._in_runs]
        if not (len(tail) and pairs.size):
            return pairs
        pairs = pairs.take(np.lexsort((-pairs[1], pairs[0])), axis=1)
        lookups = pairs[0]
        places = np.arange(len(lookups)) - lookups.searchsorted(lookups)
        queries, columns = np.divmod(lookups, self._columns)
        in_tail = (tail[:, columns] == values[queries, columns]).sum(0)
        is_read = places + in_tail < self._limits[columns]
        return pairs.compress(is_read, axis=1)

    def forget(self, positions: Sequence[int]) -> None:
        self._living[self._numbers(positions)] = False

    def fingerprints(self, positions: Sequence[int]) -> list[bytes]:
        return [words.tobytes() for words in self._words[self._numbers(positions)]]

    def _numbers(self, positions: Sequence[int]) -> npt.NDArray[np.intp]:
        return self._positions[: self._count].searchsorted(np.array(positions, np.uint32))

    def _grow(self, capacity: int) -> None:
        """Make room; memory that is not yet used is not touched, and so costs nothing."""
        for name in ("_words", "_positions", "_living"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), old.dtype)
            new[: self._count] = old[: self._count]
            setattr(self, name, new)

    def _mixed(self, values: Uint32s) -> Uint64s:
        """Return values spread over 32 bits, with their columns mixed in, as the high bits of keys.

        One array then holds the values of all columns.
        """
        salts = np.arange(self._columns, dtype=np.uint32) * SPREAD
        return (values * SPREAD ^ salts).astype(np.uint64) << _HIGH

    def _append_run(self, values: Uint32s) -> None:
        numbers = np.arange(self._in_runs, self._count, dtype=np.uint64)
        run = _Run([(self._mixed(values) | numbers[:, None]).ravel()])
        self._in_runs = self._count
        while self._runs and len(self._runs[-1].keys) < RATIO * len(run.keys):
            if len(self._runs[-1].keys) + len(run.keys) > LARGEST * self._columns:
                break
            run = _Run([self._runs.pop().keys, run.keys])
        self._runs.append(run)


class _Run:
    """The sorted values of some entries, and the numbers of these.

    Args:
        parts: values (high 32 bits) and numbers (low 32 bits), in any order.
    """

    def __init__(self, parts: Sequence[Uint64s]) -> None:
        # The array is mapped, because memory of malloc stays with the process in part after a
        # merge: a third of the memory of a million entries.
        self.keys = np.frombuffer(mmap(-1, sum(part.nbytes for part in parts)), np.uint64)
        np.concatenate(parts, out=self.keys)
        self.keys.sort()
        # The directory: where the keys with the same high bits begin, four to eight of them.
        self._shift = np.uint64(64 + 3 - len(self.keys).bit_length())
        count = 1 << 64 - int(self._shift)
        self._starts = np.full(count + 1, len(self.keys), np.uint32)
        for first in range(0, count, _PLACES_AT_ONCE):
            end = min(first + _PLACES_AT_ONCE, count)
            places = np.arange(first, end, dtype=np.uint64) << self._shift
            self._starts[first:end] = self.keys.searchsorted(places)

    def places(self, needles: Uint64s) -> tuple[Uint32s, Uint32s]:
        """Return the places between which the keys have the high bits of the needles."""
        at = (needles >> self._shift).astype(np.intp)
        return self._starts.take(at), self._starts.take(at + 1)

    def bucket(self, needle: np.uint64) -> tuple[int, int]:
        """Return the places between which the keys have one value."""
        first, end = self.keys.searchsorted(np.array((needle, needle | _LOW))).tolist()
        return first, end

    def found(
        self, needles: Uint64s, firsts: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]
    ) -> _Pairs:
        """Return the places of needles, and the numbers that they have between places of keys."""
        lengths = ends - firsts
        lookups = np.arange(len(lengths)).repeat(lengths)
        # The keys of all places, one place after the other.
        shifts = ends - lengths.cumsum()
        keys = self.keys.take(shifts.take(lookups) + np.arange(len(lookups)))
        same = (keys >> _HIGH == needles.take(lookups) >> _HIGH).nonzero()[0]
        return np.array((lookups.take(same), (keys.take(same) & _LOW).astype(np.intp)))


def _is_among_first(pairs: Uint64s, most: int) -> npt.NDArray[np.bool_]:
    """Return which pairs are the first ones of their query."""
    return np.arange(len(pairs)) - pairs.searchsorted(pairs >> _QUERY_SHIFT << _QUERY_SHIFT) < most


def _by_query(pairs: Uint64s, queries: int) -> list[Near]:
    """Return distances and positions by query, given all three packed in one number."""
    near: list[Near] = [[] for _ in range(queries)]
    parts = (pairs >> _QUERY_SHIFT, pairs >> _HIGH & np.uint64(0xFFFF), pairs & _LOW)
    for query, distance, position in zip(*(part.tolist() for part in parts), strict=True):
        near[query].append((distance, position))
    return near
