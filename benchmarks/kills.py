"""Clusters that a crawl loses when crawlers are killed and callbacks fail, with the filter or not.

    python -m benchmarks.kills [--clusters 40] [--kills 4] [--seeds 3]

Three processes of one spider share a queue of scrapy-redis and an index in Redis. Each
cluster has three copies; a callback takes up to half a second, and two of five fail,
chosen by the address. As the crawl goes on, crawlers are killed (-9) and started again.
The same seeds run with the filter and without it. A cluster is lost if nobody delivered
a page of it, although one of its callbacks succeeds: *by a kill*, if killed crawlers
had taken all such pages from the queue, as scrapy-redis itself loses them; else *by the
filter*.

It fails if the filter loses a cluster, if it delivers more than 1.25 pages of each
(what a killed crawler had delivered last may come again), or if the crawlers do not
share one index."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks import mutants  # noqa: F401 - puts a fault into the index, if one is named
from benchmarks.measuring import Table
from tests.pages import article, html
from tests.servers import redis_server

ROOT = Path(__file__).resolve().parents[1]
CRAWLERS, COPIES, FAILING = 3, 3, 0.4
# Seconds after which a crawl is given up.
PATIENCE = 120.0
ENDS = ("delivered", "failed")
# Pages of a cluster that crawlers with the filter deliver at most, on average.
MOST_PAGES = 1.25


class Event(NamedTuple):
    """A request was ``taken`` from the queue or ``put`` there, its page was
    ``downloaded`` or ``ignored``, or its callback ``delivered`` it or ``failed``."""

    what: str
    path: str
    process: int


def chance(what: str, path: str) -> float:
    """Return a number from 0 to 1 that an address always has."""
    return Random(f"{what} {path}").random()


def succeeds(path: str) -> bool:
    return chance("fails", path) >= FAILING


def crawl(url: str, events: str, pages: list[str], is_on: bool) -> None:
    """Crawl, in the process that is there for it, and write down what happens."""
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess
    from scrapy.exceptions import IgnoreRequest
    from scrapy.http import HtmlResponse
    from scrapy_redis.scheduler import Scheduler

    def note(what: str, url: str) -> str:
        path = url.rpartition("/")[2]
        with Path(events).open("a") as file:
            file.write(f"{what} {path} {os.getpid()}\n")
        return path

    class Queue(Scheduler):  # type: ignore[misc]
        def enqueue_request(self, request: Any) -> Any:
            is_new = super().enqueue_request(request)
            if is_new:
                note("put", request.url)
            return is_new

        def next_request(self) -> Any:
            request = super().next_request()
            if request is not None:
                note("taken", request.url)
            return request

    class Made:
        """Downloads pages that are made here, and sees which requests are ignored."""

        lazy = False

        @classmethod
        def from_crawler(cls, crawler: Any) -> Made:
            return cls()

        async def download_request(self, request: Any, spider: Any = None) -> Any:
            path = note("downloaded", request.url)
            await asyncio.sleep(0.01)
            body = html(article(int(path.partition("-")[0])))
            headers = {"Content-Type": "text/html"}
            return HtmlResponse(
                request.url, headers=headers, body=body, request=request
            )

        def process_exception(
            self, request: Any, exception: Any, spider: Any = None
        ) -> None:
            if isinstance(exception, IgnoreRequest):
                note("ignored", request.url)

        async def close(self) -> None:
            pass

    class Pages(Spider):
        name = "pages"

        async def start(self) -> AsyncIterator[Any]:
            for path in pages:
                yield Request(f"http://a.test/{path}", meta={"depth": 1})

        async def parse(self, response: Any) -> AsyncIterator[Any]:
            path = response.url.rpartition("/")[2]
            await asyncio.sleep(chance("slow", path) / 2)
            note("delivered" if succeeds(path) else "failed", path)
            if not succeeds(path):
                raise RuntimeError("it fails")
            yield {"path": path}

    settings: dict[str, Any] = {
        "SCHEDULER": Queue,
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": url,
        "DOWNLOAD_HANDLERS": {"http": Made},
        "DOWNLOADER_MIDDLEWARES": {Made: 546},
        "CONCURRENT_REQUESTS": 8,
        "LOG_LEVEL": "CRITICAL",
        "TELNETCONSOLE_ENABLED": False,
        "SIMHASH_PROCESSES": 0,
        "SIMHASH_LEASE": 3,
    }
    if is_on:
        settings["ADDONS"] = {"scrapy_simhash.Addon": 500}
    process = CrawlerProcess(settings)
    process.crawl(Pages)
    process.start()


def cluster_of(path: str) -> str:
    return path.partition("-")[0]


def read(events: Path) -> list[Event]:
    rows = (
        [line.split() for line in events.read_text().splitlines()]
        if events.exists()
        else []
    )
    return [Event(row[0], row[1], int(row[2])) for row in rows if len(row) == 3]


class Crawl(NamedTuple):
    """Events, the processes that were killed, and what is left in Redis: requests, and indexes."""

    events: list[Event]
    killed: set[int]
    left: int
    indexes: int

    def lost(self, clusters: int) -> Counter[bool]:
        """Return how many clusters were lost, by whether it was by a kill."""
        delivered = {
            cluster_of(event.path) for event in self.events if event.what == "delivered"
        }
        lost = Counter[bool]()
        for cluster in map(str, range(clusters)):
            paths = [f"{cluster}-{copy}" for copy in range(COPIES)]
            paths = [path for path in paths if succeeds(path)]
            if paths and cluster not in delivered:
                lost[all(is_lost_by_kill(path, self) for path in paths)] += 1
        return lost


def run(clusters: int, kills: int, seed: int, is_on: bool) -> Crawl:
    rng = Random(seed)
    pages = [
        f"{cluster}-{copy}" for cluster in range(clusters) for copy in range(COPIES)
    ]
    rng.shuffle(pages)
    killed: set[int] = set()
    with redis_server() as server, tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events"

        def start(paths: list[str]) -> subprocess.Popen[bytes]:
            order = json.dumps([server.url, str(events), paths, is_on])
            command = [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "benchmarks.kills",
                "--order",
                order,
            ]
            return subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
            )

        crawlers = [start(pages[number::CRAWLERS]) for number in range(CRAWLERS)]
        try:
            for kill in range(kills):
                # A crawl with the filter takes another time, so its progress says when.
                share = (kill + rng.random()) / kills
                while any(crawler.poll() is None for crawler in crawlers):
                    seen = read(events)
                    begun = {event.path for event in seen if event.what == "put"}
                    ended = {
                        cluster_of(event.path) for event in seen if event.what in ENDS
                    }
                    # What was never in the queue is no loss of the queue.
                    if len(begun) == len(pages) and len(ended) >= share * clusters:
                        break
                    time.sleep(0.05)
                number = rng.randrange(CRAWLERS)
                crawlers[number].kill()
                crawlers[number].wait()
                killed.add(crawlers[number].pid)
                crawlers[number] = start([])
            for crawler in crawlers:
                crawler.wait(PATIENCE)
        finally:
            for crawler in crawlers:
                crawler.kill()
                crawler.wait()
        with server.client() as client:
            left = client.zcard("pages:requests")
            indexes = len(client.keys("{*}:meta"))
        return Crawl(read(events), killed, left, indexes)


def is_lost_by_kill(path: str, crawl: Crawl) -> bool:
    """Return whether a crawler had a request in its hands when it was killed."""
    events = [event for event in crawl.events if event.path == path]
    if events[-1].what == "put":
        # Whoever took it from the queue was killed before it could write that down.
        return not crawl.left
    last = max(number for number, event in enumerate(events) if event.what == "taken")
    process = events[last].process
    # Another crawler may write down late that it has put the request into the queue.
    later = {event.what for event in events[last:] if event.process == process}
    if process not in crawl.killed or "put" in later:
        return False
    # Each look at a waiting copy is noted as ignored a second later, perhaps after the
    # next one.
    whats = Counter(event.what for event in events if event.process == process)
    return whats["ignored"] < whats["taken"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clusters", type=int, default=40)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--order", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        return crawl(*options.order)
    columns = ("downloads", "pages delivered", "clusters delivered", "indexes")
    table = Table("seed", "filter", *columns, "lost by a kill", "lost by the filter")
    is_broken = False
    for seed in range(1, 1 + options.seeds):
        for is_on in (False, True):
            crawled = run(options.clusters, options.kills, seed, is_on)
            counts = Counter(event.what for event in crawled.events)
            delivered = {
                cluster_of(e.path) for e in crawled.events if e.what == "delivered"
            }
            lost, pages = crawled.lost(options.clusters), counts["delivered"]
            figures = (counts["downloaded"], pages, len(delivered), crawled.indexes)
            table.row(seed, "on" if is_on else "off", *figures, lost[True], lost[False])
            is_bad = (
                lost[False] > 0
                or pages > MOST_PAGES * len(delivered)
                or crawled.indexes != 1
            )
            is_broken |= is_on and is_bad
    return sys.exit(is_broken)


if __name__ == "__main__":
    main()
