"""A site that floods one bucket: what a claim reads is bounded, and its pages are still found."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index import Arrival, Outcome, redis_entries, redis_header

LIMIT = 256
FLOOD = 400


@pytest.fixture
def flooded(stores: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[int]]:
    """An index most of whose entries share the first block, and these."""
    monkeypatch.setattr(redis_header, "SEGMENT", 64)
    monkeypatch.setattr(redis_entries, "PAGE_LIMIT", LIMIT)
    index = stores("redis").open()
    chance = random.Random(0)
    values = [0xBEEF << 48 | chance.getrandbits(48) for _ in range(FLOOD)]
    for start in range(0, FLOOD, 50):
        some = [Arrival(str(v), Fingerprint(v, 64)) for v in values[start : start + 50]]
        assert all(claim.outcome is Outcome.ORIGINAL for claim in index.claim_all(some))
        index.confirm([arrival.key for arrival in some])
    return index, values


def test_a_flooded_bucket_stops_growing_and_is_told_of(flooded):
    index, _ = flooded
    assert index.census().crowded > 0
    client = index._client
    shared = [
        page
        for part in index._pages.hashes()
        for page in client.all([("HVALS", f"{client.prefix}:{part}")])[0]
    ]
    assert LIMIT <= max(map(len, shared)) < LIMIT + 8


def test_what_found_its_bucket_full_is_found_through_another(flooded):
    index, values = flooded
    for number, value in enumerate(values):
        claim = index.claim(f"copy {number}", Fingerprint(value ^ 1 << 60, 64))
        assert claim.outcome is Outcome.DUPLICATE
        assert claim.matches[0].key == str(value)
