"""The slow way from n-grams to sums: each n-gram is hashed by itself, and has a weight."""

from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_simhash.fingerprint.hashing import hash_ngrams, spread
from scrapy_simhash.fingerprint.normalisation import code_points, normalise
from scrapy_simhash.fingerprint.segmentation import ngrams
from scrapy_simhash.fingerprint.simhash import Sums, bit_sums


def slow_grams(text: str, n: int, weights: Sequence[int]) -> dict[str, float]:
    """Give each n-gram the greatest weight of the lines in which it stands."""
    grams: dict[str, float] = {}
    lines = normalise(text, by_line=True).split("\n")
    for weight, line in sorted(zip(weights, lines, strict=False)):
        if len(line) >= n:
            grams |= dict.fromkeys(ngrams(line, n), float(weight))
    return grams or dict.fromkeys(ngrams(normalise(text), n), 1.0)


def slow_sums(grams: Mapping[str, float], bits: int, seed: str | None = None) -> Sums:
    values = [hash_ngrams(code_points(gram), len(gram), seed)[0] for gram in grams]
    lanes = spread(np.array(values, np.uint64), bits)
    return Sums(bit_sums(lanes, np.array(list(grams.values())))[-bits:], lanes[0])
