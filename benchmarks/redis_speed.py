"""Claims per second, and what a claim costs the server.

    python -m benchmarks.redis_speed [--full] [--sizes 100000] [--only "naive;redis 64/3"]

Each way fills a server of its own with the given number of originals, then claims more: one client
page by page, one in calls of 32 pages, 8 clients in threads, 6 in processes. Three in ten of those
pages are near-duplicates; originals are confirmed in batches. `server us` is the CPU time of
redis-server per page, `client us` that of the clients; p50 and p99 are what a call takes in
microseconds; `bytes` what an original holds in Redis after the filling (its key is an address).
Naive: a SET for each block value, read and then write. datasketch: its MinHash LSH, which takes
milliseconds a page, and its turn only if ``--only`` names it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.redis_measuring import (
    Page,
    Table,
    batches,
    count,
    cpu_seconds,
    need_redis,
    pages,
)
from benchmarks.redis_rivals import Claimer, Datasketch, NaiveSets, Ours
from tests.servers import RedisServer, redis_server

# Calls of each client; their first ones, which open connections and load scripts, do not count.
CALLS = {
    "1 client": 4000,
    "1 client, 32 a call": 250,
    "8 threads": 600,
    "6 processes": 1500,
    "6 processes, 32 a call": 100,
}
WARM_UP = 5


@dataclass(frozen=True)
class Way:
    """A way to claim, and what it claims."""

    bits: int
    distance: int
    options: str = ""
    rival: type[NaiveSets] | type[Datasketch] | None = None

    def claimer(self, url: str) -> Claimer:
        if self.rival is not None:
            return self.rival(url)
        return Ours(url + self.options, self.bits, self.distance)

    def pages(self, number: int, seed: int) -> list[Page]:
        return list(pages(self.bits, self.distance, number, seed=seed))


WAYS = {
    "naive": Way(64, 3, rival=NaiveSets),
    "redis 64/3": Way(64, 3),
    "local 64/3": Way(64, 3, "?buckets=local"),
    "redis 256/48": Way(256, 48),
    "local 256/48": Way(256, 48, "?buckets=local"),
    "datasketch": Way(256, 48, rival=Datasketch),
}


def client(
    way: Way, url: str, mode: str, seed: int, wait: Callable[[], Any]
) -> tuple[list[float], float]:
    """Claim, and return the microseconds of each call, and the CPU time of all in seconds."""
    per_call = 32 if "32" in mode else 1
    calls = list(batches(way.pages(per_call * (CALLS[mode] + WARM_UP), seed), per_call))
    claimer = way.claimer(url)
    for call in calls[:WARM_UP]:
        claimer.claim(call)
    wait()
    times, cpu = [], time.thread_time()
    for call in calls[WARM_UP:]:
        start = time.perf_counter()
        claimer.claim(call)
        times.append((time.perf_counter() - start) * 1e6)
    cpu = time.thread_time() - cpu
    wait()
    claimer.close()
    return times, cpu


def in_process(way: Way, url: str, mode: str, seed: int, barrier: Any, out: Any) -> None:
    try:
        out.put(client(way, url, mode, seed, barrier.wait))
    except BaseException as error:
        barrier.abort()
        out.put(f"{type(error).__name__}: {error}")
        raise


def run(
    way: Way, server: RedisServer, mode: str, seed: int
) -> tuple[float, float, float, float, float]:
    """Return claims per second, microseconds of server and client, p50 and p99 of a call."""
    clients = 8 if "threads" in mode else 6 if "processes" in mode else 1
    threads = "processes" not in mode
    spawn = multiprocessing.get_context("spawn")
    barrier: Any = (threading if threads else spawn).Barrier(clients + 1, timeout=600)
    out: Any = spawn.Queue()
    crawlers = [
        (threading.Thread if threads else spawn.Process)(
            target=in_process, args=(way, server.url, mode, seed + i, barrier, out)
        )
        for i in range(clients)
    ]
    for crawler in crawlers:
        crawler.start()
    barrier.wait()
    start, cpu = time.perf_counter(), cpu_seconds(server)
    barrier.wait()
    seconds, cpu = time.perf_counter() - start, cpu_seconds(server) - cpu
    results = [out.get(timeout=600) for _ in crawlers]
    for crawler in crawlers:
        crawler.join()
    if failures := [failure for failure in results if isinstance(failure, str)]:
        raise RuntimeError("; ".join(failures))
    flat = np.concatenate([times for times, _ in results])
    clients_cpu = sum(seconds for _, seconds in results)
    claims = len(flat) * (32 if "32" in mode else 1)
    p50, p99 = np.percentile(flat, [50, 99])
    each = 1e6 / claims
    return claims / seconds, cpu * each, clients_cpu * each, float(p50), float(p99)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="100k, 1M and 10M pages")
    parser.add_argument("--sizes", help="numbers of pages, separated by commas")
    usual = ";".join(name for name in WAYS if name != "datasketch")
    parser.add_argument("--only", default=usual, help="ways, separated by ;")
    parser.add_argument("--calls", default=";".join(CALLS), help="some of the calls, the same way")
    options = parser.parse_args()
    need_redis()
    chosen = options.sizes or ("100000,1000000,10000000" if options.full else "100000")
    table = Table(
        *("", "pages", "clients", "claims/s", "server us", "client us", "p50", "p99"),
        *("speed / naive", "server us / naive", "bytes"),
    )
    for size in map(int, chosen.split(",")):
        naive: dict[str, tuple[float, ...]] = {}
        for name in options.only.split(";"):
            way = WAYS[name]
            with redis_server() as server:
                empty = server.used_memory
                filler = way.claimer(server.url)
                originals = pages(way.bits, way.distance, size, near=0.0)
                for batch in batches(originals, 256):
                    filler.fill(batch)
                filler.close()
                each = (server.used_memory - empty) / size
                for number, mode in enumerate(options.calls.split(";"), 1):
                    found = run(way, server, mode, 100 * number)
                    if way.rival is NaiveSets:
                        naive[mode] = found
                    beside = naive.get(mode) if way.bits == 64 else None
                    table.row(
                        name,
                        count(size),
                        mode,
                        *(f"{figure:,.0f}" for figure in found),
                        found[0] / beside[0] if beside else "",
                        found[1] / beside[1] if beside else "",
                        each,
                    )


if __name__ == "__main__":
    main()
