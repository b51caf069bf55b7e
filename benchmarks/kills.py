"""Clusters that a crawl loses when crawlers are killed and callbacks fail, with the filter or not.

    python -m benchmarks.kills [--clusters 200] [--kills 30] [--failing 0.3] [--seed 1]

Four processes of one spider share an index in Redis. Each page of a cluster of three is another
crawler's, at about the same time, and its callback takes up to a second, so that copies wait for
originals of other crawlers. Some callbacks fail, chosen by the address. A crawler is killed (-9)
once it has got so many pages, and goes on behind them. A last crawl of no pages of its own adopts
what is left. The rows are told apart by the filter alone: seed, kills and failures are the same.

*Lost*: nobody delivered a page of the cluster. *Lost by the filter*: the crawl without it did
deliver one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

from benchmarks.redis_measuring import Table, need_redis
from scrapy_simhash.index import decision
from tests.pages import article, html
from tests.servers import redis_server

ROOT = Path(__file__).resolve().parents[1]
CRAWLERS, COPIES = 4, 3
LEASE = 3.0
LIMIT = 600.0


def chance(path: str, what: str) -> float:
    """Return a number from 0 to 1 that an address always has."""
    return Random(f"{what} {path}").random()


class Got:
    """Notes each page that arrives, before the filter sees it."""

    def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:
        note("got", request.url)
        return response


def note(what: str, url: str) -> None:
    line = f"{what} /{url.split('/', 3)[3]}\n".encode()
    file = os.open(os.environ["KILLS_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line)
    os.close(file)


class Killed(Spider):
    name = "killed"

    def __init__(self, base: str, paths: list[str], failing: float) -> None:
        super().__init__()
        self.base, self.paths, self.failing = base, paths, failing

    async def start(self) -> AsyncIterator[Any]:
        for place, path in enumerate(self.paths):
            yield Request(self.base + path, meta={"depth": 1}, priority=-place)

    async def parse(self, response: Any) -> Any:
        path = response.url.removeprefix(self.base)
        await asyncio.sleep(chance(path, "slow"))
        if chance(path, "fails") < self.failing:
            raise RuntimeError("the callback fails")
        note("delivered", response.url)
        yield {"path": path}


def crawl(order: dict[str, Any]) -> None:
    if order["waiting"] == "in memory":
        decision.MAX_WAITING = -1
    settings: dict[str, Any] = {
        "LOG_LEVEL": "CRITICAL",
        "CONCURRENT_REQUESTS": 4,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
        "DOWNLOADER_MIDDLEWARES": {Got: 546},
        "SIMHASH_PROCESSES": 0,
        "SIMHASH_LEASE": LEASE,
        "SIMHASH_INDEX_URL": order["index"],
        "TELNETCONSOLE_ENABLED": False,
    }
    if order["waiting"] != "no filter":
        settings["ADDONS"] = {"scrapy_simhash.Addon": 500}
    process = CrawlerProcess(settings)
    process.crawl(Killed, base=order["base"], paths=order["paths"], failing=order["failing"])
    process.start()


class Pages:
    """Serves the pages of all clusters: /cluster/copy."""

    def __init__(self, clusters: int) -> None:
        bodies = {
            f"/{number}/{copy}": html(article(number))
            for number in range(clusters)
            for copy in range(COPIES)
        }

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                body = bodies[self.path]
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                pass  # a crawler was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


class Crawler:
    """A process that is killed and started again."""

    def __init__(self, order: dict[str, Any], file: Path, kills: list[int]) -> None:
        self.order, self.file, self.kills = order, file, sorted(kills)
        self.process = self.start(order["paths"])

    def start(self, paths: list[str]) -> subprocess.Popen[bytes]:
        order = json.dumps(self.order | {"paths": paths})
        command = [sys.executable, "-m", "benchmarks.kills", "--crawl", order]
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "KILLS_FILE": str(self.file)})

    def noted(self, what: str) -> list[str]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [path for kind, path in map(str.split, lines) if kind == what]

    def look(self) -> bool:
        """Kill it if it is time, and start it again; return whether it has work."""
        if self.process.poll() is not None:
            return False
        got = set(self.noted("got"))
        if self.kills and len(got) >= self.kills[0]:
            self.kills.pop(0)
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = self.start([p for p in self.order["paths"] if p not in got])
        return True


def run(args: argparse.Namespace, base: str, waiting: str) -> Counter[str]:
    """Return how often each cluster was delivered."""
    random = Random(args.seed)
    paths: list[list[str]] = [[] for _ in range(CRAWLERS)]
    for number in range(args.clusters):
        for copy, crawler in enumerate(random.sample(range(CRAWLERS), COPIES)):
            paths[crawler].append(f"/{number}/{copy}")
    kills: list[list[int]] = [[] for _ in range(CRAWLERS)]
    for _ in range(args.kills):
        crawler = random.randrange(CRAWLERS)
        kills[crawler].append(random.randrange(5, len(paths[crawler])))
    with redis_server() as server, tempfile.TemporaryDirectory() as folder:
        # A busy machine is slow, and a store that is away would let pages through.
        index = f"{server.url}?socket_timeout=20&socket_connect_timeout=20"
        order = {"base": base, "index": index, "waiting": waiting, "failing": args.failing}
        crawlers = [
            Crawler(order | {"paths": own}, Path(folder) / str(n), kills[n])
            for n, own in enumerate(paths)
        ]
        until = time.monotonic() + LIMIT
        while [c for c in crawlers if c.look()] and time.monotonic() < until:
            time.sleep(0.02)
        if waiting != "no filter":
            time.sleep(LEASE + 1)
            crawlers.append(Crawler(order | {"paths": []}, Path(folder) / "last", []))
            crawlers[-1].process.wait(LIMIT)
        for crawler in crawlers:
            crawler.process.kill()
            crawler.process.wait()
        pages = {path for crawler in crawlers for path in crawler.noted("delivered")}
    return Counter(path.split("/")[1] for path in pages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--failing", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crawl")
    args = parser.parse_args()
    if args.crawl:
        crawl(json.loads(args.crawl))
        return
    need_redis()
    base = Pages(args.clusters).url
    table = Table("the filter", "clusters delivered", "lost by the filter", "kept twice")
    plain = run(args, base, "no filter")
    table.row("none", len(plain), "", "")
    for waiting, name in (
        ("in memory", "copies wait in memory alone"),
        ("beside the lease", "one waits beside the lease"),
    ):
        found = run(args, base, waiting)
        twice = sum(count > 1 for count in found.values())
        table.row(name, len(found), len(plain.keys() - found.keys()), twice)


if __name__ == "__main__":
    main()
