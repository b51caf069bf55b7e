"""Crawls made sites or a real one, and tells what sparing by address saves, and what it loses.

The first crawl only watches, and what it says is printed beside what the second one
does.

``python -m benchmarks.sparing [board shop catalogue calendar media URL ...]``, for
example with the first page of a MediaWiki on loopback. Each site is crawled with
everything fetched, then with copies spared, in Scrapy's own order and breadth first.
The second crawl follows only links to addresses that the first has asked for. A
distinct page is lost if none of its addresses was fetched and one was spared; it is out
of reach if the crawl met no link to it, because the links stand in pages that it
spared, or that it met as copies. Two crawls that fetch everything differ, too, because
the answers come in another order.

The items of the catalogue are alike and link nothing but items, as the pages of a trap
do. The calendar has no end, and the media manager of a wiki has 9,600 addresses: what
counts there is how many downloads it takes until the crawl ends, and how many of the
other 40 pages were reached."""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.signals import response_downloaded
from w3lib.url import canonicalize_url

from benchmarks.measuring import in_a_process
from benchmarks.recrawl import ORDERS, SETTINGS, Whole
from scrapy_simhash.signals import near_duplicate
from tests.conftest import Answer, Site
from tests.pages import article, html

# Responses after which a crawl with everything fetched ends.
MOST = 3000
ITEMS = [f"/item/{n}" for n in range(40)]
#: A path, the name of the page there, its text, and its links in their order.
MadePage = tuple[str, str, str, list[str]]


def board() -> Iterator[MadePage]:
    """Lists that link the last post of a topic before the topic itself, as of phpBB or machina."""
    chance, post = random.Random(7), 0
    topics = []
    for topic in range(160):
        number = chance.choice((1, 2, 3, 5, 7, 9, 12, 20))
        url = f"/topic/{topic}/"
        topics.append((url, [f"{url}?post={n}" for n in range(post, post + number)]))
        post += number
    lists = [f"/forum?page={n}" for n in range(8)]
    for n, path in enumerate(lists):
        links = [
            link
            for url, posts in topics[20 * n : 20 * n + 20]
            for link in (posts[-1], url)
        ]
        yield path, path, article(50_000 + n), links + lists
    for n, (url, posts) in enumerate(topics):
        for path in (url, *posts):
            yield path, url, article(n, 300), ["/", *posts, url]
    yield "/", "index", article(90_000), lists


def shop() -> Iterator[MadePage]:
    """Lists with sort orders, and items with variants, print views, campaigns and a log-in."""
    yield "/", "front", article(1), [f"/list/{n}" for n in range(12)]
    for n in range(12):
        for part in range(1, 5):
            items = [f"/item/{40 * n + 10 * part + k}" for k in range(-10, 0)]
            links = [
                f"{item}?utm_source={('list', 'mail')[n % 2]}" for item in items
            ] + items
            links += [f"/list/{n}?page={k}" for k in range(2, 5)]
            sorts = [
                f"/list/{n}?sort={order}" for order in ("price", "name", "new", "size")
            ]
            views = [f"/list/{n}", *sorts] if part == 1 else [f"/list/{n}?page={part}"]
            for path in views:
                yield (
                    path,
                    f"list {n} {part}",
                    article(1000 + 10 * n + part),
                    links + sorts,
                )
    for n in range(480):
        item = f"/item/{n}"
        links = [f"{item}?view=print", f"/login?next={item}", f"/list/{n // 40}"]
        links += [f"{item}?color=red", f"{item}?color=blue"]
        for query in ("", "?view=print", "?utm_source=list", "?utm_source=mail"):
            yield item + query, item, article(2000 + 3 * n), links
        for k, color in enumerate(("red", "blue"), 1):
            yield (
                f"{item}?color={color}",
                f"{item} {color}",
                article(2000 + 3 * n + k),
                links,
            )
        yield f"/login?next={item}", "login", article(3), ["/"]


def calendar() -> Iterator[MadePage]:
    """A calendar whose months are near each other, as of WordPress or MediaWiki."""
    yield "/", "front", article(1), ["/calendar?month=1", *ITEMS]
    for n in range(1, MOST):
        links = ["/", f"/calendar?month={n + 1}"]
        yield f"/calendar?month={n}", f"month {n}", f"Month {n}. {article(30)}", links
    for n, item in enumerate(ITEMS):
        yield item, item, article(100 + n), ["/"]


def catalogue() -> Iterator[MadePage]:
    """Items of one template, each with a price and links to three others."""
    yield "/", "front", article(1), ["/item/0"]
    for n in range(600):
        links = [f"/item/{k % 600}" for k in (n + 1, 7 * n + 1, 13 * n + 1)]
        price = f"{random.Random(n).randrange(1000, 9000) / 100:.2f}"
        yield (
            f"/item/{n}",
            f"item {n}",
            f"{article(n, 3)} {price} euros. {article(2, 40)}",
            links,
        )


def media() -> Iterator[MadePage]:
    """A wiki whose pages have a media manager each, as of DokuWiki."""
    folders, tabs, pictures = range(1850, 1856), range(20, 22), range(70, 90)
    yield "/", "front", article(1), ITEMS
    for n, item in enumerate(ITEMS):
        manager = f"{item}?do=media&folder={{}}&tab={{}}&picture={{}}".format
        yield item, item, article(100 + n), ["/", manager(1850, 20, 70)]
        for folder, tab, picture in product(folders, tabs, pictures):
            links = [manager(other, tab, picture) for other in folders]
            links += [manager(folder, other, picture) for other in tabs]
            links += [manager(folder, tab, 70 + (picture - 69) % 20)]
            place = f"{item[1:]}, folder {folder}, tab {tab}, picture {picture}"
            yield manager(folder, tab, picture), place, f"{place}. {article(30)}", links


MADE = {
    "board": board,
    "shop": shop,
    "catalogue": catalogue,
    "calendar": calendar,
    "media": media,
}
#: Sites whose crawl ends only where something is spared.
TRAPS = ("calendar", "media")


def answers(pages: Iterator[MadePage]) -> dict[str, Answer]:
    """Return what is served; a header names each page."""
    usual = {"Content-Type": "text/html"}
    return {
        path: (
            200,
            usual | {"X-Page": name},
            html(text, title=text[:30], links=tuple(links)),
        )
        for path, name, text, links in pages
    }


def crawl(url: str, spare: str, order: str, within: list[str] | None) -> dict[str, Any]:
    """Crawl in a process of its own; return the pages by address, what was spared, the stats.

    Args:
        url: where the crawl begins.
        spare: SIMHASH_SPARE.
        order: one of ``ORDERS``.
        within: addresses to which links are followed; None for all of the host.
    """
    report: dict[str, Any] = in_a_process("sparing", [url, spare, order, within])
    return report


def run(url: str, spare: str, order: str, listed: list[str] | None, log: Path) -> None:
    """Crawl, in the process that is there for it, and print the report."""
    within = None if listed is None else {*listed}
    fetched: list[tuple[str, str, int]] = []
    addresses: list[str] = []
    ending: list[Any] = []

    def asked(request: Any) -> str:
        return str(
            canonicalize_url((request.meta.get("redirect_urls") or [request.url])[0])
        )

    def note(request: Any, response: Any, key: str) -> None:
        name = response.headers.get("X-Page", b"").decode() or key
        fetched.append((asked(request), name, len(response.body)))

    class Noting(Whole):
        start_urls = (url,)

        def parse(self, response: Any) -> Any:
            page = response.meta.get("simhash", {"verdict": None})
            if page["verdict"] in ("unique", "revisit"):
                note(response.request, response, page["key"])
            for request in self.requests(response):
                if within is None or canonicalize_url(request.url) in within:
                    yield request

    settings = {
        "CLOSESPIDER_PAGECOUNT": 0,
        "SIMHASH_SPARE": spare,
        "SIMHASH_LOG": str(log),
        "RETRY_ENABLED": False,
    }
    process = AsyncCrawlerProcess(SETTINGS | ORDERS[order] | settings)
    crawler = process.create_crawler(Noting)

    def on_download(request: Any) -> None:
        addresses.append(asked(request))
        if len(addresses) == MOST and within is None:
            ending.append(
                asyncio.ensure_future(
                    crawler.engine.close_spider_async(reason="enough")
                )
            )

    def on_copy(verdict: Any, request: Any, response: Any) -> None:
        note(request, response, verdict.original)

    crawler.signals.connect(on_download, signal=response_downloaded)
    crawler.signals.connect(on_copy, signal=near_duplicate)
    process.crawl(crawler)
    process.start()
    lines = map(json.loads, log.read_text().splitlines())
    report = {
        "fetched": fetched,
        "addresses": addresses,
        "spared": [
            canonicalize_url(line["url"]) for line in lines if line["what"] == "spared"
        ],
        "stats": {
            name: n
            for name, n in crawler.stats.get_stats().items()
            if isinstance(n, int)
        },
    }
    print(json.dumps(report))


def compare(name: str, full: dict[str, Any], part: dict[str, Any]) -> None:
    """Print what a crawl saved and lost, by the pages of the one that fetched everything."""
    pages: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for url, page, length in full["fetched"]:
        pages[page].append((url, length))
    spared = set(part["spared"])
    # A real page is named by the address that came first, which may be another one each
    # time.
    fetched = {name for url, page, _ in part["fetched"] for name in (url, page)}
    copies = saved = 0
    lost, beyond = [], []
    for page, visits in pages.items():
        copies += sum(length for _, length in visits[1:])
        # One address of a page is no copy.
        left_out = [length for url, length in visits if url in spared]
        is_fetched = page in fetched or any(url in fetched for url, _ in visits)
        saved += sum(left_out) - (0 if is_fetched or not left_out else left_out[0])
        if not is_fetched:
            (lost if left_out else beyond).append(page)
    stats = part["stats"]
    watched = full["stats"]
    estimate, at_most = (
        stats.get(f"simhash/spared/lost_{end}", 0) for end in ("estimate", "at_most")
    )
    print(
        f"{name}: {stats['downloader/response_count']} of {len(full['addresses'])} downloads, "
        f"spared {saved / max(1, copies):.1%} of {copies / 1e6:.1f} MB of copies\n"
        f"  of {len(pages)} pages {len(lost)} lost (estimate {estimate}, at most {at_most}), "
        f"{len(beyond)} out of reach {(lost + beyond)[:3]}\n"
        f"  {stats.get('simhash/spared/skipped', 0)} requests spared, "
        f"{stats.get('simhash/spared/bytes', 0) / 1e6:.1f} MB; watching says "
        f"{watched.get('simhash/spared/would_be', 0)}, "
        f"{watched.get('simhash/spared/bytes', 0) / 1e6:.1f} MB, "
        f"{watched.get('simhash/spared/would_be_lost', 0)} lost",
        flush=True,
    )


def measure(site: str, url: str, order: str) -> None:
    if site not in TRAPS:
        full = crawl(url, "watch", order, None)
        compare(f"{site}, {order}", full, crawl(url, "skip", order, full["addresses"]))
        return
    part = crawl(url, "skip", order, None)
    items = {page for _, page, _ in part["fetched"]}.intersection(ITEMS)
    downloads = part["stats"]["downloader/response_count"] - len(items)
    print(
        f"{site}, {order}: {downloads} downloads, {len(items)} of {len(ITEMS)} other pages"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sites", nargs="*", metavar="SITE", default=[*MADE])
    parser.add_argument("--order", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        with tempfile.TemporaryDirectory() as folder:
            run(*json.load(sys.stdin), Path(folder) / "dedup.jsonl")
        return
    for site in options.sites:
        for order in ORDERS:
            if site not in MADE:
                measure(site, site, order)
                continue
            with closing(Site()) as server:
                server.pages = dict(answers(MADE[site]()))
                measure(site, f"{server.url}/", order)


if __name__ == "__main__":
    main()
