"""How many pairs of copies share a band, and how many unrelated pages do, for several sizes.

    python benchmarks/bands.py [--bands 16x4,24x4] [--permutations 5] [--sets docs-html,...]

The sets of ../shared/data, and near-duplicates made of the pages of articles-html. A pair is two
pages of a set that the rule calls copies, by a full scan of all that differ in one bit or more; it
is found if the pages have the same value at one place. Below each set, the pairs beyond k and
those of short texts stand by themselves. Which pairs are missed is chance, and the pairs of one
cluster are missed together, so everything is counted over several permutations. The last columns
count, for a page of the set, the pages of other sets that it would be compared with if there were
a million of them (goal: at most 100), and those of its own set that are beyond the reach, as a
share. Rival: 20 bands.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from benchmarks.documents import DATA, html_of, read_marked, text_of
from benchmarks.kinds import make_kinds
from scrapy_simhash.core.analysis import analyse_text
from scrapy_simhash.extraction.extractor import Extraction, extract
from scrapy_simhash.fingerprint.blocks import Bands
from scrapy_simhash.fingerprint.hashing import mix
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.offline.pages import SavedPage, read_pages
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

# Set -> the most pages that are read of it.
SETS = {
    "docs-html": 2303,
    "news-en": 2500,
    "blog-html": 1494,
    "manual-html": 3000,
    "shops-html": 1200,
    "types-html": 319,
    "records-html": 1584,
    "mails-html": 1104,
    "frames-html": 600,
    "made kinds": 1000,
}
BANDS = "12x4,14x4,16x4,20x4"
SHORT = 300  # characters that count


def documents(name: str) -> Iterator[SavedPage]:
    if name == "made kinds":
        yield from make_kinds(read_marked(DATA / "articles-html").documents[:150]).documents
    else:
        yield from read_pages(DATA / name)


class Pages:
    """The pages of a set: their distances, and their block values by bands of each size."""

    def __init__(self, name: str, recipe: Recipe, bands: list[Bands], permutations: int) -> None:
        seen: set[str] = set()
        values: list[bytes] = []
        known: list[Page] = []
        lengths: list[int] = []
        blocks: list[list[bytes]] = []
        for document in islice(documents(name), SETS[name]):
            extraction = Extraction(text_of(document))
            if not document.body.is_text:
                extraction = extract(html_of(document), recipe.extractor)
            text, weights = extraction.to_fingerprint
            on_page = None if document.body.is_text else extraction
            analysis = analyse_text(extraction.text, recipe, 0, on_page)
            if text in seen or analysis.fingerprint is None:
                continue
            seen.add(text)
            values.append(analysis.fingerprint.to_bytes())
            known.append(Page(document.key, analysis.facts))
            lengths.append(len(normalise(text)))
            hashes = recipe.sums(text, weights).hashes
            orders = [hashes, *(mix(hashes + np.uint64(n)) for n in range(1, permutations))]
            blocks.append([each.of(0, order) for each in bands for order in orders])
        self.name = name
        self.count = len(values)
        packed = np.frombuffer(b"".join(values), np.uint8).reshape(self.count, -1)
        bits = np.unpackbits(packed, axis=1).astype(np.float32)
        apart = np.rint(bits @ (1 - bits).T + (1 - bits) @ bits.T).astype(np.int16)
        rule, copies = Rule(recipe.distance), np.zeros(apart.shape, np.bool_)
        for one, other in np.argwhere(np.triu((apart > 0) & (apart <= recipe.reach))):
            ruling = rule(known[one], known[other], int(apart[one, other]))
            copies[one, other] = ruling.is_copy
        is_short = np.array(lengths) < SHORT
        self.pairs = {
            "copies": copies,
            "beyond k": copies & (apart > recipe.distance),
            "short": copies & (is_short[:, None] | is_short),
        }
        self.far = np.triu(apart > recipe.reach)
        columns = [
            np.frombuffer(b"".join(column), "<u4").reshape(self.count, -1)
            for column in zip(*blocks, strict=True)
        ]
        #: For each size of bands, the block values by each permutation.
        self.blocks = [columns[n : n + permutations] for n in range(0, len(columns), permutations)]


def shared(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return which pages share a value at a place, shape (pages of one, pages of other)."""
    found = np.zeros((len(one), len(other)), np.bool_)
    for left, right in zip(one.T, other.T, strict=True):
        order = right.argsort()
        starts = right[order].searchsorted(left, "left")
        ends = right[order].searchsorted(left, "right")
        for page in np.flatnonzero(ends > starts):
            found[page, order[starts[page] : ends[page]]] = True
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bands", default=BANDS)
    parser.add_argument("--extractor", default="main")
    parser.add_argument("--recipe", default="default", help="one of character n-grams")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--permutations", type=int, default=5)
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"skipped: {DATA} is missing")
    recipe = replace(named_recipe(options.recipe), extractor=options.extractor)
    bands = [Bands(*map(int, size.split("x"))) for size in options.bands.split(",")]
    sets = [Pages(name, recipe, bands, options.permutations) for name in options.sets.split(",")]
    print(f"recipe {recipe.name}, extractor {recipe.extractor}, k = {recipe.distance}\n")
    print(
        f"{'set':13}{'pages':>6}  {'bands':11}{'pairs':10}{'':>7}{'missed':>7}{'recall':>8}"
        f"{'per million':>13}{'own set':>9}"
    )
    missed_of_all = np.zeros((len(bands), 2), int)
    for pages in sets:
        for number, each in enumerate(bands):
            mine = pages.blocks[number]
            found = [shared(values, values) for values in mine]
            # What is made of articles-html is no other site than types-html, nor the reverse.
            others = [other for other in sets if other is not pages]
            met = sum(
                int(shared(*values).sum())
                for other in others
                for values in zip(mine, other.blocks[number], strict=True)
            )
            looks = len(mine) * pages.count * max(sum(other.count for other in others), 1)
            for kind, pairs in pages.pairs.items():
                count = int(pairs.sum()) * len(mine)
                missed = sum(int((pairs & ~own).sum()) for own in found)
                if kind == "copies":
                    missed_of_all[number] += count, missed
                elif not count:
                    continue
                line = f"{pages.name:13}{pages.count:6}  {each!s:11}{kind:10}{count:7}{missed:7}"
                line += f"{1 - missed / count:8.4f}" if count else f"{'-':>8}"
                if kind == "copies":
                    far = sum(int((pages.far & own).sum()) for own in found)
                    line += f"{1e6 * met / looks:13.1f}"
                    line += f"{far / len(mine) / pages.far.sum():9.1e}"
                print(line, flush=True)
    for each, (count, missed) in zip(bands, missed_of_all, strict=True):
        print(f"all sets  {each!s:11}{count:7} pairs, {missed} missed: {1 - missed / count:.4f}")


if __name__ == "__main__":
    main()
