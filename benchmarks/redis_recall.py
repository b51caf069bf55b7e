"""How many true neighbours the index in Redis finds among many pages.

    python -m benchmarks.redis_recall [--full] [--pages 100000] [--recipes classic,default]

The index gets the pages of ../shared/data/docs-html, in three orders and scopes, between as many
made ones as `--pages` says. In each scope, every page asks for its neighbours; a full scan of the
real pages says which there are. Made pages are near nothing, and any that is found is counted as
false. The rival is the set of pages that a scan of the same fingerprints finds, which is the truth.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.documents import DATA, html_of
from benchmarks.redis_measuring import Table, blocks_of, count, need_redis
from scrapy_simhash.core.analysis import analyse_html
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.neighbours import unpacked
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.offline.saved_pages import read_pages
from tests.servers import redis_server

ORDERS = 3


def real_fingerprints(recipe: Recipe) -> list[Fingerprint]:
    found = {}
    for page in read_pages(DATA / "docs-html"):
        fingerprint = analyse_html(html_of(page), recipe).fingerprint
        if fingerprint is not None:
            found[fingerprint.value] = fingerprint
    return list(found.values())


def made(number: int, recipe: Recipe) -> Iterator[Entry]:
    random = np.random.default_rng(0)
    for i in range(number):
        value = int.from_bytes(random.bytes(recipe.bits // 8), "big")
        own = Fingerprint(value, recipe.bits, blocks_of(value, recipe.bits, random))
        yield Entry(f"made/{i}", own, str(i % ORDERS))


def entries(real: list[Fingerprint], recipe: Recipe, size: int) -> Iterator[Entry]:
    random = np.random.default_rng(1)
    others = made(size, recipe)
    for scope in range(ORDERS):
        for i in random.permutation(len(real)):
            yield Entry(f"real/{i}", real[i], str(scope))
            for _ in range(size // (ORDERS * len(real))):
                yield next(others)
    yield from others


def measured(recipe: Recipe, real: list[Fingerprint], size: int, query: str) -> tuple[object, ...]:
    words, _ = unpacked(b"".join([own.to_bytes() for own in real]), recipe.bits, 0)
    pairs = found = false = 0
    with redis_server() as server:
        spec = IndexSpec(recipe.identity, recipe.bits, recipe.distance, recipe.blocks.count)
        index = open_index(f"{server.url}?socket_timeout=30&{query}".rstrip("&"), spec)
        stored = index.put(entries(real, recipe, size))
        for scope in map(str, range(ORDERS)):
            for i, own in enumerate(real):
                distances = np.bitwise_count(words ^ words[i]).sum(axis=1, dtype=np.int64)
                true = {f"real/{j}" for j in np.flatnonzero(distances <= recipe.distance)}
                got = {near.key for near in index.query(own, scope=scope)}
                pairs += len(true) - 1
                found += len(got & true) - 1
                false += len(got - true)
        flooded = index.flooded
        index.close()
    return stored, pairs, found / max(pairs, 1), false, flooded, str(recipe.blocks)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="100k and 1M pages")
    parser.add_argument("--pages", help="numbers of pages, separated by commas")
    parser.add_argument("--recipes", default="classic,default")
    parser.add_argument("--query", default="", help="of the index URL, such as buckets=local")
    options = parser.parse_args()
    sizes = [100_000, 1_000_000] if options.full else [100_000]
    if options.pages:
        sizes = [int(size) for size in options.pages.split(",")]
    need_redis()
    if not DATA.exists():
        sys.exit(f"skipped: {DATA} is missing")
    table = Table("recipe", "made", "pages", "pairs", "found", "false", "floods", "layout")
    for name in options.recipes.split(","):
        recipe = named_recipe(name)
        real = real_fingerprints(recipe)
        for size in sizes:
            table.row(name, count(size), *measured(recipe, real, size, options.query))


if __name__ == "__main__":
    main()
