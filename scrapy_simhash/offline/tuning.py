"""From an operator's own pages and a few answers to a distance.

A crawl has no labels. So pairs are drawn at every distance, a person says of each whether the
two are near-duplicates, and the answers, weighted by how many pairs there are at each distance,
say how many of the drops would be right: a stratified sample (Cochran, "Sampling Techniques",
3rd ed. 1977, chapter 5).
"""

import itertools
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np

from scrapy_simhash.analysis.page import PageAnalysis
from scrapy_simhash.fingerprint.rule import Rule
from scrapy_simhash.offline.pages import SavedPage
from scrapy_simhash.offline.pairs import Numbers, near_pairs

# Distances that share their answers: a handful at each distance alone would say little.
BAND = 4
_DRAWS = 4000

#: By the numbers of two documents, the lesser first: whether they are near-duplicates.
Answers: TypeAlias = dict[Numbers, bool]
Analysed: TypeAlias = Sequence[tuple[SavedPage, PageAnalysis]]


class Candidate(NamedTuple):
    """Two documents, their distance, and the least k with which the rule calls them copies."""

    documents: Numbers
    distance: int
    least: int


class Estimate(NamedTuple):
    """The share of right drops among the pairs that would be taken for near-duplicates.

    Attributes:
        distance: k.
        precision: the median of what the answers allow; ``low`` and ``high`` are the 5th and the
            95th percentile.
    """

    distance: int
    pairs: int
    answered: int
    precision: float
    low: float
    high: float


def candidates(pages: Analysed, farthest: int) -> list[Candidate]:
    """Return every pair that a crawl with some k up to the farthest would take for copies."""
    known = [(page.key, analysis.facts) for page, analysis in pages]
    found = []
    for (a, b), distance in near_pairs([one.fingerprint for _, one in pages], farthest):
        # A greater k never parts a pair.
        for k in range(3 * distance // 4, farthest + 1):
            if Rule(k)(*known[b], *known[a], distance).is_copy:
                found.append(Candidate((a, b), distance, k))
                break
    return found


def draw(pairs: Iterable[Candidate], each: int, seed: int = 0) -> list[Candidate]:
    """Return up to ``each`` pairs of each band of distances, the nearest first."""
    nearest_first = sorted(pairs, key=lambda pair: pair.distance)
    random = Random(seed)  # noqa: S311 - to be repeated, not secret
    drawn: list[Candidate] = []
    for _, group in itertools.groupby(nearest_first, key=lambda pair: pair.distance // BAND):
        here = list(group)
        drawn += random.sample(here, min(each, len(here)))
    return sorted(drawn, key=lambda pair: pair.distance)


def estimate(pairs: Sequence[Candidate], answers: Answers, distance: int) -> Estimate:
    """Estimate the precision at a distance.

    Among the pairs of a band that were not judged, the share of near-duplicates has the posterior
    of the answers under Jeffreys' prior, Beta(1/2 + yes, 1/2 + no).
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
