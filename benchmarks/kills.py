"""Clusters that a crawl loses when crawlers are killed and callbacks fail, with the filter or not.

    python -m benchmarks.kills [--clusters 40] [--kills 4] [--seeds 3]

Three processes of one spider share a queue of scrapy-redis and an index in Redis. Each cluster has
three copies; a callback takes up to half a second, and two of five fail, chosen by the address. A
crawler is killed (-9) at random moments, and started again. The same seeds run with the filter and
without it. *Lost*: nobody delivered a page of the cluster, although one of its callbacks succeeds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

from tests.pages import article, html
from tests.servers import redis_server

ROOT = Path(__file__).resolve().parents[1]
CRAWLERS, COPIES, FAILING = 3, 3, 0.4
# Seconds after which a crawl is given up.
PATIENCE = 120.0


def chance(what: str, path: str) -> float:
    """Return a number from 0 to 1 that an address always has."""
    return Random(f"{what} {path}").random()


def crawl(url: str, notes: str, pages: list[str], is_on: bool) -> None:
    """Crawl, in the process that is there for it, and note what is downloaded and delivered."""
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess
    from scrapy.http import HtmlResponse

    def note(what: str, path: str) -> None:
        with Path(notes).open("a") as file:
            file.write(f"{what} {path}\n")

    class Made:
        """Downloads pages that are made here."""

        lazy = False

        @classmethod
        def from_crawler(cls, crawler: Any) -> Made:
            return cls()

        async def download_request(self, request: Any, spider: Any = None) -> Any:
            path = request.url.rpartition("/")[2]
            note("downloaded", path)
            await asyncio.sleep(0.01)
            body, headers = (
                html(article(int(path.partition("-")[0]))),
                {"Content-Type": "text/html"},
            )
            return HtmlResponse(request.url, headers=headers, body=body, request=request)

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
            if chance("fails", path) < FAILING:
                raise RuntimeError("it fails")
            note("delivered", path)
            yield {"path": path}

    settings: dict[str, Any] = {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": url,
        "DOWNLOAD_HANDLERS": {"http": Made},
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


def run(clusters: int, kills: int, seed: int, is_on: bool) -> dict[str, list[str]]:
    """Return the pages that were downloaded, and those that were delivered."""
    rng = Random(seed)
    pages = [f"{cluster}-{copy}" for cluster in range(clusters) for copy in range(COPIES)]
    rng.shuffle(pages)
    with redis_server() as server, tempfile.TemporaryDirectory() as folder:
        notes = str(Path(folder) / "notes")

        def start(own: list[str]) -> subprocess.Popen[bytes]:
            order = json.dumps([server.url, notes, own, is_on])
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.kills", "--order", order]
            return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

        crawlers = [start(pages[number::CRAWLERS]) for number in range(CRAWLERS)]
        for _ in range(kills):
            time.sleep(2 + rng.random())
            number = rng.randrange(CRAWLERS)
            crawlers[number].kill()
            crawlers[number].wait()
            crawlers[number] = start([])
        for crawler in crawlers:
            crawler.wait(PATIENCE)
        lines = [line.split() for line in Path(notes).read_text().splitlines()]
    return {what: [p for w, p in lines if w == what] for what in ("downloaded", "delivered")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clusters", type=int, default=40)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--order", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        return crawl(*options.order)
    print(
        "| seed | filter | clusters delivered | downloads | copies delivered | lost by the filter |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for seed in range(1, options.seeds + 1):
        without: set[str] = set()
        for is_on in (False, True):
            pages = run(options.clusters, options.kills, seed, is_on)
            delivered = {path.partition("-")[0] for path in pages["delivered"]}
            copies = len(pages["delivered"]) - len(delivered)
            lost = len(without - delivered) if is_on else "–"
            cells = (len(delivered), len(pages["downloaded"]), copies, lost)
            name = "on" if is_on else "off"
            print(f"| {seed} | {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
            without = without or delivered
    return None


if __name__ == "__main__":
    main()
