"""Feature hashes: published test vectors, widths and seeds."""

import numpy as np
import pytest

from scrapy_simhash.fingerprint.hashing import hash_features, one_lane

WIDTHS = [
    (name, bits)
    for name in ("xxh3", "md5", "fnv1", "multiply-xor")
    for bits in (64, 128, 256)
    if bits <= {"md5": 128, "fnv1": 64}.get(name, 256)
]


@pytest.mark.parametrize(
    ("name", "feature", "expected"),
    [
        ("xxh3", "abc", "06b05ab6733a618578af5f94892f3950"),
        ("fnv1", "foobar", "340d8765a4dda9c2"),
        ("md5", "abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("multiply-xor", "hello world", "dfbea582a68c6d1f"),
        ("multiply-xor", "结巴分词", "285916ef6b97116a"),
    ],
)
def test_known_answers(name, feature, expected):
    """Published vectors; multiply-xor: what ``hash`` of Python 2.7 on a 64-bit machine returned."""
    lanes = hash_features([feature], 4 * len(expected), name)
    assert lanes.T.astype(">u8").tobytes().hex() == expected


def test_every_hash_has_its_width_and_another_value_with_each_seed():
    features = "a feature of some length", "half a character \ud83d"
    for name, bits in WIDTHS:
        lanes = [hash_features(features, bits, name, seed) for seed in (None, "s", "t", "")]
        assert lanes[0].shape == (bits // 64, 2)
        assert lanes[0].dtype == np.uint64
        assert (lanes[0][:, 0] != lanes[0][:, 1]).all()
        assert len({each.tobytes() for each in lanes}) == 3
        assert lanes[0].tobytes() == lanes[3].tobytes()


def test_one_lane_tells_features_apart():
    """Short features get well spread numbers, also where the high bits of a hash are empty."""
    features = [f"{i}" for i in range(4000)]
    for name, bits in WIDTHS:
        numbers = one_lane(hash_features(features, bits, name))
        assert len(np.unique(numbers)) == len(features)
        assert np.bincount((numbers >> np.uint64(60)).astype(np.intp), minlength=16).min() > 190


def test_a_seeded_hash_of_256_bits_stays_because_stored_fingerprints_have_it():
    lanes = hash_features(["a page"], 256, "xxh3", "secret")
    assert lanes.T.astype(">u8").tobytes().hex() == (
        "b6daecdd412403ca012095e1b826f87b81bfd42117adb26ef9fdc58619eb7fb4"
    )
