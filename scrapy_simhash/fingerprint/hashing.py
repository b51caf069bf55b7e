"""Feature hashes of 64, 128 or 256 bits, the same in every process and on every machine.

A hash is an array of *lanes*, uint64, shape (bits / 64, n): lane 0 holds the most
significant 64 bits of the hashes of n features. Nothing here depends on Python's salted
``hash()``.

A secret seed changes the hashes, and so the fingerprints, which cannot be computed
without it. It makes collisions harder to plan; these are not cryptographic hashes.
"""

import hashlib
import struct
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import xxhash

from scrapy_simhash.fingerprint.normalisation import Uint32s
from scrapy_simhash.loading import load

Uint64s: TypeAlias = npt.NDArray[np.uint64]


def key_from_seed(seed: str) -> bytes:
    """Return a key of 16 bytes, derived from a secret seed."""
    return hashlib.blake2b(
        seed.encode(), digest_size=16, person=b"scrapy-simhash"
    ).digest()


def hash_features(
    features: Iterable[str],
    bits: int,
    name: str,
    seed: str | None = None,
) -> Uint64s:
    """Return the lanes of the hashes of any strings, shape (bits / 64, number of features).

    ``md5`` has at most 128 bits, and ``fnv1`` has 64. For ``karp-rabin`` see
    :func:`hash_ngrams`. 32 bits are the low half of a lane. ``package.module.function``
    is called with a feature and the number of bits, and returns as many bits, most
    significant first.
    """
    digest = _DIGESTS.get(name) or load(name)
    bits = max(bits, 64)
    prefix = key_from_seed(seed).hex() if seed else ""
    digests = b"".join([digest(prefix + feature, bits) for feature in features])
    lanes = np.frombuffer(digests, dtype=">u8").reshape(-1, bits // 64).T
    return np.ascontiguousarray(lanes, dtype=np.uint64)


def _utf8(feature: str) -> bytes:
    # Markup can smuggle in lone surrogates; they must not raise.
    return feature.encode("utf-8", "surrogatepass")


def _xxh3(feature: str, bits: int) -> bytes:
    data = _utf8(feature)
    if bits == 64:
        return xxhash.xxh3_64_digest(data)
    digest = xxhash.xxh3_128_digest(data)
    return digest if bits == 128 else digest + xxhash.xxh3_128_digest(data, seed=1)


def _md5(feature: str, bits: int) -> bytes:
    digest = hashlib.md5(_utf8(feature), usedforsecurity=False).digest()
    # The last 8 bytes make 64 bits, as PyPI simhash takes them.
    return digest[-(bits // 8) :]


def _fnv1(feature: str, bits: int) -> bytes:
    # http://www.isthe.com/chongo/tech/comp/fnv/, over UTF-16 units instead of bytes,
    # because old fingerprints come from Java, whose charAt gives these. ASCII has the
    # published values.
    value = 0xCBF29CE484222325
    units = feature.encode("utf-16-le", "surrogatepass")
    for unit in struct.unpack(f"<{len(units) // 2}H", units):
        value = value * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF ^ unit
    return value.to_bytes(bits // 8, "big")


def _multiply_xor(feature: str, bits: int) -> bytes:
    # The string hash of Python 2 that early simhash recipes widened to their own number
    # of bits. Theirs ends in "if x == -1: x = -2", which a masked x never is.
    mask = (1 << bits) - 1
    value = ord(feature[0]) << 7 if feature else 0
    for char in feature:
        value = (value * 1000003 ^ ord(char)) & mask
    return (value ^ len(feature)).to_bytes(bits // 8, "big")


_DIGESTS: dict[str, Callable[[str, int], bytes]] = {
    "xxh3": _xxh3,
    "md5": _md5,
    "fnv1": _fnv1,
    "multiply-xor": _multiply_xor,
}


def hash_ngrams(
    code_points: Uint32s,
    n: int,
    seed: str | None = None,
) -> Uint64s:
    """Return the karp-rabin values of all n-grams of a text, repeated ones too; spread() ends them.

    A text shorter than n is one n-gram; an empty text gives an empty array. Karp and
    Rabin, "Efficient randomized pattern-matching algorithms" (IBM J. Res. Dev. 31,
    1987): the polynomial of the code points at a fixed point, here modulo 2**64.
    """
    points = code_points.astype(np.uint64)
    n = min(n, len(points))
    count = len(points) - n + 1 if n else 0
    multiplier = 0xD1342543DE82EF95  # any odd number with irregular bits would do
    if seed:
        multiplier = int.from_bytes(key_from_seed(seed)[:8], "big") | 1
    values: Uint64s = points[:count].copy()
    for i in range(1, n):
        values *= np.uint64(multiplier)
        values += points[i : i + count]
    return values


def spread(values: Uint64s, bits: int) -> Uint64s:
    """Return lanes for karp-rabin values of shape (n,): one independent mixer for each lane.

    The low bits of a polynomial modulo 2**64 depend on the low bits of the characters
    only, so it is no hash until it is mixed.
    """
    lanes = np.arange(1, max(bits, 64) // 64 + 1, dtype=np.uint64)
    return mix(values + np.uint64(0x9E3779B97F4A7C15) * lanes[:, None])


def mix(values: Uint64s) -> Uint64s:
    """Mix the bits of numbers, in place; different numbers stay different.

    The mixer is SplitMix64's (Steele, Lea and Flood, "Fast splittable pseudorandom
    number generators", OOPSLA 2014, section 4).
    """
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def one_lane(lanes: Uint64s) -> Uint64s:
    """Return one well mixed number for the hash of each feature, shape (n,).

    Some hashes leave their high bits nearly empty, so every lane takes part.
    """
    numbers: Uint64s = mix(lanes[0].copy())
    for lane in lanes[1:]:
        numbers ^= lane
        numbers = mix(numbers)
    return numbers
