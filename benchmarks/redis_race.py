"""Who becomes an original when six crawlers claim near-duplicates at the same moment.

    python -m benchmarks.redis_race [--clusters 4000] [--copies 1] [--only "redis;naive"]

Six processes wait for each other before each claim; their pages differ in two bits. As many of each
cluster should be admitted as are asked for. Each scheme has servers of its own; `naive` is what
most projects do, a SET for each block value, read and then write. In batches, a process claims
eight clusters in one call, each process in another order.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.redis_measuring import (
    CLASSIC,
    DEFAULT,
    SLICES,
    Table,
    batches,
    blocks_of,
    need_redis,
)
from benchmarks.redis_rivals import Claimer, NaiveSets, Ours
from scrapy_simhash.fingerprint.simhash import Fingerprint
from tests import servers

PROCESSES = 6
# The way, the width and distance, the pages of a call.
RACES = {
    "redis": (CLASSIC, 1),
    "redis 256/48": (DEFAULT, 1),
    "redis, batches": (CLASSIC, 8),
    "redis, local": (CLASSIC, 1),
    "redis 256/48, local, batches": (DEFAULT, 8),
    "redis, local, batches": (CLASSIC, 8),
    "rediss": (CLASSIC, 1),
    "unix": (CLASSIC, 1),
    "sentinel": (CLASSIC, 1),
    "cluster": (CLASSIC, 1),
    "cluster, local": (CLASSIC, 1),
    "cluster, batches": (CLASSIC, 8),
    "naive": (CLASSIC, 1),
    "sqlite": (CLASSIC, 1),
    "sqlite 256/48, batches": (DEFAULT, 8),
}


@contextlib.contextmanager
def store(way: str) -> Iterator[str]:
    """Start what a way needs; the value is the URL of the index."""
    kind = way.split(",")[0].split()[0]
    local = "buckets=local" if ", local" in way else ""
    if kind == "rediss":
        with servers.tls_server() as server:
            yield f"{server.url}&{local}"
    elif kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/index.sqlite"
    elif kind == "unix":
        with servers.redis_server() as server:
            yield f"{server.unix_url}&{local}"
    else:
        started: Any = {"sentinel": servers.sentinel, "cluster": servers.cluster}
        with started.get(kind, servers.redis_server)() as server:
            yield f"{server.url}?{local}".rstrip("?")


def claimer(way: str, url: str, bits: int, distance: int, copies: int) -> Claimer:
    return NaiveSets(url) if way == "naive" else Ours(url, bits, distance, copies)


def member(cluster: int, number: int, bits: int) -> Fingerprint:
    """The page of a process in a cluster: one bit from the centre."""
    chance = np.random.default_rng(cluster)
    value = int.from_bytes(chance.bytes(bits // 8), "big")
    blocks = blocks_of(value, bits, chance)
    value ^= 1 << (number * 7 + cluster) % bits
    return Fingerprint(value, bits, SLICES.of(value) if bits == 64 else blocks)


def race(
    way: str, url: str, clusters: int, copies: int, number: int, start: Any, results: Any
) -> None:
    (bits, distance), size = RACES[way]
    order = random.Random(number)
    admitted = []
    try:
        crawler = claimer(way, url, bits, distance, copies)
        for batch in batches(range(clusters), size):
            order.shuffle(batch)
            pages = [(f"{i}/{number}", member(i, number, bits)) for i in batch]
            start.wait()
            new = crawler.claim(pages)
            admitted += [i for i, is_new in zip(batch, new, strict=True) if is_new]
        start.wait()
        crawler.close()
        results.put(admitted)
    except BaseException as error:
        start.abort()
        results.put(f"{type(error).__name__}: {error}")
        raise


def run(way: str, url: str, clusters: int, copies: int) -> tuple[Counter[int], float]:
    """Return how often each cluster was admitted, and the seconds it took."""
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Barrier(PROCESSES, timeout=60), spawn.Queue()
    crawlers = [
        spawn.Process(target=race, args=(way, url, clusters, copies, number, start, results))
        for number in range(PROCESSES)
    ]
    began = time.monotonic()
    for crawler in crawlers:
        crawler.start()
    found: Counter[int] = Counter()
    failures = []
    for _ in crawlers:
        admitted = results.get(timeout=600)
        if isinstance(admitted, str):
            failures.append(admitted)
        else:
            found.update(admitted)
    for crawler in crawlers:
        crawler.join()
    if failures:
        raise RuntimeError("; ".join(sorted(set(failures))))
    return found, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=4000)
    parser.add_argument("--copies", type=int, default=1, help="pages of a cluster that are kept")
    parser.add_argument("--only", help="some of: " + "; ".join(RACES) + " (separated by ;)")
    options = parser.parse_args()
    need_redis()
    table = Table("", "clusters", "as asked", "fewer", "more", "extra", "seconds")
    for way in options.only.split(";") if options.only else RACES:
        with store(way) as url:
            found, seconds = run(way, url, options.clusters, options.copies)
        asked = sum(times == options.copies for times in found.values())
        more = sum(times > options.copies for times in found.values())
        extra = sum(max(0, times - options.copies) for times in found.values())
        table.row(
            way,
            options.clusters,
            asked,
            options.clusters - asked - more,
            more,
            f"{extra / options.clusters:.1%}",
            round(seconds),
        )


if __name__ == "__main__":
    main()
