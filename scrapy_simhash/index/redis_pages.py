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
            yield offset, page[at + 2 : at + 6], None
            at += 6
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
        self._words = 1 if layout.bits == 64 else 2
        self._tag_bits = 64 * self._words - 32
        self._limit = _tag_distance(layout, self._tag_bits)
        # Adjacent addresses share a page while it stays small.
        entries = max(_PAGE_BYTES // (8 * self._words), 1)
        bits = max(0, math.ceil(math.log2(expected_pages / entries)))
        self._shift = max(0, layout.width - max(bits, 8))
        if layout.probes > layout.blocks:
            # Flipped addresses are seldom adjacent: each would cost a larger page.
            self._shift = 0

    def _tag(self, value: int, start: int) -> int:
        """Return the bits after a block that begins at a position, from its end on, cyclically."""
        bits = self._layout.bits
        turn = (start + self._layout.width) % bits
        return ((value << turn | value >> bits - turn) & (1 << bits) - 1) >> bits - self._tag_bits

    def _place(self, block: int, address: int) -> tuple[str, bytes]:
        """Return the hash of a page, as the end of its key, and the field."""
        page = address >> self._shift
        return f"b:{block}:{page % self._shards}", page.to_bytes(4, "big")

    def hashes(self) -> list[str]:
        """Return the ends of the keys of all hashes."""
        return [
            f"b:{block}:{shard}"
            for block in range(self._layout.blocks)
            for shard in range(self._shards)
        ]

    def entries(self, first: int, values: Sequence[int]) -> dict[str, list[bytes]]:
        """Return where the entries go: for each hash field, entry, field, entry, ….

        Args:
            first: position of the first value; the others follow it.
            values: fingerprints.
        """
        layout = self._layout
        mask = (1 << layout.width) - 1
        placed: dict[str, list[bytes]] = {}
        for block, start in enumerate(layout.starts):
            shift = layout.bits - start - layout.width
            for number, value in enumerate(values):
                key, page = self._place(block, value >> shift & mask)
                tag = self._tag(value, start)
                entry = (tag << 32 | first + number).to_bytes(8 * self._words, "little")
                placed.setdefault(key, []).extend((page, entry))
        return placed

    def probed(self, fingerprint: Fingerprint) -> list[tuple[int, str, bytes]]:
        """Return the pages to look into: block, hash and field of each."""
        blocks, addresses = self._layout.probe(fingerprint)
        pages = zip(blocks.tolist(), addresses.tolist(), strict=True)
        # Addresses that share a page are looked at once.
        return sorted({(block, *self._place(block, address)) for block, address in pages})

    def candidates(
        self, fingerprint: Fingerprint, pages: Iterable[tuple[int, bytes]], distance: int
    ) -> list[int]:
        """Return the positions of the entries that may be within a distance.

        Args:
            fingerprint: what is looked for.
            pages: block and content of each page found.
            distance: at most the layout's.

        Raises:
            StoreDamaged: a page does not consist of entries.
        """
        counts, contents, tags = [], [], []
        for block, page in pages:
            if len(page) % (8 * self._words):
                raise StoreDamaged(f"a bucket page of block {block} is damaged")
            counts.append(len(page) // (8 * self._words))
            contents.append(page)
            tags.append(self._tag(fingerprint.value, self._layout.starts[block]) << 32)
        if not contents:
            return []
        words = np.frombuffer(b"".join(contents), "<u8").reshape(-1, self._words)
        different = np.zeros(len(words), np.uint16)
        for word in range(self._words):
            wanted = [tag >> 64 * word & (1 << 64) - 1 for tag in tags]
            both: npt.NDArray[np.uint64] = words[:, word].astype(np.uint64)
            both ^= np.repeat(np.array(wanted, np.uint64), counts)
            different += bit_count(both if word else both >> np.uint64(32))
        near = words[different <= min(distance, self._limit), 0] & np.uint64((1 << 32) - 1)
        return sorted(set(near.tolist()))


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


def as_values(packed: bytes, width: int) -> list[int]:
    """Return the fingerprints of a part of the log."""
    return [int.from_bytes(packed[i : i + width], "big") for i in range(0, len(packed), width)]


def as_words(packed: bytes, width: int) -> npt.NDArray[np.uint64]:
    """Return them as words, shape (n, width / 8), the most significant first."""
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, width // 8)
