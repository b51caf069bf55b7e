"""Holds the model of ``scrapy simhash plan`` against a real Redis and a SQLite file.

    python -m tests.benchmarks.sizing [--pages 100000] [--recipe default --recipe classic]

Bytes are the difference of INFO's used_memory, or the size of the file. Times are CPU microseconds
for a new page, in an index that holds so many; pages are claimed and confirmed 32 at a time, as a
busy crawl does. Exit status 1 where the model's bytes in Redis are more than 15% off.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, Entry, Index, index_from_url
from scrapy_simhash.offline.sizing import size_up
from tests.benchmarks.redis_measuring import Page, Table, batches, cpu_seconds, need_redis, pages
from tests.servers import RedisServer, redis_server

WARM_UP, CLAIMS = 96, 1920
ALLOWED = 0.15
KEY = 64  # mean length of the addresses


def fresh(recipe: Recipe, count: int, seed: int) -> list[Page]:
    """Pages that are near no other."""
    # With distance 0 the near ones are those that repeat another exactly; they are left out.
    found = pages(recipe.bits, 0, 2 * count, seed=seed)
    seen: set[int] = set()
    chosen = []
    for key, own in found:
        if own.value not in seen:
            seen.add(own.value)
            chosen.append((key, own))
        if len(chosen) == count:
            break
    return chosen


def bodies(found: list[Page]) -> dict[bytes, Fingerprint]:
    """What a crawl notes of the bodies of pages."""
    return {blake2b(key.encode(), digest_size=8).digest(): own for key, own in found}


def fill(index: Index, found: list[Page]) -> None:
    for batch in batches(found, 2000):
        index.restore([Entry(key, own, "", 1_700_000_000.0, False) for key, own in batch])
        for some in batches(batch, 32):
            index.note_bodies(bodies(some))


def claim(index: Index, found: list[Page]) -> float:
    """Return CPU microseconds of this process for each."""
    begun = time.process_time()
    for some in batches(found, 32):
        noted = bodies(some)
        index.find_bodies(list(noted))
        index.claim_all([Arrival(key, own, request="{}") for key, own in some])
        index.note_bodies(noted)
        index.confirm([key for key, _ in some])
    return (time.process_time() - begun) / len(found) * 1e6


def opened(url: str, recipe: Recipe, size: int) -> Index:
    return index_from_url(
        url,
        recipe=recipe.identity,
        bits=recipe.bits,
        distance=recipe.distance,
        expected_pages=size,
    )


def measured(
    server: RedisServer, query: str, recipe: Recipe, found: list[Page], new: list[Page]
) -> tuple[int, float, float, float]:
    """Return bytes of Redis; microseconds of worker and server, and bytes sent, for a new page."""
    before = server.used_memory
    index = opened(f"{server.url}?{query}", recipe, len(found))
    fill(index, found)
    size = server.used_memory - before
    claim(index, new[:WARM_UP])
    cpu, sent = cpu_seconds(server), server.sent
    own = claim(index, new[WARM_UP:])
    cpu, sent = (cpu_seconds(server) - cpu) / CLAIMS * 1e6, (server.sent - sent) / CLAIMS
    index.close()
    return size, own, cpu, sent


def in_a_file(recipe: Recipe, found: list[Page], new: list[Page]) -> tuple[int, float]:
    """Return bytes of the file, and microseconds for a new page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "i.sqlite"
        index = opened(f"sqlite:///{path}", recipe, len(found))
        fill(index, found)
        claim(index, new[:WARM_UP])
        own = claim(index, new[WARM_UP:])
        index.close()
        return path.stat().st_size, own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--recipe", action="append")
    options = parser.parse_args()
    need_redis()
    table = Table(
        *("recipe", "store", "MB", "model", "off by"),
        *("worker us", "model", "Redis us", "model", "KB sent", "model"),
    )
    worst = 0.0
    for name in options.recipe or ("default", "compact", "classic"):
        recipe = named_recipe(name)
        sizing = size_up(recipe.spec, recipe.bits, recipe.distance, options.pages, KEY)
        found, new = fresh(recipe, options.pages, 1), fresh(recipe, WARM_UP + CLAIMS, 2)
        for place, keys in itertools.product(("redis", "local"), ("url", "digest")):
            with redis_server() as server:
                query = f"buckets={place}&keys={keys}"
                size, own, cpu, sent = measured(server, query, recipe, found, new)
            model = sizing.redis[place, keys]
            worst = max(worst, abs(model / size - 1))
            table.row(
                *(name, query, size / 1e6, model / 1e6, f"{model / size - 1:+.0%}"),
                *(own, sizing.check[place], cpu, sizing.redis_server[place]),
                *(sent / 1e3, sizing.read / 1e3 if place == "redis" else ""),
            )
        size, own = in_a_file(recipe, found, new)
        off = f"{sizing.file / size - 1:+.0%}"
        table.row(
            *(name, "SQLite file", size / 1e6, sizing.file / 1e6, off),
            *(own, sizing.check["local"], "", "", "", ""),
        )
    sys.exit(worst > ALLOWED)


if __name__ == "__main__":
    main()
