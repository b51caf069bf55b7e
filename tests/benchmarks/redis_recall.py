"""How many true neighbours the index in Redis finds among many pages.

    python -m tests.benchmarks.redis_recall [--full] [--pages 100000] [--recipes classic,default]

The index is filled with the pages of ../shared/data/docs-html, in three orders, each in a scope of
its own, and then with synthetic fingerprints, in which each bit is one as often as in those pages.
In each scope, every page asks for its neighbours; a full scan of what the index holds says which
there are, and which it must find because they are within the layout's guaranteed distance.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, index_from_url
from tests.benchmarks.layout_recall import DATA, bits_of, real_fingerprints
from tests.benchmarks.redis_measuring import Table, batches, count, need_redis
from tests.servers import redis_server

ORDERS = 3
BATCH = 256


def synthetic(number: int, real: list[Fingerprint]) -> Iterator[Fingerprint]:
    """Yield fingerprints with the bit statistics of the real ones."""
    random = np.random.default_rng(0)
    bits = real[0].bits
    chances = bits_of(real).mean(axis=0)
    for start in range(0, number, 10_000):
        size = min(10_000, number - start)
        packed = np.packbits(random.random((size, bits), np.float32) < chances, axis=1)
        for row in packed:
            yield Fingerprint(int.from_bytes(row.tobytes(), "big"), bits)


def arrivals(real: list[Fingerprint], size: int) -> Iterator[Arrival]:
    random = np.random.default_rng(1)
    for scope in range(ORDERS):
        for i in random.permutation(len(real)):
            yield Arrival(f"real/{scope}/{i}", real[i], str(scope))
    for i, fingerprint in enumerate(synthetic(size, real)):
        yield Arrival(f"synthetic/{i}", fingerprint, str(i % ORDERS))


def words(fingerprints: list[Fingerprint]) -> np.ndarray:
    packed = b"".join(fingerprint.to_bytes() for fingerprint in fingerprints)
    return np.frombuffer(packed, ">u8").reshape(len(fingerprints), -1).astype(np.uint64)


def ones(values: np.ndarray) -> np.ndarray:
    """Count the ones of each uint64."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(values)
    return np.unpackbits(values.view(np.uint8).reshape(*values.shape, 8), axis=-1).sum(axis=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="100k and 1M pages")
    parser.add_argument("--pages", help="numbers of pages, separated by commas")
    parser.add_argument("--recipes", default="classic,compact,default")
    parser.add_argument("--query", default="", help="of the index URL, such as buckets=local")
    options = parser.parse_args()
    sizes = [100_000, 1_000_000] if options.full else [100_000]
    if options.pages:
        sizes = [int(size) for size in options.pages.split(",")]
    need_redis()
    if not DATA.exists():
        sys.exit(f"skipped: {DATA} is missing")
    table = Table(
        *("recipe", "pages", "pairs <= guaranteed", "found", "pairs <= k", "found"),
        *("duplicates found", "false", "layout"),
    )
    for name in options.recipes.split(","):
        recipe = named_recipe(name)
        real = real_fingerprints(recipe)
        for size in sizes:
            table.row(name, count(size), *measured(recipe, real, size, options.query))


def measured(recipe: Recipe, real: list[Fingerprint], size: int, query: str) -> tuple[object, ...]:
    with redis_server() as server:
        index = index_from_url(
            f"{server.url}?{query}".rstrip("?"),
            recipe=recipe.identity,
            bits=recipe.bits,
            distance=recipe.distance,
            expected_pages=size,
        )
        # The real pages first: the newest entries are compared without buckets.
        for batch in batches(arrivals(real, size), BATCH):
            index.claim_all(batch)
            index.confirm([arrival.key for arrival in batch])
        sure = index.layout.guaranteed_distance
        pairs: Counter[str] = Counter()
        found: Counter[str] = Counter()
        false = 0
        entries = list(index)
        for scope in map(str, range(ORDERS)):
            stored = [entry for entry in entries if entry.scope == scope]
            values = words([entry.fingerprint for entry in stored])
            for i, fingerprint in enumerate(real):
                key = f"real/{scope}/{i}"
                distances = ones(values ^ words([fingerprint])).sum(axis=1, dtype=np.int64)
                true = {
                    stored[place].key: int(distances[place])
                    for place in np.flatnonzero(distances <= recipe.distance)
                    if stored[place].key != key
                }
                got = {match.key for match in index.query(fingerprint, scope=scope)} - {key}
                false += len(got - set(true))
                for other, distance in true.items():
                    for kind in ("sure", "all") if distance <= sure else ("all",):
                        pairs[kind] += 1
                        found[kind] += other in got
                pairs["duplicates"] += bool(true)
                found["duplicates"] += bool(got & set(true))
        layout = str(index.layout)
        index.close()
    share = {kind: f"{found[kind] / max(pairs[kind], 1):.4f}" for kind in pairs}
    return (
        f"{pairs['sure']} (<= {sure})",
        share["sure"],
        pairs["all"],
        share["all"],
        share["duplicates"],
        false,
        layout,
    )


if __name__ == "__main__":
    main()
