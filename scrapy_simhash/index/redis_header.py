"""The header of an index in Redis: how it is kept, and by which recipe it was made."""

from __future__ import annotations

import secrets
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from scrapy_simhash.fingerprint.blocks import Layout, plan_layout
from scrapy_simhash.index.base import StoreDamaged, StoreMismatch, StoreMissing
from scrapy_simhash.index.header import agreed_layout
from scrapy_simhash.index.redis_address import OPTIONS, Address, parse_address
from scrapy_simhash.index.redis_client import Client, number, pairs, text
from scrapy_simhash.index.redis_records import RECORDS

FORMAT = 3
# Entries of the log that are frozen at a time, in a new index; a multiple of RECORDS. With 1024 a
# segment and its header would just not fit into a power of two, and take a quarter more memory.
SEGMENT = 960
_MOST_SHARDS = 4096
# Layouts for fewer pages have more blocks and wider buckets, which costs more in Redis than in RAM.
_LEAST_PAGES = 100_000


class Header(NamedTuple):
    """How an index is kept.

    Attributes:
        layout: how the fingerprints are cut and probed.
        expected_pages: how many originals its bucket pages are made for.
        shards: hashes that the pages of a block are in.
        has_buckets: whether it has buckets in Redis.
    """

    layout: Layout
    expected_pages: int
    shards: int
    has_buckets: bool


def read_header(url: str) -> tuple[dict[str, str], str]:
    """Return the header of the index at a URL, and the URL with the options that it was made with.

    Raises:
        StoreMissing: there is none.
        StoreUnavailable: Redis is away, or refuses.
        StoreDamaged: what is there is no index of ours.
        ValueError: the URL is of no known form.
    """
    address = parse_address(url)
    client = Client(address)
    try:
        (stored,) = client.all([("HGETALL", client.control("meta"))])
    finally:
        client.close()
    if not stored:
        raise StoreMissing(f"there is no index {address.name!r} at {address.shown}")
    # The last fingerprint is no text.
    header = {text(name): text(value) for name, value in pairs(stored) if name != b"last"}
    query = parse_qs(urlsplit(url).query)
    for option in OPTIONS:
        if option not in query and option in header:
            url += f"{'&' if '?' in url else '?'}{option}={header[option]}"
    return header, url


def open_header(
    client: Client,
    *,
    address: Address,
    recipe: str,
    bits: int,
    distance: int,
    expected_pages: int,
    layout: Layout | None,
) -> Header:
    """Read the header of an index, or make it; arguments as ``RedisIndex`` takes.

    Raises:
        StoreMismatch: the index cannot be used as asked.
        StoreDamaged: there is no header of ours.
        ValueError: no layout can be planned.
    """
    expected_pages = max(expected_pages, _LEAST_PAGES)
    new = {
        "format": FORMAT,
        "recipe": recipe,
        "layout": layout or plan_layout(bits, distance, expected_pages),
        "segment": SEGMENT,
        "expected_pages": expected_pages,
        # In a cluster a block's pages are spread over the nodes.
        "shards": 16 if client.is_cluster else 1,
        # So that what is left of an index that was cleared is never taken for the new one's.
        "generation": secrets.token_hex(4),
        **address.options,
    }
    where = f"the index {address.name!r} at {address.shown}"
    *stored, seconds, microseconds = client.run(
        "open", *(str(part) for item in new.items() for part in item)
    )
    client.set_clock(number(seconds) + number(microseconds) / 1e6)
    header = {name: text(value) for name, value in zip(new, stored, strict=True)}
    segment, shards = number(header["segment"].encode()), number(header["shards"].encode())
    if not segment or segment % RECORDS or not 1 <= shards <= _MOST_SHARDS:
        raise StoreDamaged(f"{where} has a damaged header: segment={segment} shards={shards}")
    instead = "another name with ?name="
    if header.get("format") != str(FORMAT):
        raise StoreMismatch(
            f"{where} has format {header.get('format')}, this version of scrapy-simhash reads "
            f"{FORMAT}: use the version that made it, or {instead}"
        )
    agreed = agreed_layout(
        where,
        header,
        instead=instead,
        recipe=recipe,
        bits=bits,
        distance=distance,
        layout=layout,
    )
    if header.get("keys") != address.options["keys"]:
        raise StoreMismatch(
            f"{where} was made with keys={header.get('keys')}: use the same, or {instead}"
        )
    has_buckets = header.get("buckets") == "redis"
    if address.options["buckets"] == "redis" and not has_buckets:
        raise StoreMismatch(
            f"{where} was made with buckets=local and has none in Redis: use the same, or {instead}"
        )
    client.segment = segment
    client.generation = header["generation"]
    expected_pages = max(number(header["expected_pages"].encode()), 1)
    return Header(agreed, expected_pages, shards, has_buckets)
