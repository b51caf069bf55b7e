"""Features of a text and their weights."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint import features
from scrapy_simhash.fingerprint.features import FeatureSpec, ngrams, shingles, tfidf_keywords
from scrapy_simhash.fingerprint.segmentation import jieba_tokenizer

ZH = (
    "爬虫抓取网页时常常遇到内容几乎相同的页面。镜像站点、转载文章、打印版本，都会让同一篇文章重复出现。"
    "去重的办法是为每个页面计算指纹，再比较指纹之间的距离。The quick brown fox, 2024, C++ and 网页."
)


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        (FeatureSpec("characters", 3), "Ab, ab ab", {"aba": 1, "bab": 1}),
        (FeatureSpec("characters", 3, "frequency"), "Ab, ab ab", {"aba": 2, "bab": 2}),
        (FeatureSpec("characters", 5), "ab!", {"ab": 1}),
        (FeatureSpec("words", 1, "frequency"), "To be, or to BE", {"to": 2, "be": 2, "or": 1}),
        (FeatureSpec("words", 2, "sqrt"), "a b a b", {"a b": math.sqrt(2), "b a": 1}),
        (FeatureSpec("words", 3), "ＡＢ cd", {"ab cd": 1}),
        (FeatureSpec("pypi", 4, "frequency"), "AB cab cab", {"abca": 2, "bcab": 2, "cabc": 1}),
        (FeatureSpec("pypi", 4, "frequency"), "", {"": 1}),
    ],
)
def test_features_of_a_text(spec: FeatureSpec, text: str, expected: dict[str, float]) -> None:
    """Each kind of feature with its weights, and texts shorter than one n-gram."""
    assert spec.of(text) == expected


@pytest.mark.parametrize("kind", ["characters", "words", "keywords"])
def test_an_empty_text_has_no_features(kind: str) -> None:
    """Neither does one of separators only."""
    assert FeatureSpec(kind, 3).of("") == {}
    assert FeatureSpec(kind, 3).of(" …! ") == {}


@given(st.text(max_size=30), st.integers(1, 6))
def test_ngrams_cover_the_text(text: str, n: int) -> None:
    """n-grams overlap by all but one character, and the text can be read off them."""
    grams = ngrams(text, n)
    assert "".join(gram[0] for gram in grams[:-1]) + "".join(grams[-1:]) == text
    assert all(len(gram) == min(n, len(text)) for gram in grams)
    assert [tuple(shingle.split(" ")) for shingle in shingles(list("x" * len(text)), n)] == [
        ("x",) * min(n, len(text)) for _ in grams
    ]


@pytest.fixture(scope="module")
def extractor() -> Any:
    """The TF-IDF extractor of jieba itself, with the tokenizer that is loaded already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba.analyse
    extractor = copy.copy(jieba.analyse.default_tfidf)
    extractor.tokenizer = jieba_tokenizer()
    return extractor


PARTS = [*ZH.split("，"), "the", "fox ", "of 2024\n", "网页"]


@settings(max_examples=30)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=12), top=st.integers(1, 30))
def test_keywords_are_those_of_jieba(extractor: Any, parts: list[str], top: int) -> None:
    """The same words, weights and order as ``jieba.analyse.extract_tags``."""
    assert features._STOP_WORDS == extractor.STOP_WORDS
    text = "".join(parts)
    expected = extractor.extract_tags(text, topK=top, withWeight=True)
    assert list(tfidf_keywords(text, top).items()) == expected
