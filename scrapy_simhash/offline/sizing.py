"""What an index of so many pages takes: a model of its memory, its time and its false drops.

The terms are those of the data structures; the constants are measured (64-bit, jemalloc, random
fingerprints, addresses of some 60 characters): ``tests/benchmarks/sizing.py`` holds them against a
real Redis, ``tests/benchmarks/index.py`` gives those of RAM.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_simhash.fingerprint.blocks import Layout, plan_layout
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.base import BODIES
from scrapy_simhash.index.buckets import SCAN_LIMIT
from scrapy_simhash.index.redis_pages import BucketPages

# An allocation is rounded up to one of four sizes between two powers of two.
_SEGMENT_ROUNDING = 1.08
_PAGE_ROUNDING = 1.09
# Of a hash: entry, field, header and slot of a bucket page.
_FIELD = 56
# Of a record: check and time, and its share of the page's key and allocation; and how much of an
# address is left of a byte when 64 of them are compressed.
_RECORD = 5.5
_ADDRESS = 0.31
_DIGEST = 9.2

# The header, scripts, the tail, and what the server keeps for its clients.
_REDIS_FIXED = 600_000
# Of a body that is remembered: digest, lengths, its share of a key; and how full the memory is on
# average, since of a hash that is full half of it goes.
_REDIS_BODY, _REDIS_BODIES = 17.0, 0.76 * BODIES
_FILE_BODY = 38

# Microseconds of CPU for a new page of which 32 are claimed together: for its body, the log and the
# record, with their bits; for an entry in a bucket page; for a bucket that is looked into, and for
# a kilobyte that is read. Up to this many pages the server's processor has them in its cache; for
# each ten times as many, a look costs so much more.
_SERVER_CLAIM, _SERVER_BIT, _SERVER_PUT, _SERVER_GET, _SERVER_KB = 13.0, 0.02, 5.0, 0.4, 0.6
_CACHED, _SERVER_MISS = 1e5, 0.8
_CLAIM, _PUT, _GET, _KB = 38.0, 5.0, 1.6, 1.0
# The same where the buckets are in RAM; and where all pages are compared, for a bit of each.
_LOCAL_CLAIM, _LOCAL_GET, _SCAN = 53.0, 1.35, 1.3e-5

# Of a bucket in RAM: its bytes object and its slot. As buckets grow, memory between them is lost.
_BUCKET = 48
_RAGGED = 1.8
_RAM_FIXED = 2_000_000
# Of a page in a file: two b-tree varints, the time, the scope, free space in the b-tree's pages.
_ROW = 22


@dataclass(frozen=True, slots=True)
class Sizing:
    """What an index takes.

    Attributes:
        layout: planned for so many pages.
        redis: bytes of Redis memory by (buckets, keys): ``redis`` or ``local``, ``url`` or
            ``digest``.
        worker: bytes of RAM of each worker with the buckets in its RAM.
        file: bytes of a SQLite file.
        redis_server: CPU microseconds of the server for a new page, by buckets.
        read: bytes of bucket pages that a worker reads for a new page, with the buckets in Redis.
        check: CPU microseconds of a worker for a new page, by buckets.
        false_drops: matches with unrelated pages of other sites, over all of the crawl; None where
            the rate is not known.
    """

    layout: Layout
    redis: dict[tuple[str, str], float]
    worker: float
    file: float
    redis_server: dict[str, float]
    read: float
    check: dict[str, float]
    false_drops: float | None


# The probability that two unrelated pages of different sites are within the distance, by features,
# bits and distance: ``python tests/benchmarks/false_drops.py``.
UNRELATED_MATCH = {
    ("words 2 sqrt", 64, 3): 9.4e-15,
    ("characters 5 binary", 64, 3): 3e-14,
    ("characters 5 binary", 64, 8): 2e-9,
    ("characters 5 binary", 128, 22): 2e-12,
    ("characters 5 binary", 256, 48): 7e-16,
    ("characters 5 binary", 256, 56): 4e-13,
}


def size_up(spec: FeatureSpec, bits: int, distance: int, pages: int, address: float) -> Sizing:
    """Return what an index takes.

    Args:
        spec: the features.
        bits: of a fingerprint.
        distance: k.
        pages: originals in the index.
        address: mean bytes of a key.

    Raises:
        ValueError: no layout can be planned.
    """
    layout = plan_layout(bits, distance, pages)
    # The fewest pages that an index in Redis is laid out for.
    in_redis = plan_layout(bits, distance, max(pages, 100_000))
    places = {"redis": True, "local": False}
    packed = BucketPages(in_redis, pages, 1)
    read = in_redis.probes * packed.entry_size * pages / packed.pages
    log = _SERVER_CLAIM + _SERVER_BIT * bits
    look = _SERVER_GET + _SERVER_MISS * max(math.log10(pages / _CACHED), 0)
    scanned = pages <= SCAN_LIMIT[bits]
    found = _SCAN * bits * pages if scanned else _LOCAL_GET * layout.probes
    rate = UNRELATED_MATCH.get((f"{spec.kind} {spec.n} {spec.weights}", bits, distance))
    return Sizing(
        layout=in_redis,
        redis={
            (place, keys): redis_bytes(
                in_redis, pages, address if keys == "url" else None, buckets=has_buckets
            )
            for place, has_buckets in places.items()
            for keys in ("url", "digest")
        },
        worker=ram_bytes(layout, pages),
        file=sqlite_bytes(bits, pages, address),
        redis_server={
            "redis": (
                log
                + _SERVER_PUT * in_redis.blocks
                + look * in_redis.probes
                + _SERVER_KB * read / 1e3
            ),
            "local": log,
        },
        read=read,
        check={
            "redis": _CLAIM + _PUT * in_redis.blocks + _GET * in_redis.probes + _KB * read / 1e3,
            "local": _LOCAL_CLAIM + found,
        },
        # Each new page meets those before it.
        false_drops=None if rate is None else rate * pages * pages / 2,
    )


def redis_bytes(layout: Layout, pages: int, address: float | None, *, buckets: bool) -> float:
    """Return the bytes of memory in Redis; without an address, keys are digests."""
    log = _SEGMENT_ROUNDING * layout.bits / 8
    record = _RECORD + (_DIGEST if address is None else _ADDRESS * address)
    size = pages * (log + record) + _REDIS_FIXED
    size += min(pages, _REDIS_BODIES) * (layout.bits / 8 + _REDIS_BODY)
    if buckets:
        packed = BucketPages(layout, pages, 1)
        # Those that hold something.
        fields = packed.pages * -math.expm1(-pages / packed.pages)
        size += layout.blocks * (_PAGE_ROUNDING * packed.entry_size * pages + _FIELD * fields)
    return size


def ram_bytes(layout: Layout, pages: int) -> float:
    """Return the bytes of RAM of a process that has the buckets."""
    size = _RAM_FIXED + pages * (layout.bits / 8 + 9)
    if pages > SCAN_LIMIT[layout.bits]:
        entry = 8 if layout.bits == 64 else 4
        size += _RAGGED * layout.blocks * (entry * pages + _BUCKET * (1 << layout.width))
    return size


def sqlite_bytes(bits: int, pages: int, address: float) -> float:
    """Return the bytes of an index in a file."""
    return pages * (bits / 8 + address + _ROW) + min(pages, BODIES) * (bits / 8 + _FILE_BODY)


def skew(fingerprints: Sequence[Fingerprint], layout: Layout) -> float | None:
    """Return the mean candidates in a bucket over those in evenly filled ones; None if too few.

    It is the share of the pairs of fingerprints that agree in a block, times its addresses; so a
    sample tells it of a whole index.
    """
    if len(fingerprints) < 2:
        return None
    packed = b"".join(fingerprint.to_bytes() for fingerprint in fingerprints)
    words = np.frombuffer(packed, ">u8").astype(np.uint64).reshape(len(fingerprints), -1)
    pairs = len(fingerprints) * (len(fingerprints) - 1)
    agreeing = 0
    for addresses in layout.addresses(words).T:
        counts = np.unique(addresses, return_counts=True)[1].astype(np.int64)
        agreeing += int((counts * (counts - 1)).sum())
    return agreeing / pairs / layout.blocks * (1 << layout.width)
