"""Simhash: a bit vector whose Hamming distance follows the angle between feature vectors.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (STOC 2002),
section 3; applied to web pages by Manku, Jain and Das Sarma, "Detecting Near-Duplicates
for Web Crawling" (WWW 2007), section 2.

Bits are written as the literature writes them: position 0 is the most significant bit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.hashing import (
    Uint64s,
    hash_features,
    hash_ngrams,
    one_lane,
    spread,
)
from scrapy_simhash.fingerprint.normalisation import Uint32s, code_points

BITS = (32, 64, 128, 256)
_LINE_BREAK = ord("\n")

Float64s: TypeAlias = npt.NDArray[np.float64]
Uint8s: TypeAlias = npt.NDArray[np.uint8]

# Hashes whose bits are unpacked at a time, so that a long text takes no more memory
# than a short one; 255 are added in bytes.
_UNPACKED = 32 * 255


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """An f-bit simhash, and the block values under which an index finds it.

    Attributes:
        value: the fingerprint, 0 <= value < 2**bits.
        bits: its width f: 64, 128 or 256; 32 for worked examples, which no index holds.
        blocks: its block values, unsigned 32-bit little-endian numbers, as the recipe's
            ``blocks`` make them; empty where only the value is known. Not compared.
    """

    value: int
    bits: int
    blocks: bytes = field(default=b"", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise ValueError(f"bits must be one of {BITS}, not {self.bits}")
        if not 0 <= self.value < 1 << self.bits:
            raise ValueError(f"the value does not fit into {self.bits} bits")

    def __str__(self) -> str:
        return f"{self.value:0{self.bits // 4}x}"

    def to_bytes(self) -> bytes:
        """Return the value as ``bits / 8`` bytes, most significant first."""
        return self.value.to_bytes(self.bits // 8, "big")


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits, from 0 to the width, in which two values of one width differ.

    Neither is negative.
    """
    return (a ^ b).bit_count()


def fingerprint_from_sums(sums: Sequence[float] | Float64s, sign: str = ">") -> int:
    """Return the bits of a vector of sums, the most significant first: 1 where V_i > 0, else 0.

    With the sign ``>=`` a bit is 1 where V_i is 0, too.
    """
    values = np.asarray(sums)
    is_set = values >= 0 if sign == ">=" else values > 0
    padding = -len(is_set) % 8
    return int.from_bytes(np.packbits(is_set).tobytes(), "big") >> padding


class Sums(NamedTuple):
    """The parts from which a fingerprint and its block values are made.

    Attributes:
        values: V, float64, shape (bits,), the most significant bit first.
        hashes: one well mixed hash of each distinct feature, uint64, in any order;
            where lines have weights, of those features that have more than half of the
            most.
    """

    values: Float64s
    hashes: Uint64s


def feature_sums(
    features: Mapping[str, float],
    bits: int,
    hash_name: str,
    seed: str | None = None,
) -> Sums:
    """Return the sums of weighted features.

    Every feature adds its weight to V_i if bit i of its hash is 1, and subtracts it if
    the bit is 0. Weights are rounded to 2**-30 of the largest, which makes every sum
    exact, so the order of the features and the machine play no part. No features have
    sums of 0.
    """
    lanes = hash_features(features, bits, hash_name, seed)
    weights = np.fromiter(features.values(), dtype=np.float64, count=len(features))
    return Sums(bit_sums(lanes, weights)[-bits:], one_lane(lanes))


def ngram_sums(
    text: str,
    n: int,
    bits: int,
    seed: str | None,
    weights: Sequence[int],
) -> Sums:
    """Return the sums of all different character n-grams of a text, hashed by ``karp-rabin``.

    Each has the weight 1. Where the lines of the text have weights, from 1, an n-gram
    has the greatest weight of the lines that contain it, and no n-gram crosses a line
    break; if no line is long enough for an n-gram, the lines are one text without
    weights.

    Args:
        text: normalised; it has line breaks only where its lines have weights. One that
            is shorter than an n-gram is one feature.
        n: characters of an n-gram.
        bits: the width of the hashes.
        seed: a secret that changes every hash.
        weights: of each line; lines beyond them do not count.
    """
    points = code_points(text)
    of_ngrams = _weights_of_ngrams(points, n, weights)
    if of_ngrams.any():
        values = hash_ngrams(points, n, seed).compress(of_ngrams)
        of_ngrams = of_ngrams.compress(of_ngrams)
        most = max(weights)
    else:
        values = hash_ngrams(points.compress(points != _LINE_BREAK), n, seed)
        of_ngrams = np.ones(len(values), np.uint8)
        most = 1
    values, of_ngrams = _distinct(values, of_ngrams)
    lanes = spread(values, bits)
    is_heavy = 2 * of_ngrams > most
    sums = bit_sums(lanes, of_ngrams)[-bits:]
    return Sums(sums, lanes[0].compress(is_heavy))


def _distinct(values: Uint64s, weights: Uint8s) -> tuple[Uint64s, Uint8s]:
    """Return each value once, sorted, with the greatest of its weights."""
    order = values.argsort()
    values = values.take(order)
    is_first = np.ones(len(values), np.bool_)
    is_first[1:] = values[1:] != values[:-1]
    greatest = np.maximum.reduceat(weights.take(order), np.flatnonzero(is_first))
    return values.compress(is_first), greatest


def _weights_of_ngrams(
    points: Uint32s,
    n: int,
    weights: Sequence[int],
) -> Uint8s:
    """Return the weight of each n-gram of some code points, 0 where it has a line break."""
    is_break = points == _LINE_BREAK
    lines = is_break.cumsum()
    of_line = np.zeros(len(points) + 1, np.uint8)
    of_line[: len(weights)] = weights[: len(of_line)]
    last = lines[n - 1 :]
    first = lines[: len(last)]
    is_whole = (first == last) & ~is_break[: len(last)]
    return np.where(is_whole, of_line[first], np.uint8(0))


def bit_sums(lanes: Uint64s, weights: npt.NDArray[Any]) -> Float64s:
    """Return V: for every bit, the weights of the hashes that set it minus the others.

    It has the shape (bits,), the most significant bit first; ``lanes``, see
    :mod:`.hashing`, have the shape (bits / 64, n), and ``weights`` (n,).
    """
    # Whole numbers up to 2**30: exact in float64 in any order of addition, for 2**22
    # features.
    exponent = math.frexp(np.abs(weights).max(initial=0))[1] - 30
    whole = np.rint(np.ldexp(weights.astype(np.float64), -exponent))
    sums = np.zeros(64 * len(lanes))
    for weight in np.unique(whole):  # a page has few different ones
        equal = lanes.compress(whole == weight, axis=1)
        sums += weight * (2 * _count_set(equal) - equal.shape[1])
    scaled: Float64s = np.ldexp(sums, exponent)
    return scaled


def _count_set(lanes: Uint64s) -> Float64s:
    """Count, for every bit of a hash, the hashes that have it set; shape (bits,).

    Each bit becomes a byte, and eight bytes are added at once as one number, for 255
    hashes, after which a byte is full.
    """
    number, count = lanes.shape
    counts = np.zeros((number, 64))
    for start in range(0, count, _UNPACKED):
        chunk = lanes[:, start : start + _UNPACKED]
        height = math.ceil(chunk.shape[1] / 255)
        rows = np.zeros((number, 255 * height), dtype=">u8")
        rows[:, : chunk.shape[1]] = chunk
        octets = np.unpackbits(rows.view(np.uint8)).view(np.uint64)
        sums = np.add.reduce(octets.reshape(number, 255, height, 8), axis=1)
        counts += sums.view(np.uint8).reshape(number, height, 64).sum(axis=1)
    return counts.ravel()
