"""Fingerprints in RAM: whatever segments they stand in, they are found as by a full scan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.index import neighbours
from scrapy_simhash.index.neighbours import Neighbours
from tests.index.promises.made import spec

DISTANCE = 3
# Entries that are read of the buckets of two blocks, and of a key.
LIMITS = (5, 5, 9)


class Scan:
    """All entries, and which stand among the newest of a bucket."""

    def __init__(self, columns):
        self.words, self.values = np.empty((0, 1), np.uint64), np.empty((0, columns), np.uint32)

    def add(self, words, values):
        self.words = np.concatenate((self.words, words))
        self.values = np.concatenate((self.values, values))

    def find(self, word, values):
        """Return what shares one of the values, and is near or shares the last one."""
        same = self.values == values
        shared = same & (same[::-1].cumsum(0)[::-1] <= LIMITS)
        distances = np.bitwise_count(self.words[:, 0] ^ word)
        found = shared[:, -1] | shared.any(axis=1) & (distances <= DISTANCE)
        return [(int(distances[i]), 10 * int(i)) for i in np.flatnonzero(found)]


@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=25),
    values=st.sampled_from([3, 50, 2**20]),
)
@settings(max_examples=25)
def test_in_whatever_sizes_entries_come_they_are_found_by_every_value(seed, sizes, values):
    chance = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        small = {"LARGEST": 256, "RATIO": 2, "BUCKET_LIMIT": 5, "KEY_LIMIT": 9}
        for name, value in small.items():
            patch.setattr(neighbours, name, value)
        index, scan = Neighbours(spec(blocks=2)), Scan(3)
        for size in sizes:
            words = np.uint64(1) << chance.integers(0, 40, (size, 1), dtype=np.uint64)
            words |= chance.integers(0, 2, (size, 1), dtype=np.uint64) * np.uint64(7)
            # Of so few bits, no values of two columns share a bucket.
            added = chance.integers(0, values, (size, 3), dtype=np.uint32, endpoint=True)
            start = len(scan.words)
            index.add([10 * i for i in range(start, start + size)], words, added)
            scan.add(words, added)
        expected = enumerate(map(scan.find, scan.words[:, 0], scan.values))
        found = {*map(tuple, index.find(scan.words, scan.values))}
        assert found == {(number, *pair) for number, pairs in expected for pair in pairs}
        some = [i for i in range(len(scan.words)) if i % 3]
        stored = index.fingerprints([10 * i for i in some])
        assert stored == [scan.words[i].tobytes() for i in some]


def test_there_are_few_segments_and_none_is_larger_than_the_largest(monkeypatch):
    monkeypatch.setattr(neighbours, "LARGEST", 1 << 15)
    index = Neighbours(spec(blocks=1))
    chance = np.random.default_rng(0)
    for start in range(0, 100_000, 1000):
        values = chance.integers(0, 2**32, (1000, 2), dtype=np.uint32)
        index.add(range(start, start + 1000), np.zeros((1000, 1), np.uint64), values)
    sizes = [len(segment) // 2 for segment in index._segments]
    assert max(sizes) <= 1 << 15
    assert len(sizes) <= 10


def test_an_addition_that_fails_gives_no_later_entry_another_fingerprint():
    index, words, values = Neighbours(spec(blocks=2)), np.uint64([[7], [8]]), np.zeros((2, 3), "u4")
    index.add([10], words[:1], values[:1])
    with pytest.raises(OverflowError):
        index.add([20, 1 << 32], words, values)
    index.add([20], words[1:], values[1:])
    assert index.fingerprints([10, 20]) == [*map(bytes, words)]
