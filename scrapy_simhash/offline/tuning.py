"""From an operator's own pages and a few answers to a distance and a minimum length.

A crawl has no labels. So pairs are drawn at every distance, a person says of each whether the
two are near-duplicates, and the answers, weighted by how many pairs there are at each distance,
say how many of the drops would be right: a stratified sample (Cochran, "Sampling Techniques",
3rd ed. 1977, chapter 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.simhash import Fingerprint

# Distances that share their answers: a handful at each distance alone would say little.
BAND = 4
_DRAWS = 4000


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two documents by number, their distance in bits, and the length of the shorter one."""

    first: int
    second: int
    distance: int
    length: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Which share of the pairs that would be taken for near-duplicates are such.

    Attributes:
        distance: k.
        min_length: shorter texts are left out.
        pairs: pairs within k.
        answered: how many of them were judged.
        precision: the median of what the answers allow.
        low: the 5th percentile.
        high: the 95th percentile.
    """

    distance: int
    min_length: int
    pairs: int
    answered: int
    precision: float
    low: float
    high: float


def near_pairs(
    fingerprints: Sequence[Fingerprint],
    lengths: Sequence[int],
    farthest: int,
    progress: Callable[[int], object] | None = None,
) -> list[NearPair]:
    """Return every pair within a distance, by a full scan.

    Args:
        fingerprints: of one width, at least one.
        lengths: characters of each normalised text.
        farthest: in bits.
        progress: called with the number of documents compared so far.
    """
    words = fingerprints[0].bits // 64
    packed = b"".join(fingerprint.to_bytes() for fingerprint in fingerprints)
    values = np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, words)
    found = []
    for first in range(len(values) - 1):
        differing = np.unpackbits((values[first + 1 :] ^ values[first]).view(np.uint8), axis=1)
        distances = differing.sum(axis=1, dtype=np.uint16)
        for offset in np.flatnonzero(distances <= farthest).tolist():
            second = first + 1 + offset
            shorter = min(lengths[first], lengths[second])
            found.append(NearPair(first, second, int(distances[offset]), shorter))
        if progress is not None:
            progress(first + 1)
    return found


def draw(pairs: Iterable[NearPair], each: int, seed: int = 0) -> list[NearPair]:
    """Return up to so many pairs of each band of distances, the farthest first.

    The doubtful ones come first, so that a person who stops early has answered those.
    """
    bands: dict[int, list[NearPair]] = {}
    for pair in pairs:
        bands.setdefault(pair.distance // BAND, []).append(pair)
    random = np.random.default_rng(seed)
    drawn = []
    for band in sorted(bands, reverse=True):
        here = bands[band]
        chosen = random.permutation(len(here))[:each]
        drawn += [here[number] for number in sorted(chosen.tolist())]
    return drawn


def estimate(
    pairs: Sequence[NearPair],
    answers: Mapping[tuple[int, int], bool],
    distance: int,
    min_length: int,
) -> Estimate:
    """Estimate the precision at a distance and minimum length.

    Among the pairs of a band that were not judged, the share of near-duplicates has the posterior
    of the answers under Jeffreys' prior, Beta(1/2 + yes, 1/2 + no).

    Args:
        pairs: all pairs up to the greatest distance of interest.
        answers: by the two numbers; True for near-duplicates.
        distance: k.
        min_length: characters of the normalised text.
    """
    random = np.random.default_rng(0)
    taken = [pair for pair in pairs if pair.distance <= distance and pair.length >= min_length]
    right = np.zeros(_DRAWS)
    answered = 0
    for band in sorted({pair.distance // BAND for pair in taken}):
        here = [pair for pair in taken if pair.distance // BAND == band]
        told = [answers[key] for pair in here if (key := (pair.first, pair.second)) in answers]
        yes = sum(told)
        answered += len(told)
        share = random.beta(0.5 + yes, 0.5 + len(told) - yes, _DRAWS)
        right += yes + random.binomial(len(here) - len(told), share)
    low, median, high = _percentiles(right / len(taken)) if taken else (0.0, 0.0, 0.0)
    return Estimate(distance, min_length, len(taken), answered, median, low, high)


def suggest(estimates: Iterable[Estimate], target: float) -> Estimate | None:
    """Return the estimate that finds the most pairs at a precision surely above the target."""
    sure = [one for one in estimates if one.answered and one.low >= target]
    return max(sure, key=lambda one: (one.pairs, -one.distance), default=None)


def _percentiles(draws: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    low, median, high = np.percentile(draws, (5, 50, 95))
    return float(low), float(median), float(high)
