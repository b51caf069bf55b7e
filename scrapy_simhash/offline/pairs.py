"""How far apart any two documents of a set are, for whoever judges all pairs of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.neighbours import bit_count

Ints: TypeAlias = npt.NDArray[np.int64]
#: The numbers of two documents, the lesser first, and their distance.
NearPair: TypeAlias = tuple[tuple[int, int], int]

# Pairs compared at a time: few enough to stay in the processor's cache.
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """The fingerprints of a set, compared with each other; a page without one is near to none.

    Attributes:
        words: uint64, shape (documents, bits / 64), the most significant first.
        present: bool, shape (documents,): whether the document has a fingerprint.
    """

    words: npt.NDArray[np.uint64]
    present: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, fingerprints: Sequence[Fingerprint | None], bits: int) -> Fingerprints:
        """Gather fingerprints of one width; None where a document has none."""
        none = bytes(bits // 8)
        packed = b"".join(none if f is None else f.to_bytes() for f in fingerprints)
        words = np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, bits // 64)
        return cls(words, np.array([f is not None for f in fingerprints], np.bool_))

    def distances(self, a: Ints, b: Ints) -> Ints:
        """Return the distances of pairs, given as two arrays that broadcast.

        A pair without two fingerprints is one bit farther apart than there are bits.
        """
        shape = np.broadcast_shapes(a.shape, b.shape)
        result = np.zeros(shape, np.int64)
        for column in self.words.T:
            differing: npt.NDArray[np.uint64] = column[a] ^ column[b]
            result += bit_count(differing.ravel()).reshape(shape)
        result[~(self.present[a] & self.present[b])] = 64 * len(self.words.T) + 1
        return result

    def near(self, distance: int) -> Iterator[NearPair]:
        """Compare all pairs; yield those within the distance, the nearest first."""
        count = len(self.present)
        near = [np.empty((3, 0), np.int64)]
        rows = max(1, _CHUNK // max(count, 1))
        for start in range(0, count, rows):
            a = np.arange(start, min(start + rows, count))[:, None]
            b = np.arange(start, count)[None, :]
            each = self.distances(a, b)
            # Every pair once: not with itself, and not in the other order.
            row, column = np.nonzero((each <= distance) & (b > a))
            near.append(np.stack((row + start, column + start, each[row, column])))
        pairs = np.concatenate(near, axis=1)
        for one, other, apart in pairs[:, pairs[2].argsort(kind="stable")].T:
            yield (int(one), int(other)), int(apart)
