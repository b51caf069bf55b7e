"""Whether old pages are forgotten while a crawl goes on, without a claim or the server waiting.

    python -m tests.benchmarks.redis_expiry [--pages 200000]

An index with ``expire=`` is filled; then the first half of it is given an age beyond that, as time
would, and as many new pages are claimed, 32 a call, as were filled. A tenth of the old pages come
again in the middle, before they are old, and must stay. *slowest* is the longest command that the
server reports (its SLOWLOG), *slow* are those over a millisecond.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence

import numpy as np

from scrapy_simhash.index import Arrival, Index, Outcome, index_from_url
from tests.benchmarks.redis_measuring import CLASSIC, DEFAULT, Page, Table, batches, need_redis
from tests.benchmarks.redis_measuring import pages as made_pages
from tests.servers import RedisServer, redis_server

BATCH = 32
EXPIRE = 30 * 86_400
SAMPLE = 500


def claim(index: Index, pages: Iterable[Page]) -> tuple[list[float], list[Page]]:
    """Claim and confirm; return the seconds of each call, and the pages that became originals."""
    times, originals = [], []
    for some in batches(pages, BATCH):
        begun = time.perf_counter()
        claims = index.claim_all([Arrival(*page) for page in some])
        index.confirm([key for key, _ in some])
        times.append(time.perf_counter() - begun)
        originals += [
            page
            for page, claim in zip(some, claims, strict=True)
            if claim.outcome is Outcome.ORIGINAL
        ]
    return times, originals


def age(server: RedisServer, positions: int) -> int:
    """Let the segments before a position be frozen long ago; return how many pages that are."""
    with server.client() as client:
        (key,) = client.scan_iter("{*}:frozen", count=1000)
        segments = [int(number) for number in client.hkeys(key) if number.isdigit()]
        size = int(client.hget(key.replace(b"frozen", b"meta"), "segment"))
        old = [number for number in segments if (number + 1) * size <= positions]
        client.hset(key, mapping=dict.fromkeys(old, time.time() - 2 * EXPIRE))
        return len(old) * size


def known(index: Index, pages: Sequence[Page]) -> float:
    """Return the share of a sample of pages that the index has."""
    step = max(len(pages) // SAMPLE, 1)
    found = [bool(index.query(fingerprint)) for _, fingerprint in pages[::step]]
    return sum(found) / len(found)


def measure(table: Table, bits: int, distance: int, buckets: str, number: int) -> None:
    with redis_server("--slowlog-log-slower-than 1000", "--slowlog-max-len 100000") as server:
        url = f"{server.url}?buckets={buckets}&expire=30d"

        def opened() -> Index:
            return index_from_url(
                url, recipe="benchmark", bits=bits, distance=distance, expected_pages=number
            )

        index = opened()
        before, filled = claim(index, made_pages(bits, distance, number, seed=1))
        entries, memory = len(index), server.info("memory")["used_memory"]
        old = age(server, entries // 2)
        # A worker asks for the age of the log's parts once a minute.
        index.close()
        index = opened()
        again = filled[:old:10]
        claim(index, again)
        with server.client() as client:
            client.slowlog_reset()
        during, _ = claim(index, made_pages(bits, distance, number, seed=2))
        with server.client() as client:
            slow = [entry["duration"] / 1000 for entry in client.slowlog_get(100_000)]
        quick, late = np.array(before) * 1000, np.array(during) * 1000
        rest = [page for place, page in enumerate(filled[:old]) if place % 10]
        table.row(
            *(f"{bits}/{distance}", buckets, entries, old, len(index)),
            *(known(index, rest), known(index, again)),
            known(index, filled[old:]),
            *(float(np.quantile(quick, 0.99)), float(np.quantile(late, 0.99)), float(late.max())),
            *(len(slow), float(max(slow, default=0))),
            *(memory / 1e6, server.info("memory")["used_memory"] / 1e6),
        )
        index.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=200_000)
    options = parser.parse_args()
    need_redis()
    table = Table(
        *("bits/k", "buckets", "pages", "grown old", "pages after as many new ones"),
        *("old ones found", "seen again found", "young ones found"),
        *("p99 ms a call", "p99 while forgetting", "longest"),
        *("slow", "slowest ms", "MB before", "MB after"),
    )
    for bits, distance in (CLASSIC, DEFAULT):
        for buckets in ("local", "redis"):
            measure(table, bits, distance, buckets, options.pages)


if __name__ == "__main__":
    main()
