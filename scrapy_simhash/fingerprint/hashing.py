"""Feature hashes of 64, 128 or 256 bits, the same in every process and on every machine.

A hash is an array of *lanes*, uint64, shape (bits / 64, n): lane 0 holds the most significant 64
bits of the hashes of n features. Nothing here depends on Python's salted ``hash()``.

A secret seed makes the hashes, and so the fingerprints, differ from those of anyone who does not
know it. It puts a hurdle before someone who wants pages to collide; these are not cryptographic
hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import xxhash

HASHES = ("xxh3", "karp-rabin", "fnv1", "md5", "multiply-xor")

Uint64s: TypeAlias = npt.NDArray[np.uint64]

_MASK64 = (1 << 64) - 1
# bits -> (offset basis, prime): http://www.isthe.com/chongo/tech/comp/fnv/
_FNV = {
    64: (0xCBF29CE484222325, (1 << 40) + 0x1B3),
    128: (0x6C62272E07BB014262B821756295C58D, (1 << 88) + 0x13B),
    256: (
        0xDD268DBCAAC550362D98C384C4E576CCC8B1536847B6BBB31023B4C8CAEE0535,
        (1 << 168) + 0x163,
    ),
}
_MULTIPLIER = 0xD1342543DE82EF95  # any odd number with irregular bits would do
_LANE_GAMMAS = np.array(
    [[number * 0x9E3779B97F4A7C15 & _MASK64] for number in (1, 2, 3, 4)], dtype=np.uint64
)


def check_hash(name: str, bits: int) -> None:
    """Raise ValueError when there is no such hash of that width."""
    if name not in HASHES:
        raise ValueError(f"unknown hash {name!r}; there are {', '.join(HASHES)}")
    if name == "md5" and bits > 128:
        raise ValueError(f"the hash md5 has 128 bits, not {bits}: take 64 or 128, or another hash")


def key_from_seed(seed: str | bytes) -> bytes:
    """Return the 16-byte key that stands for a secret seed."""
    secret = seed.encode() if isinstance(seed, str) else seed
    return hashlib.blake2b(secret, digest_size=16, person=b"scrapy-simhash").digest()


def hash_features(
    features: Iterable[str], bits: int, name: str = "xxh3", seed: str | bytes | None = None
) -> Uint64s:
    """Return the lanes of the features' hashes, shape (bits / 64, number of features).

    Args:
        features: any strings.
        bits: 64, 128 or 256.
        name: one of ``HASHES``.
        seed: an optional secret.

    Raises:
        ValueError: the hash is unknown or has no such width.
    """
    check_hash(name, bits)
    if name == "karp-rabin":
        multiplier = _multiplier(seed)
        values = [_polynomial(feature, multiplier) for feature in features]
        return spread(np.array(values, dtype=np.uint64), bits)
    digest = _digester(name, bits)
    prefix = key_from_seed(seed).hex() if seed else ""
    digests = b"".join([digest(prefix + feature) for feature in features])
    lanes = np.frombuffer(digests, dtype=">u8").reshape(-1, bits // 64).T
    return np.ascontiguousarray(lanes, dtype=np.uint64)


def _digester(name: str, bits: int) -> Callable[[str], bytes]:
    size = bits // 8
    if name == "xxh3":
        if bits == 64:
            return lambda s: xxhash.xxh3_64_digest(_utf8(s))
        if bits == 128:
            return lambda s: xxhash.xxh3_128_digest(_utf8(s))
        return lambda s: xxhash.xxh3_128_digest(_utf8(s)) + xxhash.xxh3_128_digest(_utf8(s), seed=1)
    if name == "md5":
        # The last 8 bytes make 64 bits, as PyPI simhash takes them.
        return lambda s: hashlib.md5(_utf8(s), usedforsecurity=False).digest()[-size:]
    integer: Callable[[str, int], int] = {
        "fnv1": _fnv1,
        "multiply-xor": _multiply_xor,
    }[name]
    return lambda s: integer(s, bits).to_bytes(size, "big")


def _utf8(feature: str) -> bytes:
    # Markup can smuggle in lone surrogates; they must not raise.
    return feature.encode("utf-8", "surrogatepass")


def _fnv1(feature: str, bits: int) -> int:
    value, prime = _FNV[bits]
    mask = (1 << bits) - 1
    for byte in _utf8(feature):
        value = (value * prime & mask) ^ byte
    return value


def _multiply_xor(feature: str, bits: int) -> int:
    # The string hash of Python 2 that early simhash recipes widened to their own number of bits.
    # Theirs ends in "if x == -1: x = -2", which a masked x never is.
    if not feature:
        return 0
    mask = (1 << bits) - 1
    value = ord(feature[0]) << 7
    for char in feature:
        value = (value * 1000003 ^ ord(char)) & mask
    return value ^ len(feature)


def code_points(text: str) -> Uint64s:
    """Return the text's code points, shape (len(text),)."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.uint64)
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, dtype="<u4").astype(np.uint64)


def hash_ngrams(text: str, n: int, seed: str | bytes | None = None) -> Uint64s:
    """Return the karp-rabin values of all n-grams of a text, repeated ones too; spread() ends them.

    A text shorter than n is one n-gram; an empty text has none. Karp and Rabin, "Efficient
    randomized pattern-matching algorithms" (IBM J. Res. Dev. 31, 1987): the polynomial of the code
    points at a fixed point, here modulo 2**64.
    """
    points = code_points(text)
    n = min(n, len(points))
    count = len(points) - n + 1 if n else 0
    multiplier = np.uint64(_multiplier(seed))
    values: Uint64s = points[:count].copy()
    for i in range(1, n):
        values *= multiplier
        values += points[i : i + count]
    return values


def spread(values: Uint64s, bits: int) -> Uint64s:
    """Return lanes for karp-rabin values of shape (n,): one independent mixer for each lane.

    The low bits of a polynomial modulo 2**64 depend on the low bits of the characters only, so it
    is no hash until it is mixed.
    """
    return mix(values + _LANE_GAMMAS[: bits // 64])


def mix(values: Uint64s) -> Uint64s:
    """Mix the bits of numbers, in place; different numbers stay different.

    The mixer is that of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
    generators", OOPSLA 2014, section 4).
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


def _multiplier(seed: str | bytes | None) -> int:
    return int.from_bytes(key_from_seed(seed)[:8], "big") | 1 if seed else _MULTIPLIER


def _polynomial(feature: str, multiplier: int) -> int:
    value = 0
    for char in feature:
        value = (value * multiplier + ord(char)) & _MASK64
    return value
