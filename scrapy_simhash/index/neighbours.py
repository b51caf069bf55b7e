"""The fingerprints of a log in RAM, which are found by the values that they share.

Entries are numbered in the order in which they come. A *segment* has the values of some
entries, sorted. A new segment is merged with those before it that are not much larger,
so there are few, as in a log-structured merge tree (O'Neil, Cheng, Gawlick, O'Neil
1996, section 2).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from mmap import mmap

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.hashing import Uint64s
from scrapy_simhash.fingerprint.normalisation import Uint32s
from scrapy_simhash.index.lookups import SPREAD, distances
from scrapy_simhash.index.values import BUCKET_LIMIT, KEY_LIMIT, IndexSpec

# Numbers, such as the ones that entries have.
_Numbers = npt.NDArray[np.intp]

# Entries of the largest segment, which bounds the time of a merge.
LARGEST = 1 << 20
# A segment is merged with the one before it unless that has this many times its
# entries.
RATIO = 4
_LOW = np.uint64((1 << 32) - 1)
_HIGH = np.uint64(32)


class Neighbours:
    """Finds the entries that are within a distance of a fingerprint and share a value with it.

    The last value of an entry is its key's: entries that share it are found at any
    distance. Now and then an entry is found by a value of another column, which does no
    harm. It is not thread-safe. An entry takes ``bits / 8`` + 4 bytes, and 8 for each
    value.

    An entry has a value for each block, and one for its key: its *columns*.
    """

    def __init__(self, spec: IndexSpec) -> None:
        self._columns = spec.blocks + 1
        self._reach = spec.reach
        # Entries that are read of a bucket, by column.
        self._limits = np.array([BUCKET_LIMIT] * spec.blocks + [KEY_LIMIT])
        self._width = spec.bits // 64
        # The words of all entries, one after the other.
        self._words = bytearray()
        self._positions = array("I")
        self._segments: list[Uint64s] = []

    def add(self, positions: Sequence[int], words: Uint64s, values: Uint32s) -> None:
        """Add entries; positions must increase.

        Args:
            positions: their positions in the log, less than 2**32.
            words: shape (n, bits / 64).
            values: shape (n, columns).
        """
        first = len(self._positions)
        # A call for which there was no memory may have left words that no entry has.
        del self._words[first * self._width * 8 :]
        self._words += words.tobytes()
        self._positions += array("I", positions)
        numbers = np.arange(first, len(self._positions), dtype=np.uint64)
        self._append((self._needles(values) | numbers[:, None]).ravel())

    def find(self, words: Uint64s, values: Uint32s) -> list[list[int]]:
        """Return what is near some fingerprints, whose shapes are as for :meth:`add`.

        These are the fingerprint's number, the distance and the position of each entry.
        """
        lookups, numbers = self._sharing(values)
        pages, columns = np.divmod(lookups, self._columns)
        between = distances(words[pages], self._words_of(numbers))
        is_near = (between <= self._reach) | (columns == self._columns - 1)
        candidates = np.array((pages, between, np.asarray(self._positions)[numbers]))
        near: list[list[int]] = candidates[:, is_near].T.tolist()
        return near

    def fingerprints(self, positions: Sequence[int]) -> list[bytes]:
        numbers = np.asarray(self._positions).searchsorted(
            np.array(positions, np.uint32)
        )
        return [words.tobytes() for words in self._words_of(numbers)]

    def _words_of(self, numbers: _Numbers) -> Uint64s:
        return np.frombuffer(self._words, np.uint64).reshape(-1, self._width)[numbers]

    def _sharing(self, values: Uint32s) -> _Numbers:
        """Return look-ups, counted page by page, and the entries that share their values."""
        needles = self._needles(values).ravel()
        # Searched in their order, they meet what the processor has just read.
        order = needles.argsort()
        needles = needles[order]
        left = np.tile(self._limits, len(values))[order]
        found = [np.empty((2, 0), np.intp)]
        for segment in reversed(self._segments):  # the newest entries first
            ends = segment.searchsorted(needles | _LOW, "right")
            lengths = np.minimum(ends - segment.searchsorted(needles), left)
            left -= lengths
            lookups = order.repeat(lengths)
            # The places before the end of each bucket, one bucket after the other.
            places = np.arange(len(lookups)) + (ends - lengths.cumsum()).repeat(lengths)
            found.append(np.array((lookups, (segment[places] & _LOW).astype(np.intp))))
        return np.concatenate(found, axis=1)

    def _needles(self, values: Uint32s) -> Uint64s:
        """Return values with their columns mixed in, as the high bits of what a segment has."""
        salts = np.arange(self._columns, dtype=np.uint32) * SPREAD
        return (values ^ salts).astype(np.uint64) << _HIGH

    def _append(self, added: Uint64s) -> None:
        """Append a segment of values (high 32 bits) and numbers (low 32 bits)."""
        parts = [added]
        size = len(added)
        while self._segments and len(self._segments[-1]) < RATIO * size:
            size += len(self._segments[-1])
            if size > LARGEST * self._columns:
                break
            parts.append(self._segments.pop())
        # The array is mapped, because memory of malloc stays with the process in part
        # after a merge: a third of the memory of a million entries.
        segment = np.frombuffer(mmap(-1, sum(part.nbytes for part in parts)), np.uint64)
        np.concatenate(parts, out=segment)
        segment.sort()
        self._segments.append(segment)
