"""Holds what a method matches by distance alone against the labels of a set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scrapy_simhash.offline.datasets import Dataset
from scrapy_simhash.offline.evaluation.pairs import Ints, NearPair


class Comparison(Protocol):
    """What a method says about the pairs of a set; documents are named by their numbers.

    Attributes:
        farthest: the greatest distance there is; pairs that the method never takes for
            near-duplicates are one farther.
    """

    @property
    def farthest(self) -> int: ...

    def distances(self, a: Ints, b: Ints) -> Ints:
        """Return the distances of pairs, given as two arrays that broadcast."""

    def scan(self, distance: int) -> tuple[Ints, Iterator[NearPair]]:
        """Compare all pairs.

        Returns:
            how many pairs there are at each distance from 0 to ``farthest`` + 1; and the pairs
            within the distance, the nearest first.
        """


class FoundPairs:
    """The pairs that a method without a distance finds: they are 0 apart, all others never.

    Args:
        pairs: two numbers each, in any order, any number of times.
        count: of documents.
    """

    farthest = 0

    def __init__(self, pairs: Iterable[tuple[int, int]], count: int) -> None:
        self._count = count
        codes = {min(pair) * count + max(pair) for pair in pairs}
        self._codes = np.array(sorted(codes), np.int64)

    def distances(self, a: Ints, b: Ints) -> Ints:
        codes = np.minimum(a, b) * self._count + np.maximum(a, b)
        return np.where(np.isin(codes, self._codes), 0, 1)

    def scan(self, distance: int) -> tuple[Ints, Iterator[NearPair]]:
        found = len(self._codes)
        histogram = np.array([found, self._count * (self._count - 1) // 2 - found])
        a, b = np.divmod(self._codes, max(self._count, 1))
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        return histogram, ((pair, 0) for pair in pairs)


@dataclass(frozen=True, slots=True)
class Score:
    """How the pairs that match compare with those that are labelled.

    Attributes:
        found: labelled duplicates that match.
        false: pairs that match and are neither labelled duplicates nor ambiguous.
        labelled: labelled duplicates.
    """

    found: int
    false: int
    labelled: int

    @property
    def precision(self) -> float | None:
        """The share of labelled duplicates in what matches; None if nothing does."""
        matched = self.found + self.false
        return self.found / matched if matched else None

    @property
    def recall(self) -> float | None:
        """The share of the labelled duplicates that match; None if there are none."""
        return self.found / self.labelled if self.labelled else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; None if nothing matches and nothing is labelled."""
        total = self.found + self.false + self.labelled
        return 2 * self.found / total if total else None


@dataclass(frozen=True, slots=True)
class Matched:
    """How many of so many pairs match."""

    matched: int
    pairs: int


@dataclass(frozen=True, slots=True)
class WrongPair:
    """Two documents that were judged wrongly.

    Attributes:
        a: the id of one.
        b: the id of the other.
        distance: None if they never match, or the method has no distance.
        kind: as the set says.
        notes: what is special about each of them, see :func:`judge`.
    """

    a: str
    b: str
    distance: int | None
    kind: str | None
    notes: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """How right a method is about the pairs of a set.

    Attributes:
        score: at the distance k.
        curve: the score at each distance from 0 to a quarter of the farthest.
        duplicates: the number of labelled duplicates at each distance from 0 to the farthest;
            one more number counts those that never match.
        others: in the same way, the pairs that are neither labelled duplicates nor ambiguous.
        kinds: by kind, how many of the labelled duplicates match.
        negatives: by kind, how many of the known negatives match.
        false: pairs that match and should not, the nearest first.
        missed: pairs that should match and do not, the nearest first.
    """

    score: Score
    curve: list[Score]
    duplicates: list[int]
    others: list[int]
    kinds: dict[str, Matched]
    negatives: dict[str, Matched]
    false: list[WrongPair]
    missed: list[WrongPair]


def judge(
    dataset: Dataset,
    comparison: Comparison,
    distance: int,
    listed: int = 20,
    notes: Sequence[str | None] | None = None,
) -> Judgement:
    """Hold a comparison of a set's documents against its labels, over all pairs.

    Args:
        dataset: the set.
        comparison: of its documents, in their order.
        distance: k; pairs within it match.
        listed: how many false pairs, and how many missed ones, are named at most.
        notes: what to say of each document when it is named.
    """
    ids = [document.id for document in dataset.documents]
    number = {name: index for index, name in enumerate(ids)}
    duplicates = [pair for pair, known in dataset.pairs.items() if known.label == "duplicate"]
    ambiguous = [pair for pair, known in dataset.pairs.items() if known.label == "ambiguous"]

    def distances(pairs: Iterable[tuple[str, str]]) -> Ints:
        numbers = np.array([(number[a], number[b]) for a, b in pairs], np.int64).reshape(-1, 2)
        return comparison.distances(numbers[:, 0], numbers[:, 1])

    def wrong(pair: tuple[str, str], apart: int) -> WrongPair:
        known = dataset.pairs.get(pair)
        kind = known.kind if known else dataset.negatives.get(pair)
        measured = 0 < comparison.farthest >= apart
        a, b = (notes[number[name]] if notes else None for name in pair)
        return WrongPair(*pair, int(apart) if measured else None, kind, (a, b))

    slots = comparison.farthest + 2
    of_duplicates, of_negatives = distances(duplicates), distances(dataset.negatives)
    at_duplicates = np.bincount(of_duplicates, minlength=slots)
    at_all, near = comparison.scan(distance)
    at_others = at_all - at_duplicates - np.bincount(distances(ambiguous), minlength=slots)
    within, beyond = np.cumsum(at_duplicates), np.cumsum(at_others)

    def score(k: int) -> Score:
        return Score(int(within[k]), int(beyond[k]), len(duplicates))

    false = []
    for (a, b), apart in near:
        pair = (ids[a], ids[b]) if ids[a] < ids[b] else (ids[b], ids[a])
        if pair not in dataset.pairs:
            false.append(wrong(pair, apart))
            if len(false) == listed:
                break
    far = np.argsort(of_duplicates, kind="stable")[within[distance] :][:listed]
    return Judgement(
        score=score(distance),
        curve=[score(k) for k in range(comparison.farthest // 4 + 1)],
        duplicates=at_duplicates.tolist(),
        others=at_others.tolist(),
        kinds=_matched([dataset.pairs[pair].kind for pair in duplicates], of_duplicates, distance),
        negatives=_matched(list(dataset.negatives.values()), of_negatives, distance),
        false=false,
        missed=[wrong(duplicates[i], of_duplicates[i]) for i in far],
    )


def _matched(kinds: Sequence[str | None], distances: Ints, k: int) -> dict[str, Matched]:
    counts: dict[str, Matched] = {}
    for kind, distance in zip(kinds, distances, strict=True):
        if kind is not None:
            old = counts.get(kind, Matched(0, 0))
            counts[kind] = Matched(old.matched + int(distance <= k), old.pairs + 1)
    return dict(sorted(counts.items()))
