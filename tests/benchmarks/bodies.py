"""What it costs that an index remembers the bodies of pages, and what it saves.

    python -m tests.benchmarks.bodies [--pages 600] [--rounds 3]

First the memory itself, with random fingerprints and a claim of a new page beside it: microseconds
of CPU of this process and of the server for each page, 32 in a call as under load, and the bytes of
a full memory, by the difference of INFO's used_memory or of the file. Then real pages of docs-html
and articles-html, 64 asked about at a time, judged with one worker process: all by one worker,
then all again, at other addresses, by another; with the memory and without, in turn, medians over
the rounds. Times are of the clock, and of the CPU of the worker and its process, whose start is in
it. The data is read from ``../shared/data`` beside the checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from unittest import mock

from scrapy.settings import Settings

from scrapy_simhash.analysis.worker import Body
from scrapy_simhash.crawl.judge import Judge
from scrapy_simhash.crawl.progress import Deliveries
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, StoredIndex, base, index_from_url
from scrapy_simhash.settings import FilterSettings
from tests.benchmarks.crawl import DATA, read_pages
from tests.benchmarks.redis_measuring import CLASSIC, DEFAULT, Table, cpu_seconds, need_redis
from tests.servers import RedisServer, redis_server

TOGETHER = 32
CONCURRENT = 64
RECIPE = named_recipe("default")


class Cost:
    """CPU microseconds of this process and of the server, for each page of what it surrounds."""

    def __init__(self, server: RedisServer, pages: int) -> None:
        self._server, self._pages = server, pages

    def _now(self) -> tuple[float, float]:
        return time.process_time(), cpu_seconds(self._server)

    def __enter__(self) -> Cost:
        self._begun = self._now()
        return self

    def __exit__(self, *about: object) -> None:
        self.each = [
            f"{(end - begun) / self._pages * 1e6:.1f}"
            for begun, end in zip(self._begun, self._now(), strict=True)
        ]


def size(server: RedisServer, path: Path, index: StoredIndex) -> int:
    """Return the bytes of what holds the index; of one in RAM those of its database."""
    if not path.exists():
        return sum(index.census().sizes.values()) or server.used_memory
    return path.stat().st_size


def memory_of_bodies(table: Table, server: RedisServer, bits: int, k: int, place: str) -> None:
    """Fill a memory of bodies, measure it, and print a row."""
    with tempfile.TemporaryDirectory() as folder, server.client() as client:
        client.flushall()
        path = Path(folder, "index.sqlite")
        url = {"memory": "memory://", "SQLite": f"sqlite:///{path}"}.get(place, server.url)
        url += "?buckets=local" if place == "Redis, buckets=local" else ""
        index = index_from_url(url, recipe="test", bits=bits, distance=k)
        source = random.Random(1)
        pages = [Fingerprint(source.getrandbits(bits), bits) for _ in range(2 * base.BODIES)]
        digests = [source.randbytes(8) for _ in pages]
        in_redis = place.startswith("Redis")
        before = server.used_memory if in_redis else size(server, path, index)

        def parts(first: int, last: int) -> Iterator[slice]:
            return (slice(at, at + TOGETHER) for at in range(first, last, TOGETHER))

        # To where it is as full as it gets, and forgets as fast as it learns.
        for some in parts(0, len(pages)):
            index.note_bodies(dict(zip(digests[some], pages[some], strict=True)))
        if place == "SQLite":
            index.close()
            index = index_from_url(url, recipe="test", bits=bits, distance=k)
        full = server.used_memory if in_redis else size(server, path, index)
        remembered = index.census().bodies
        count = 6400
        with Cost(server, count) as note:
            for some in parts(0, count):
                index.note_bodies(dict(zip(digests[some], pages[some], strict=True)))
        with Cost(server, count) as hit:
            for some in parts(0, count):
                found = index.find_bodies(digests[some])
        assert None not in found
        with Cost(server, count) as miss:
            for some in parts(0, count):
                index.find_bodies([digest[::-1] for digest in digests[some]])
        with Cost(server, count) as claim:
            for some in parts(0, count):
                arrivals = [Arrival(str(page), page, request="{}") for page in pages[some]]
                index.claim_all(arrivals)
                index.confirm([arrival.key for arrival in arrivals])
        index.close()
    each = (full - before) / remembered
    cells = [
        " + ".join(cost.each if in_redis else cost.each[:1]) for cost in (claim, miss, hit, note)
    ]
    table.row(bits, place, remembered, f"{(full - before) / 1e6:.1f}", each, *cells)


@contextlib.contextmanager
def judging(url: str, remembers: bool) -> Iterator[tuple[Judge, Deliveries]]:
    """A worker; without the memory, it neither asks nor notes."""
    about = FilterSettings.from_settings(Settings({"SIMHASH_INDEX_URL": url}))
    index = about.open_index()
    patched = (
        contextlib.nullcontext() if remembers else mock.patch("scrapy_simhash.crawl.judge.Body", ())
    )
    with patched:
        deliveries = Deliveries(index, items=False)
        judge = Judge(about, index, deliveries)
        try:
            yield judge, deliveries
        finally:
            judge.close()


async def judge_all(judge: Judge, deliveries: Deliveries, pages: Sequence[Body]) -> None:
    """Have all pages judged, so many at a time as a crawl does."""
    slots = asyncio.Semaphore(CONCURRENT)

    async def one(page: Body) -> None:
        async with slots:
            assert page.url is not None
            verdict = await judge.ask(page, key=page.url, scope="", request="{}")
        if verdict.kind in ("unique", "revisit"):
            deliveries.begin(page.url)
            deliveries.end(page.url, failed=False)

    await asyncio.gather(*map(one, pages))
    await asyncio.wrap_future(judge.run(deliveries.flush))


def cpu() -> float:
    """Return seconds of CPU of this process and of the children that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def seconds(url: str, pages: Sequence[Body], remembers: bool) -> list[float]:
    """Return ms of the clock and of CPU a page, for one worker and then for another."""
    found = []
    for host in ("one.example", "another.example"):
        asked = [page._replace(url=f"http://{host}/{n}") for n, page in enumerate(pages)]
        busy = cpu()
        with judging(url, remembers) as worker:
            # Bytes that nobody has seen start the process.
            first = asked[0]._replace(body=asked[0].body + f"<!-- {host} -->".encode())
            asyncio.run(judge_all(*worker, [first]))
            begun = time.perf_counter()
            asyncio.run(judge_all(*worker, asked[1:]))
            found.append((time.perf_counter() - begun) / len(asked) * 1e3)
        found.append((cpu() - busy) / len(asked) * 1e3)
    return found


def real_pages(table: Table, server: RedisServer, place: str, pages: int, rounds: int) -> None:
    """Have real pages judged by two workers, and print a row for each way."""
    chosen = [
        Body(body, "utf-8" if "utf-8" in content_type else None, None)
        for body, content_type in itertools.islice(read_pages(), pages)
    ]
    runs: dict[bool, list[list[float]]] = {False: [], True: []}
    for _ in range(rounds):
        for remembers, found in runs.items():
            with tempfile.TemporaryDirectory() as folder, server.client() as client:
                client.flushall()
                url = server.url if place.startswith("Redis") else f"sqlite:///{folder}/index"
                url += "?buckets=local" if place == "Redis, buckets=local" else ""
                found.append(seconds(url, chosen, remembers))
    for remembers, found in runs.items():
        table.row(place, "with" if remembers else "without", *map(median, zip(*found, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    need_redis()
    with redis_server() as server:
        table = Table(
            "bits",
            "index",
            "bodies",
            "MB",
            "bytes each",
            "claim us",
            "new us",
            "known us",
            "note us",
        )
        for bits, k in (CLASSIC, DEFAULT):
            for place in ("memory", "SQLite", "Redis", "Redis, buckets=local"):
                memory_of_bodies(table, server, bits, k, place)
        if not DATA.is_dir():
            return print(f"skipped: there is no {DATA}")
        print()
        table = Table("index", "memory", "new: ms", "CPU ms", "again: ms", "CPU ms")
        for place in ("SQLite", "Redis", "Redis, buckets=local"):
            real_pages(table, server, place, options.pages, options.rounds)
    return None


if __name__ == "__main__":
    main()
