"""Whether a claim that was acknowledged outlives a crash of Redis.

    python -m tests.benchmarks.redis_restarts [--full] [--claims 100000] [--query buckets=local]

Redis writes its AOF and is killed (-9) and started again each time another tenth of the claims is
done, at any moment of a call. A call that fails is made again, as a crawl would. After each
restart every page whose claim and confirmation were acknowledged so far claims again: it must be
a revisit (or the duplicate it was), else it was lost. `appendfsync everysec` may lose the last
second by its definition; `always` may not.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Arrival, Index, Outcome, StoreUnavailable
from tests.benchmarks.redis_measuring import (
    CLASSIC,
    DEFAULT,
    Table,
    batches,
    blocks_of,
    count,
    need_redis,
    spec_of,
)
from tests.servers import RedisServer, redis_server

BATCH = 64
KILLS = 10
T = TypeVar("T")


class Crasher:
    """Kills the server in the middle of a call, in a thread, and starts it again."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._thread: threading.Thread | None = None
        self.seconds = 0.0

    def crash_soon(self) -> None:
        self._thread = threading.Thread(target=self._crash)
        self._thread.start()

    def join(self) -> None:
        if self._thread:
            self._thread.join()

    def _crash(self) -> None:
        time.sleep(random.random() / 20)
        self._server.kill()
        start = time.monotonic()
        self._server.start()
        self.seconds += time.monotonic() - start


def again(act: Callable[[], T]) -> T:
    """Do it until the store is there."""
    while True:
        try:
            return act()
        except StoreUnavailable:
            time.sleep(0.02)


def fingerprint(number: int, bits: int) -> Fingerprint:
    chance = np.random.default_rng(number)
    value = int.from_bytes(chance.bytes(bits // 8), "big")
    return Fingerprint(value, bits, blocks_of(value, bits, chance))


def lost(index: Index, numbers: Iterable[int], bits: int) -> set[int]:
    """Claim the pages again, and return those that are new to the index."""
    missing = set()
    for batch in batches(numbers, BATCH):
        arrivals = [Arrival(str(number), fingerprint(number, bits)) for number in batch]
        claims = again(lambda arrivals=arrivals: index.claim_all(arrivals))
        missing |= {
            number
            for number, claim in zip(batch, claims, strict=True)
            if claim.outcome is Outcome.ORIGINAL
        }
        index.release([arrival.key for arrival in arrivals])
    return missing


def run(
    query: str, bits: int, distance: int, claims: int, fsync: str
) -> tuple[int, int, int, float]:
    """Return how many restarts there were, pages lost, calls that failed, seconds of loading."""
    options = ("--appendonly yes", f"--appendfsync {fsync}")
    with redis_server(*options) as server:
        index = open_index(f"{server.url}?{query}".rstrip("?"), spec_of(bits, distance))
        crasher = Crasher(server)
        failed = restarts = 0
        missing: set[int] = set()
        done: list[int] = []
        for batch in batches(range(claims), BATCH):
            if batch[0] // (claims // KILLS) > restarts:
                crasher.crash_soon()
                restarts += 1
            arrivals = [
                Arrival(str(number), fingerprint(number, bits), request="again") for number in batch
            ]
            for act in (
                lambda arrivals=arrivals: index.claim_all(arrivals),
                lambda arrivals=arrivals: index.confirm([a.key for a in arrivals]),
            ):
                try:
                    act()
                except StoreUnavailable:
                    failed += 1
                    again(act)
            done += batch
            if len(done) // (claims // KILLS) > (len(done) - len(batch)) // (claims // KILLS):
                crasher.join()
                missing |= lost(index, done, bits)
        crasher.join()
        missing |= lost(index, done, bits)
        index.close()
        return restarts, len(missing), failed, crasher.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="1M claims")
    parser.add_argument("--claims", type=int)
    parser.add_argument("--query", help="of the index URL, such as buckets=local")
    options = parser.parse_args()
    need_redis()
    claims = options.claims or (1_000_000 if options.full else 100_000)
    table = Table(
        "bits/k", "URL", "appendfsync", "claims", "restarts", "calls failed", "lost", "s loading"
    )
    for query in ["", "buckets=local"] if options.query is None else [options.query]:
        for (bits, distance), fsync in (
            (CLASSIC, "always"),
            (CLASSIC, "everysec"),
            (DEFAULT, "always"),
        ):
            restarts, missing, failed, seconds = run(query, bits, distance, claims, fsync)
            table.row(
                *(f"{bits}/{distance}", f"redis://…?{query}".rstrip("?"), fsync, count(claims)),
                *(restarts, failed, missing, round(seconds, 1)),
            )


if __name__ == "__main__":
    main()
