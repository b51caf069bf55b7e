"""How many pages are dropped wrongly as an index grows.

    python benchmarks/false_drops.py

Needs ../shared/data. Two unrelated pages at an angle a meet within k of f bits with the binomial
probability of at most k successes in f trials at a / pi (Charikar 2002, section 3). The angles are
true ones, between the weighted features of real pages, so the skew of language is in them:

* *different sites*: the texts of ``news-en`` and the English pages of ``articles-html``;
* *one site*: the pages of the newest release in ``docs-html``.

Pairs that are labelled as duplicate or ambiguous are left out. The mean probability over all
pairs, times the pages in the index, is the number of false matches that a new page is to expect; it
grows in proportion, so the large indexes are extrapolations. Texts that share a notice, or differ
in one word, are far likelier to meet than the mean; a site of such pages is worse than this.

*Seen* is how many of the same real pairs do match, *model* how many should: where seen is much
more, the angle alone does not tell.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.documents import DATA, html_of, marks_of, read_marked, text_of
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.recipe import RECIPES, Recipe
from scrapy_simhash.index.neighbours import distances as distances_of
from scrapy_simhash.index.neighbours import unpacked
from scrapy_simhash.offline.datasets import Dataset, read_dataset
from scrapy_simhash.offline.pages import SavedPage

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
BINS = 4096
ALLOWED = 0.01
#: (recipe, bits): the distances to show; the recipe's own among them.
SHOWN = {
    ("classic", 64): (3, 6, 8),
    ("default", 64): (3, 6, 8, 11),
    ("default", 128): (20, 22, 24, 26),
    ("default", 256): (44, 48, 52, 56),
}

Array = npt.NDArray[np.float64]


@dataclass
class Pages:
    """Texts, and the pairs of them that are known to be related, by their numbers."""

    texts: list[str]
    related: set[tuple[int, int]]


@dataclass
class Unrelated:
    """What is known of the unrelated pairs: how many are at each angle, and which they are."""

    angles: Array  # of BINS equal parts of half a turn
    pairs: npt.NDArray[np.bool_]

    def mean_probability(self, bits: int, distance: int) -> float:
        chances = (np.arange(BINS) + 0.5) / BINS
        return float(self.angles @ within(chances, bits, distance) / self.angles.sum())


def texts_of(documents: list[SavedPage], least: int) -> dict[str, str]:
    texts = {}
    for document in documents:
        extraction = extract(html_of(document)) if not document.body.is_text else None
        text = extraction.text if extraction else text_of(document)
        if len(text) >= least and not (extraction and extraction.thin):
            texts[document.name] = text
    return texts


def gather(datasets: list[Dataset], least: int) -> Pages:
    texts: dict[str, str] = {}
    related = set()
    for dataset in datasets:
        texts |= texts_of(dataset.documents, least)
    number = {name: at for at, name in enumerate(texts)}
    for dataset in datasets:
        for a, b in dataset.pairs:
            if a in number and b in number:
                related.add((min(number[a], number[b]), max(number[a], number[b])))
    return Pages(list(texts.values()), related)


def unrelated(pages: Pages, recipe: Recipe) -> Unrelated:
    """Measure the angle of every two pages by their features."""
    vocabulary: dict[str, int] = {}
    columns, weights, starts = [], [], [0]
    for text in pages.texts:
        features = recipe.features(text)
        columns.append([vocabulary.setdefault(name, len(vocabulary)) for name in features])
        weights.append(np.fromiter(features.values(), np.float64, len(features)))
        starts.append(starts[-1] + len(features))
    column = np.fromiter((c for each in columns for c in each), np.int64, starts[-1])
    weight = np.concatenate(weights).astype(np.float32)
    lengths = np.sqrt([float(each @ each) for each in weights])
    count = len(pages.texts)
    histogram = np.zeros(BINS)
    kept = np.zeros((count, count), np.bool_)
    own = np.zeros(len(vocabulary), np.float32)
    for at in range(count - 1):
        own[columns[at]] = weights[at]
        first = starts[at + 1]
        met = own[column[first:]]
        ends = np.array(starts[at + 1 : -1]) - first
        products = np.add.reduceat(met * weight[first:], ends)
        own[columns[at]] = 0
        cosine = np.minimum(products / (lengths[at] * lengths[at + 1 :]), 1)
        far = np.ones(len(cosine), np.bool_)
        for other in (b for a, b in pages.related if a == at):
            far[other - at - 1] = False
        kept[at, at + 1 :] = far
        chance = np.arccos(cosine[far]) / math.pi
        histogram += np.bincount((chance * BINS).astype(np.int64), minlength=BINS)
    return Unrelated(histogram, kept)


def within(chances: Array, bits: int, distance: int) -> Array:
    """The probability of at most so many successes, for each chance of one."""
    total = np.zeros_like(chances)
    for successes in range(distance + 1):
        ways = math.lgamma(bits + 1) - math.lgamma(successes + 1)
        ways -= math.lgamma(bits - successes + 1)
        logs = successes * np.log(chances) + (bits - successes) * np.log1p(-chances)
        total += np.exp(ways + logs)
    return total


def number(value: float) -> str:
    return f"{value:.1e}" if value < 0.001 else f"{value:.3f}" if value < 10 else f"{value:,.0f}"


def show(title: str, pages: Pages, sizes: tuple[int, ...]) -> None:
    print(f"\n{title}: {len(pages.texts):,} pages\n")
    columns = " | ".join(f"{size:,} pages" for size in sizes)
    print(f"| features | bits, k | {columns} | seen / model |")
    print("| --- | --- |" + " --- |" * (len(sizes) + 1))
    known: dict[str, Unrelated] = {}
    for (name, bits), distances in SHOWN.items():
        recipe = replace(RECIPES[name], bits=bits, distance=min(distances))
        features = f"{recipe.spec.kind} {recipe.spec.n} {recipe.spec.weights}"
        if features not in known:
            known[features] = unrelated(pages, recipe)
        far = known[features]
        prints = [recipe.fingerprint(text).to_bytes() for text in pages.texts]
        words, _ = unpacked(b"".join(prints), bits, 0)
        one, other = np.nonzero(far.pairs)
        apart = distances_of(words[one], words[other])
        for distance in distances:
            mean = far.mean_probability(bits, distance)
            cells = [number(size * mean) for size in sizes]
            seen = f"{int((apart <= distance).sum())} / {number(mean * far.angles.sum())}"
            cells.append(seen)
            print(f"| {features} | {bits}, {distance} | {' | '.join(cells)} |", flush=True)
        largest = [
            max(
                (
                    k
                    for k in range(bits // 4 + 1)
                    if size * far.mean_probability(bits, k) <= ALLOWED
                ),
                default=None,
            )
            for size in sizes
        ]
        cells = ["none" if k is None else f"k = {k}" for k in largest]
        print(f"| {features} | {bits}, at most {ALLOWED} | {' | '.join(cells)} | |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--min-length", type=int, default=200, help="characters of a text")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: no {DATA.parent.name}/{DATA.name} beside the repository")
    articles = read_marked(DATA / "articles-html")
    english = [page for page in articles.documents if marks_of(page).get("lang") == "en"]
    news = read_dataset(DATA / "news-en")
    manuals = read_dataset(DATA / "docs-html")
    newest = [document for document in manuals.documents if document.name.startswith("trixie/")]
    several = gather([news, replace(articles, documents=english)], options.min_length)
    show("Different sites: false matches that a new page is to expect", several, SIZES)
    one = gather([replace(manuals, documents=newest)], options.min_length)
    show("One site: false matches that a new page is to expect", one, (1_000, 10_000, 100_000))
    print("\n" + __doc__.split("../shared/data. ")[1].strip())


if __name__ == "__main__":
    main()
