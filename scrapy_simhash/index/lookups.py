"""The pages of one call as an index compares them: fingerprints, block values, values of keys."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import xor

import numpy as np
import numpy.typing as npt
import xxhash

from scrapy_simhash.fingerprint.hashing import Uint64s
from scrapy_simhash.fingerprint.normalisation import Uint32s
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.values import Arrival, IndexSpec

#: Distance and position of the entries near a fingerprint, sorted.
Near = list[tuple[int, int]]
#: An entry that is not written yet has this plus the number of its page as its
#: position.
UNWRITTEN = 1 << 96

#: Multiplying by an odd number spreads values over 32 bits, and can be undone (Knuth,
#: 6.4).
SPREAD = np.uint32(0x9E3779B1)
# Bytes of a key's value.
KEY_BYTES = 4
# Pages of another scheme, or with another "www", are found by the same value.
_VARIANT = re.compile(r"^https?://(?:www\.)?")


def key_value(key: str) -> bytes:
    """Return the value by which the entries of a key and of its variants are found."""
    value: bytes = xxhash.xxh32_digest(_VARIANT.sub("", key).encode())
    return value


def in_scope(content: bytes, scope: str) -> bytes:
    """Return the bytes of a fingerprint and of its blocks with the bits flipped that a scope flips.

    So pages of different scopes are neither near nor share a bucket. Done twice, it is
    undone.
    """
    if not scope:
        return content
    mask = hashlib.shake_128(scope.encode()).digest(len(content))
    return bytes(map(xor, content, mask))


def written_fingerprint(page: Arrival) -> bytes:
    """Return the bytes of a page's fingerprint and of its blocks in its scope."""
    fingerprint = page.fingerprint
    value = fingerprint.value.to_bytes(fingerprint.bits // 8, "big")
    return in_scope(value + fingerprint.blocks, page.scope)


def read_fingerprint(content: bytes, scope: str, bits: int) -> Fingerprint:
    """Return the fingerprint of a page, given its bytes and its blocks' bytes in its scope."""
    content = in_scope(content, scope)
    size = bits // 8
    return Fingerprint(int.from_bytes(content[:size], "big"), bits, content[size:])


def check_fit(pages: Iterable[Arrival], spec: IndexSpec) -> None:
    """Raise ValueError if an index could not hold a page."""
    for page in pages:
        names = page.key, page.scope, *page.aliases
        if any(len(name.encode()) >= 1 << 16 for name in names):
            raise ValueError(
                f"keys and scopes have less than 65,536 bytes: {page.key:.60}…"
            )
        bits, blocks = page.fingerprint.bits, page.fingerprint.blocks
        is_as_wide = bits == spec.bits and len(blocks) == 4 * spec.blocks
        if not is_as_wide or len(page.facts) > 255:
            raise ValueError(
                f"the index holds {spec.bits} bits, {spec.blocks} block values and up to 255 "
                f"bytes of facts a page, and {page.key:.60} has others"
            )


class Lookups:
    """The pages of one call.

    Attributes:
        arrivals: the pages; their numbers are their places here.
        contents: their fingerprints and blocks, in their scopes, and the values of
            their keys, as bytes.
        sought: the fingerprints of all look-ups, first by the pages, then by aliases,
            shape (n, bits / 64); and their block values, and last the values of the
            keys, shape (n, blocks + 1).
        pages: the numbers of the pages of all look-ups.
    """

    def __init__(self, arrivals: Sequence[Arrival], spec: IndexSpec) -> None:
        self.arrivals = arrivals
        self._reach = spec.reach
        names = [(n, page.key) for n, page in enumerate(arrivals)]
        names += [(n, key) for n, page in enumerate(arrivals) for key in page.aliases]
        written = [*map(written_fingerprint, arrivals)]
        # Most aliases have the value of their page's key.
        looks = dict.fromkeys((n, key_value(key)) for n, key in names)
        self.pages = [n for n, _ in looks]
        contents = [written[n] + value for n, value in looks]
        self.contents = contents[: len(arrivals)]
        self.sought = unpacked(b"".join(contents), spec.bits, spec.blocks + 1)

    def near(self, neighbours: Iterable[Sequence[int]]) -> list[Near]:
        """Return what is near each page, given look-ups, distances and positions of entries.

        An entry may share several values with a page.
        """
        near: list[set[tuple[int, int]]] = [set() for _ in self.arrivals]
        for look, distance, position in neighbours:
            near[self.pages[look]].add((distance, position))
        return [*map(sorted, near)]

    @cached_property
    def twins(self) -> list[Near]:
        """For each page the earlier ones near it or of its key, as unwritten entries.

        As in the log, near ones share a block with it.
        """
        twins: list[Near] = [[] for _ in self.arrivals]
        if len(twins) == 1:  # most pages claim alone
            return twins
        words = self.sought[0][: len(twins)]
        values = self.sought[1][: len(twins)]
        keys = values[:, -1]
        between = distances(words[:, None], words)
        pairs = np.tril((between <= self._reach) | (keys[:, None] == keys), -1)
        if pairs.any():
            pairs &= (values[:, None] == values).any(2)
        for i, j in np.argwhere(pairs).tolist():
            if self.arrivals[i].scope == self.arrivals[j].scope:
                twins[i].append((int(between[i, j]), UNWRITTEN + j))
        return twins


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
