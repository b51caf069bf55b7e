"""What sparing by address saves, and what it loses: crawls of made sites, or of a real one.

Run as ``python benchmarks/sparing.py [board|posts|wiki|shop|traps|URL ...] [--control] [--order
depth|breadth]``, for example with the URL of a MediaWiki on loopback. Each site is crawled with
everything fetched, then with copies spared, in Scrapy's own order and breadth first. The second
crawl follows only links to addresses that the first has asked for. A distinct page is lost if none
of its addresses was fetched and one was spared; it is out of reach if the crawl met no link to it,
because the links stand in pages that it spared, or that it met as copies. Two crawls that fetch
everything differ, too, because the answers come in another order: ``--control`` crawls so once
more, and tells what that crawl did not reach.
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
import threading
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from w3lib.url import canonicalize_url

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.pages import article, html  # noqa: E402

BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
# Responses after which a crawl with everything fetched ends.
MOST = 3000


class MadePage(NamedTuple):
    """What stands at an address: the name of the page, its text, and the links in their order."""

    name: str
    text: str
    links: list[str]


Site = Callable[[str], MadePage | None]


def board(*, by_number: bool = False) -> Site:
    """A board whose lists link the last post of a topic before the topic itself.

    A post is ``/topic/7/?post=42``; with ``by_number`` it is ``/posts?p=42``, and a topic
    ``/topics?t=7``, of which neither is the other one with less.
    """
    chance, pages, post = random.Random(7), dict[str, MadePage](), 0
    topics = []
    for topic in range(160):
        number = chance.choice((1, 2, 3, 5, 7, 9, 12, 20))
        posts = [f"/posts?p={n}" if by_number else f"/topic/{topic}/?post={n}"
                 for n in range(post, post + number)]  # fmt: skip
        topics.append((f"/topics?t={topic}" if by_number else f"/topic/{topic}/", posts))
        post += number
    lists = [f"/forum?page={n}" for n in range(8)]
    for n, path in enumerate(lists):
        links = [link for url, posts in topics[20 * n : 20 * n + 20] for link in (posts[-1], url)]
        pages[path] = MadePage(path, article(50_000 + n), links + lists)
    for n, (url, posts) in enumerate(topics):
        page = MadePage(url, article(n, 300), ["/", *posts, url])
        pages |= dict.fromkeys([url, *posts], page)
    pages["/"] = MadePage("index", article(90_000), lists)
    return pages.get


def wiki() -> Site:
    """A wiki: each article with its versions, edit forms, a log-in, and pages that are its own."""
    names = [f"Story_{n}" for n in range(100)]
    number = {name: n for n, name in enumerate(names)}

    def page(path: str) -> MadePage | None:
        parts = urlsplit(path)
        given = dict(parse_qsl(parts.query))
        title = given.get("title") or parts.path.removeprefix("/wiki/")
        action = given.get("action", "view")
        if path == "/":
            return MadePage("front", article(1), [f"/wiki/{name}" for name in names])
        if title == "Special:Login":
            return MadePage("login", article(2), ["/"])
        if title not in number:
            return None
        n = number[title]
        index = f"/index.php?title={title}"
        tools = [f"{index}&oldid={n + 1000}", f"{index}&printable=yes", f"{index}&action=history"]
        tools += [
            f"{index}&action=edit",
            f"/index.php?title=Special:Login&returnto={title}{action}",
        ]
        if action == "history":
            old = [f"{index}&oldid={version}" for version in range(n + 1000, n + 4000, 1000)]
            return MadePage(f"history of {title}", article(3000 + n), [*old, *tools])
        if action == "edit":
            return MadePage(f"edit {title}", article(5000 + n), tools)
        version = (int(given.get("oldid", n + 1000)) - n) // 1000
        others = [f"/wiki/{names[(n * k + 7) % 100]}" for k in range(2, 6)]
        return MadePage(f"{title} {version}", article(7000 + n + 100 * version), [*others, *tools])

    return page


def shop() -> Site:
    """A shop: lists with sort orders, and items with variants, print views, campaigns."""

    def page(path: str) -> MadePage | None:
        parts = urlsplit(path)
        given = dict(parse_qsl(parts.query))
        if path == "/":
            return MadePage("front", article(1), [f"/list/{n}" for n in range(12)])
        kind, _, number = parts.path.strip("/").partition("/")
        n = int(number or 0)
        if kind == "list":
            part = int(given.get("page", 1))
            own = f"/list/{n}"
            items = [f"/item/{40 * n + 10 * part + k}" for k in range(-10, 0)]
            links = [f"{item}?utm_source={('list', 'mail')[n % 2]}" for item in items] + items
            links += [f"{own}?page={k}" for k in range(2, 5)]
            links += [f"{own}?sort={order}" for order in ("price", "name", "new", "size")]
            return MadePage(f"list {n} {part}", article(1000 + 10 * n + part), links)
        if kind == "item":
            color = given.get("color", "")
            own = f"/item/{n}"
            links = [f"{own}?view=print", f"/login?next={own}", f"/list/{n // 40}"]
            links += [f"{own}?color={each}" for each in ("red", "blue")]
            text = article(2000 + 3 * n + ("", "red", "blue").index(color))
            return MadePage(f"item {n} {color}", text, links)
        return MadePage("login", article(3), ["/"]) if kind == "login" else None

    return page


def traps() -> Site:
    """Lists that never end: facets that append themselves, a pager, a calendar; and 40 items."""

    def page(path: str) -> MadePage | None:
        parts = urlsplit(path)
        given = parse_qsl(parts.query)
        if path == "/":
            return MadePage("front", article(1), ["/facets", "/pager?p=1", "/calendar?month=1"])
        if parts.path == "/facets":
            chosen = sorted({value for _, value in given})
            sign = "&" if parts.query else "?"
            links = [f"{path}{sign}f={facet}" for facet in "abc"]
            return MadePage(
                f"facets {chosen}", article(10 + hash_of(chosen)), links + items(chosen)
            )
        if parts.path == "/pager":
            number = int(dict(given)["p"])
            links = items([str(number)]) if number < 4 else []
            text = article(20 + min(number, 4))
            return MadePage(f"pager {min(number, 4)}", text, [*links, f"/pager?p={number + 1}"])
        if parts.path == "/calendar":
            month = int(dict(given)["month"])
            links = ["/", f"/calendar?month={month + 1}"]
            return MadePage(f"month {month}", f"Month {month}. {article(30)}", links)
        return MadePage(path, article(100 + int(parts.path[6:])), ["/"])

    def hash_of(parts: list[str]) -> int:
        return sum(1 << "abc".index(part) for part in parts)

    def items(parts: list[str]) -> list[str]:
        return [f"/item/{10 * (ord(part[-1]) % 4) + n}" for part in parts for n in range(10)]

    return page


SITES: dict[str, Callable[[], Site]] = {
    "board": board,
    "posts": lambda: board(by_number=True),
    "wiki": wiki,
    "shop": shop,
    "traps": traps,
}


def serve(site: Site) -> ThreadingHTTPServer:
    """Serve a made site on loopback; a header names each page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = site(self.path)
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("X-Page", page.name if page else "")
            self.end_headers()
            if page:
                title = " ".join(page.text.split()[:4])
                self.wfile.write(html(page.text, title=title, links=tuple(page.links)))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def crawl(url: str, spare: str, order: str, within: list[str] | None) -> dict[str, Any]:
    """Crawl in a process of its own; return the pages by address, what was spared, the stats.

    Args:
        url: where the crawl begins.
        spare: SIMHASH_SPARE.
        order: ``depth`` for Scrapy's own, or ``breadth``.
        within: addresses to which links are followed; None for all of the host.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        if within is not None:
            Path(folder, "within.json").write_text(json.dumps(within))
        command = [
            sys.executable,
            __file__,
            "--crawl",
            json.dumps([url, spare, order, str(report)]),
        ]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
        if done.returncode or not report.exists():
            raise RuntimeError("the crawl failed")
        result: dict[str, Any] = json.loads(report.read_text())
        return result


def run_spider(url: str, spare: str, order: str, report: str) -> None:
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    from scrapy_simhash.signals import near_duplicate

    host = urlsplit(url).netloc
    fetched: list[tuple[str, str, int]] = []
    addresses: set[str] = set()
    log = Path(report).with_name("dedup.jsonl")
    listed = Path(report).with_name("within.json")
    within = set(json.loads(listed.read_text())) if listed.exists() else None

    def asked(request: scrapy.Request) -> str:
        return str(canonicalize_url((request.meta.get("redirect_urls") or [request.url])[0]))

    def name_of(response: Any, key: str) -> str:
        return response.headers.get("X-Page", b"").decode() or key

    class Whole(scrapy.Spider):
        name = "whole"
        start_urls = (url,)
        links = LinkExtractor(deny_extensions=[])

        def parse(self, response: Any) -> Any:
            simhash = response.meta.get("simhash", {"verdict": None})
            if simhash["verdict"] in ("unique", "revisit"):
                name = name_of(response, simhash["key"])
                fetched.append((asked(response.request), name, len(response.body)))
            if isinstance(response, scrapy.http.HtmlResponse):
                for link in self.links.extract_links(response):
                    request = scrapy.Request(link.url)
                    if urlsplit(link.url).netloc == host and (
                        within is None or canonicalize_url(request.url) in within
                    ):
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
            if self.seen == MOST and within is None:
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
        "LOG_LEVEL": "ERROR",
    }
    process = CrawlerProcess(settings | (BREADTH_FIRST if order == "breadth" else {}))
    crawler = process.create_crawler(Whole)

    def on_copy(verdict: Any, request: Any, response: Any) -> None:
        fetched.append((asked(request), name_of(response, verdict.original), len(response.body)))

    crawler.signals.connect(on_copy, signal=near_duplicate)
    process.crawl(crawler)
    process.start()
    lines = map(json.loads, log.read_text().splitlines())
    found = {
        "fetched": fetched,
        "addresses": sorted(addresses),
        "spared": [canonicalize_url(line["url"]) for line in lines if line["what"] == "spared"],
        "stats": {name: n for name, n in crawler.stats.get_stats().items() if isinstance(n, int)},
    }
    Path(report).write_text(json.dumps(found))


def compare(name: str, full: dict[str, Any], found: dict[str, Any]) -> None:
    """Print what a crawl saved and lost, by the pages of the one that fetched everything."""
    addresses: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for url, page, length in full["fetched"]:
        addresses[page].append((url, length))
    spared = set(found["spared"])
    # A real page is named by the address that came first, which may be another one each time.
    fetched = {name for url, page, _ in found["fetched"] for name in (url, page)}
    copies = saved = 0
    lost, beyond = [], []
    for page, of_page in addresses.items():
        copies += sum(length for _, length in of_page[1:])
        # One address of a page is no copy.
        left_out = [length for url, length in of_page if url in spared]
        is_there = page in fetched or any(url in fetched for url, _ in of_page)
        saved += sum(left_out) - (0 if is_there or not left_out else left_out[0])
        if not is_there:
            (lost if left_out else beyond).append(page)
    stats = found["stats"]
    estimate = (stats.get(f"simhash/spared/lost_{what}", 0) for what in ("estimate", "at_most"))
    print(
        f"{name:<24} {stats['downloader/response_count']:>6} {saved / max(1, copies):>7.1%} of "
        f"{copies / 1e6:5.1f} MB  lost {len(lost)} ({len(lost) / len(addresses):.2%}), out of "
        f"reach {len(beyond)} ({len(beyond) / len(addresses):.2%}) of {len(addresses)}; own "
        "estimate {}, at most {}".format(*estimate),
        flush=True,
    )
    for page in (*lost[:5], *beyond[:5]):
        print(f"    {'lost' if page in lost else 'out of reach'}: {page[:150]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sites", nargs="*", metavar="SITE", default=[*SITES])
    parser.add_argument("--order", choices=("depth", "breadth"))
    parser.add_argument("--control", action="store_true", help="fetch everything twice")
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crawl:
        run_spider(*json.loads(options.crawl))
        return 0
    for site in options.sites:
        server = serve(SITES[site]()) if site in SITES else None
        url = f"http://127.0.0.1:{server.server_port}/" if server else site
        for order in [options.order] if options.order else ["depth", "breadth"]:
            full = crawl(url, "off", order, None)
            compare(f"{site}, {order}: all", full, full)
            # A trap has to end by itself.
            within = None if site == "traps" else full["addresses"]
            for spare in (*["off"] * options.control, "skip"):
                found = crawl(url, spare, order, within)
                compare(f"{site}, {order}: {spare}", full, found)
        if server:
            server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
