"""Bytes of Redis memory for each page in the index.

    python -m tests.benchmarks.redis_memory [--full] [--sizes 100000] [--only "64/3;256/48;rivals"]

The difference of INFO's used_memory, before and after the given number of originals was claimed
and confirmed; three in ten of the claimed pages are near-duplicates. Keys: `url` are addresses of
about 60 characters, `short` ones a few characters; 20 bytes of facts. Rivals: a
SET for each block value with members `hex,key` (64 bits, k = 3), and datasketch's MinHash LSH
with Redis storage (as many pages as `--documents` says, since it takes milliseconds a page).
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator

from tests.benchmarks.redis_measuring import (
    CLASSIC,
    DEFAULT,
    Page,
    Table,
    batches,
    count,
    cpu_seconds,
    need_redis,
    pages,
)
from tests.benchmarks.redis_rivals import Claimer, Datasketch, NaiveSets, Ours
from tests.servers import RedisServer, redis_server

BATCH = 256


def named(found: Iterator[Page], keys: str) -> Iterator[Page]:
    for number, (key, fingerprint) in enumerate(found):
        yield f"{number:x}" if keys == "short" else key, fingerprint


def filled(
    make: Callable[[RedisServer], Claimer], bits: int, distance: int, keys: str, size: int
) -> tuple[float, float, float]:
    """Return bytes per original, server microseconds and pages per second while filling."""
    with redis_server() as server:
        claimer = make(server)
        before, cpu, start = server.used_memory, cpu_seconds(server), time.monotonic()
        stored = offered = 0
        source = named(pages(bits, distance, 2 * size), keys)
        for batch in batches(source, BATCH):
            stored += sum(claimer.claim(batch))
            offered += len(batch)
            if stored >= size:
                break
        seconds, cpu = time.monotonic() - start, cpu_seconds(server) - cpu
        claimer.close()
        return (server.used_memory - before) / stored, cpu / offered * 1e6, offered / seconds


def ours(options: str, bits: int, distance: int) -> Callable[[RedisServer], Claimer]:
    return lambda server: Ours(f"{server.url}?{options}".rstrip("?"), bits, distance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="100k, 1M and 10M pages")
    parser.add_argument("--sizes", help="numbers of pages, separated by commas")
    parser.add_argument("--documents", type=int, default=2000, help="for datasketch")
    parser.add_argument("--only", default="64/3;256/48;rivals")
    options = parser.parse_args()
    need_redis()
    chosen = options.sizes or ("100000,1000000,10000000" if options.full else "100000")
    only = options.only.split(";")
    table = Table(
        "", "bits/k", "pages", "buckets", "keys", "bytes/page", "rival/ours", "server us", "pages/s"
    )
    lsh = None
    if "rivals" in only:
        size = options.documents
        lsh = filled(lambda server: Datasketch(*server.address), *DEFAULT, "url", size)
        table.row("datasketch", "J=.8, 128", count(size), "", "url", lsh[0], "", *lsh[1:])
    for size in map(int, chosen.split(",")):
        naive = {}
        for keys in ("url", "short") if "rivals" in only else ():
            found = filled(lambda server: NaiveSets(server.url), *CLASSIC, keys, size)
            naive[keys] = found[0]
            table.row("naive", "64/3", count(size), "", keys, found[0], "", *found[1:])
        kinds = itertools.product((CLASSIC, DEFAULT), ("", "buckets=local"), ("url", "short"))
        for (bits, distance), place, keys in kinds:
            if f"{bits}/{distance}" not in only:
                continue
            found = filled(ours(place, bits, distance), bits, distance, keys, size)
            rival = None
            if naive and lsh:
                rival = naive["short" if keys == "short" else "url"] if bits == 64 else lsh[0]
            table.row(
                "ours",
                f"{bits}/{distance}",
                count(size),
                place.removeprefix("buckets=") or "redis",
                keys,
                found[0],
                rival / found[0] if rival else "",
                *found[1:],
            )


if __name__ == "__main__":
    main()
