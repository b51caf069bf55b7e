"""What is stored beside the log: the records of confirmed entries, and buckets in Redis.

A *record page* tells of 64 positions of the log. It is a string to which records are only
appended, so that no writer waits for another; later it is compressed in place::

    P offset:1 check:4 time:4 scope:4 key:4 scope… key…    an entry was confirmed
    D offset:1 check:4                                     it was deleted, for good
    Z length:4 zlib…                                       the records up to here

*check* is the end of the entry's fingerprint: after a failover a position may have been lost, and
given to another page. Numbers are big-endian; time is in seconds since the Unix epoch.

A *bucket page* holds the entries of one address of a block, or of some adjacent ones: the 32 or
96 bits of the fingerprint that follow the block (*tag*), and the position, 4 bytes. Entries are
made of 8-byte little-endian words, the position being the lower half of the last.
"""

from __future__ import annotations

import contextlib
import math
import struct
import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simhash.blocks import Layout
from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index.base import StoreDamaged
from scrapy_simhash.index.buckets import bit_count

# Positions in a record page.
RECORDS = 64
# Of the near-duplicates at the greatest distance, those that a tag may hide.
_HIDDEN = 1e-4
# Mean bytes of a bucket page; smaller ones cost more memory, larger ones more time.
_PAGE_BYTES = 512
# The most bytes of a bucket page: what a claim reads is bounded, even if a site floods a bucket.
PAGE_LIMIT = 1 << 15

# The most bytes that a compressed part may be of.
_MOST_RECORD_BYTES = 1 << 26

_PUT = struct.Struct(">4sIII")
_SIZES = struct.Struct(">II")
_PUT_BYTES, _DELETE_BYTES = 2 + _PUT.size, 6
_P, _D = b"PD"


class Record(NamedTuple):
    """What is known of a confirmed entry."""

    key: str
    scope: str
    time: float


def place_of(position: int, fingerprint: bytes) -> bytes:
    """Return what an entry is found by in its record page: its offset there, and its check."""
    return bytes([position % RECORDS]) + fingerprint[-4:]


def pack_record(position: int, fingerprint: bytes, record: Record) -> bytes:
    """Return what is appended to a record page when an entry is confirmed."""
    scope, key = record.scope.encode(), record.key.encode()
    head = _PUT.pack(fingerprint[-4:], int(record.time), len(scope), len(key))
    return b"P%c%b%b%b" % (position % RECORDS, head, scope, key)


def pack_delete(position: int, fingerprint: bytes) -> bytes:
    """Return what is appended to a record page when an entry is deleted."""
    return b"D" + place_of(position, fingerprint)


def read_records(
    page: bytes, key: str, wanted: Collection[bytes] | None = None
) -> dict[bytes, Record | None]:
    """Return what a page tells of entries, by place: their records, None for the deleted ones.

    Args:
        page: its content.
        key: names it in messages.
        wanted: the places of the entries; those of all if not given.

    Raises:
        StoreDamaged: it is no record page.
    """
    with _told_as_damage(key):
        return {
            place: None if packed[0] == _D else _unpack(packed)
            for place, packed in _newest(page, wanted).items()
        }


@contextlib.contextmanager
def _told_as_damage(key: str) -> Iterator[None]:
    try:
        yield
    except (IndexError, ValueError, struct.error, zlib.error) as error:
        raise StoreDamaged(f"{key} is damaged: {error}") from error


def _unpack(packed: bytes) -> Record:
    _, time, scope_size, _ = _PUT.unpack_from(packed, 2)
    key = _PUT_BYTES + scope_size
    return Record(packed[key:].decode(), packed[_PUT_BYTES:key].decode(), time)


def _newest(page: bytes, wanted: Collection[bytes] | None = None) -> dict[bytes, bytes]:
    """Return what is valid of each entry, as it was packed, by place."""
    if page[:1] == b"Z":
        end = 5 + int.from_bytes(page[1:5], "big")
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(page[5:end], _MOST_RECORD_BYTES)
        if not unpacker.eof:
            raise ValueError("compressed records are cut off, or too long")
        page = plain + page[end:]
    found: dict[bytes, bytes] = {}
    at, size, sizes = 0, len(page), _SIZES.unpack_from
    while at < size:
        start, kind = at, page[at]
        if kind == _P:
            scope_size, key_size = sizes(page, at + 10)
            at += _PUT_BYTES + scope_size + key_size
        elif kind == _D:
            at += _DELETE_BYTES
        else:
            raise ValueError(f"no record begins with byte {kind}")
        place = page[start + 1 : start + 6]
        # A delete is final.
        if (wanted is None or place in wanted) and found.get(place, b"P")[0] == _P:
            found[place] = page[start:at]
    if at > size:
        raise ValueError("a record is cut off")
    return found


def compress_records(page: bytes, key: str) -> bytes:
    """Return the same records in as few bytes as may be.

    Raises:
        StoreDamaged: it is no record page; ``key`` names it in the message.
    """
    with _told_as_damage(key):
        plain = b"".join(packed for _, packed in sorted(_newest(page).items()))
    packed = zlib.compress(plain, 9)
    if len(packed) + 5 >= len(plain):
        return plain
    return b"Z" + len(packed).to_bytes(4, "big") + packed


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

    def probed(self, fingerprint: Fingerprint) -> Iterator[tuple[str, int, bytes]]:
        """Yield the pages to look into: hash, block and field of each."""
        if self._layout.probes == self._layout.blocks:
            value = fingerprint.value
            for block, shift in enumerate(self._shifts):
                page = (value >> shift & self._mask) >> self._shift
                part = self._hashes[block * self._shards + page % self._shards]
                yield part, block, page.to_bytes(4, "big")
            return
        blocks, addresses = self._layout.probe(fingerprint)
        pages = addresses >> np.uint32(self._shift)
        hashes = blocks * self._shards + pages % self._shards
        names = pages.astype(">u4").tobytes()
        for number, (part, block) in enumerate(zip(hashes.tolist(), blocks.tolist(), strict=True)):
            yield self._hashes[part], block, names[4 * number : 4 * number + 4]

    def candidates(
        self,
        fingerprints: Sequence[Fingerprint],
        found: Sequence[tuple[int, int, bytes]],
        distance: int,
    ) -> list[list[int]]:
        """Return the positions of the entries that may be within a distance of each fingerprint.

        Args:
            fingerprints: what is looked for.
            found: pages, each with the number of the fingerprint for which it was probed, and
                its block.
            distance: at most the layout's.

        Raises:
            StoreDamaged: a page does not consist of entries.
        """
        near: list[list[int]] = [[] for _ in fingerprints]
        if not found:
            return near
        for _, block, page in found:
            if len(page) % self._size:
                raise StoreDamaged(f"a bucket page of block {block} is damaged")
        words = np.frombuffer(b"".join(page for _, _, page in found), "<u8").astype(np.uint64)
        words = words.reshape(-1, self._size // 8)
        # The tags stand where the entries have theirs, after the position.
        tags = b"".join(self._tag(fingerprints[number].value, block) for number, block, _ in found)
        wanted = np.frombuffer(tags, "<u8").reshape(-1, self._size // 8)
        counts = [len(page) // self._size for _, _, page in found]
        both = words ^ wanted.repeat(counts, axis=0)
        both[:, 0] >>= np.uint64(32)
        different = bit_count(both.ravel()).reshape(both.shape).sum(axis=1)
        rows = np.flatnonzero(different <= min(distance, self._limit))
        positions = words[rows, 0] & np.uint64((1 << 32) - 1)
        owners = np.repeat([number for number, _, _ in found], counts)[rows]
        for owner, position in zip(owners.tolist(), positions.tolist(), strict=True):
            near[owner].append(position)
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
