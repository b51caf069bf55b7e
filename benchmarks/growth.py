"""Does memory grow in a long crawl, beyond what the index needs?

Run as ``python -m benchmarks.growth [--pages 1000000] [--only "no filter;memory://"]``.
Small generated pages, all different, through one crawl process and its worker, without the filter
and with it; 64 requests at a time, each page asks for the next. Bytes a page are from the second
tenth of the crawl to its end. Scrapy grows by itself: its dupefilter keeps 40 characters for each
request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.crawl import children, rss_of

CHAINS = 64
WAYS: dict[str, dict[str, Any]] = {
    "no filter": {"SIMHASH_ENABLED": False},
    "memory://": {"SIMHASH_INDEX_URL": "memory://"},
    "sqlite": {"SIMHASH_INDEX_URL": "sqlite:///index.sqlite"},
}


@cache
def words() -> list[str]:
    chance = random.Random(0)
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(20_000)]


def page(number: int) -> bytes:
    """Return a page of six paragraphs that has hardly a word order in common with another."""
    chosen = random.Random(number).choices(words(), k=150)
    lines = (f"<p>{' '.join(chosen[i : i + 25])}, and so on.</p>" for i in range(0, 150, 25))
    return f"<html><body><h1>{number}</h1><article>{''.join(lines)}</article></body>".encode()


class _Server(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        body = page(int(data[len("GET /") : data.index(b" HTTP")]))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
        self._transport.write(head % len(body) + body)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _crawl(order: dict[str, Any]) -> None:
    """Crawl, in the process that is there for it; print the memory at each tenth."""
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess

    pages = order["pages"]
    begun = time.monotonic()

    class Chains(Spider):
        name = "chains"
        done = 0

        async def start(self) -> Any:
            for number in range(CHAINS):
                yield self.page(number)

        def page(self, number: int) -> Request:
            return Request(f"http://127.0.0.1:{order['port']}/{number}", cb_kwargs={"n": number})

        def parse(self, response: Any, n: int) -> Any:
            self.done += 1
            if self.done % (pages // 10) == 0:
                sizes = rss_of("self"), sum(map(rss_of, children()))
                dropped = self.crawler.stats.get_value("simhash/dropped", 0)
                seconds = time.monotonic() - begun
                print(json.dumps([self.done, *sizes, dropped, seconds]), flush=True)
            if n + CHAINS < pages:
                yield self.page(n + CHAINS)

    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "CONCURRENT_REQUESTS": CHAINS,
            "CONCURRENT_REQUESTS_PER_DOMAIN": CHAINS,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            **order["settings"],
        }
    )
    process.crawl(Chains)
    process.start()


def run(settings: dict[str, Any], port: int, pages: int) -> list[list[float]]:
    """Crawl in a process of its own; return pages, RSS of crawl and workers in MB, dropped, s."""
    order = {"settings": settings, "port": port, "pages": pages}
    command = [sys.executable, "-m", "benchmarks.growth", "--order", json.dumps(order)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(__file__).resolve().parents[1]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(root)},
        ) as crawl:
            assert crawl.stdout is not None
            found = []
            for line in crawl.stdout:
                print(line, end="", file=sys.stderr, flush=True)  # a million pages take an hour
                found.append(json.loads(line))
    if crawl.returncode:
        sys.exit(f"the crawl ended with status {crawl.returncode}")
    return found


def main() -> None:
    """Crawl each way, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=100_000, help="pages of each crawl")
    parser.add_argument("--only", default=";".join(WAYS), help="ways, separated by ;")
    parser.add_argument("--order", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        return _crawl(json.loads(options.order))
    if options.serve:
        return asyncio.run(_serve())
    print(
        f"{'':12}{'pages':>9}{'pages/s':>9}{'dropped':>9}{'crawl MB':>10}{'worker MB':>11}"
        f"{'crawl B/page':>14}{'worker B/page':>15}"
    )
    serve = [sys.executable, "-m", "benchmarks.growth", "--serve"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        for name in options.only.split(";"):
            found = run(WAYS[name], port, options.pages)
            begin, end = found[1], found[-1]
            more = end[0] - begin[0]
            crawl, worker = ((end[i] - begin[i]) * 1e6 / more for i in (1, 2))
            print(
                f"{name:12}{end[0]:9.0f}{end[0] / end[4]:9.0f}{end[3]:9.0f}{end[1]:10.0f}"
                f"{end[2]:11.0f}{crawl:14.0f}{worker:15.0f}",
                flush=True,
            )
        server.kill()
    return None


if __name__ == "__main__":
    main()
