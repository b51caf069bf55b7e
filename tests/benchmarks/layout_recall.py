"""How many true neighbours the planned layout finds, on real pages.

    python tests/benchmarks/layout_recall.py [--recipe default] [--pages 100000,1000000]

The pages of ../shared/data/docs-html. A neighbour is a pair of different fingerprints within the
distance, by a full scan; it is found if a probe of one meets an exact address of the other.
Candidates are those of a real page among synthetic fingerprints, in which each bit is one as often
as in the real ones; 200,000 stand for as many as are expected.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from pathlib import Path

import numpy as np

from scrapy_simhash.detector import analyse_html
from scrapy_simhash.fingerprint.blocks import plan_layout
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint

DATA = Path(__file__).parents[3] / "shared" / "data" / "docs-html" / "docs.jsonl.xz"
SYNTHETIC = 200_000


def real_fingerprints(recipe: Recipe) -> list[Fingerprint]:
    found = {}
    with lzma.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            fingerprint = analyse_html(json.loads(line)["html"], recipe).fingerprint
            if fingerprint is not None:
                found[fingerprint.value] = fingerprint
    return list(found.values())


def bits_of(fingerprints: list[Fingerprint]) -> np.ndarray:
    packed = b"".join(fingerprint.to_bytes() for fingerprint in fingerprints)
    return np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(fingerprints), -1), axis=1)


def words_of(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits.astype(np.bool_), axis=1).view(">u8").astype(np.uint64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--bits", type=int)
    parser.add_argument("--distance", type=int)
    parser.add_argument("--pages", default="100000,1000000,10000000", help="expected pages")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: {DATA} is missing")
    recipe = named_recipe(options.recipe, bits=options.bits, distance=options.distance)
    fingerprints = real_fingerprints(recipe)
    bits = bits_of(fingerprints).astype(np.float32)
    distances = np.rint(bits @ (1 - bits).T + (1 - bits) @ bits.T).astype(np.int64)
    ones, others = np.nonzero((distances > 0) & (distances <= recipe.distance))
    far = distances[ones, others]
    random = np.random.default_rng(0)
    synthetic = random.random((SYNTHETIC, recipe.bits), np.float32) < bits.mean(axis=0)
    print(f"{len(fingerprints)} different fingerprints of recipe {recipe.name}, {len(far)} pairs")
    print(f"{'expected':>9} {'recall':>7} {'>.75k':>7} {'>.95k':>7} {'candidates':>11}  layout")
    for pages in map(int, options.pages.split(",")):
        layout = plan_layout(recipe.bits, recipe.distance, pages)
        probes = [layout.probe(fingerprint) for fingerprint in fingerprints]
        addresses = layout.addresses(words_of(bits))
        found = np.array(
            [
                (addresses[other][probes[one][0]] == probes[one][1]).any()
                for one, other in zip(ones, others, strict=True)
            ]
        )
        stacked = np.stack(
            [
                np.bincount(column, minlength=1 << layout.width)
                for column in layout.addresses(words_of(synthetic)).T
            ]
        )
        sizes = [stacked[blocks, probed].sum() for blocks, probed in probes]
        recall = [found[far > share * recipe.distance].mean() for share in (0, 0.75, 0.95)]
        print(
            f"{pages:9} {recall[0]:7.4f} {recall[1]:7.4f} {recall[2]:7.4f} "
            f"{np.mean(sizes) * pages / SYNTHETIC:11.0f}  {layout}",
            flush=True,
        )


if __name__ == "__main__":
    main()
