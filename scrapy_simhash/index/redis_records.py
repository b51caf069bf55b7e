"""Records in Redis: what is known of the confirmed entries of the log.

A *record page* tells of 64 positions of the log. It is a string to which records are only
appended, so that no writer waits for another; later it is compressed in place::

    P offset:1 check:2 time:4 scope:4 key:4 scope... key...    an entry was confirmed
    D offset:1 check:2                                         it was deleted, for good
    Z length:4 count:4 checks... zlib...                       the records up to here

What is compressed are columns, because like compresses best beside like: the kinds (P or D), the
offsets (how much more each is than the one before), the times (first their highest bytes), then the
scopes and the keys, a line each.

Numbers are big-endian; time is in seconds since the Unix epoch. *check* is the end of the entry's
fingerprint: after a failover of a cluster, a position may have been lost, and given to another
page. Where both checks are the same by chance, what was noted of the lost entry counts for the
other: it is confirmed too early, or deleted, and then crawled once more.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Collection, Iterator
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from scrapy_simhash.index.base import StoreDamaged

#: Positions in a record page.
RECORDS = 64
# The most bytes that a compressed part may be of.
_MOST_BYTES = 1 << 26

_CHECK = 2
_PLACE = 1 + _CHECK
_HEAD = struct.Struct(">III")
_SIZES = struct.Struct(">II")
_P, _D = b"PD"
_LINE = b"\n"


class Record(NamedTuple):
    """What is known of a confirmed entry."""

    key: str
    scope: str
    time: float


#: The same as it is stored: time, scope and key; None when the entry was deleted.
_Stored: TypeAlias = tuple[int, bytes, bytes] | None


def place_of(position: int, fingerprint: bytes) -> bytes:
    """Return what an entry is found by in its record page: its offset there, and its check."""
    return bytes([position % RECORDS]) + fingerprint[-_CHECK:]


def pack_record(position: int, fingerprint: bytes, record: Record) -> bytes:
    """Return what is appended to a record page when an entry is confirmed."""
    stored = int(record.time), record.scope.encode(), record.key.encode()
    return _packed(place_of(position, fingerprint), stored)


def pack_delete(position: int, fingerprint: bytes) -> bytes:
    """Return what is appended to a record page when an entry is deleted."""
    return _packed(place_of(position, fingerprint), None)


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
            place: stored and Record(stored[2].decode(), stored[1].decode(), stored[0])
            for place, stored in _newest(page, wanted).items()
        }


def compress_records(page: bytes, key: str) -> bytes:
    """Return the same records in as few bytes as may be.

    Raises:
        StoreDamaged: it is no record page; ``key`` names it in the message.
    """
    with _told_as_damage(key):
        found = sorted(_newest(page).items())
    plain = b"".join([_packed(place, stored) for place, stored in found])
    records = [stored or (0, b"", b"") for _, stored in found]
    lines = [scope for _, scope, _ in records] + [key for _, _, key in records]
    if any(_LINE in line for line in lines):
        return plain  # an address has none
    offsets = [place[0] for place, _ in found]
    columns = (
        bytes([_P if stored else _D for _, stored in found]),
        bytes([offset - last for offset, last in zip(offsets, [0, *offsets], strict=False)]),
        *(bytes([time >> shift & 0xFF for time, _, _ in records]) for shift in (24, 16, 8, 0)),
        *(line + _LINE for line in lines),
    )
    checks = b"".join([place[1:] for place, _ in found])
    packed = zlib.compress(b"".join(columns), 9)
    packed = b"Z" + _SIZES.pack(len(packed), len(found)) + checks + packed
    return packed if len(packed) < len(plain) else plain


@contextlib.contextmanager
def _told_as_damage(key: str) -> Iterator[None]:
    try:
        yield
    except (IndexError, ValueError, struct.error, zlib.error) as error:
        raise StoreDamaged(f"{key} is damaged: {error}") from error


def _packed(place: bytes, stored: _Stored) -> bytes:
    if stored is None:
        return b"D" + place
    time, scope, key = stored
    return b"".join((b"P", place, _HEAD.pack(time, len(scope), len(key)), scope, key))


def _newest(page: bytes, wanted: Collection[bytes] | None = None) -> dict[bytes, _Stored]:
    """Return what is valid of each entry, by place."""
    found: dict[bytes, _Stored] = {}
    at = 0
    if page[:1] == b"Z":
        length, count = _SIZES.unpack_from(page, 1)
        start = 1 + _SIZES.size + _CHECK * count
        at = start + length
        found = _unpacked(page[1 + _SIZES.size : start], page[start:at], wanted)
    while at < len(page):
        kind, place = page[at], page[at + 1 : at + 1 + _PLACE]
        at += 1 + _PLACE
        stored: _Stored = None
        if kind == _P:
            time, scope_size, key_size = _HEAD.unpack_from(page, at)
            scope = at + _HEAD.size
            key = scope + scope_size
            at = key + key_size
            stored = time, page[scope:key], page[key:at]
        elif kind != _D:
            raise ValueError(f"no record begins with byte {kind}")
        # A delete is final.
        if (wanted is None or place in wanted) and found.get(place, b"") is not None:
            found[place] = stored
    if at > len(page):
        raise ValueError("a record is cut off")
    return found


def _unpacked(
    checks: bytes, packed: bytes, wanted: Collection[bytes] | None
) -> dict[bytes, _Stored]:
    """Return what compressed records tell, by place."""
    unpacker = zlib.decompressobj()
    columns = unpacker.decompress(packed, _MOST_BYTES)
    if not unpacker.eof:
        raise ValueError("compressed records are cut off, or too long")
    count = len(checks) // _CHECK
    if columns.count(_LINE, 6 * count) != 2 * count:
        raise ValueError(f"there should be {count} compressed records")
    lines = columns[6 * count :].split(_LINE)
    sought = None if wanted is None else {place[0] for place in wanted}
    found: dict[bytes, _Stored] = {}
    for number, offset in enumerate(accumulate(columns[count : 2 * count])):
        if sought is not None and offset not in sought:
            continue
        place = bytes([offset]) + checks[_CHECK * number : _CHECK * (number + 1)]
        if wanted is None or place in wanted:
            time = int.from_bytes(columns[2 * count + number : 6 * count : count], "big")
            scope, key = lines[number], lines[count + number]
            found[place] = (time, scope, key) if columns[number] == _P else None
    return found
