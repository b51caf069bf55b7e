"""How many near pairs share a band, and how many unrelated pages do, for several sizes.

    python tests/benchmarks/bands.py [--bands 16x4,24x4] [--extractor main]

The sets of ../shared/data, and near-duplicates made of the pages of articles-html. A near pair
is two pages of a set whose fingerprints differ in at least one bit and at most k, by a full scan;
it is found if the pages have the same value at one place. The last columns count, for a page of
the set, the pages of other sets that it would be compared with if there were a million of them
(goal: at most 100), and those of its own set that are beyond k, as a share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.blocks import Bands
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.offline.pages import SavedPage, read_pages
from tests.benchmarks.documents import DATA, html_of, read_marked, text_of
from tests.benchmarks.kinds import make_kinds

# Set -> the most pages that are read of it.
SETS = {
    "docs-html": 2303,
    "news-en": 2500,
    "blog-html": 1494,
    "manual-html": 3000,
    "shops-html": 1200,
    "types-html": 319,
    "made kinds": 1000,
}
BANDS = "12x4,16x4,20x4,24x4,32x4,24x5"


def documents(name: str) -> Iterator[SavedPage]:
    if name == "made kinds":
        yield from make_kinds(read_marked(DATA / "articles-html").documents[:150]).documents
    else:
        yield from read_pages(DATA / name)


class Pages:
    """The pages of a set: their distances, and their block values by bands of each size."""

    def __init__(self, name: str, recipe: Recipe, bands: list[Bands]) -> None:
        seen: set[str] = set()
        values: list[bytes] = []
        blocks: list[list[bytes]] = []
        for document in islice(documents(name), SETS[name]):
            text, weights = text_of(document), ()
            if not document.body.is_text:
                text, weights = extract(html_of(document), recipe.extractor).to_fingerprint
            if not text or text in seen or len(normalise(text)) < recipe.min_length:
                continue
            seen.add(text)
            values.append(recipe.fingerprint(text, weights).to_bytes())
            hashes = recipe.sums(text, weights).hashes
            blocks.append([each.of(0, hashes) for each in bands])
        self.name = name
        self.count = len(values)
        packed = np.frombuffer(b"".join(values), np.uint8).reshape(self.count, -1)
        bits = np.unpackbits(packed, axis=1).astype(np.float32)
        apart = np.rint(bits @ (1 - bits).T + (1 - bits) @ bits.T).astype(np.int16)
        self.near = np.triu((apart > 0) & (apart <= recipe.distance))
        self.far = np.triu(apart > recipe.distance)
        self.blocks = [
            np.frombuffer(b"".join(column), "<u4").reshape(self.count, -1)
            for column in zip(*blocks, strict=True)
        ]


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
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"skipped: {DATA} is missing")
    recipe = replace(named_recipe(options.recipe), extractor=options.extractor)
    bands = [Bands(*map(int, size.split("x"))) for size in options.bands.split(",")]
    sets = [Pages(name, recipe, bands) for name in SETS]
    print(f"recipe {recipe.name}, extractor {recipe.extractor}, k = {recipe.distance}\n")
    print(
        f"{'set':12}{'pages':>6}{'pairs':>7}  {'bands':12}{'missed':>7}{'recall':>9}"
        f"{'per million':>13}{'own set':>9}"
    )
    for pages in sets:
        for number, each in enumerate(bands):
            own = shared(pages.blocks[number], pages.blocks[number])
            # What is made of articles-html is no other site than types-html, nor the reverse.
            others = [other for other in sets if other is not pages]
            strangers = sum(other.count for other in others)
            met = sum(
                int(shared(pages.blocks[number], other.blocks[number]).sum()) for other in others
            )
            pairs = int(pages.near.sum())
            missed = int((pages.near & ~own).sum())
            recall = f"{1 - missed / pairs:9.4f}" if pairs else f"{'-':>9}"
            print(
                f"{pages.name:12}{pages.count:6}{pairs:7}  {each!s:12}{missed:7}{recall}"
                f"{1e6 * met / (pages.count * strangers):13.1f}"
                f"{(pages.far & own).sum() / pages.far.sum():9.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
