"""Holds what a recipe matches by distance alone against the labels of a set."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.neighbours import near_pairs
from scrapy_simhash.offline.datasets import Dataset
from scrapy_simhash.offline.evaluation import Score


def curve(dataset: Dataset, prints: Sequence[Fingerprint | None], farthest: int) -> list[Score]:
    """Return the score over all pairs of a set at each distance from 0 to the farthest."""
    number = {document.name: place for place, document in enumerate(dataset.documents)}
    labels = {
        (min(number[a], number[b]), max(number[a], number[b])): known.label
        for (a, b), known in dataset.pairs.items()
    }
    found, false = [0] * (farthest + 1), [0] * (farthest + 1)
    for pair, distance in near_pairs(prints, farthest):
        label = labels.get(pair)
        found[distance] += label == "duplicate"
        false[distance] += label is None
    labelled = sum(label == "duplicate" for label in labels.values())
    return [Score(sum(found[: k + 1]), sum(false[: k + 1]), labelled) for k in range(farthest + 1)]


def f1(score: Score) -> float:
    """Return the harmonic mean of precision and recall; 0 if nothing matches nor is labelled."""
    total = score.found + score.false + score.labelled
    return 2 * score.found / total if total else 0.0
