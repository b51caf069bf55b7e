"""Block values: the addresses under which an index finds a page again.

Two pages that have the same value at the same place are candidates; only the distance
of their fingerprints, and the rule, decide.
"""

import numpy as np

from scrapy_simhash.fingerprint.hashing import Uint64s, mix


class Slices:
    """The four slices of a 64-bit fingerprint; two that differ in three bits agree in one slice.

    ::

        position   0              16             32             48            63
                   |-- block 0 --|-- block 1 --|-- block 2 --|-- block 3 --|

    Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007),
    section 3.
    """

    count = 4

    def __str__(self) -> str:
        return f"slices:{self.count}"

    def of(self, value: int, hashes: Uint64s | None = None) -> bytes:
        """Return the slices as unsigned 32-bit numbers, little-endian."""
        return np.frombuffer(value.to_bytes(8, "big"), ">u2").astype("<u4").tobytes()


class Bands:
    """Bands of MinHash values of the features, from one permutation.

    The hash of a feature names one of ``count * length`` bins by its high part; the
    least hash in a bin is that bin's MinHash, and two texts have the same one as often
    as their sets of features overlap (Jaccard). ``length`` MinHashes make a band, and a
    band is hashed to a block value::

        bins   0   1   2   3 | 4   5   6   7 | ...         14 bands of 4 have 56 bins
              |---- band 0 ---|---- band 1 ---|

    Li, Owen and Zhang, "One Permutation Hashing" (NIPS 2012). Where they, and
    Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing" (ICML
    2017), let an empty bin borrow from a full one, an empty bin gets a MinHash over all
    features: bins are empty where there are few features, and such texts need values
    that do not repeat each other.

    Unrelated long texts share their most frequent n-grams, unrelated short ones hardly
    any. So the last value of a band counts only in the first twentieth of its bin: most
    long texts have it there, and few short ones do. Without this it takes half as many
    bands more to find as many pairs of short texts among as few unrelated pages.

    Attributes:
        count: bands of a page, which are its block values.
        length: MinHash values of a band.
    """

    count = 14
    length = 4

    def __str__(self) -> str:
        return f"bands:{self.count}x{self.length}"

    def of(self, value: int, hashes: Uint64s | None = None) -> bytes:
        """Return the hashes of the bands as unsigned 32-bit numbers, little-endian.

        Args:
            value: the fingerprint, which plays no part.
            hashes: one well mixed hash of each distinct feature, in any order, shape
                (n,). A text without features has the bands of a single feature whose
                hash is nought.
        """
        if hashes is None:
            raise ValueError(
                f"the fingerprint alone does not give its block values: {self} makes them "
                "from the text"
            )
        minima = _minima(hashes if len(hashes) else np.zeros(1, np.uint64))
        # A multilinear hash: the sum of products with odd numbers, of which the high
        # half counts.
        terms = (minima * _ODD_NUMBERS).reshape(self.count, self.length)
        last = minima[self.length - 1 :: self.length]
        # The place of a hash in its bin, of 2**64.
        places = last * np.uint64(_BINS)
        terms[:, -1] *= places < np.uint64(2**64 // 20)
        # The number of the band is in its hash, because the bands of a text of a single
        # feature are all made of few values.
        sums = np.add.reduce(terms, axis=1) + _ODD_NUMBERS[: self.count]
        values: bytes = (sums >> np.uint64(32)).astype("<u4").tobytes()
        return values


_BINS = Bands.count * Bands.length
# The least hash of each bin, which is the least whole number that is no less than
# n / bins of 2**64, and the greatest hash of all.
_BOUNDS = np.array(
    [*(-((-n << 64) // _BINS) for n in range(_BINS)), 2**64 - 1], np.uint64
)
# Odd numbers with irregular bits, one for each bin.
_ODD_NUMBERS = mix(np.arange(1, _BINS + 1, dtype=np.uint64)) | np.uint64(1)


def _minima(hashes: Uint64s) -> Uint64s:
    """Return the MinHash of each bin, shape (bins,)."""
    ordered = np.sort(hashes)
    bounds = ordered.searchsorted(_BOUNDS)
    minima = ordered.take(bounds[:-1], mode="clip")
    empty = bounds[:-1] == bounds[1:]
    if empty.any():
        of_bins = hashes + _ODD_NUMBERS[empty][:, None]
        minima[empty] = mix(of_bins).min(axis=1)
    return minima
