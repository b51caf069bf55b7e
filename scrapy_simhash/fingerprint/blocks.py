"""Block values: the addresses under which an index finds a page again.

Two pages that have the same value at the same place are candidates; only the distance of their
fingerprints, and the rule of the recipe, decide. A *layout* is the text that names how block
values are made, as it stands in a recipe's identity:

``slices:4``
    pieces of the fingerprint itself, for the narrow ones, see :class:`Slices`;
``bands:20x4``
    MinHash values of the features, for the wide ones, see :class:`Bands`.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.hashing import Uint64s, mix

#: Version of what both kinds of layout make. Raise it when a page gets other block values.
VERSION = 1

_VALUE_BITS = 32
_SLICES = re.compile(r"slices:(\d{1,2}(?:of\d{1,2})?(?:\+\d{1,2}(?:of\d{1,2})?)*)")
_BANDS = re.compile(r"bands:(\d{1,3})x(\d{1,2})")
# A look-up reads one bucket for each block.
_MOST_BLOCKS = 64
_MOST_BINS = 256
# Hashes that are looked at for each bin before all of them are: one bin in 160,000 is missed.
_LIKELY_IN_BIN = 12
# Places in a bin, of 2**64, at which the last value of a band counts.
_FIRST_PLACES = np.uint64(2**64 // 20)


class Blocks(Protocol):
    """How the block values of a fingerprint are made.

    ``str`` gives the layout's name.
    """

    @property
    def count(self) -> int:
        """The number of block values that a fingerprint has."""

    def of(self, value: int, hashes: Uint64s | None = None) -> bytes:
        """Return the block values of a fingerprint.

        Args:
            value: the fingerprint.
            hashes: one well mixed hash of each distinct feature, in any order, shape (n,); None
                where the features are not known.

        Returns:
            ``count`` unsigned 32-bit numbers, little-endian.

        Raises:
            ValueError: the layout needs hashes and there are none.
        """


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of the fingerprint; every pair within ``guaranteed_distance`` shares one.

    The usual four of 64 bits; two fingerprints that differ in three bits agree in at least one::

        position   0              16             32             48            63
                   |-- block 0 --|-- block 1 --|-- block 2 --|-- block 3 --|      slices:4

    Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007), section 3,
    trade look-ups for the size of buckets. Pieces that are chosen together, and pieces of what is
    left, make longer addresses, and more of them::

        slices:4        4 look-ups of 16 bits       slices:4+4     16 look-ups of 28 bits
        slices:2of5    10 look-ups of 25 bits       slices:3of6    20 look-ups of 31 bits

    Attributes:
        bits: width of the fingerprints.
        stages: (chosen, pieces) of each stage: the bits that the stages before left over are cut
            into ``pieces``, and every choice of so many of them is joined to the address.

    Raises:
        ValueError: a stage chooses none or all of its pieces, or there are too many addresses.
    """

    bits: int
    stages: tuple[tuple[int, int], ...] = ((1, 4),)

    def __post_init__(self) -> None:
        if any(not 0 < chosen < pieces for chosen, pieces in self.stages):
            raise ValueError(f"{self}: a slice is chosen from at least two pieces, not all of them")
        if not 0 < self.count <= _MOST_BLOCKS:
            raise ValueError(f"{self}: {self.count} blocks; at most {_MOST_BLOCKS} are possible")

    def __str__(self) -> str:
        return "slices:" + "+".join(
            str(pieces) if chosen == 1 else f"{chosen}of{pieces}" for chosen, pieces in self.stages
        )

    @property
    def count(self) -> int:
        """The number of addresses of a fingerprint."""
        return math.prod(math.comb(pieces, chosen) for chosen, pieces in self.stages)

    @property
    def guaranteed_distance(self) -> int:
        """The greatest distance within which every pair shares an address.

        A stage that chooses c of m pieces finds unchanged ones if at most m - c bits differ.
        """
        return min(pieces - chosen for chosen, pieces in self.stages)

    def of(self, value: int, hashes: Uint64s | None = None) -> bytes:
        """Return the addresses of a fingerprint; see :meth:`Blocks.of`.

        An address of more than 32 bits is folded to 32, which keeps equal ones equal.
        """
        numbers = []
        for runs in _addresses(self.bits, self.stages):
            address = 0
            for shift, width in runs:
                address = address << width | value >> shift & ((1 << width) - 1)
            while address >> _VALUE_BITS:
                address = address >> _VALUE_BITS ^ address & ((1 << _VALUE_BITS) - 1)
            numbers.append(address)
        return np.array(numbers, "<u4").tobytes()


@functools.cache
def _addresses(
    bits: int, stages: tuple[tuple[int, int], ...]
) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return, for each address, the runs of bits that it is joined of, as (shift, width)."""
    addresses: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), tuple(range(bits)))]
    for chosen, pieces in stages:
        addresses = [
            (address + sum(taken, ()), tuple(bit for bit in left if bit not in sum(taken, ())))
            for address, left in addresses
            for taken in itertools.combinations(_cut(left, pieces), chosen)
        ]
    return tuple(_runs(address, bits) for address, _ in addresses)


def _cut(positions: tuple[int, ...], pieces: int) -> list[tuple[int, ...]]:
    """Cut positions into pieces as even as possible, the longer ones first."""
    length, longer = divmod(len(positions), pieces)
    ends = [piece * length + min(piece, longer) for piece in range(pieces + 1)]
    return [positions[start:end] for start, end in itertools.pairwise(ends)]


def _runs(positions: tuple[int, ...], bits: int) -> tuple[tuple[int, int], ...]:
    """Join neighbouring positions to (shift, width), so that an address takes few steps."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return tuple((bits - 1 - run[-1], len(run)) for run in runs)


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of MinHash values of the features, from one permutation.

    The hash of a feature names one of ``number * length`` bins by its high part; the least hash in
    a bin is that bin's MinHash, and two texts have the same one as often as their sets of features
    overlap (Jaccard). ``length`` MinHashes make a band, and a band is hashed to a block value::

        bins   0   1   2   3 | 4   5   6   7 | ...         bands:20x4 has 80 bins
              |---- band 0 ---|---- band 1 ---|

    Li, Owen and Zhang, "One Permutation Hashing" (NIPS 2012). Where they, and Shrivastava,
    "Optimal Densification for Fast and Accurate Minwise Hashing" (ICML 2017), let an empty bin
    borrow from a full one, it gets a MinHash of its own over all features: there are few features
    where bins are empty, and texts of few features need values that do not repeat each other.

    Unrelated long texts share their most frequent n-grams, unrelated short ones hardly any. So the
    last value of a band counts only in the first twentieth of its bin, where it is in most long
    texts and in few short ones. Twenty bands find as many of the pairs of short texts by this as
    thirty without it, and no more unrelated pages.

    Attributes:
        number: bands of a page, which are its block values.
        length: MinHash values of a band.

    Raises:
        ValueError: there are no bands, too many, or too many bins.
    """

    number: int
    length: int

    def __post_init__(self) -> None:
        if not (0 < self.number <= _MOST_BLOCKS and 0 < self._bins <= _MOST_BINS):
            raise ValueError(
                f"{self}: 1 to {_MOST_BLOCKS} bands and at most {_MOST_BINS} MinHash values are "
                "possible"
            )

    def __str__(self) -> str:
        return f"bands:{self.number}x{self.length}"

    @property
    def count(self) -> int:
        """The number of bands."""
        return self.number

    @property
    def _bins(self) -> int:
        return self.number * self.length

    def of(self, value: int, hashes: Uint64s | None = None) -> bytes:
        """Return the hashes of the bands; see :meth:`Blocks.of`.

        A text without features has the bands of a single feature whose hash is nought.
        """
        if hashes is None:
            raise ValueError(
                f"the fingerprint alone does not give its block values: those of {self} are made "
                "from the text"
            )
        minima = self._minima(hashes if len(hashes) else np.zeros(1, np.uint64))
        places = minima * np.uint64(self._bins)
        # A multilinear hash: the sum of products with odd numbers, of which the high half counts.
        terms = (minima * _odd_numbers(self._bins)).reshape(self.number, self.length)
        terms[:, -1] *= places[self.length - 1 :: self.length] < _FIRST_PLACES
        # The number of the band is in its hash, because the bands of a text of a single feature
        # are all made of few values.
        sums = np.add.reduce(terms, axis=1) + _odd_numbers(self.number)
        values: bytes = (sums >> np.uint64(64 - _VALUE_BITS)).astype("<u4").tobytes()
        return values

    def _minima(self, hashes: Uint64s) -> Uint64s:
        """Return the MinHash of each bin, shape (bins,).

        The place of a hash in its bin is its product with the number of bins, modulo 2**64. The
        least of a bin is nearly always among the few hashes whose place is small.
        """
        bins = self._bins
        if len(hashes) > 2 * _LIKELY_IN_BIN * bins:
            small = np.uint64(_LIKELY_IN_BIN * bins * 2**64 // len(hashes))
            minima, empty = self._least_of_bins(hashes.compress(hashes * np.uint64(bins) < small))
            if not empty.any():
                return minima
        minima, empty = self._least_of_bins(hashes)
        if empty.any():
            minima[empty] = mix(hashes + _odd_numbers(bins)[empty][:, None]).min(axis=1)
        return minima

    def _least_of_bins(self, hashes: Uint64s) -> tuple[Uint64s, npt.NDArray[np.bool_]]:
        """Return the least hash of each bin, and which bins have none; both of shape (bins,)."""
        ordered = np.sort(hashes)
        bounds = ordered.searchsorted(_bounds(self._bins))
        return ordered.take(bounds[:-1], mode="clip"), bounds[:-1] == bounds[1:]


@functools.cache
def _bounds(bins: int) -> Uint64s:
    """Return the least hash of each bin, and the greatest hash of all, shape (bins + 1,)."""
    return np.array([*(-(-(n << 64) // bins) for n in range(bins)), 2**64 - 1], np.uint64)


@functools.cache
def _odd_numbers(count: int) -> Uint64s:
    """Return odd numbers with irregular bits, shape (count,)."""
    numbers: Uint64s = mix(np.arange(1, count + 1, dtype=np.uint64)) | np.uint64(1)
    return numbers


@functools.cache
def parse_blocks(layout: str, bits: int) -> Blocks:
    """Return the blocks that a layout names, for fingerprints of so many bits.

    Args:
        layout: ``slices:`` and its stages, or ``bands:`` and its numbers, see the module.
        bits: 64, 128 or 256.

    Raises:
        ValueError: it is no layout, or not of so many bits; one line says why.
    """
    if match := _SLICES.fullmatch(layout):
        parts = [stage.split("of") for stage in match[1].split("+")]
        return Slices(bits, tuple((int(p[0]) if p[1:] else 1, int(p[-1])) for p in parts))
    if match := _BANDS.fullmatch(layout):
        return Bands(int(match[1]), int(match[2]))
    raise ValueError(
        f"{layout!r} is no layout of blocks; there are slices:4, slices:2of5, slices:4+4 and the "
        "like, and bands:20x4 and the like"
    )
