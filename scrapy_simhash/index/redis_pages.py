"""Buckets in Redis: the entries that share an address of a block.

A *bucket page* holds the entries of one address of a block, or of some adjacent ones: the 32 or
96 bits of the fingerprint that follow the block (*tag*), and the position, 4 bytes. Entries are
made of 8-byte little-endian words, the position being the lower half of the last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.base import StoreDamaged
from scrapy_simhash.index.buckets import bit_count

# Of the near-duplicates at the greatest distance, those that a tag may hide.
_HIDDEN = 1e-4
# Mean bytes of a bucket page; smaller ones cost more memory, larger ones more time.
_PAGE_BYTES = 512
# The most bytes of a bucket page: what a claim reads is bounded, even if a site floods a bucket.
PAGE_LIMIT = 1 << 15
# Entries that are compared at a time: of one page it may be as many as the limit allows.
_COMPARED_AT_ONCE = 1 << 16


class Probes(NamedTuple):
    """Pages to look into.

    Attributes:
        fields: those of each hash, each page once: in a crawl of one site many pages share them.
        owners: for which of the fingerprints each probe is, by its number.
        blocks: of which block each probe is.
        pages: the page of each probe, by its number among the fields.
    """

    fields: dict[str, list[bytes]]
    owners: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]
    pages: list[int]


class BucketPages:
    """How the entries of a layout's buckets are packed into pages.

    Args:
        layout: how fingerprints are cut and probed.
        expected_pages: how many originals the pages are made for.
        shards: hashes that the pages of a block are in; in a cluster each is on some node.
    """

    def __init__(self, layout: Layout, expected_pages: int, shards: int) -> None:
        self._layout = layout
        self._shards = shards
        self._hashes = [f"b:{b}:{shard}" for b in range(layout.blocks) for shard in range(shards)]
        self._size = 8 if layout.bits == 64 else 16
        self._tag_bits = 8 * (self._size - 4)
        self._tag_mask = (1 << 8 * self._size) - (1 << 32)
        self._limit = _tag_distance(layout, self._tag_bits)
        self._mask = (1 << layout.width) - 1
        # Where a block ends, seen from the last bit.
        self._shifts = [layout.bits - start - layout.width for start in layout.starts]
        # Adjacent addresses share a page while it stays small.
        entries = _PAGE_BYTES // self._size
        bits = max(0, math.ceil(math.log2(expected_pages / entries)))
        self._shift = max(0, layout.width - max(bits, 8))
        if layout.probes > layout.blocks:
            # Flipped addresses are seldom adjacent: each would cost a larger page.
            self._shift = 0

    @property
    def entry_size(self) -> int:
        """Bytes of an entry."""
        return self._size

    @property
    def pages(self) -> int:
        """How many pages a block has at most."""
        return 1 << self._layout.width - self._shift

    def hashes(self) -> list[str]:
        """Return the ends of the keys of all hashes; those of a block follow each other."""
        return self._hashes

    def entries(self, first: int, values: bytes) -> dict[str, list[bytes]]:
        """Return where entries go: for each hash field, entry, field, entry, ….

        Args:
            first: position of the first; the others follow it.
            values: their fingerprints.
        """
        width = self._layout.bits // 8
        octets = np.frombuffer(values, np.uint8).reshape(-1, width)
        bits = np.unpackbits(octets, axis=1)
        positions = np.arange(first, first + len(octets), dtype="<u4").view(np.uint8).reshape(-1, 4)
        addresses = self._layout.addresses(as_words(values, width))
        placed: dict[str, list[bytes]] = {}
        for block in range(self._layout.blocks):
            tags = np.packbits(bits[:, self._tag_places(block)], axis=1)
            packed = np.concatenate((positions, tags[:, ::-1]), axis=1).tobytes()
            pages = addresses[:, block] >> np.uint32(self._shift)
            names = pages.astype(">u4").tobytes()
            for number, shard in enumerate((pages % self._shards).tolist()):
                places = placed.setdefault(self._hashes[block * self._shards + shard], [])
                places.append(names[4 * number : 4 * number + 4])
                places.append(packed[self._size * number : self._size * (number + 1)])
        return placed

    def probed(self, fingerprints: Sequence[Fingerprint]) -> Probes:
        """Return the pages to look into."""
        if self._layout.probes == self._layout.blocks:
            return self._exact(fingerprints)
        found = [self._layout.probe(fingerprint) for fingerprint in fingerprints]
        blocks = np.concatenate([some for some, _ in found]).astype(np.int64)
        pages = np.concatenate([addresses for _, addresses in found]) >> np.uint32(self._shift)
        places = blocks * self._shards + pages % self._shards << 32 | pages
        order = places.argsort()
        places = places[order]
        is_first = np.concatenate(([True], places[1:] != places[:-1]))
        asked = places[is_first]
        names = asked.astype(">u4").tobytes()
        fields = iter([names[at : at + 4] for at in range(0, len(names), 4)])
        counts = np.bincount(asked >> 32, minlength=len(self._hashes)).tolist()
        owners = np.arange(len(found)).repeat([len(some) for some, _ in found])
        return Probes(
            {
                part: list(islice(fields, count))
                for part, count in zip(self._hashes, counts, strict=True)
                if count
            },
            owners[order],
            blocks[order],
            (is_first.cumsum() - 1).tolist(),
        )

    def _exact(self, fingerprints: Sequence[Fingerprint]) -> Probes:
        """Return the same where only exact addresses are probed: so few that numpy is slower."""
        asked: dict[str, dict[bytes, int]] = {}
        probes: list[tuple[str, int, int, int]] = []
        for block, shift in enumerate(self._shifts):
            for owner, fingerprint in enumerate(fingerprints):
                page = (fingerprint.value >> shift & self._mask) >> self._shift
                part = self._hashes[block * self._shards + page % self._shards]
                fields = asked.setdefault(part, {})
                number = fields.setdefault(page.to_bytes(4, "big"), len(fields))
                probes.append((part, number, owner, block))
        starts = dict(zip(asked, accumulate(map(len, asked.values()), initial=0), strict=False))
        return Probes(
            {part: list(fields) for part, fields in asked.items()},
            np.array([owner for _, _, owner, _ in probes]),
            np.array([block for _, _, _, block in probes]),
            [starts[part] + number for part, number, _, _ in probes],
        )

    def candidates(
        self,
        fingerprints: Sequence[Fingerprint],
        probes: Probes,
        pages: Sequence[bytes | None],
        distance: int,
    ) -> list[list[int]]:
        """Return the positions of the entries that may be within a distance of each fingerprint.

        Args:
            fingerprints: what is looked for.
            probes: the pages that were looked into.
            pages: what they hold, None where there is none.
            distance: at most the layout's.

        Raises:
            StoreDamaged: a page does not consist of entries.
        """
        near: list[list[int]] = [[] for _ in fingerprints]
        counts, rests = np.divmod([len(page or b"") for page in pages], self._size)
        if rests.any():
            block = probes.blocks[probes.pages.index(int(rests.argmax()))]
            raise StoreDamaged(f"a bucket page of block {block} is damaged")
        # The tags stand where the entries have theirs, after the position.
        blocks = range(self._layout.blocks)
        tags = b"".join([self._tag(own.value, block) for own in fingerprints for block in blocks])
        wanted = np.frombuffer(tags, "<u8").reshape(-1, self._size // 8)
        wanted = wanted[probes.owners * len(blocks) + probes.blocks]
        counts = counts[probes.pages]
        ends = counts.cumsum()
        found = []
        first = 0
        while first < len(counts):
            # At least one page, and otherwise so much that the copies stay small.
            most = (ends[first - 1] if first else 0) + _COMPARED_AT_ONCE
            last = max(int(ends.searchsorted(most, "right")), first + 1)
            some = slice(first, last)
            contents = b"".join([pages[page] or b"" for page in probes.pages[some]])
            words = np.frombuffer(contents, "<u8").astype(np.uint64, copy=False)
            words = words.reshape(-1, self._size // 8)
            both = words ^ wanted[some].repeat(counts[some], axis=0)
            both[:, 0] >>= np.uint64(32)
            different = bit_count(both.ravel()).reshape(both.shape).sum(axis=1)
            rows = np.flatnonzero(different <= min(distance, self._limit))
            positions = (words[rows, 0] & np.uint64((1 << 32) - 1)).astype(np.int64)
            found.append(probes.owners[some].repeat(counts[some])[rows] << 32 | positions)
            first = last
        # An entry is found in each block that it shares.
        for one in np.unique(np.concatenate(found)).tolist():
            near[one >> 32].append(one & (1 << 32) - 1)
        return near

    def _tag(self, value: int, block: int) -> bytes:
        """Return the bits that follow a block, cyclically, as they stand in an entry."""
        twice = value << self._layout.bits | value
        tag = twice >> self._shifts[block] + self._layout.bits - self._tag_bits
        return (tag << 32 & self._tag_mask).to_bytes(self._size, "little")

    def _tag_places(self, block: int) -> npt.NDArray[np.intp]:
        """Return where those bits are."""
        start = self._layout.starts[block] + self._layout.width
        return (start + np.arange(self._tag_bits)) % self._layout.bits


def _tag_distance(layout: Layout, bits: int) -> int:
    """Return how many bits of a tag may differ, so that hardly any near-duplicate is hidden.

    None is within the guaranteed distance.

    Of two fingerprints that differ in k bits, all outside the block that both share, a tag holds a
    hypergeometrically distributed number.
    """
    others = layout.bits - layout.width
    k = min(layout.distance, others)
    hidden = 0.0
    for different in range(min(k, bits), layout.guaranteed_distance, -1):
        ways = math.comb(bits, different) * math.comb(others - bits, k - different)
        hidden += ways / math.comb(others, k)
        if hidden > _HIDDEN:
            return different
    return layout.guaranteed_distance


def as_words(packed: bytes, width: int) -> npt.NDArray[np.uint64]:
    """Return fingerprints as words, shape (n, width / 8), the most significant first."""
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, width // 8)


def distances_between(
    some: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64]
) -> npt.NDArray[np.unsignedinteger]:
    """Return the distances between fingerprints, given as words in any order of their bytes.

    Args:
        some: shape (n, words).
        others: shape (m, words).

    Returns:
        shape (n, m).
    """
    if len(some) > 1:
        pairs = [
            (own[:, None] ^ other).ravel() for own, other in zip(some.T, others.T, strict=True)
        ]
    else:
        pairs = [other ^ own for own, other in zip(some[0], others.T, strict=True)]
    counts = [bit_count(words) for words in pairs]
    distances = np.add.reduce(counts, dtype=np.uint16) if len(counts) > 1 else counts[0]
    return distances.reshape(len(some), len(others))
