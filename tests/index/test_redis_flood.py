"""Buckets with far more entries than others: what a claim reads is bounded, and nothing is lost."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.index import Arrival, Entry, Outcome, redis_entries, redis_header

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


def test_of_entries_that_are_near_in_what_a_bucket_holds_only_no_records_are_read(
    stores, monkeypatch
):
    monkeypatch.setattr(redis_header, "SEGMENT", 64)
    chance = random.Random(1)
    # The first block and the 96 bits after it are the same in all.
    shared = chance.getrandbits(112) << 144
    sought = shared | chance.getrandbits(144)
    values = [shared | chance.getrandbits(144) for _ in range(61)]
    values += [sought ^ (1 << flips) - 1 for flips in (7, 30, 48)]
    chance.shuffle(values)
    near = {v: hamming_distance(v, sought) for v in values if hamming_distance(v, sought) <= 48}
    assert sorted(near.values()) == [7, 30, 48]
    index = stores("redis").open(bits=256, distance=48, layout=Layout(256, 16, 16, 16, 48))
    index.restore([Entry(f"{v:x}", Fingerprint(v, 256), "", 0.0, False) for v in values])
    read = []
    look = index._entries.look
    monkeypatch.setattr(index._entries, "look", lambda some: read.extend(some) or look(some))
    claim = index.claim("sought", Fingerprint(sought, 256))
    assert [match.key for match in claim.matches] == [f"{v:x}" for v in sorted(near, key=near.get)]
    assert len(read) == len(near)
