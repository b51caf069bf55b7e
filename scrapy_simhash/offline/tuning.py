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

from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.index.neighbours import Numbers
from scrapy_simhash.offline.pages import SavedPage
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

# Distances that share their answers: a handful at each distance alone would say little.
BAND = 4
_DRAWS = 4000

#: By the numbers of two documents, the lesser first: whether they are near-duplicates.
Answers: TypeAlias = dict[Numbers, bool]
#: Two documents, and their distance.
Pair: TypeAlias = tuple[Numbers, int]
Analysed: TypeAlias = Sequence[tuple[SavedPage, PageAnalysis]]


class Precision(NamedTuple):
    """The share of right drops in a crawl of which the pages are a sample.

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


def copies(pages: Analysed, near: Iterable[Pair], k: int) -> list[Pair]:
    """Return the pairs that a crawl with some distance takes for copies."""
    known = [Page(page.key, analysis.facts) for page, analysis in pages]
    judge = Rule(k)
    return [
        (pair, distance)
        for pair, distance in near
        if judge(known[pair[1]], known[pair[0]], distance).is_copy
    ]


def draw(pairs: Iterable[Pair], each: int, seed: int = 0) -> list[Pair]:
    """Return up to ``each`` pairs of each band of distances; the pairs come nearest first."""
    random = Random(seed)  # noqa: S311 - to be repeated, not secret
    drawn: list[Pair] = []
    for _, group in itertools.groupby(pairs, key=_band):
        here = list(group)
        drawn += random.sample(here, min(each, len(here)))
    return sorted(drawn, key=lambda pair: pair[1])


def estimate(matched: Sequence[Pair], answers: Answers, distance: int) -> Precision:
    """Estimate the precision at a distance, of the pairs that are copies with it.

    Among the pairs of a band that were not judged, the share of near-duplicates has the posterior
    of the answers under Jeffreys' prior, Beta(1/2 + yes, 1/2 + no). The pairs of these pages say
    as much of those of the whole crawl, and no more: that all of three are right makes nobody sure.
    """
    random = np.random.default_rng(0)
    right = np.zeros(_DRAWS)
    answered = 0
    for _, group in itertools.groupby(matched, key=_band):
        here = [pair for pair, _ in group]
        judged = [answers[pair] for pair in here if pair in answers]
        yes = sum(judged)
        answered += len(judged)
        share = random.beta(0.5 + yes, 0.5 + len(judged) - yes, _DRAWS)
        right += yes + random.binomial(len(here) - len(judged), share)
    shares = random.beta(0.5 + right, 0.5 + len(matched) - right)
    low, median, high = map(float, np.percentile(shares, (5, 50, 95)))
    return Precision(distance, len(matched), answered, median, low, high)


def _band(pair: Pair) -> int:
    return pair[1] // BAND


def suggest(estimates: Iterable[Precision], target: float) -> Precision | None:
    """Return the estimate that finds the most pairs at a precision surely above the target."""
    sure = [one for one in estimates if one.answered and one.low >= target]
    return max(sure, key=lambda one: (one.pairs, -one.distance), default=None)
