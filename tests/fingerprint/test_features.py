"""Features of a text and their weights."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.normalisation import LONGEST
from scrapy_simhash.fingerprint.segmentation import ngrams


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        (FeatureSpec("characters", 3), "Ab, ab ab", {"aba": 1, "bab": 1}),
        (FeatureSpec("characters", 3, "frequency"), "Ab, ab ab", {"aba": 2, "bab": 2}),
        (FeatureSpec("characters", 5), "ab!", {"ab": 1}),
        (FeatureSpec("words", 1, "frequency"), "To be, or to BE", {"to": 2, "be": 2, "or": 1}),
        (FeatureSpec("words", 2, "sqrt"), "a b a b", {"a b": math.sqrt(2), "b a": 1}),
        (FeatureSpec("pypi", 4, "frequency"), "AB cab cab", {"abca": 2, "bcab": 2, "cabc": 1}),
        (FeatureSpec("pypi", 4, "frequency"), "", {"": 1}),
    ],
)
def test_features_of_a_text(spec, text, expected):
    assert spec.of(text) == expected


@given(st.text(max_size=30), st.integers(1, 6))
def test_ngrams_cover_the_text(text, n):
    grams = ngrams(text, n)
    assert "".join(gram[0] for gram in grams[:-1]) + "".join(grams[-1:]) == text
    assert all(len(gram) == min(n, len(text)) for gram in grams)
    shingles = FeatureSpec("words", n).of(" ".join("x" * len(text)))
    assert shingles == dict.fromkeys((" ".join("x" * len(gram)) for gram in grams), 1.0)


def test_keywords_beyond_the_longest_text_do_not_count():
    """Jieba takes seconds for a million characters, and a page may have four times as many."""
    assert FeatureSpec("keywords", 20).of(" " * LONGEST + "北京清华大学") == {}
