"""The sums of a simhash, in any order and of any number of features; and what they come to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.hashing import hash_features
from scrapy_simhash.fingerprint.simhash import Fingerprint, bit_sums


@given(
    st.lists(st.floats(1e-3, 1e6) | st.floats(0, 1e-300), min_size=2, max_size=60),
    st.randoms(use_true_random=False),
)
def test_order_of_features_plays_no_part(weights, rng):
    lanes = hash_features(map(str, range(len(weights))), 64, "xxh3")
    order = list(range(len(weights)))
    rng.shuffle(order)
    one = bit_sums(lanes, np.array(weights))
    other = bit_sums(lanes[:, order], np.array(weights)[order])
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("count", [0, 255, 256, 2048, 2049, 8160, 8161])
def test_counting_holds_at_every_boundary(count):
    lane = np.random.default_rng(5).integers(0, 2**64, count, dtype=np.uint64)
    weights = np.where(np.arange(count), 1, 3)
    bits = np.unpackbits(lane[:, None].astype(">u8").view(np.uint8), axis=1)
    assert np.array_equal(bit_sums(lane[None], weights), weights @ (2.0 * bits - 1))


def test_fingerprint_is_checked_and_printed():
    top = Fingerprint(1 << 63, 64)
    assert str(top) == "8000000000000000"
    assert top.to_bytes() == b"\x80" + bytes(7)
    assert top == Fingerprint(1 << 63, 64, b"block values are not compared")
    with pytest.raises(ValueError, match="64 bits"):
        Fingerprint(1 << 64, 64)
    with pytest.raises(ValueError, match=r"one of \(32, 64, 128, 256\)"):
        Fingerprint(0, 65)
