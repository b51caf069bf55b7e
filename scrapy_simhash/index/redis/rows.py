"""Rows and runs: what Redis has of an entry beside its fingerprint and its block values.

``lua/entries.lua`` tells what a row has, and a lease, in which the row of a provisional entry
stands. Once the entry is confirmed, its row has a field of its own; some time later the rows of
``ROWS`` positions stand together, squeezed by zlib::

    :<position>           row
    <position // ROWS>    offset:1 size:3 row | offset:1 size:3 row | ...

Numbers are big-endian. What cannot be read raises ValueError, ``struct.error`` or ``zlib.error``.
``lua/runs.lua`` tells what a run has.
"""

import struct
import zlib
from collections.abc import Callable
from typing import Any

from scrapy_simhash.index.values import Arrival, Run

#: Positions whose rows stand together.
ROWS = 64

# When a lease ends, its crawler, the mark of the crawler's spider, adoptions, the run to which the
# entry goes back, or NEVER; then the row's size.
HEAD = struct.Struct(">d8sIBI")
NEVER = (1 << 32) - 1
_ROW = struct.Struct(">BHI")
_SIZE = struct.Struct(">I")
_RUN = struct.Struct(">ddB")
# The most bytes that packed rows may have when they are unpacked.
_MOST_BYTES = 1 << 24
# Key, scope, facts, and the time in seconds since the Unix epoch.
Row = tuple[str, str, bytes, float]


def pack_row(page: Arrival, time: float) -> bytes:
    scope, key = page.scope.encode(), page.key.encode()
    return _ROW.pack(len(page.facts), len(scope), int(time)) + page.facts + scope + key


def pack_claim(page: Arrival, time: float) -> bytes:
    """Return what a lease has behind its head: row and request."""
    packed, request = pack_row(page, time), (page.request or "").encode()
    return _SIZE.pack(len(packed)) + packed + _SIZE.pack(len(request)) + request


def read_row(packed: bytes) -> Row:
    facts, scope, time = _ROW.unpack_from(packed)
    end = _ROW.size + facts + scope
    if end > len(packed):
        raise ValueError("a row is cut off")
    texts = packed[end:].decode(), packed[end - scope : end].decode()
    return *texts, packed[_ROW.size : end - scope], float(time)


def read_lease(packed: bytes) -> tuple[float, int, Row]:
    """Return when a lease ends, since the Unix epoch, the run to go back to, and the row."""
    ends, *_, back = HEAD.unpack_from(packed)
    (size,) = _SIZE.unpack_from(packed, HEAD.size)
    start = HEAD.size + _SIZE.size
    return ends, back, read_row(packed[start : start + size])


def field_of(position: int) -> bytes:
    """Return the field of a row that stands alone."""
    return b":%d" % position


def read_rows(content: bytes) -> dict[int, bytes]:
    """Return rows that stand together by their offset, not taken apart."""
    found, at = dict[int, bytes](), 0
    unpacker = zlib.decompressobj()
    plain = unpacker.decompress(content, _MOST_BYTES)
    if not unpacker.eof:
        raise ValueError("rows are cut off, or too long")
    while at < len(plain):
        (head,) = _SIZE.unpack_from(plain, at)
        start = at + _SIZE.size
        at = start + (head & 0xFFFFFF)
        if at > len(plain):
            raise ValueError("a row is cut off")
        found[head >> 24] = plain[start:at]
    return found


def squeeze_rows(rows: dict[int, bytes]) -> bytes:
    """Return what :func:`read_rows` reads."""
    parts = (_SIZE.pack(offset << 24 | len(row)) + row for offset, row in rows.items())
    return zlib.compress(b"".join(parts), 9)


def rows_to_squeeze(positions: range, read: Callable[..., list[bytes | None]]) -> list[Any]:
    """Return what ``lua/squeeze.lua`` is told of the rows that stand alone.

    Args:
        positions: the first is one of whole groups of ``ROWS``, and so is their number.
        read: returns the contents of fields.
    """
    numbers = range(positions[0] // ROWS, positions[-1] // ROWS + 1)
    found = read(*numbers, *map(field_of, positions))
    told: list[Any] = []
    for place, number in enumerate(numbers):
        own = found[len(numbers) + place * ROWS :][:ROWS]
        alone = {offset: row for offset, row in enumerate(own) if row is not None}
        if alone:
            content = found[place] or b""
            squeezed = squeeze_rows((read_rows(content) if content else {}) | alone)
            told += (number, len(content), squeezed, bytes(alone))
    return told


def read_runs(answer: dict[bytes, bytes], *shards: dict[bytes, bytes]) -> list[Run]:
    """Return the runs, the oldest first, of the fields and values of their hash.

    The hashes of other shards tell only how many entries were last seen in a run there.
    """
    runs = []
    for name, packed in answer.items():
        if name.isdigit():
            begun, ended, finished = _RUN.unpack_from(packed)
            spider = packed[_RUN.size :].decode()
            pages = sum(int(one.get(name + b":pages", 0)) for one in (answer, *shards))
            runs.append(Run(int(name), spider, begun, ended or None, bool(finished), max(pages, 0)))
    return sorted(runs)


def last_run(answer: dict[bytes, bytes]) -> int:
    """Return the number of the last run of which the hash counts entries, 0 without one."""
    numbers = (name.removesuffix(b":pages") for name in answer if name.endswith(b":pages"))
    return max((int(number) for number in numbers if number.isdigit()), default=0)
