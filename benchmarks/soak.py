"""Whether a long crawl takes more and more memory, files or threads.

``python -m benchmarks.soak [--pages 50000]`` crawls made pages from loopback, a fifth of which are
copies: without the filter, and with an index in memory and in Redis. Memory is what is resident;
bytes a page are its growth after two fifths of the pages, when caches are full. What a crawl takes
beyond one without the filter, and beyond the index alone, should be nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.measuring import megabytes, workers
from benchmarks.redis import SPEC, admit
from benchmarks.redis import pages as arrivals
from scrapy_simhash.index import open_index
from tests import servers
from tests.pages import article, html

ADDON = {"ADDONS": {"scrapy_simhash.Addon": 500}, "SIMHASH_LOG": "{folder}/dedup.jsonl"}
COPIES = 5


async def serve() -> None:
    """Answer ``GET /<number>``; each fifth page repeats the one before."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                number = int((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1][1:])
                body = html(article(number - (number % COPIES == 0)))
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
                writer.write(head % len(body) + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def measure() -> list[float]:
    """Return bytes of this process and of its workers, and numbers of files and threads."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    of_workers = sum(map(megabytes, workers()))
    files = len([*Path("/proc/self/fd").iterdir()])
    return [megabytes() * 1e6, of_workers * 1e6, files, threading.active_count()]


def crawl(order: dict[str, Any]) -> None:
    """Crawl, in a process that is there for it, and print what it takes at each fifth."""
    from scrapy import Request, Spider, signals
    from scrapy.crawler import CrawlerProcess

    from scrapy_simhash.signals import near_duplicate

    done, count = [0], order["pages"]

    class Many(Spider):
        name = "many"

        async def start(self) -> AsyncIterator[Any]:
            for number in range(count):
                # Start requests pass the filter.
                yield Request(f"http://127.0.0.1:{order['port']}/{number}", meta={"depth": 1})

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

    def page_done() -> None:
        done[0] += 1
        if done[0] % (count // 5) == 0:
            print(json.dumps([done[0], *measure()]), flush=True)

    settings = {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "CONCURRENT_REQUESTS": 32}
    settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = 32
    process = CrawlerProcess({**settings, **order["settings"]})
    crawler = process.create_crawler(Many)
    for signal in (signals.item_scraped, near_duplicate):
        crawler.signals.connect(page_done, signal=signal, weak=False)
    process.crawl(crawler)
    process.start()


def index_alone(order: dict[str, Any]) -> None:
    """Print what an index in memory takes as it gets the originals of such a crawl."""
    index, step = open_index("memory://", SPEC), order["pages"] // 5
    made = (
        page._replace(key=f"http://127.0.0.1:40000/{number}")
        for number, page in enumerate(arrivals())
    )
    for part in range(1, 6):
        admit(index, made, step * (COPIES - 1) // COPIES, 32)
        print(json.dumps([part * step, *measure()]), flush=True)


def show(name: str, **order: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(order).replace("{folder}", folder)
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.soak", "--order", text]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    late, after, of_workers, *_ = rows[-1]
    growth = (after - rows[1][1]) / (late - rows[1][0])
    files, threads = ([row[place] for row in rows] for place in (3, 4))
    sizes = f"{after / 1e6:.0f} | {of_workers / 1e6:.0f}"
    print(f"| {name} | {growth:.0f} | {sizes} | {files} | {threads} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--order", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return asyncio.run(serve())
    if options.order:
        return crawl(options.order) if "port" in options.order else index_alone(options.order)
    print("| crawl | bytes a page | MB | MB of workers | files | threads |")
    print("| --- | ---: | ---: | ---: | --- | --- |")
    command = [sys.executable, "-m", "benchmarks.soak", "--serve"]
    with servers.redis_server() as redis, subprocess.Popen(command, stdout=-1, text=True) as site:
        assert site.stdout is not None
        try:
            order = {"pages": options.pages, "port": int(site.stdout.readline())}
            show("no filter", settings={}, **order)
            show("an index in memory", settings=ADDON, **order)
            show("Redis", settings={**ADDON, "SIMHASH_INDEX_URL": redis.url}, **order)
            show("the index in memory alone", pages=options.pages)
        finally:
            site.kill()


if __name__ == "__main__":
    main()
