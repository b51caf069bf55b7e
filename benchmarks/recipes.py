"""Which recipe is the best: features, weights, bits and extractors on every set.

    python benchmarks/recipes.py            # a sample of each set and one choice at a time
    python benchmarks/recipes.py --full     # all of it, and every combination, best first

Needs ../shared/data. Prints one Markdown table. Only the named recipes and those of 256 bits are
computed: narrower fingerprints are the first bits of these, which for character n-grams without
weights are the very bits of the narrower recipe, and for others those of another hash; their *ms*
is that of 256 bits, too. *P / R* are precision and recall over all pairs of a set at the recipe's
distance k; *kinds* are the kinds of near-duplicates, with negatives, made from ``articles-html``.
*F1* is the mean over the sets, at the recipe's k and at the best one. *ms* is the median CPU time
of a page of ``kinds``, extraction and fingerprint. *Skew* is how many more unrelated texts of
``news-en`` share a 16-bit block than would by chance.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from statistics import mean, median
from zlib import crc32

import numpy as np

from benchmarks.documents import DATA, html_of, read_marked, text_of
from benchmarks.judging import curve, f1
from benchmarks.kinds import make_kinds
from benchmarks.kinds.templates import own_text
from scrapy_simhash.extraction.extractor import EXTRACTORS, extract
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import RECIPES, Recipe
from scrapy_simhash.fingerprint.simhash import BITS, Fingerprint
from scrapy_simhash.index.neighbours import distances, unpacked
from scrapy_simhash.offline.datasets import Dataset, read_dataset
from scrapy_simhash.offline.evaluation import Score
from scrapy_simhash.offline.pages import SavedPage

SAMPLE = 5  # every fifth page
FEW_LABELS = 100  # so many labelled pairs are kept all
SAMPLED_KINDS = 60

FEATURES = [
    *(FeatureSpec("characters", n, weights) for n in (4, 5, 6) for weights in ("binary", "sqrt")),
    FeatureSpec("characters", 5, "frequency"),
    *(FeatureSpec("words", n, weights) for n in (1, 2, 3) for weights in ("binary", "sqrt")),
    FeatureSpec("words", 1, "frequency"),
    FeatureSpec("keywords", 20, "tfidf"),
]


def variant(spec: FeatureSpec, bits: int, extractor: str) -> Recipe:
    """A recipe whose k is in proportion to that of the default."""
    name = f"{spec.kind} {spec.n} {spec.weights}"
    distance = RECIPES["default"].distance * bits // RECIPES["default"].bits
    fast = "karp-rabin" if (spec.kind, spec.weights) == ("characters", "binary") else "xxh3"
    return Recipe(name, spec, bits, distance, fast, extractor=extractor)


def recipes(full: bool) -> list[Recipe]:
    named = list(RECIPES.values())
    if full:
        product = (variant(s, bits, e) for e in EXTRACTORS[::-1] for bits in BITS for s in FEATURES)
        return [*named, *product]
    shown = RECIPES["default"]
    shingles = FeatureSpec("words", 2, "sqrt")
    return [
        *named,
        *(variant(spec, 256, "main") for spec in FEATURES),
        *(variant(spec, bits, "main") for spec in (shown.spec, shingles) for bits in (64, 128)),
        *(replace(shown, extractor=extractor) for extractor in EXTRACTORS if extractor != "main"),
    ]


def sets(full: bool) -> Iterator[Dataset]:
    for name in ("news-en", "traps-html", "docs-html"):
        dataset = read_dataset(DATA / name)
        yield dataset if full or name == "traps-html" else sampled(dataset)
    articles = [d for d in read_marked(DATA / "articles-html").documents if own_text(d)]
    yield make_kinds(articles, per_kind=None if full else SAMPLED_KINDS)


def sampled(dataset: Dataset) -> Dataset:
    """Every fifth group of near-duplicates, or all if there are few, and every fifth other page."""
    group = {document.name: document.name for document in dataset.documents}

    def first(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for a, b in dataset.pairs:
        group[first(b)] = first(a)
    kept = {name for name in group if crc32(first(name).encode()) % SAMPLE == 0}
    if len(dataset.pairs) <= FEW_LABELS:
        kept |= {name for pair in dataset.pairs for name in pair}
    return Dataset(
        dataset.name,
        [document for document in dataset.documents if document.name in kept],
        {pair: known for pair, known in dataset.pairs.items() if kept.issuperset(pair)},
        {pair: kind for pair, kind in dataset.negatives.items() if kept.issuperset(pair)},
    )


def measured_as(recipe: Recipe, dataset: Dataset) -> Recipe:
    """The recipe whose fingerprints begin with those of a recipe on a set.

    Texts need no extractor.
    """
    if recipe in RECIPES.values():
        return recipe
    texts = all(document.body.is_text for document in dataset.documents)
    return variant(recipe.spec, max(BITS), "main" if texts else recipe.extractor)


@dataclass
class Analysed:
    """The fingerprints of a document by several recipes, and the CPU time of each in ms."""

    fingerprints: list[Fingerprint | None]
    ms: list[float]


def analyse_document(document: SavedPage, recipes: Sequence[Recipe]) -> Analysed:
    found = Analysed([], [])
    for recipe in recipes:
        begun = time.process_time()
        lines, weights = text_of(document), ()
        if not document.body.is_text:
            lines, weights = extract(html_of(document), recipe.extractor).to_fingerprint
        found.fingerprints.append(recipe.fingerprint(lines, weights) if lines.strip() else None)
        found.ms.append(1000 * (time.process_time() - begun))
    return found


def analysed(documents: list[SavedPage], tried: list[Recipe], processes: int) -> list[Analysed]:
    analyse = partial(analyse_document, recipes=tried)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return list(pool.map(analyse, documents, chunksize=8))


def skew(prints: list[Fingerprint | None]) -> float:
    """Pairs that share a block, over those expected; near-duplicates are no unrelated texts."""
    present = [known for known in prints if known is not None]
    words, _ = unpacked(b"".join([own.to_bytes() for own in present]), present[0].bits, 0)
    blocks = words.view(np.uint16)
    a, b = np.triu_indices(len(words), 1)
    unrelated = distances(words[a], words[b]) > 16 * words.shape[1]
    a, b = a[unrelated], b[unrelated]
    shared = sum(int((column[a] == column[b]).sum()) for column in blocks.T)
    return float(shared / (len(a) * blocks.shape[1] / (1 << 16)))


def best_distance(curves: Iterable[list[Score]]) -> tuple[float, int]:
    means = list(map(mean, zip(*(map(f1, each) for each in curves), strict=True)))
    return max(means), means.index(max(means))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: no {DATA.parent.name}/{DATA.name} beside the repository")
    begun = time.monotonic()
    tried = recipes(options.full)
    named = len(RECIPES)
    curves: list[list[list[Score]]] = [[] for _ in tried]
    costs = [0.0] * len(tried)
    skews = [0.0] * len(tried)
    names = []
    for dataset in sets(options.full):
        measured = list(dict.fromkeys(measured_as(recipe, dataset) for recipe in tried))
        rows = analysed(dataset.documents, measured, options.processes)
        duplicates = sum(pair.label == "duplicate" for pair in dataset.pairs.values())
        names.append(f"{dataset.name} ({len(rows):,}; {duplicates:,})")
        judged: dict[tuple[int, int], tuple[list[Score], float]] = {}
        for at, recipe in enumerate(tried):
            number = measured.index(measured_as(recipe, dataset))
            kept = number, recipe.bits
            if kept not in judged:  # of texts, whatever extracts them
                cut = measured[number].bits - recipe.bits
                compared = [
                    known and Fingerprint(known.value >> cut, recipe.bits)
                    for known in (row.fingerprints[number] for row in rows)
                ]
                over = skew(compared) if dataset.name == "news-en" else 0.0
                judged[kept] = curve(dataset, compared, recipe.bits // 4), over
            scores, over = judged[kept]
            curves[at].append(scores)
            skews[at] += over
            costs[at] = median(row.ms[number] for row in rows)
        print(f"{names[-1]}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print(f"| recipe | bits, k | {' | '.join(names)} | F1; best | bytes | ms | skew |")
    print("| --- | --- |" + " --- |" * len(names) + " --- | --- | --- | --- |")
    own = [
        mean(f1(scores[recipe.distance]) for scores in each)
        for recipe, each in zip(tried, curves, strict=True)
    ]
    order = list(range(len(tried)))
    if options.full:
        order[named:] = sorted(order[named:], key=lambda at: -own[at])
    for at in order:
        recipe = tried[at]
        name = recipe.name if recipe.extractor == "main" else f"{recipe.name}, {recipe.extractor}"
        at_k = (each[recipe.distance] for each in curves[at])
        shown = (f"{score.precision or 0:.3f} / {score.recall or 0:.3f}" for score in at_k)
        best, distance = best_distance(curves[at])
        print(
            f"| {name} | {recipe.bits}, {recipe.distance} | {' | '.join(shown)} "
            f"| {own[at]:.4f}; {best:.4f} at {distance} "
            f"| {recipe.bits // 8} | {costs[at]:.1f} | {skews[at]:.2f} |"
        )


if __name__ == "__main__":
    main()
