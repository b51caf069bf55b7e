"""The header of an index in Redis: how it is kept, and by which recipe it was made."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_simhash.blocks import Layout, plan_layout
from scrapy_simhash.index.base import StoreDamaged, StoreMismatch
from scrapy_simhash.index.header import agreed_layout
from scrapy_simhash.index.redis_address import Address
from scrapy_simhash.index.redis_client import Client
from scrapy_simhash.index.redis_pages import RECORDS

FORMAT = 1
# Entries of the log that are frozen at a time, in a new index; a multiple of RECORDS.
SEGMENT = 1024


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
    """Read the header of an index, or make it if there is none; arguments as ``RedisIndex`` takes.

    Raises:
        StoreMismatch: the index cannot be used as asked.
        StoreDamaged: there is no header of ours.
        ValueError: no layout can be planned.
    """
    new = {
        "format": FORMAT,
        "recipe": recipe,
        "layout": layout or plan_layout(bits, distance, expected_pages),
        "segment": SEGMENT,
        "expected_pages": expected_pages,
        # In a cluster a block's pages are spread over the nodes.
        "shards": 16 if client.is_cluster else 1,
        **address.options,
    }
    where = f"the index {address.name!r} at {address.shown}"
    stored = client.run("open", *(str(text) for item in new.items() for text in item))
    try:
        texts = [text.decode() for text in stored]
        header = dict(zip(texts[::2], texts[1::2], strict=True))
        numbers = {name: int(header[name]) for name in ("segment", "expected_pages", "shards")}
        if not all(0 < number < 1 << 48 for number in numbers.values()):
            raise ValueError(f"{numbers} are no sizes")
        if numbers["segment"] % RECORDS:
            raise ValueError(f"a segment of {numbers['segment']} entries")
    except (KeyError, ValueError) as error:
        raise StoreDamaged(f"{where} has a damaged header: {error}") from error
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
    client.segment = numbers["segment"]
    return Header(agreed, numbers["expected_pages"], numbers["shards"], has_buckets)
