"""From an operator's own pages and a few answers to a distance.

A crawl has no labels. So pairs are drawn at every distance, a person says of each whether the
two are near-duplicates, and the answers, weighted by how many pairs there are at each distance,
say how many of the drops would be right: a stratified sample (Cochran, "Sampling Techniques",
3rd ed. 1977, chapter 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.offline.evaluation.pairs import Fingerprints

# Distances that share their answers: a handful at each distance alone would say little.
BAND = 4
_DRAWS = 4000

#: By the numbers of two documents, the lesser first: whether they are near-duplicates.
Answers: TypeAlias = dict[tuple[int, int], bool]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two documents that may be near-duplicates.

    Attributes:
        documents: their numbers, the lesser first.
        distance: in bits.
        least: the least k with which the rule calls them copies; at least the distance.
    """

    documents: tuple[int, int]
    distance: int
    least: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The share of right drops among the pairs that would be taken for near-duplicates.

    Attributes:
        distance: k.
        pairs: the number of pairs within k.
        answered: the number of these that were judged.
        precision: the median of what the answers allow.
        low: the 5th percentile.
        high: the 95th percentile.
    """

    distance: int
    pairs: int
    answered: int
    precision: float
    low: float
    high: float


def candidates(
    fingerprints: Sequence[Fingerprint],
    farthest: int,
    is_copy: Callable[[int, int, int, int], bool],
) -> list[Candidate]:
    """Return every pair that a crawl with some k would take for copies, the nearest first.

    Args:
        fingerprints: of one width, at least one.
        farthest: the greatest k, in bits.
        is_copy: the rule: two documents, their distance and k. A greater k never parts a pair.
    """
    _, near = Fingerprints.of(fingerprints, fingerprints[0].bits).scan(farthest)
    found = []
    for (a, b), distance in near:
        for k in range(distance, farthest + 1):
            if is_copy(a, b, distance, k):
                found.append(Candidate((a, b), distance, k))
                break
    return found


def draw(pairs: Iterable[Candidate], each: int, seed: int = 0) -> list[Candidate]:
    """Return up to ``each`` pairs of each band of distances, the nearest first."""
    bands: dict[int, list[Candidate]] = {}
    for pair in pairs:
        bands.setdefault(pair.distance // BAND, []).append(pair)
    random = np.random.default_rng(seed)
    drawn = []
    for _, here in sorted(bands.items()):
        chosen = random.permutation(len(here))[:each]
        drawn += sorted((here[number] for number in chosen), key=lambda pair: pair.distance)
    return drawn


def estimate(pairs: Sequence[Candidate], answers: Answers, distance: int) -> Estimate:
    """Estimate the precision at a distance.

    Among the pairs of a band that were not judged, the share of near-duplicates has the posterior
    of the answers under Jeffreys' prior, Beta(1/2 + yes, 1/2 + no).

    Args:
        pairs: all pairs up to the greatest distance of interest.
        answers: to some of them.
        distance: k.
    """
    random = np.random.default_rng(0)
    matched = [pair for pair in pairs if pair.least <= distance]
    right = np.zeros(_DRAWS)
    answered = 0
    for band in sorted({pair.distance // BAND for pair in matched}):
        here = [pair.documents for pair in matched if pair.distance // BAND == band]
        judged = [answers[documents] for documents in here if documents in answers]
        yes = sum(judged)
        answered += len(judged)
        share = random.beta(0.5 + yes, 0.5 + len(judged) - yes, _DRAWS)
        right += yes + random.binomial(len(here) - len(judged), share)
    shares = right / max(len(matched), 1)
    low, median, high = map(float, np.percentile(shares, (5, 50, 95)))
    return Estimate(distance, len(matched), answered, median, low, high)


def suggest(estimates: Iterable[Estimate], target: float) -> Estimate | None:
    """Return the estimate that finds the most pairs at a precision surely above the target."""
    sure = [one for one in estimates if one.answered and one.low >= target]
    return max(sure, key=lambda one: (one.pairs, -one.distance), default=None)
