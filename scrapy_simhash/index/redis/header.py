"""The header of an index in Redis: by which recipe it was made, and how it is kept."""

from __future__ import annotations

import re
import secrets

from scrapy_simhash.index.contract import (
    IndexSpec,
    Judge,
    StoreDamaged,
    StoreMismatch,
    StoreMissing,
    by_distance,
    spider_mark,
)
from scrapy_simhash.index.redis.address import Address, parse_address
from scrapy_simhash.index.redis.client import Client, pairs, text_in
from scrapy_simhash.index.redis.scripts import Geometry, script

FORMAT = 5


def stored_spec(url: str, judge: Judge = by_distance) -> tuple[str, IndexSpec]:
    """Return the URL, with the place of the buckets, and the spec of the index that is there.

    Raises:
        StoreMissing: there is none.
        StoreUnavailable: Redis is away, or refuses.
        StoreDamaged: it is no index of ours.
        ValueError: the URL is of no known form.
    """
    address = parse_address(url)
    client = Client(address, spider_mark(""))
    try:
        (answer,) = client.all([("HGETALL", client.key("meta"))])
    finally:
        client.close()
    if not answer:
        raise StoreMissing(f"there is no {client.where.removeprefix('the ')}")
    header = {text_in(name): text_in(value) for name, value in pairs(answer)}
    try:
        spec = IndexSpec(
            recipe=header["recipe"],
            bits=int(header["bits"]),
            distance=int(header["distance"]),
            blocks=int(header["blocks"]),
            judge=judge,
        )
        buckets = header["buckets"]
    except (KeyError, ValueError) as error:
        raise StoreDamaged(f"{client.where} has a damaged header: {error}") from error
    if address.buckets != buckets and "buckets=" not in url:
        url += f"{'&' if '?' in url else '?'}buckets={buckets}"
    return url, spec


def open_header(client: Client, address: Address, spec: IndexSpec, geometry: Geometry) -> str:
    """Read the header of an index, or make it; return the generation.

    The generation differs between indexes that were made under one name one after the other.

    Raises:
        StoreMismatch: the index cannot be used as asked.
        StoreDamaged: there is no header of ours.
    """
    asked = {
        "format": str(FORMAT),
        "recipe": spec.recipe,
        "bits": str(spec.bits),
        "blocks": str(spec.blocks),
        "buckets": address.buckets,
    }
    own = {"distance": str(spec.distance), "generation": secrets.token_hex(4)}
    header = {**asked, **own}
    *answers, seconds, microseconds = client.run(
        script("open", geometry), *(text for item in header.items() for text in item)
    )
    stored = {name: text_in(value) for name, value in zip(header, answers, strict=True)}
    for name, value in asked.items():
        if not stored[name]:
            raise StoreDamaged(f"{client.where} has a damaged header: it lacks {name}")
        if stored[name] != value:
            raise StoreMismatch(
                f"{client.where} was made with {name}={stored[name]}, not {value}: use the same or "
                "another name with ?name=, or delete this index to start anew"
            )
    generation = stored["generation"]
    if not re.fullmatch("[0-9a-f]{8}", generation):
        raise StoreDamaged(f"{client.where} has a damaged header: generation={generation!r:.80}")
    client.set_clock(int(seconds) + int(microseconds) / 1e6)
    return generation
