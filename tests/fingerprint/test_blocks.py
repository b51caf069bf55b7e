"""Block values: slices find every pair within their distance, bands the pairs that overlap."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.blocks import Bands, Slices
from scrapy_simhash.fingerprint.hashing import Uint64s, hash_ngrams, spread
from scrapy_simhash.fingerprint.normalisation import code_points
from scrapy_simhash.fingerprint.recipe import RECIPES

WIDE = Bands()


def numbers(values: bytes) -> list[int]:
    return [int(number) for number in np.frombuffer(values, "<u4")]


def shared(one: bytes, other: bytes) -> int:
    return sum(a == b for a, b in zip(numbers(one), numbers(other), strict=True))


def drawn(count: int, seed: int = 0) -> Uint64s:
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def overlapping(count: int, jaccard: float, seed: int) -> tuple[Uint64s, Uint64s]:
    """Return two sets of hashes of equal size whose Jaccard is about the given one."""
    both = round(2 * count * jaccard / (1 + jaccard))
    hashes = drawn(2 * count - both, seed)
    return hashes[:count], hashes[count - both :]


def test_fingerprints_within_three_bits_share_a_slice():
    """A fourth bit may change the last slice that is left."""
    own = Slices().of(5)
    places = [0, 3, 15, 16, 31, 32, 47, 48, 63]
    for bits in combinations(places, 3):
        assert shared(own, Slices().of(5 ^ sum(1 << bit for bit in bits)))
    assert not shared(own, Slices().of(5 ^ sum(1 << bit for bit in (0, 16, 32, 48))))


@given(st.text(st.sampled_from("abc字"), max_size=300), st.integers(1, 6))
def test_equal_sets_of_features_share_every_band(text, n):
    """Order and repeats play no part."""
    hashes = spread(hash_ngrams(code_points(text), n), 64)[0]
    again = np.concatenate([hashes[::-1], hashes])
    assert WIDE.of(0, hashes) == WIDE.of(7, again)
    assert len(WIDE.of(0, hashes)) == 4 * WIDE.count


def test_bands_of_few_features_differ_from_place_to_place_and_from_those_of_other_texts():
    for count in (0, 1, 2, 5):
        values = set(numbers(WIDE.of(0, drawn(count))))
        assert len(values) == WIDE.count
        assert not values & {*numbers(WIDE.of(0, drawn(7, seed=1)))}


@pytest.mark.parametrize(
    ("count", "jaccard", "least", "most"),
    [(4, 0.6, 0.9, 1), (40, 0.75, 0.99, 1), (3000, 0.6, 0.8, 1), (3000, 0.05, 0, 0.01)],
)
def test_texts_that_overlap_share_a_band(count, jaccard, least, most):
    """Short or long, nearly all pairs are found of a Jaccard that 48 of 256 bits stand for: 0.71.

    Fourteen bands of four find 0.86 of the pairs of a Jaccard of 0.6, which 58 bits stand for.
    Long texts with a twentieth of their n-grams in common are no candidates.
    """
    pairs = [overlapping(count, jaccard, seed) for seed in range(300)]
    assert least <= np.mean([shared(WIDE.of(0, a), WIDE.of(0, b)) > 0 for a, b in pairs]) <= most


def test_bands_need_the_features():
    with pytest.raises(ValueError, match="the fingerprint alone does not give its block values"):
        WIDE.of(5, None)
    with pytest.raises(ValueError, match="from the text"):
        RECIPES["default"].restored(5)
    assert RECIPES["classic"].restored(5).blocks == Slices().of(5)
