"""Precision and recall of a recipe on labelled pages, and what a crawl of them would lose.

The help of :mod:`benchmarks.evaluate` describes a folder of labelled pages.

In a REPL::

    result = evaluate(read_dataset("sets/news"), named_recipe("default"))
    print(result.precision, result.recall, result.wrong_per_thousand)

Pairs alone do not tell what a crawl loses: a page that resembles twenty others is lost
once, and a page is compared only with those that were kept before it. So a crawl of the
set is replayed."""

import csv
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrapy_simhash.core.workers import Workers
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.lookups import distances, unpacked
from scrapy_simhash.offline.analyses import analyse_all
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.saved_pages import PageReader, SavedPage
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page, Ruling

#: The numbers of two fingerprints, the lesser first.
Numbers = tuple[int, int]
_COLUMNS = ("a", "b", "label")
_LABELS = ("duplicate", "ambiguous", "negative")


class Pair(NamedTuple):
    """The label of two documents: duplicate, negative, or ambiguous, which counts neither way."""

    label: str
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, and the pairs of them that are near-duplicates.

    Attributes:
        documents: in the order of the file, each with a name of its own.
        pairs: by the two names, the lesser first; a pair that is not here is
            ``negative``.
    """

    name: str
    documents: list[SavedPage]
    pairs: dict[tuple[str, str], Pair]


@dataclass(frozen=True, slots=True)
class WrongPair:
    """Two documents that were judged wrongly; of a drop, the dropped page comes first.

    Distance and reason are None for two that are beyond the recipe's reach.
    """

    a: str
    b: str
    distance: int | None
    reason: str | None
    kind: str | None


@dataclass(frozen=True, slots=True)
class Result:
    """A recipe on a set; the help of :mod:`benchmarks.evaluate` explains the columns.

    Attributes:
        name: of the recipe.
        distinct: how many documents are no copies of each other.
        skipped: how many documents are not compared, by reason.
        labelled: labelled duplicates.
        precision: the share of labelled duplicates in what is taken for copies; None if
            nothing is.
        recall: the share of the labelled duplicates that are found; None if there are
            none.
        false: pairs that are wrongly taken for copies, the nearest first.
        missed: labelled duplicates that are not found, the nearest first.
    """

    dataset: str
    name: str
    distance: int
    documents: int
    distinct: int
    skipped: dict[str, int]
    labelled: int
    precision: float | None
    recall: float | None
    dropped: int
    wrong_per_thousand: float
    false: list[WrongPair]
    missed: list[WrongPair]
    wrong_drops: list[WrongPair]


def read_dataset(folder: str | Path) -> Dataset:
    """Read a set, named after its folder; a FileError says what is wrong, and where.

    The kind of a pair stands behind its label, as in ``negative/template``, or in a
    column ``kind``.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileError(f"{folder}: there is no such folder")
    if not (folder / "pairs.tsv").is_file():
        raise FileError(
            f"{folder}: no set of labelled pages, because it has no pairs.tsv"
        )
    documents: dict[str, SavedPage] = {}
    for page in PageReader().read(folder):
        name = page.name.removeprefix(f"{folder.as_posix()}/")
        if name in documents:
            raise FileError(f"{folder}: the id {name} is there twice")
        documents[name] = page
    labels: dict[tuple[str, str], Pair] = {}
    path = folder / "pairs.tsv"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path}: no table in UTF-8 ({error})") from None
    for number, row in enumerate(rows, 1):
        where = f"{path}, row {number}"
        if not all(map(row.get, _COLUMNS)):
            raise FileError(f"{where}: it must have the columns {', '.join(_COLUMNS)}")
        pair = min(row["a"], row["b"]), max(row["a"], row["b"])
        label, _, kind = row["label"].partition("/")
        if unknown := set(pair) - documents.keys():
            raise FileError(f"{where}: there is no document {unknown.pop()!r}")
        if label not in _LABELS:
            raise FileError(
                f"{where}: the label {label!r} must be {', '.join(_LABELS)}"
            )
        labels[pair] = Pair(label, kind or row.get("kind") or None)
    return Dataset(folder.resolve().name, list(documents.values()), labels)


def evaluate(dataset: Dataset, recipe: Recipe) -> Result:
    """Judge all pairs of a set as a crawl judges them: by distance, and then by the rule."""
    pages, fingerprints, skipped = [], [], Counter[str]()
    workers = Workers(recipe, processes=os.cpu_count() or 1, timeout=60)
    for page, analysis in analyse_all(dataset.documents, workers):
        pages.append(Page(page.key, analysis.facts))
        fingerprints.append(analysis.fingerprint)
        skipped.update([analysis.reason] if analysis.reason else [])
    rule = Rule(recipe.distance)
    near = {
        (a, b): (distance, rule(pages[a], pages[b], distance))
        for (a, b), distance in near_pairs(fingerprints, recipe.reach)
    }
    # A plain dictionary, because asdict() counts the pairs of a Counter anew.
    return scored(dataset, recipe, near, dict(skipped))


def near_pairs(
    fingerprints: Sequence[Fingerprint | None], distance: int
) -> list[tuple[Numbers, int]]:
    """Compare all pairs; return those within the distance, in bits, the nearest first.

    A document without a fingerprint is near no other.
    """
    by_number = {
        number: fingerprint
        for number, fingerprint in enumerate(fingerprints)
        if fingerprint is not None
    }
    if not by_number:
        return []
    present, bits = list(by_number), next(iter(by_number.values())).bits
    words, _ = unpacked(
        b"".join([fingerprint.to_bytes() for fingerprint in by_number.values()]),
        bits,
        0,
    )
    near: list[tuple[Numbers, int]] = []
    for row, number in enumerate(present[:-1]):
        apart = distances(words[row + 1 :], words[row])
        columns = np.flatnonzero(apart <= distance).tolist()
        near += [
            ((number, present[row + 1 + column]), int(apart[column]))
            for column in columns
        ]
    return sorted(near, key=lambda pair: pair[1])


def scored(
    dataset: Dataset,
    recipe: Recipe,
    near: Mapping[Numbers, tuple[int, Ruling]],
    skipped: dict[str, int],
) -> Result:
    """Score distances and rulings: on all pairs within the recipe's reach, the nearest first."""
    names = [document.name for document in dataset.documents]
    number = {name: place for place, name in enumerate(names)}
    labels = {
        _ordered(number[a], number[b]): label for (a, b), label in dataset.pairs.items()
    }
    duplicates = [pair for pair, (label, _) in labels.items() if label == "duplicate"]
    ambiguous = {pair for pair, (label, _) in labels.items() if label == "ambiguous"}
    right_or_open = ambiguous.union(duplicates)
    copies = {
        pair: distance for pair, (distance, ruling) in near.items() if ruling.is_copy
    }
    false = [pair for pair in copies if pair not in right_or_open]
    missed = [pair for pair in duplicates if pair not in copies]
    missed.sort(key=lambda pair: near[pair][0] if pair in near else recipe.bits)
    right = len(duplicates) - len(missed)
    cluster, dropped = clusters(len(names), duplicates), replay(copies)
    wrong = wrong_drops(dropped, cluster, ambiguous)
    distinct = len(set(cluster))

    def named(pair: Numbers) -> WrongPair:
        a, b = (names[number] for number in pair)
        distance, ruling = near.get(_ordered(*pair), (None, None))
        label = labels.get(_ordered(*pair))
        reason, kind = ruling and ruling.reason, label and label.kind
        return WrongPair(a, b, distance, reason, kind)

    return Result(
        dataset=dataset.name,
        name=recipe.name,
        distance=recipe.distance,
        documents=len(names),
        distinct=distinct,
        skipped=skipped,
        labelled=len(duplicates),
        precision=right / (right + len(false)) if right or false else None,
        recall=right / len(duplicates) if duplicates else None,
        dropped=len(dropped),
        wrong_per_thousand=1000 * len(wrong) / max(distinct, 1),
        false=[*map(named, false)],
        missed=[*map(named, missed)],
        wrong_drops=[*map(named, wrong)],
    )


def _ordered(a: int, b: int) -> Numbers:
    return (a, b) if a < b else (b, a)


def clusters(count: int, duplicates: Iterable[Numbers]) -> list[int]:
    """Return the number of each page's cluster: copies of a page, and copies of copies."""
    cluster = list(range(count))
    for a, b in duplicates:
        merged, into = cluster[a], cluster[b]
        if merged != into:
            cluster = [into if number == merged else number for number in cluster]
    return cluster


def replay(copies: Mapping[Numbers, int]) -> dict[int, int]:
    """Return the pages that a crawl drops, each with the nearest kept page that it is a copy of.

    ``copies`` are pairs with their distances, the lesser number first.
    """
    near: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for (earlier, page), distance in copies.items():
        near[page].append((distance, earlier))
    drops: dict[int, int] = {}
    for page in sorted(near):
        originals = [neighbour for neighbour in near[page] if neighbour[1] not in drops]
        if originals:
            drops[page] = min(originals)[1]
    return drops


def wrong_drops(
    drops: Mapping[int, int], cluster: Sequence[int], ambiguous: Collection[Numbers]
) -> list[Numbers]:
    """Return the pages that are lost because no copy of them was kept, each with its original.

    All copies of a page are one loss. A drop for an original that may be a copy of the
    page counts as right.
    """
    saved = {cluster[page] for page in range(len(cluster)) if page not in drops}
    saved |= {
        cluster[drop[0]] for drop in drops.items() if _ordered(*drop) in ambiguous
    }
    first_drops = {cluster[page]: page for page in sorted(drops, reverse=True)}
    return [
        (page, drops[page]) for name, page in first_drops.items() if name not in saved
    ]
