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

import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
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
_DELETE = struct.Struct(">4s")


# The offset of an entry in its page, and its check.
Place = tuple[int, bytes]


class Record(NamedTuple):
    """What is known of a confirmed entry."""

    key: str
    scope: str
    time: float


def pack_record(position: int, check: bytes, record: Record) -> bytes:
    """Return what is appended to a record page when an entry is confirmed."""
    scope, key = record.scope.encode(), record.key.encode()
    head = _PUT.pack(check, int(record.time), len(scope), len(key))
    return b"P" + bytes([position % RECORDS]) + head + scope + key


def pack_delete(position: int, check: bytes) -> bytes:
    """Return what is appended to a record page when an entry is deleted."""
    return b"D" + bytes([position % RECORDS]) + check


def read_records(
    page: bytes, key: str
) -> tuple[dict[tuple[int, bytes], Record], set[tuple[int, bytes]]]:
    """Return the confirmed entries and the deleted ones of a page, by offset and check.

    Raises:
        StoreDamaged: it is no record page; ``key`` names it in the message.
    """
    found: dict[Place, Record] = {}
    deleted: set[Place] = set()
    try:
        for offset, check, record in _records(page):
            if record is None:
                deleted.add((offset, check))
            else:
                found[offset, check] = record
    except (IndexError, ValueError, struct.error, zlib.error) as error:
        raise StoreDamaged(f"{key} is damaged: {error}") from error
    for entry in deleted:
        found.pop(entry, None)
    return found, deleted


def _records(page: bytes, *, packed: bool = False) -> Iterator[tuple[int, bytes, Record | None]]:
    at = 0
    while at < len(page):
        kind, offset = page[at], page[at + 1]
        if kind == ord("Z") and not packed:
            end = at + 5 + int.from_bytes(page[at + 1 : at + 5], "big")
            unpacker = zlib.decompressobj()
            plain = unpacker.decompress(page[at + 5 : end], _MOST_RECORD_BYTES)
            if not unpacker.eof:
                raise ValueError("compressed records are cut off, or too long")
            yield from _records(plain, packed=True)
            at = end
        elif kind == ord("D"):
            yield offset, *_DELETE.unpack_from(page, at + 2), None
            at += 2 + _DELETE.size
        elif kind == ord("P"):
            check, time, scope_size, key_size = _PUT.unpack_from(page, at + 2)
            scope = at + 2 + _PUT.size
            key = scope + scope_size
            at = key + key_size
            if at > len(page):
                raise ValueError("a record is cut off")
            yield offset, check, Record(page[key:at].decode(), page[scope:key].decode(), time)
        else:
            raise ValueError(f"no record begins with byte {kind}")


def compress_records(page: bytes, key: str) -> bytes:
    """Return the same records in as few bytes as may be."""
    found, deleted = read_records(page, key)
    plain = b"".join(pack_delete(offset, check) for offset, check in sorted(deleted))
    for (offset, check), record in sorted(found.items()):
        plain += pack_record(offset, check, record)
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
        self._limit = _tag_distance(layout, 8 * (self._size - 4))
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

    def probed(self, fingerprint: Fingerprint) -> list[tuple[int, str, list[bytes]]]:
        """Return the pages to look into: block, hash and fields of each hash."""
        blocks, addresses = self._layout.probe(fingerprint)
        pages = addresses >> np.uint32(self._shift)
        hashes = blocks * self._shards + pages % self._shards
        # Addresses that share a page are looked at once.
        both = np.unique(hashes.astype(np.uint64) << np.uint64(32) | pages)
        names = (both & np.uint64((1 << 32) - 1)).astype(">u4").tobytes()
        probed: list[tuple[int, str, list[bytes]]] = []
        last = -1
        for number, place in enumerate((both >> np.uint64(32)).tolist()):
            if place != last:
                probed.append((place // self._shards, self._hashes[place], []))
                last = place
            probed[-1][2].append(names[4 * number : 4 * number + 4])
        return probed

    def candidates(
        self,
        fingerprint: Fingerprint,
        found: Iterable[tuple[int, Sequence[bytes | None]]],
        distance: int,
    ) -> list[int]:
        """Return the positions of the entries that may be within a distance.

        Args:
            fingerprint: what is looked for.
            found: blocks, and pages of each; None for one that there is not.
            distance: at most the layout's.

        Raises:
            StoreDamaged: a page does not consist of entries.
        """
        bits = np.unpackbits(np.frombuffer(fingerprint.to_bytes(), np.uint8))
        contents: list[bytes] = []
        counts: list[int] = []
        tags: list[npt.NDArray[np.uint8]] = []
        for block, pages in found:
            content = b"".join(page for page in pages if page)
            if any(page and len(page) % self._size for page in pages):
                raise StoreDamaged(f"a bucket page of block {block} is damaged")
            contents.append(content)
            counts.append(len(content) // self._size)
            tags.append(np.packbits(bits[self._tag_places(block)])[::-1])
        if not any(contents):
            return []
        words = np.frombuffer(b"".join(contents), "<u8").reshape(-1, self._size // 8)
        # The tags stand where the entries have theirs, after the position.
        wanted = np.zeros((len(tags), self._size), np.uint8)
        wanted[:, 4:] = tags
        both = words.astype(np.uint64) ^ np.repeat(wanted.view("<u8"), counts, axis=0)
        both[:, 0] >>= np.uint64(32)
        different = bit_count(both.ravel()).reshape(both.shape).sum(axis=1)
        near = words[different <= min(distance, self._limit), 0] & np.uint64((1 << 32) - 1)
        return sorted(set(near.tolist()))

    def _tag_places(self, block: int) -> npt.NDArray[np.intp]:
        """Return the bits that follow a block, cyclically."""
        start = self._layout.starts[block] + self._layout.width
        return (start + np.arange(8 * (self._size - 4))) % self._layout.bits


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
