"""Crawls a site twice, with everything fetched and with copies spared, and compares the two.

Run as ``python benchmarks/sparing_crawl.py URL [--pages N] [--depth-first] [--control]``, for
example on a MediaWiki that ``../shared/sites/mediawiki.sh FOLDER`` has started on loopback. The
second crawl follows only links to addresses that the first has asked for. A distinct page is lost
if none of its addresses was fetched and one was spared; it is out of reach if the second crawl met
no link to it, because the links stand in pages that it spared, or that it met as copies. Two crawls
that fetch everything differ, too, because the answers come in another order: ``--control`` crawls
so once more, and tells what that crawl did not reach.
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
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

ROOT = Path(__file__).resolve().parents[1]
FIFO = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


def crawl(
    url: str, pages: int, spare: str, within: list[str] | None, *, depth_first: bool
) -> dict[str, Any]:
    """Crawl in a process of its own; return the pages by address, what was spared, the stats.

    Args:
        url: where the crawl begins.
        pages: responses after which it ends; 0 to go on to the end.
        spare: SIMHASH_SPARE.
        within: addresses to which links are followed; None for all of the host.
        depth_first: Scrapy's own order instead of the breadth first one.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        if within is not None:
            Path(folder, "within.json").write_text(json.dumps(within))
        order = [url, pages, spare, depth_first, str(report)]
        command = [sys.executable, __file__, "--order", json.dumps(order), url]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
        if done.returncode or not report.exists():
            raise RuntimeError("the crawl failed")
        result: dict[str, Any] = json.loads(report.read_text())
        return result


def run_spider(url: str, pages: int, spare: str, depth_first: bool, report: str) -> None:
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    from scrapy_simhash.signals import near_duplicate

    host = urlsplit(url).netloc
    fetched: list[tuple[str, str, int]] = []
    addresses: set[str] = set()
    links: dict[str, list[str]] = {}
    log = Path(report).with_name("dedup.jsonl")
    listed = Path(report).with_name("within.json")
    within = set(json.loads(listed.read_text())) if listed.exists() else None

    def asked(request: scrapy.Request) -> str:
        return str(canonicalize_url((request.meta.get("redirect_urls") or [request.url])[0]))

    class Whole(scrapy.Spider):
        name = "whole"
        start_urls = (url,)
        links = LinkExtractor(deny_extensions=[])

        def parse(self, response: Any) -> Any:
            simhash = response.meta.get("simhash", {"verdict": None})
            links[asked(response.request)] = followed = []
            if simhash["verdict"] in ("unique", "revisit"):
                fetched.append((asked(response.request), simhash["key"], len(response.body)))
            if isinstance(response, scrapy.http.HtmlResponse):
                for link in self.links.extract_links(response):
                    request = scrapy.Request(link.url)
                    if urlsplit(link.url).netloc == host and (
                        within is None or canonicalize_url(request.url) in within
                    ):
                        followed.append(canonicalize_url(request.url))
                        yield request

    class Enough:
        """Ends the crawl when enough pages were fetched."""

        def __init__(self, crawler: Any) -> None:
            self.crawler, self.seen = crawler, 0

        @classmethod
        def from_crawler(cls, crawler: Any) -> Enough:
            return cls(crawler)

        def process_response(self, request: Any, response: Any) -> Any:
            self.seen += 1
            addresses.add(asked(request))
            if self.seen == pages:
                self.end = asyncio.ensure_future(
                    self.crawler.engine.close_spider_async(reason="enough")
                )
            return response

    settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "DOWNLOADER_MIDDLEWARES": {Enough: 546},
        "SIMHASH_SPARE": spare,
        "SIMHASH_LOG": log,
        "SIMHASH_LOG_TEXT": 0,
        "SIMHASH_PROCESSES": 1,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
    }
    process = CrawlerProcess(settings if depth_first else settings | FIFO)
    crawler = process.create_crawler(Whole)

    def on_copy(verdict: Any, request: Any, response: Any) -> None:
        fetched.append((asked(request), verdict.original, len(response.body)))

    crawler.signals.connect(on_copy, signal=near_duplicate)
    process.crawl(crawler)
    process.start()
    lines = map(json.loads, log.read_text().splitlines())
    found = {
        "fetched": fetched,
        "addresses": sorted(addresses),
        "links": links,
        "spared": [canonicalize_url(line["url"]) for line in lines if line["what"] == "spared"],
        "stats": {name: n for name, n in crawler.stats.get_stats().items() if isinstance(n, int)},
    }
    Path(report).write_text(json.dumps(found))


def compare(full: dict[str, Any], sparing: dict[str, Any]) -> None:
    """Print what sparing saved and lost, by the pages of the crawl that fetched everything."""
    addresses: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for url, page, length in full["fetched"]:
        addresses[page].append((url, length))
    spared, fetched = set(sparing["spared"]), {url for url, _, _ in sparing["fetched"]}
    copies = saved = not_met = 0
    lost, out_of_reach = [], []
    for page, of_page in addresses.items():
        copies += sum(length for _, length in of_page[1:])
        missing = [(url, length) for url, length in of_page if url not in fetched]
        if len(missing) == len(of_page):
            was_spared = any(url in spared for url, _ in missing)
            (lost if was_spared else out_of_reach).append(page)
            del missing[0]  # one address of the page is no copy
        saved += sum(length for url, length in missing if url in spared)
        not_met += sum(length for url, length in missing if url not in spared)
    number = sum(map(len, addresses.values()))
    stats = sparing["stats"]
    print(f"everything fetched: {number} compared pages, {len(addresses)} distinct")
    print(
        f"again: {len(spared)} not fetched, {saved / 1e6:.1f} of {copies / 1e6:.1f} MB of copies "
        f"({saved / max(1, copies):.1%}); {not_met / max(1, copies):.1%} more out of reach"
    )
    for what, pages in (("lost", lost), ("out of reach", out_of_reach)):
        print(f"{what}: {len(pages)} distinct pages ({len(pages) / len(addresses):.2%})")
        for page in pages[:20]:
            print(f"  {page}")
    lost_by_estimate = stats.get("simhash/spared/lost_estimate", 0)
    print(
        f"the crawl's own estimate: {lost_by_estimate}, "
        f"at most {stats.get('simhash/spared/lost_at_most', 0)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--pages", type=int, default=3500, metavar="N")
    parser.add_argument("--depth-first", action="store_true")
    parser.add_argument("--control", action="store_true", help="fetch everything twice")
    parser.add_argument("--record", metavar="FILE", help="of the first crawl, for sparing.py links")
    parser.add_argument("--order", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        run_spider(*json.loads(options.order))
        return 0
    results: list[dict[str, Any]] = []
    for spare in ("off", *["off"] * options.control, "skip"):
        started = time.perf_counter()
        within = results[0]["addresses"] if results else None
        depth_first = options.depth_first
        # An end before the last address would look like a loss.
        pages = 0 if results else options.pages
        found = crawl(options.url, pages, spare, within, depth_first=depth_first)
        seconds = time.perf_counter() - started
        print(
            f"{spare}: {found['stats']['downloader/response_count']} responses in {seconds:.0f} s"
        )
        results.append(found)
        if spare == "off" and options.record:
            Path(options.record).write_text(json.dumps(found | {"start": options.url}))
            return 0
    for found in results[1:]:
        compare(results[0], found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
