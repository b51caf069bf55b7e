"""Layouts: how a fingerprint is cut into blocks, and which buckets a look-up probes.

A block is a contiguous slice of the fingerprint; its value, the *address*, names a bucket::

    position   0              16             32             48            63
               |-- block 0 --|-- block 1 --|-- block 2 --|-- block 3 --|      64 bits, 4 x 16

Two fingerprints that differ in fewer bits than there are disjoint blocks agree in a whole block
(Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3).
For greater distances a look-up also probes addresses with some bits flipped, the likeliest first
(Lv et al., "Multi-Probe LSH", VLDB 2007, section 4): those with the smallest sum of margins.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.simhash import BITS, Fingerprint

# What plan_layout aims at: the pages of a bucket, the candidates that an exact layout may cost
# before one that probes by margins is preferred, and for that one the recall at the distance
# itself (within it, recall is higher) and the most probes.
_BUCKET_BITS = 5
_EXACT_CANDIDATES = 4096
_RECALL = 0.97
_MAX_PROBES = 512
_MAX_BLOCKS = 10


@dataclass(frozen=True, slots=True)
class Layout:
    """How fingerprints are cut into blocks and probed.

    Blocks are evenly spaced from the first bit to the last; they overlap where
    ``blocks * width > bits``.

    Attributes:
        bits: width of the fingerprints: 64, 128 or 256.
        blocks: number of blocks m, at least 1.
        width: bits of an address, 1 to 32 and at most ``bits``.
        probes: buckets looked up in all, m <= probes <= m * 2**width: the exact addresses
            first, then the flip patterns with the smallest sums of margins over all blocks.
            All patterns of r flips come first as soon as there are probes for all of them.
        distance: the Hamming distance k that the layout was planned for.
    """

    bits: int
    blocks: int
    width: int
    probes: int
    distance: int

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise ValueError(f"bits must be one of {BITS}, not {self.bits}")
        if not 1 <= self.width <= min(32, self.bits):
            raise ValueError(f"a block is 1 to 32 bits wide, not {self.width}")
        if not 1 <= self.blocks <= self.bits - self.width + 1:
            raise ValueError(f"{self.blocks} different blocks do not fit into {self.bits} bits")
        if not self.blocks <= self.probes <= self.blocks << self.width:
            raise ValueError(
                f"probes must be {self.blocks} to {self.blocks << self.width}, not {self.probes}"
            )
        if not 0 <= self.distance < self.bits:
            raise ValueError(f"distance must be 0 to {self.bits - 1}, not {self.distance}")

    def __str__(self) -> str:
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))

    @classmethod
    def parse(cls, text: str) -> Layout:
        """Return the layout that ``str`` wrote; ValueError when the text is no layout."""
        try:
            return cls(
                **{name: int(number) for name, number in (p.split("=") for p in text.split())}
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a layout: {text!r}") from error

    @property
    def starts(self) -> tuple[int, ...]:
        """The position of each block's first bit; position 0 is the most significant."""
        gaps = max(self.blocks - 1, 1)
        return tuple(i * (self.bits - self.width) // gaps for i in range(self.blocks))

    @property
    def radius(self) -> int:
        """The greatest r such that every address within r flips of each block is probed."""
        radius = patterns = 0
        while radius <= self.width:
            patterns += math.comb(self.width, radius)
            if patterns * self.blocks > self.probes:
                break
            radius += 1
        return radius - 1

    @property
    def guaranteed_distance(self) -> int:
        """The greatest distance within which every pair is found, whatever the margins.

        A pair is missed only if it differs in more than ``radius`` bits of every block. The
        fewest bits that reach this are found greedily, block by block from the left, as far
        right as possible, so that overlapping blocks share them.
        """
        if self.radius >= self.width:
            return self.bits
        different: set[int] = set()
        for start in self.starts:
            positions = range(start + self.width - 1, start - 1, -1)
            missing = self.radius + 1 - sum(p in different for p in positions)
            free = (p for p in positions if p not in different)
            different.update(itertools.islice(free, max(missing, 0)))
        return len(different) - 1

    def addresses(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
        """Return the exact addresses of many fingerprints.

        Args:
            values: uint64, shape (n, bits / 64), word 0 the most significant.

        Returns:
            uint32, shape (n, blocks).
        """
        result = np.empty((len(values), self.blocks), np.uint32)
        mask = np.uint64((1 << self.width) - 1)
        for block, start in enumerate(self.starts):
            first, last = start // 64, (start + self.width - 1) // 64
            shift = 64 * (last + 1) - start - self.width
            address = values[:, last] >> np.uint64(shift)
            if first != last:
                address |= values[:, first] << np.uint64(64 - shift)
            result[:, block] = address & mask
        return result

    def probe(
        self, fingerprint: Fingerprint
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint32]]:
        """Return the buckets in which the near-duplicates of a fingerprint may be.

        Without margins every bit counts as equally likely to differ, so the flips come in the
        order of their number: the guaranteed distance is the same, recall beyond it is lower.

        Returns:
            block numbers and addresses, each of shape (probes,): the exact address of each
            block, then the flips in no order.
        """
        blocks = np.arange(self.blocks)
        mask = (1 << self.width) - 1
        exact = np.array(
            [fingerprint.value >> (self.bits - s - self.width) & mask for s in self.starts],
            np.uint32,
        )
        flips = self.probes - self.blocks
        if not flips:
            return blocks, exact
        margins = fingerprint.margins
        if margins is None:
            margins = np.ones(self.bits, np.float32)
        patterns = _patterns(self.width, flips, self.radius)
        ranked, sums = _pattern_sums(margins[self._positions()], patterns)
        within_radius = sum(math.comb(self.width, r) for r in range(1, self.radius + 1))
        sums[:, :within_radius] = -1
        # The first columns are the likeliest; they give a bound that leaves few to choose from.
        likely = sums[:, : max(2 * flips // self.blocks + 1, within_radius)]
        bound = np.partition(likely, flips - 1, axis=None)[flips - 1]
        few = np.flatnonzero(sums <= bound)
        chosen = few[sums.ravel()[few].argpartition(flips - 1)[:flips]]
        block, pattern = np.divmod(chosen, patterns.shape[1])
        bit = np.uint32(1) << (self.width - 1 - ranked).astype(np.uint32)
        flipped = bit[block] * patterns.T[pattern].astype(np.uint32)
        return (
            np.concatenate((blocks, block)),
            np.concatenate((exact, exact[block] ^ flipped.sum(axis=1, dtype=np.uint32))),
        )

    def _positions(self) -> npt.NDArray[np.intp]:
        """Return the positions of each block's bits, shape (blocks, width)."""
        return np.array(self.starts)[:, None] + np.arange(self.width)


def _pattern_sums(
    margins: npt.NDArray[np.float32], patterns: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float32]]:
    """Return the order of each block's bits by margin, and every pattern's sum of margins.

    Args:
        margins: shape (..., blocks, width).
        patterns: shape (width, patterns).

    Returns:
        shapes (..., blocks, width) and (..., blocks, patterns).
    """
    return margins.argsort(axis=-1), np.sort(margins, axis=-1) @ patterns


@lru_cache(maxsize=32)
def _patterns(width: int, flips: int, radius: int) -> npt.NDArray[np.float32]:
    """Return every flip pattern that can be among the ``flips`` best of a block.

    A pattern is a set of ranks, rank 0 the bit with the smallest margin. Whatever the margins,
    it sums to no less than the patterns that it dominates, so one that dominates more than
    ``flips`` is never needed.

    Returns:
        0 or 1, shape (width, patterns); first all patterns of up to ``radius`` flips, then those
        that dominate the fewest.
    """
    found: dict[tuple[int, ...], int] = {(0,): 1}
    queue: list[tuple[int, ...]] = [(0,)]
    while queue:
        for pattern in _successors(queue.pop(), width):
            if pattern not in found and (dominated := _dominated(pattern)) <= flips:
                found[pattern] = dominated
                queue.append(pattern)
    for flipped in range(1, radius + 1):
        for pattern in itertools.combinations(range(width), flipped):
            found[pattern] = 0
    result = np.zeros((width, len(found)), np.float32)
    for column, pattern in enumerate(sorted(found, key=lambda p: (found[p], p))):
        result[list(pattern), column] = 1
    return result


def _successors(pattern: tuple[int, ...], width: int) -> Iterator[tuple[int, ...]]:
    """Yield the patterns just above one: a rank raised by one, or rank 0 added."""
    if pattern[0] > 0:
        yield (0, *pattern)
    for i, rank in enumerate(pattern):
        if rank + 1 < width and rank + 1 not in pattern:
            yield (*pattern[:i], rank + 1, *pattern[i + 1 :])


def _dominated(pattern: tuple[int, ...]) -> int:
    """Return how many patterns a pattern dominates, itself among them, the empty one not.

    A pattern dominates another whose i-th greatest rank, where it has one, is no greater.
    """
    # ways[r]: dominated patterns of the greatest ranks so far, the smallest of which is r.
    ways = {pattern[-1] + 1: 1}
    total = 0
    for limit in reversed(pattern):
        ways = {
            rank: sum(n for above, n in ways.items() if above > rank) for rank in range(limit + 1)
        }
        total += sum(ways.values())
    return total


def plan_layout(bits: int, distance: int, expected_pages: int) -> Layout:
    """Return the layout that finds pages within a distance among so many at the least cost.

    Where it is affordable, the layout finds every pair. Else it probes by margins, as often as
    ``_RECALL`` of simulated pairs need that are exactly ``distance`` bits apart.

    Args:
        bits: width of the fingerprints: 64, 128 or 256.
        distance: Hamming distance k, 0 <= k < bits.
        expected_pages: originals in the index, at least 1; an order of magnitude is enough.

    Raises:
        ValueError: an argument is out of its range, or the distance is so large that buckets
            would not be faster than comparing everything.
    """
    if bits not in BITS:
        raise ValueError(f"bits must be one of {BITS}, not {bits}")
    if not 0 <= distance < bits:
        raise ValueError(f"distance must be 0 to {bits - 1} for {bits} bits, not {distance}")
    if expected_pages < 1:
        raise ValueError(f"expected_pages must be at least 1, not {expected_pages}")
    address_bits = min(max(round(math.log2(expected_pages)) - _BUCKET_BITS, 8), 24)
    for radius in (0, 1):
        blocks = -(-(distance + 1) // (radius + 1))
        width = min(bits // blocks, max(address_bits, 16))
        probes = blocks * (1 + radius * width)
        if width > radius and probes * expected_pages >> width <= _EXACT_CANDIDATES:
            return Layout(bits, blocks, width, probes, distance)
    for width in range(address_bits, 7, -1):
        blocks = min(bits // width, _MAX_BLOCKS)
        probes = _probes_needed(bits, blocks, width, distance)
        if probes <= _MAX_PROBES:
            return Layout(bits, blocks, width, probes, distance)
    raise ValueError(
        f"distance {distance} is too large for {bits} bits: use a smaller distance or more bits"
    )


def _probes_needed(bits: int, blocks: int, width: int, distance: int, pairs: int = 1000) -> int:
    """Simulate pairs at a distance; return the probes that find ``_RECALL`` of them.

    The sums behind the bits of two pages at angle a are near to normal variables with
    correlation cos(a), and bits differ with probability a / pi (Charikar 2002, section 3).
    """
    random = np.random.default_rng(0)
    angle = math.pi * distance / bits
    positions = Layout(bits, blocks, width, blocks, distance)._positions()
    patterns = _patterns(width, _MAX_PROBES, 0)
    needed: list[int] = []
    while len(needed) < pairs:
        one, other = random.standard_normal((2, 4 * pairs, bits), dtype=np.float32)
        differs = (one > 0) != (math.cos(angle) * one + math.sin(angle) * other > 0)
        right = np.flatnonzero(differs.sum(axis=1) == distance)[: pairs - len(needed)]
        margins = np.abs(one[right])[:, positions]
        nearest = (margins * differs[right][:, positions]).sum(axis=2).min(axis=1)
        _, sums = _pattern_sums(margins, patterns)
        better = sums.reshape(len(right), -1) < nearest[:, None] * (1 - 1e-6)
        needed.extend(blocks + better.sum(axis=1))
    return int(np.quantile(needed, _RECALL, method="higher"))
