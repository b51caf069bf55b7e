"""What a crawl costs with the filter: CPU and memory of all processes, beside other ways.

``python -m benchmarks.crawl [--pages N] [--rounds N]`` crawls pages from loopback, each
time in a process of its own: a spider that extracts fields, without the filter, with
it, and with a pipeline that compares the text of trafilatura by the package simhash.
The ways follow each other in each round; figures are medians over the rounds, and
ratios compare neighbours. The first pages do not count, because they start workers and
fill caches.

``--growth`` measures whether a long crawl of made pages takes more and more memory,
files or threads: bytes a page are its growth after two fifths of the pages, when caches
are full. What it takes beyond a crawl without the filter, and beyond the index alone,
should be nothing.

Otherwise the pages are those of ../shared/data (articles-html, and one release of
docs-html); where that folder is missing, those of the example's newspapers.
"""

import argparse
import base64
import contextlib
import ctypes
import gc
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring import ROOT, Table, cpu_of, in_a_process, megabytes, workers

RELEASE = "bookworm"
WARM_UP = 100
# Of the made pages, each fifth repeats the one before.
COPIES = 5

Answer = tuple[int, dict[str, str], bytes]
ADDON = {"ADDONS": {"scrapy_simhash.Addon": 500}}
WAYS: dict[str, dict[str, Any]] = {
    "no filter": {},
    "scrapy-simhash": ADDON,
    "scrapy-simhash, a file": {
        **ADDON,
        "SIMHASH_INDEX_URL": "sqlite:///{folder}/index.sqlite",
    },
    "trafilatura and PyPI simhash": {
        "ITEM_PIPELINES": {"benchmarks.crawl.SimhashPipeline": 1}
    },
}
LOGGED = {**ADDON, "SIMHASH_LOG": "{folder}/dedup.jsonl"}


class SimhashPipeline:
    """The rival as its manuals have it, in the crawl."""

    def __init__(self) -> None:
        from benchmarks.rivals import by_simhash

        self.is_near = by_simhash()

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        from scrapy.exceptions import DropItem

        if self.is_near(item["url"], item["html"]):
            raise DropItem("a near-duplicate")
        return item


def read_pages() -> Iterator[Answer]:
    """Yield the answers that have the pages."""
    from benchmarks.documents import DATA, lines_of

    if not DATA.is_dir():
        sys.path.insert(0, str(ROOT / "example_project"))
        from example.site.newsroom import Newsroom

        for page in Newsroom().pages.values():
            if page.answer.content_type.startswith("text/html"):
                yield 200, {"Content-Type": page.answer.content_type}, page.answer.body
        return
    for name in ("docs-html", "articles-html"):
        for page in lines_of(name):
            if name == "docs-html" and RELEASE not in page["id"]:
                continue
            if "html" in page:
                yield (
                    200,
                    {"Content-Type": "text/html; charset=utf-8"},
                    page["html"].encode(),
                )
            else:
                yield (
                    200,
                    {"Content-Type": "text/html"},
                    base64.b64decode(page["html_base64"]),
                )


def _made_page(request: Any) -> Answer:
    from tests.pages import article, html

    number = int(request.path[1:])
    body = html(article(number - (number % COPIES == 0)))
    return 200, {"Content-Type": "text/html"}, body


def _serve(count: int) -> None:
    """Serve so many made pages, or the real ones, under their numbers."""
    from tests.conftest import Site

    site = Site()
    if count:
        site.pages = {f"/{number}": _made_page for number in range(count)}
    else:
        pages = [*read_pages()]
        # Each kind of page is spread over the run; 389 has no divisor in common with
        # their number.
        site.pages = {f"/{n}": pages[n * 389 % len(pages)] for n in range(len(pages))}
    print(json.dumps([site.url, len(site.pages)]), flush=True)
    threading.Event().wait()


@contextlib.contextmanager
def serving(count: int = 0) -> Iterator[tuple[str, int]]:
    """Serve pages from a process of its own; yield its URL and the number of pages."""
    command = [sys.executable, "-m", "benchmarks.crawl", "--serve", str(count)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdout is not None
        try:
            yield tuple(json.loads(server.stdout.readline()))
        finally:
            server.kill()


def measured(order: dict[str, Any]) -> Any:
    """Crawl in a process of its own, and return what it has measured."""
    with tempfile.TemporaryDirectory() as folder:
        return in_a_process(
            "crawl", json.loads(json.dumps(order).replace("{folder}", folder))
        )


def _taken() -> dict[str, float]:
    """Return what this process and its workers hold: MB, files and threads."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return {
        "memory": megabytes(),
        "of_workers": sum(map(megabytes, workers())),
        "files": len([*Path("/proc/self/fd").iterdir()]),
        "threads": threading.active_count(),
    }


def _index_alone(count: int) -> None:
    """Print what an index in memory takes as it gets the originals of a crawl."""
    from benchmarks.redis import SPEC, admit, pages
    from scrapy_simhash.index import open_index

    index, fifths = open_index("memory://", SPEC), []
    named = (
        page._replace(key=f"http://127.0.0.1:40000/{number}")
        for number, page in enumerate(pages())
    )
    for _ in range(5):
        admit(index, named, count // 5 * (COPIES - 1) // COPIES, 32)
        fifths.append(_taken())
    print(json.dumps(fifths))


def _now() -> tuple[float, float, float]:
    """Return seconds: of the clock, of this process's CPU, and of that of its workers."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    of_workers = sum(map(cpu_of, workers()))
    return time.perf_counter(), usage.ru_utime + usage.ru_stime, of_workers


def _crawl(order: dict[str, Any]) -> None:
    """Crawl, in the process that is there for it, and print what was measured."""
    from scrapy import Request, Spider, signals
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    from scrapy_simhash.signals import near_duplicate

    count, report, begun, done = order["count"], dict[str, float](), list[float](), [0]
    grows, fifths = order.get("grows", False), list[dict[str, float]]()

    class Ordinary(Spider):
        name = "ordinary"
        links = LinkExtractor()

        async def start(self) -> AsyncIterator[Any]:
            for number in range(count):
                # Copies among start requests would be followed, and not dropped.
                depth = {"depth": 1} if grows else None
                yield Request(f"{order['url']}/{number}", meta=depth)

        def parse(self, response: Any) -> Any:
            yield {
                "url": response.url,
                "html": response.text,
                "title": response.css("title::text").get(),
                "heading": response.css("h1::text").getall(),
                "text": response.xpath("//p//text()").getall(),
                "links": [link.url for link in self.links.extract_links(response)],
            }

    def page_done() -> None:
        done[0] += 1
        if grows and done[0] % (count // 5) == 0:
            fifths.append(_taken())
        elif grows:
            return
        elif done[0] == WARM_UP:
            begun[:] = _now()
        elif done[0] == count:
            seconds, cpu, of_workers = (
                b - a for a, b in zip(begun, _now(), strict=True)
            )
            number = count - WARM_UP
            report.update(
                cpu=1000 * cpu / number,
                workers=1000 * of_workers / number,
                speed=number / seconds,
                memory=megabytes(),
                of_workers=sum(map(megabytes, workers())),
            )

    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": 32,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            **order["settings"],
        }
    )
    crawler = process.create_crawler(Ordinary)
    # An item is scraped or dropped when pipelines are done with it; a copy has none.
    for signal in (signals.item_scraped, signals.item_dropped, near_duplicate):
        crawler.signals.connect(page_done, signal=signal, weak=False)
    process.crawl(crawler)
    process.start()
    print(json.dumps(fifths or report))


def growth(count: int) -> None:
    """Print what long crawls of made pages take more with each page."""
    from tests.servers import redis_server

    table = Table("crawl", "bytes a page", "MB", "MB of workers", "files", "threads")
    with redis_server() as redis, serving(count) as (url, _):
        on_redis = {**LOGGED, "SIMHASH_INDEX_URL": redis.url}
        ways = {"no filter": {}, "an index in memory": LOGGED, "Redis": on_redis}
        orders: dict[str, dict[str, Any]] = {
            name: {"url": url, "count": count, "grows": True, "settings": settings}
            for name, settings in ways.items()
        }
        for name, order in {
            **orders,
            "the index in memory alone": {"alone": count},
        }.items():
            fifths = measured(order)
            more = fifths[-1]["memory"] - fifths[1]["memory"]
            sizes = (fifths[-1]["memory"], fifths[-1]["of_workers"])
            numbers = [
                [fifth[what] for fifth in fifths] for what in ("files", "threads")
            ]
            table.row(name, 1e6 * more / (count * 3 / 5), *map(round, sizes), *numbers)


def compare(runs: dict[str, list[dict[str, float]]]) -> None:
    """Print the medians of each way, and the ratio of its CPU to that of the first way."""
    columns = ("CPU crawl", "CPU workers", "pages/s", "MB crawl", "MB workers")
    table = Table("", *columns, "all CPU, by no filter")
    base, *_ = runs.values()
    for name, measured in runs.items():
        ratio = median(
            (run["cpu"] + run["workers"]) / (first["cpu"] + first["workers"])
            for run, first in zip(measured, base, strict=True)
        )
        medians = [median(run[field] for run in measured) for field in measured[0]]
        table.row(name, *(f"{figure:.2f}" for figure in [*medians, ratio]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--pages", type=int, help="of each crawl; 500, and 50,000 for the growth"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--growth", action="store_true", help="of memory, files and threads"
    )
    parser.add_argument("--order", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        order = json.load(sys.stdin)
        return _index_alone(order["alone"]) if "alone" in order else _crawl(order)
    if options.serve is not None:
        return _serve(options.serve)
    if options.growth:
        return growth(options.pages or 50_000)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    with serving() as (url, count):
        count = min(count, options.pages or 500)
        for _ in range(options.rounds):
            for name, settings in WAYS.items():
                order = {"settings": settings, "url": url, "count": count}
                runs[name].append(measured(order))
    print(
        f"{count - WARM_UP} pages after {WARM_UP}, medians of {options.rounds}; CPU in ms a page"
    )
    return compare(runs)


if __name__ == "__main__":
    main()
