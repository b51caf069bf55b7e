"""Fingerprints in RAM: whatever segments they stand in, they are found as by a full scan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import neighbours
from scrapy_simhash.index.lookups import KEY_BYTES, Lookups, in_scope, key_value
from scrapy_simhash.index.neighbours import Neighbours
from scrapy_simhash.index.values import BUCKET_LIMIT, Arrival, IndexSpec

few_examples = settings(max_examples=25, deadline=None)
DISTANCE = 3
# Entries that are read of the buckets of two blocks, and of a key.
LIMITS = (5, 5, 9)


class Scan:
    """All entries, and which stand among the newest of a bucket."""

    def __init__(self, blocks):
        self.words, self.blocks = np.empty((0, 1), np.uint64), np.empty((0, blocks), np.uint32)

    def add(self, words, blocks):
        self.words = np.concatenate((self.words, words))
        self.blocks = np.concatenate((self.blocks, blocks))

    def find(self, word, block):
        distances = [int(value).bit_count() for value in (self.words[:, 0] ^ word)]
        same = self.blocks == block
        newest = same[::-1].cumsum(0)[::-1] <= LIMITS
        shared = (same & newest).any(axis=1)
        pairs = zip(distances, shared.tolist(), strict=True)
        return {(d, 10 * i) for i, (d, s) in enumerate(pairs) if s and d <= DISTANCE}


@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=25),
    values=st.sampled_from([3, 50, 2**32 - 1]),
)
@few_examples
def test_in_whatever_sizes_entries_come_they_are_found_by_every_block(seed, sizes, values):
    chance = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        small = {"LARGEST": 256, "RATIO": 2, "BUCKET_LIMIT": 5, "KEY_LIMIT": 9}
        for name, value in small.items():
            patch.setattr(neighbours, name, value)
        index, scan = Neighbours(64, 3, DISTANCE), Scan(3)
        for size in sizes:
            words = np.uint64(1) << chance.integers(0, 40, (size, 1), dtype=np.uint64)
            blocks = chance.integers(0, values, (size, 3), dtype=np.uint32, endpoint=True)
            # Small values of several columns would share a bucket.
            blocks = blocks * np.uint32(7919) + np.array([1, 104729, 1299709], np.uint32)
            start = index._count
            index.add([10 * i for i in range(start, start + size)], words, blocks)
            scan.add(words, blocks)
        assert index._count == len(scan.words)
        found = index.find(scan.words, scan.blocks)
        for number, near in enumerate(found):
            assert near == sorted(set(near))
            # By chance a value of another column may be met.
            assert scan.find(scan.words[number, 0], scan.blocks[number]) <= set(near)
        some = [i for i in range(index._count) if i % 3]
        stored = index.fingerprints([10 * i for i in some])
        assert stored == [scan.words[i].tobytes() for i in some]


def filled(count, blocks=None):
    """An index of 64 bits whose entries are far apart, and their words and blocks."""
    chance = np.random.default_rng(count)
    words = chance.integers(0, 2**64 - 1, (count, 1), dtype=np.uint64, endpoint=True)
    if blocks is None:
        blocks = chance.integers(0, 2**32 - 1, (count, 2), dtype=np.uint32, endpoint=True)
    index = Neighbours(64, 2, DISTANCE)
    for start in range(0, count, 1 << 14):
        some = slice(start, min(start + (1 << 14), count))
        index.add(range(some.start, some.stop), words[some], blocks[some])
    return index, words, blocks


def test_entries_are_found_in_segments_of_every_size():
    index, words, blocks = filled(300_000)
    for number in (0, 1, 77, 150_000, 262_143, 262_144, 299_999):
        rows = slice(number, number + 1)
        assert index.find(words[rows], blocks[rows]) == [[(0, number)]]
        other = blocks[rows] ^ np.array([[0, 1]], np.uint32)
        assert index.find(words[rows] ^ np.uint64(7), other) == [[(3, number)]]


def test_there_are_few_segments_and_none_is_larger_than_the_largest(monkeypatch):
    monkeypatch.setattr(neighbours, "LARGEST", 1 << 15)
    index, _, _ = filled(100_000)
    sizes = [len(segment) // 2 for segment in index._segments]
    assert max(sizes) <= 1 << 15
    assert len(sizes) <= 100_000 / (1 << 14) + 1


def test_a_look_up_in_a_flooded_bucket_reads_a_bounded_number_of_entries():
    count = 20_000
    blocks = np.arange(2 * count, dtype=np.uint32).reshape(count, 2)
    blocks[:, 0] = 7
    index, words, blocks = filled(count, blocks)
    words = words[[0, -1, -BUCKET_LIMIT, -BUCKET_LIMIT - 1]]
    flooded = np.array([[7, 2**31]] * 4, np.uint32)
    read = [[(0, count - 1)], [(0, count - BUCKET_LIMIT)]]
    assert index.find(words, flooded) == [[], *read, []]
    assert index.find(words[:1], blocks[:1]) == [[(0, 0)]]


def test_entries_of_the_key_come_besides_those_near():
    index = Neighbours(64, 2, 64)
    count = 3 * BUCKET_LIMIT
    words = np.full((count, 1), 7, np.uint64)
    # The third last one has the key of what is sought.
    values = np.array([[1, 100 + n] for n in range(count)], np.uint32)
    values[count - 3, 1] = 5
    index.add(range(count), words, values)
    sought = np.zeros((2, 1), np.uint64), np.array([[1, 5], [2, 5]], np.uint32)
    newest = [(3, n) for n in range(count - BUCKET_LIMIT, count)]
    assert index.find(*sought) == [newest, [(3, count - 3)]]


def test_pages_of_different_scopes_are_not_near_and_the_fingerprint_can_be_had_back():
    fingerprint = Fingerprint(0, 64, np.arange(4, dtype="<u4").tobytes())
    recipe = IndexSpec("recipe", bits=64, distance=3, blocks=4)
    pages = Lookups([Arrival(f"{n}", fingerprint, n) for n in ("", "a", "b")], recipe)
    assert pages.twins() == [[], [], []]
    assert len(np.unique(pages.values[:, :-1])) == 12
    own = fingerprint.to_bytes() + fingerprint.blocks
    contents = [content[:-KEY_BYTES] for content in pages.contents]
    assert contents[0] == own != contents[1]
    assert in_scope(contents[1], "a") == own


def test_a_key_has_one_value_in_every_scope_and_with_every_scheme_and_www():
    names = ["h.example/a", "http://h.example/a", "https://www.h.example/a"]
    assert len({key_value(name) for name in names}) == 1
    assert key_value("http://h.example/b") != key_value(names[0])
    recipe = IndexSpec("recipe", bits=64, distance=3, blocks=4)
    own = Fingerprint(0, 64, bytes(16))
    pages = Lookups([Arrival(names[0], own, scope, aliases=("b",)) for scope in ("", "s")], recipe)
    assert [content[-KEY_BYTES:] for content in pages.contents] == [key_value(names[0])] * 2
    assert pages.near([[(0, 1)], [], [(2, 1)], [(9, 5)]]) == [[(0, 1), (2, 1)], [(9, 5)]]
    assert len(pages.sought[0]) == 4


@pytest.mark.parametrize("newer", [0, 1, 511])
def test_as_many_entries_of_a_bucket_are_read_however_they_came(newer):
    known = Neighbours(64, 2, 64)
    numbers = range(1536 + newer)
    words = np.zeros((len(numbers), 1), np.uint64)
    shared = np.array([[7, 1000 + number] for number in numbers], np.uint32)
    known.add(numbers[:1536], words[:1536], shared[:1536])
    for number in numbers[1536:]:
        known.add([number], words[:1], shared[number : number + 1])
    (found,) = known.find(words[:1], np.array([[7, 0]], np.uint32))
    assert sorted(at for _, at in found) == [*numbers[-BUCKET_LIMIT:]]
