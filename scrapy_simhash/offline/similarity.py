"""Similarity of two texts by measures other than the fingerprint's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

from scrapy_simhash.fingerprint.normalisation import fold
from scrapy_simhash.fingerprint.segmentation import segment


def jaccard(one: Collection[str], other: Collection[str]) -> float:
    """Return the share of the features of two texts that both have; 0 if there is none."""
    both, either = set(one) & set(other), set(one) | set(other)
    return len(both) / len(either) if either else 0.0


def tfidf_cosine(one: str, other: str) -> float:
    """Return the cosine of two texts by their words, those that only one has weighing more.

    The weight of a word is its count times its inverse document frequency among the two,
    ``1 + ln(3 / (1 + df))``, so that words in one text only weigh 1.4 times as much; where all
    words are weighed alike, pages of one language are all alike.

    Returns:
        0 to 1.
    """
    counts = [Counter(segment(fold(text))) for text in (one, other)]
    alone = 1 + math.log(3 / 2)
    weighed = [
        {word: n * (1.0 if word in rest else alone) for word, n in mine.items()}
        for mine, rest in zip(counts, counts[::-1], strict=True)
    ]
    product = sum(weight * weighed[1].get(word, 0.0) for word, weight in weighed[0].items())
    lengths = math.prod(math.hypot(*words.values()) for words in weighed)
    return min(product / lengths, 1.0) if lengths else 0.0
