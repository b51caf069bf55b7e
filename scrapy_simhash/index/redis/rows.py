"""Rows: what is known of an entry beside its fingerprint and its block values.

A row has the sizes of the facts (1 byte) and of the scope (2), the time in seconds since the Unix
epoch (4), facts, scope and key. While its entry is provisional, a row stands behind its lease; see
``lua/entries.lua``. Once it is confirmed, the row is appended to those of ``ROWS`` positions::

    offset:1 size:3 row | offset:1 size:3 row | ...     as they are appended
    "Z" size:4 zlib facts | offset:1 size:3 row | ...   the first ones squeezed

Facts are hashes, which zlib cannot squeeze; so they stand apart. Numbers are big-endian.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from scrapy_simhash.index.contract import StoreDamaged

#: Positions whose rows stand together.
ROWS = 64

# When a lease ends, its crawler, the mark of the crawler's spider, adoptions.
HEAD = struct.Struct(">d8sIB")
_ROW = struct.Struct(">BHI")
_SIZE = struct.Struct(">I")
# The most bytes that packed rows may have when they are unpacked.
_MOST_BYTES = 1 << 24


class Row(NamedTuple):
    """The fields of an entry."""

    key: str
    scope: str
    facts: bytes
    time: float


class Lease(NamedTuple):
    """A provisional entry.

    Attributes:
        ends: when the lease ends, in seconds since the Unix epoch.
        row: what will be known of the entry.
    """

    ends: float
    row: Row


def pack_row(row: Row) -> bytes:
    """Return a row as it is stored."""
    scope = row.scope.encode()
    key = row.key.encode()
    return _ROW.pack(len(row.facts), len(scope), int(row.time)) + row.facts + scope + key


def read_row(packed: bytes) -> Row:
    """Return a row.

    Raises:
        StoreDamaged: it is none.
    """
    try:
        facts, scope, time = _ROW.unpack_from(packed)
        end = _ROW.size + facts + scope
        if end > len(packed):
            raise ValueError("it is cut off")
        return Row(
            packed[end:].decode(),
            packed[end - scope : end].decode(),
            packed[_ROW.size : end - scope],
            float(time),
        )
    except (struct.error, ValueError) as error:
        raise StoreDamaged(f"a row in Redis is damaged: {error}") from error


def read_lease(packed: bytes) -> Lease:
    """Return a lease and the row behind it.

    Raises:
        StoreDamaged: it is none.
    """
    try:
        ends, *_ = HEAD.unpack_from(packed)
    except struct.error as error:
        raise StoreDamaged(f"a lease in Redis is damaged: {error}") from error
    return Lease(ends, read_row(packed[HEAD.size :]))


def read_rows(content: bytes) -> dict[int, bytes]:
    """Return rows by their offset, not taken apart.

    Raises:
        StoreDamaged: they are none.
    """
    found: dict[int, bytes] = {}
    try:
        at = 0
        if content[:1] == b"Z":
            (size,) = _SIZE.unpack_from(content, 1)
            at = 1 + _SIZE.size + size
            unpacker = zlib.decompressobj()
            plain = unpacker.decompress(content[1 + _SIZE.size : at], _MOST_BYTES)
            if not unpacker.eof:
                raise ValueError("squeezed rows are cut off, or too long")
            for offset, row in _rows_in(plain, 0):
                facts = row[0]
                found[offset] = row[: _ROW.size] + content[at : at + facts] + row[_ROW.size :]
                at += facts
        found.update(_rows_in(content, at))
    except (IndexError, struct.error, ValueError, zlib.error) as error:
        raise StoreDamaged(f"rows in Redis are damaged: {error}") from error
    return found


def _rows_in(content: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    while at < len(content):
        (head,) = _SIZE.unpack_from(content, at)
        offset, size = head >> 24, head & 0xFFFFFF
        at += _SIZE.size + size
        if offset >= ROWS or size < _ROW.size or at > len(content):
            raise ValueError("a row is cut off")
        yield offset, content[at - size : at]


def squeeze_rows(content: bytes) -> bytes:
    """Return the same rows in as few bytes as may be.

    Raises:
        StoreDamaged: they are none.
    """
    plain, facts = b"", b""
    for offset, row in sorted(read_rows(content).items()):
        end = _ROW.size + row[0]
        rest = row[: _ROW.size] + row[end:]
        plain += _SIZE.pack(offset << 24 | len(rest)) + rest
        facts += row[_ROW.size : end]
    packed = zlib.compress(plain, 9)
    return b"Z" + _SIZE.pack(len(packed)) + packed + facts
