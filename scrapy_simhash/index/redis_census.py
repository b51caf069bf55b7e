"""How much memory the parts of an index in Redis take, from a sample of their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy_simhash.index.base import StoreUnavailable
from scrapy_simhash.index.redis_bodies import Bodies
from scrapy_simhash.index.redis_client import CONTROL, Client
from scrapy_simhash.index.redis_log import LogView
from scrapy_simhash.index.redis_pages import BucketPages
from scrapy_simhash.index.redis_records import RECORDS

# Keys of a part that are measured; and fields of a hash.
_KEYS = 128
_FIELDS = 100


def sizes(
    client: Client, log: LogView, pages: BucketPages | None, bodies: Bodies
) -> dict[str, int]:
    """Return the bytes of each part; of none, where the server does not tell.

    Args:
        client: where the index is.
        log: a view of its log, as it is now.
        pages: how its buckets are packed; None if there are none.
        bodies: those that it remembers.
    """
    prefix = client.prefix
    segments = range(log.head, log.flushed, client.segment)
    records = range(log.head, log.end, RECORDS)
    buckets = [] if pages is None else [f"{prefix}:{part}" for part in pages.hashes()]
    frozen = [log.segment_key(position) for position in _spread(segments)]
    kept = [f"{prefix}:r:{position // RECORDS}" for position in _spread(records)]
    control = [client.control(part) for part in CONTROL]
    try:
        return {
            "log": _total(client, frozen, len(segments)),
            "records (keys, times)": _total(client, kept, len(records)),
            "buckets": _total(client, _spread(buckets), len(buckets)),
            "tail, pages in progress": _total(client, control, len(control)),
            "bodies": _total(client, _spread(bodies.keys()), len(bodies.keys())),
        }
    except StoreUnavailable:
        return {}


def _spread(items: Sequence[str] | Sequence[int]) -> list[Any]:
    if len(items) <= _KEYS:
        return list(items)
    return [items[(len(items) - 1) * i // (_KEYS - 1)] for i in range(_KEYS)]


def _total(client: Client, keys: Sequence[str], count: int) -> int:
    """Return the bytes of so many keys, of which these are a sample."""
    if not keys:
        return 0
    found = client.all([("MEMORY USAGE", key, "SAMPLES", _FIELDS) for key in keys])
    return sum(size or 0 for size in found) * count // len(keys)
