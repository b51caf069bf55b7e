"""How long the longest script holds Redis, however much is in progress or flooded.

    python -m benchmarks.redis_scripts [--pages 100000]

While as many entries as `--pages` are provisional, as many copies of one original are claimed, 32 a
call; then every act of the life of an entry follows, and claims for pages in a bucket of as many
planted ones. *longest* is the longest command that the server reports in its SLOWLOG. Its time is
by the wall, so it is longer where other programs use the machine; *CPU* is the server's own, for
each call on the average. The rival is a SET with as many members, which is read whole for each
claim.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.redis_measuring import (
    BANDS,
    CLASSIC,
    DEFAULT,
    Table,
    batches,
    cpu_seconds,
    near_page,
    need_redis,
    pages,
    spec_of,
)
from benchmarks.redis_rivals import NaiveSets
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.values import Arrival, Entry
from scrapy_simhash.rule.facts import FACTS_SIZE
from tests.index.promises.made import Clock, at
from tests.servers import RedisServer, redis_server

BATCH = 32


def longest(server: RedisServer, act: Callable[[], None]) -> tuple[float, float, int, int]:
    """Return the CPU of a script and the longest command in ms, those over 5 ms, and over 1 ms."""
    with server.client() as client:
        client.slowlog_reset()
        client.config_resetstat()
        cpu = cpu_seconds(server)
        act()
        cpu = cpu_seconds(server) - cpu
        calls = client.info("commandstats").get("cmdstat_evalsha", {"calls": 1})["calls"]
        times = [entry["duration"] / 1000 for entry in client.slowlog_get(100_000)]
    slow = sum(time > 5 for time in times)
    return cpu / calls * 1000, max(times, default=0.0), slow, len(times)


def planted(count: int) -> Iterator[Fingerprint]:
    """Yield fingerprints far from each other, all with the same block values."""
    random = np.random.default_rng(9)
    blocks = random.bytes(4 * BANDS)
    for _ in range(count):
        yield Fingerprint(int.from_bytes(random.bytes(32), "big"), 256, blocks)


def acts(index: Index, count: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what is done, in its order."""
    made = list(pages(*DEFAULT, count, near=0.0))
    original = made[0][1]
    random = np.random.default_rng(5)
    copies = [near_page(original, 40, random) for _ in range(min(count, 2000))]
    # The original must be found.
    copies = [Fingerprint(c.value, c.bits, original.blocks) for c in copies]
    now = time.time()
    keys = [key for key, _ in made]

    def claim(fingerprints: Iterator[tuple[str, Fingerprint]]) -> None:
        for some in batches(fingerprints, BATCH):
            index.claim_all([Arrival(k, f, request="r", facts=b"f" * FACTS_SIZE) for k, f in some])

    def adopt() -> None:
        for later in itertools.count(1):
            if not at(index, now + 1000 * later).orphans() or later > 5:
                break

    yield "claims of new pages", lambda: claim(iter(made))
    cycled = itertools.islice(itertools.cycle(copies), count)
    yield "copies of one original", lambda: claim((f"c{i}", c) for i, c in enumerate(cycled))
    yield "renew", lambda: index.renew(keys)
    entries = [index.query(fingerprint)[0].entry for _, fingerprint in made[:2000]]
    yield "unsettled", lambda: [index.unsettled(entries) for _ in range(5)] and None
    yield "orphans", adopt
    yield "confirm half", lambda: index.confirm(keys[: count // 2])
    yield "release the rest", lambda: index.release(keys[count // 2 :])
    flood = [Entry(f"p{i}", f) for i, f in enumerate(planted(count))]
    yield "put planted pages", lambda: index.put(flood) and None
    late = list(planted(count + 640))[count:]
    yield "claims in a flooded bucket", lambda: claim((f"l{i}", f) for i, f in enumerate(late))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100_000)
    options = parser.parse_args()
    need_redis()
    heads = ("buckets", "act", "seconds", "CPU ms", "longest ms", "over 5 ms", "over 1 ms")
    table = Table(*heads)
    slow = ("--slowlog-log-slower-than 1000", "--slowlog-max-len 100000")
    for buckets in ("redis", "local"):
        with redis_server(*slow) as server:
            index = open_index(
                f"{server.url}?buckets={buckets}&socket_timeout=30",
                replace(spec_of(*DEFAULT), clock=Clock()),
            )
            for name, act in acts(index, options.pages):
                begun = time.monotonic()
                found = longest(server, act)
                table.row(buckets, name, time.monotonic() - begun, *found)
            index.close()
    with redis_server(*slow) as server:
        naive = NaiveSets(server.url)
        value = next(pages(*CLASSIC, 1))[1].value
        same = [
            (f"{i}", Fingerprint(value >> 16 << 16 | i % 65536, 64)) for i in range(options.pages)
        ]
        naive.fill(same)
        begun = time.monotonic()
        found = longest(server, lambda: naive.claim(same[:1]) and None)
        table.row("naive", "a claim in one bucket", time.monotonic() - begun, *found)
        naive.close()


if __name__ == "__main__":
    main()
