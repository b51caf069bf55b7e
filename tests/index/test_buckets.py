"""The fingerprints in RAM: every way through the buckets finds what comparing all finds."""

from __future__ import annotations

import importlib.util
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.blocks import Layout, plan_layout
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.index import buckets
from scrapy_simhash.index.buckets import Neighbours


def words(values: list[int], bits: int) -> np.ndarray:
    packed = b"".join(value.to_bytes(bits // 8, "big") for value in values)
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(len(values), -1)


@pytest.mark.parametrize("few", [0, 10**6], ids=["numpy", "python"])
@pytest.mark.parametrize(
    "layout", [plan_layout(64, 3, 1), plan_layout(64, 7, 1), plan_layout(256, 15, 1)], ids=str
)
@given(
    seed=st.integers(0, 2**32), scan_limit=st.integers(0, 60), tail=st.sampled_from([8, 24, 4096])
)
@settings(max_examples=30)
def test_buckets_find_what_comparing_all_finds(few, layout, seed, scan_limit, tail):
    chance, bits = random.Random(seed), layout.bits
    centres = [chance.getrandbits(bits) for _ in range(3)]

    def value() -> int:
        near = chance.choice(centres)
        for position in chance.sample(range(bits), chance.randint(0, layout.distance)):
            near ^= 1 << position
        return near

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "SCAN_LIMIT", {bits: scan_limit})
        patch.setattr(buckets, "_TAIL", tail)
        patch.setattr(buckets, "_FEW", few)
        neighbours, log = Neighbours(layout), {}
        while len(log) < 80:
            first = 10 * len(log) + 1
            values = [value() for _ in range(chance.choice([1, 1, 1, 30]))]
            positions = range(first, first + len(values))
            log.update(zip(positions, values, strict=True))
            if len(values) == 1:
                neighbours.add(first, values[0])
            else:
                neighbours.extend(np.array(positions), words(values, bits))
            if chance.random() < 0.1:
                gone = chance.choice(list(log))
                neighbours.forget([0, gone, 10**6])  # only one of them is there
                log[gone] = -1
            sought = value()
            expected = sorted(
                (hamming_distance(sought, other), position)
                for position, other in log.items()
                if other >= 0 and hamming_distance(sought, other) <= layout.distance
            )
            assert neighbours.find(Fingerprint(sought, bits), layout.distance) == expected
            assert neighbours.scan(Fingerprint(sought, bits), layout.distance) == expected


def test_a_flooded_bucket_is_not_read_and_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(buckets, "SCAN_LIMIT", {64: 10})
    layout = Layout(64, 4, 16, 4, 3)
    neighbours = Neighbours(layout)
    for i in range(1, 5000):  # one template: the first block is the same in all
        neighbours.add(i, 0xABCD << 48 | i * 0x9E3779B97F4A % 2**48)
    sought = Fingerprint(0xABCD << 48 | 77 * 0x9E3779B97F4A % 2**48, 64)
    assert neighbours._buckets.candidates(sought, 3, 5000 // 8) is None
    assert (0, 77) in neighbours.find(sought, 3)
    assert neighbours.find(sought, 3) == neighbours.scan(sought, 3)


def test_the_opposite_fingerprint_is_as_far_as_can_be():
    neighbours = Neighbours(Layout(256, 1, 1, 1, 200))
    neighbours.add(1, 0)
    assert neighbours.find(Fingerprint(2**256 - 1, 256), 255) == []


def test_thousands_of_small_scopes_take_little():
    layout = plan_layout(256, 48, 10**6)
    tracemalloc.start()
    scopes = [Neighbours(layout) for _ in range(1000)]
    for scope in scopes:
        scope.add(1, 2**255)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / len(scopes) < 1500


def test_bits_are_counted_without_numpy_2_too(monkeypatch):
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    spec = importlib.util.spec_from_file_location("buckets_of_numpy_1", buckets.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    values = [0, 1, 2**63, 2**64 - 1, *(random.Random(0).getrandbits(64) for _ in range(100))]
    counts = module.bit_count(np.array(values, np.uint64))
    assert counts.tolist() == [value.bit_count() for value in values]
    assert counts.dtype == np.uint8
