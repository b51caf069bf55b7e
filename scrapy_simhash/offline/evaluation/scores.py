"""Holds the rulings on the near pairs of a set against its labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import NamedTuple

from scrapy_simhash.fingerprint.facts import Facts
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.rule import Kinship, headings_alike, kinship
from scrapy_simhash.index.contract import Ruling
from scrapy_simhash.offline.datasets import Dataset
from scrapy_simhash.offline.evaluation.crawl import Drop, Truth, replay

_SHUFFLES = 5


class Near(NamedTuple):
    """A pair within the distance.

    Attributes:
        pair: numbers of the two documents, the lesser first.
        distance: in bits.
        ruling: whether they are taken for copies, and why.
    """

    pair: tuple[int, int]
    distance: int
    ruling: Ruling


@dataclass(frozen=True, slots=True)
class Score:
    """How the pairs that are taken for copies compare with the labelled ones.

    Attributes:
        found: labelled duplicates that are taken for copies.
        false: pairs that are, and are neither labelled as duplicate nor as ambiguous.
        labelled: labelled duplicates.
    """

    found: int
    false: int
    labelled: int

    @property
    def precision(self) -> float | None:
        """The share of labelled duplicates in what is taken for copies; None if nothing is."""
        matched = self.found + self.false
        return self.found / matched if matched else None

    @property
    def recall(self) -> float | None:
        """The share of the labelled duplicates that are found; None if there are none."""
        return self.found / self.labelled if self.labelled else None


@dataclass(frozen=True, slots=True)
class Matched:
    """The number of pairs of a kind, and how many of them are taken for copies."""

    matched: int
    pairs: int


@dataclass(frozen=True, slots=True)
class WrongPair:
    """Two documents that were judged wrongly.

    Attributes:
        a: id of one; of a wrong drop, of the page that was dropped.
        b: id of the other; of a wrong drop, of the page that was kept.
        distance: in bits; None if the two are beyond the recipe's distance.
        reason: of the ruling; None if there was none.
        kind: as the set says.
    """

    a: str
    b: str
    distance: int | None
    reason: str | None
    kind: str | None


@dataclass(frozen=True, slots=True)
class CrawlLoss:
    """The drops of a crawl of the set.

    Attributes:
        dropped: pages.
        wrong: of these, pages of which no copy was kept; a mean over several orders.
        distinct: pages of the set that are no copies of each other.
    """

    dropped: float
    wrong: float
    distinct: int

    @property
    def wrong_per_thousand(self) -> float:
        """Wrong drops in 1,000 distinct pages."""
        return 1000 * self.wrong / max(self.distinct, 1)


@dataclass(frozen=True, slots=True)
class Result:
    """A recipe on a set.

    Attributes:
        dataset: name of the set.
        name: of the recipe.
        method: identity of the recipe.
        distance: k.
        documents: how many the set has.
        skipped: documents that are not compared, by reason.
        score: over all pairs.
        like_headed: the score without the pairs of one host whose headings differ: a user may
            want to keep both pages of such a pair.
        file_order: a crawl in the order of the file.
        shuffled: the mean of crawls in several random orders.
        kinds: by kind, how many of the labelled duplicates are found.
        negatives: by kind, how many of the known negatives are taken for copies.
        false: pairs that are taken for copies and should not, the nearest first.
        missed: labelled duplicates that are not found, the nearest first.
        wrong_drops: of the crawl in the order of the file.
    """

    dataset: str
    name: str
    method: str
    distance: int
    documents: int
    skipped: dict[str, int]
    score: Score
    like_headed: Score
    file_order: CrawlLoss
    shuffled: CrawlLoss
    kinds: dict[str, Matched]
    negatives: dict[str, Matched]
    false: list[WrongPair]
    missed: list[WrongPair]
    wrong_drops: list[WrongPair]


def scored(
    dataset: Dataset,
    recipe: Recipe,
    near: Sequence[Near],
    facts: Sequence[bytes],
    skipped: dict[str, int],
    listed: int,
) -> Result:
    """Score the rulings on a set.

    Args:
        dataset: the set.
        recipe: that made the fingerprints.
        near: all pairs within the recipe's distance, the nearest first.
        facts: of each document; empty where there are none.
        skipped: documents that are not compared, by reason.
        listed: how many wrong pairs, missed ones and wrong drops are named at most.
    """
    ids = [document.id for document in dataset.documents]
    number = {name: place for place, name in enumerate(ids)}

    def numbered(pairs: Iterable[tuple[str, str]]) -> list[tuple[int, int]]:
        return [(min(p), max(p)) for p in ((number[a], number[b]) for a, b in pairs)]

    labels = list(dataset.pairs.items())
    duplicates = dict(
        zip(
            numbered(p for p, v in labels if v.label == "duplicate"),
            [v.kind for _, v in labels if v.label == "duplicate"],
            strict=True,
        )
    )
    ambiguous = set(numbered(p for p, v in labels if v.label == "ambiguous"))
    negatives = dict(zip(numbered(dataset.negatives), dataset.negatives.values(), strict=True))
    rulings = {one.pair: one for one in near}
    copies = {one.pair: one.distance for one in near if one.ruling.is_copy}
    false = [pair for pair in copies if pair not in duplicates and pair not in ambiguous]
    missed = sorted(
        (pair for pair in duplicates if pair not in copies),
        key=lambda pair: rulings[pair].distance if pair in rulings else recipe.bits,
    )
    alike = {p for p in duplicates if not _are_siblings(dataset, facts, p)}
    truth = Truth(len(ids), duplicates, ambiguous)
    drops = replay(len(ids), copies)
    wrong = truth.wrong(drops)

    def named(a: int, b: int) -> WrongPair:
        pair = (min(a, b), max(a, b))
        one = rulings.get(pair)
        kind = duplicates.get(pair, negatives.get(pair))
        distance, reason = (one.distance, one.ruling.reason) if one else (None, None)
        return WrongPair(ids[a], ids[b], distance, reason, kind)

    return Result(
        dataset=dataset.name,
        name=recipe.name,
        method=recipe.identity,
        distance=recipe.distance,
        documents=len(ids),
        skipped=skipped,
        score=Score(len(duplicates) - len(missed), len(false), len(duplicates)),
        like_headed=Score(len(alike & copies.keys()), len(false), len(alike)),
        file_order=CrawlLoss(len(drops), len(wrong), truth.distinct),
        shuffled=_shuffled(len(ids), copies, truth),
        kinds=_matched(duplicates, copies),
        negatives=_matched(negatives, copies),
        false=[named(*pair) for pair in false[:listed]],
        missed=[named(*pair) for pair in missed[:listed]],
        wrong_drops=[named(drop.page, drop.original) for drop in wrong[:listed]],
    )


def _are_siblings(dataset: Dataset, facts: Sequence[bytes], pair: tuple[int, int]) -> bool:
    """Return whether two pages of one host have other headings."""
    if not all(facts[page] for page in pair):
        return False
    keys = [dataset.documents[page].url or dataset.documents[page].id for page in pair]
    a, b = (Facts.from_bytes(facts[page]) for page in pair)
    return kinship(*keys) is Kinship.HOST and not headings_alike(a, b, Kinship.HOST)


def _shuffled(count: int, copies: Mapping[tuple[int, int], int], truth: Truth) -> CrawlLoss:
    crawls: list[list[Drop]] = [replay(count, copies, seed) for seed in range(_SHUFFLES)]
    wrong = mean(len(truth.wrong(drops)) for drops in crawls)
    return CrawlLoss(mean(map(len, crawls)), wrong, truth.distinct)


def _matched(
    kinds: Mapping[tuple[int, int], str | None], copies: Mapping[tuple[int, int], int]
) -> dict[str, Matched]:
    counts: dict[str, Matched] = {}
    for pair, kind in kinds.items():
        if kind is not None:
            old = counts.get(kind, Matched(0, 0))
            counts[kind] = Matched(old.matched + (pair in copies), old.pairs + 1)
    return dict(sorted(counts.items()))
