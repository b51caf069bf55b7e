"""Crawls sites on two days, and holds what is delivered against what is new or has changed.

``python -m benchmarks.recrawl [forum shop blog URL ...] [--edit COMMAND]``. The first
three are made here. A URL is the first page of a program that runs already; the command
edits its pages between the days. Each site is crawled by its links, in Scrapy's own
order and breadth first, with SIMHASH_RECRAWL "changed" and one SQLite index.

The truth is the text of the content of both days, word by word, in a crawl without the
filter. A text is news if no page had it on the first day. News stays in if a crawl with
an empty index delivers it, and neither it nor its page is delivered. The rival is MD5
of the body, as Norconex, StormCrawler and Browsertrix have it.
"""

import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import lxml.html
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.signals import item_scraped

from benchmarks.measuring import in_a_process
from tests.conftest import Answer, Site
from tests.pages import article, edited

ORDERS: dict[str, dict[str, Any]] = {
    "depth": {},  # Scrapy's own
    "breadth": {
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    },
}
SETTINGS = {
    "ADDONS": {"scrapy_simhash.Addon": 500},
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
    "DOWNLOAD_DELAY": 0,
    "CLOSESPIDER_PAGECOUNT": 3000,
    "SIMHASH_PROCESSES": 1,
}
AROUND = (
    "header, footer, nav, aside, .navheader, .navfooter, .docnav, .related, .printfooter"
    ", head, script, style, datalist"
)
Pages = dict[str, str]


class Whole(Spider):
    """Crawls a host by its links; keeps the bodies if it is told to."""

    name = "whole"
    extractor = LinkExtractor(deny_extensions=[])

    def parse(self, response: Any) -> Any:
        is_html = isinstance(response, HtmlResponse)
        yield {
            "url": response.url,
            "body": response.text if self.keeps and is_html else "",
        }
        yield from self.requests(response)

    def requests(self, response: Any) -> Iterator[Request]:
        if isinstance(response, HtmlResponse):
            for link in self.extractor.extract_links(response):
                if urlsplit(link.url).netloc == urlsplit(response.url).netloc:
                    yield Request(link.url)


def crawl(url: str, order: str, **settings: Any) -> list[dict[str, Any]]:
    """Crawl in a process of its own; return what was delivered."""
    spider = {"start_urls": [url], "keeps": not settings.get("SIMHASH_ENABLED", True)}
    items: list[dict[str, Any]] = in_a_process(
        "recrawl", [SETTINGS | ORDERS[order] | settings, spider]
    )
    return items


def run(settings: dict[str, Any], spider: dict[str, Any]) -> None:
    """Crawl, in the process that is there for it, and print the items."""
    items: list[Any] = []
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Whole)
    crawler.signals.connect(
        lambda item: items.append(item), signal=item_scraped, weak=False
    )
    process.crawl(crawler, **spider)
    process.start()
    print(json.dumps(items))


def content(body: str | bytes) -> str:
    """Return the words of a page's content, without what its site puts around it."""
    tree = lxml.html.document_fromstring(body)
    mains = tree.cssselect(
        "[role=main], main, #mw-content-text, div.body, td.content"
    ) or [tree]
    for node in mains[0].cssselect(AROUND):
        node.drop_tree()
    return " ".join(re.findall(r"\w+", " ".join(mains[0].itertext())))


# The made sites: each yields its pages on two days.

MadePages = dict[str, bytes | Answer]


def page(title: str, main: str, links: list[str], around: str = "") -> bytes:
    anchors = "".join(f"<a href='{link}'>{link}</a> " for link in links)
    return (
        f"<!doctype html><meta charset=utf-8><title>{title}</title><nav>{around}</nav>"
        f"<main><h1>{title}</h1>{main}</main><nav>{anchors}</nav><footer>{around}</footer>"
    ).encode()


def forum() -> Iterator[MadePages]:
    """Boards whose lists shift, print views, counters and ages; new topics, replies, removals."""
    chance = random.Random(46)
    posts = {topic: [article(topic, 120)] for topic in range(300)}
    for day in range(2):
        if day:
            posts |= {topic: [article(topic, 120)] for topic in range(300, 340)}
            for topic in chance.sample(range(300), 40):
                posts[topic].append(article(10_000 + topic, chance.randint(12, 60)))
            for topic in chance.sample(range(300), 8):
                del posts[topic]
        pages: MadePages = {}
        for topic, texts in posts.items():
            seen = f"<p>Viewed {chance.randint(1, 9999)} times, {day + 1} days ago</p>"
            replies = "".join(
                f"<div class=post><p>Posts: {chance.randint(1, 99)}</p><p>{text}</p></div>"
                if n % 2
                else f"<div class=post><p>{text}</p></div>"
                for n, text in enumerate(texts)
            )
            for view in ("", "?view=print"):
                pages[f"/t/{topic}{view}"] = page(
                    f"Topic {topic}", replies, ["/"], seen
                )
        order = sorted(posts, reverse=True)
        boards = [f"/board/{n}" for n in range(len(order) // 20 + 1)]
        for n, path in enumerate(boards):
            topics = order[20 * n : 20 * n + 20]
            teasers = "".join(f"<li>{posts[topic][0][:160]}</li>" for topic in topics)
            links = [
                f"/t/{topic}{view}" for topic in topics for view in ("", "?view=print")
            ]
            pages[path] = page("Board", f"<ul>{teasers}</ul>", links)
        yield pages | {"/": page("Forum", f"<p>{article(9999)}</p>", boards)}


def shop() -> Iterator[MadePages]:
    """Products with a table of facts; prices and stocks change, some are new or removed."""
    for day in range(2):
        pages: MadePages = {}
        products = [n for n in range(300) if n % 41 or not day] + [
            *range(300, 320)
        ] * day
        for n in products:
            price = 10 + n + day * (n % 7 == 0)
            stock = "sold out" if day and n % 11 == 0 else "in stock"
            table = (
                f"<table><tr><th>Price<td>{price}.90<tr><th>Stock<td>{stock}</table>"
            )
            text = f"<p>{article(n % 20, 80)}</p><p>{article(5000 + n, 12)}</p>{table}"
            pages[f"/p/{n}"] = page(
                f"Product {n}", text, ["/"], f"Cart: {n * day % 5} items"
            )
        links = list(pages)
        yield pages | {"/": page("Shop", f"<p>{article(8888)}</p>", links)}


def blog() -> Iterator[MadePages]:
    """Posts of which some are edited, rewritten, renamed, redirected, removed or new."""
    texts = {f"/post-{n}": article(n) for n in range(200)}
    for day in range(2):
        moved: MadePages = {}
        if day:
            for n in range(40):
                share = 0.005 + 0.001 * n
                texts[f"/post-{n}"] = edited(texts[f"/post-{n}"], n, share)
            for n in range(40, 60):
                texts[f"/post-{n}"] = article(500 + n)
            for n in range(60, 90):
                texts[f"/blog/{n}"] = texts.pop(f"/post-{n}")
                if n % 2:
                    moved[f"/post-{n}"] = 301, {"Location": f"/blog/{n}"}, b""
            for n in range(90, 100):
                del texts[f"/post-{n}"]
            texts |= {f"/post-{n}": article(n) for n in range(200, 220)}
        pages = {
            path: page(text[:40], f"<p>{text}</p>", ["/"])
            for path, text in texts.items()
        }
        yield {
            "/": page("Blog", f"<p>{article(7777)}</p>", [*moved, *pages]),
            **moved,
            **pages,
        }


# Measuring.


def days_of(site: str, edit: str) -> Iterator[str]:
    """Yield the address of a site's first page, on each of two days."""
    if site not in MADE:
        yield site
        subprocess.run(edit, shell=True, check=True, capture_output=True)
        yield site
        return
    server = Site()
    try:
        for pages in MADE[site]():
            server.pages = dict(pages)
            yield f"{server.url}/"
    finally:
        server.close()


def measure(site: str, edit: str) -> None:
    before: Pages = {}
    with tempfile.TemporaryDirectory() as folder:
        for day, url in enumerate(days_of(site, edit), 1):
            whole = crawl(url, "breadth", SIMHASH_ENABLED=False)
            now = {item["url"]: item["body"] for item in whole if item["body"]}
            for order in ORDERS:
                index = f"sqlite:///{folder}/{order}.sqlite"
                settings = {"SIMHASH_INDEX_URL": index, "SIMHASH_RECRAWL": "changed"}
                delivered = {item["url"] for item in crawl(url, order, **settings)}
                print(
                    f"{site}, {order}, day {day}: {len(delivered)} of {len(now)} pages delivered"
                )
                if before:
                    anew = {item["url"] for item in crawl(url, order)}
                    compare(before, now, delivered & now.keys(), anew & now.keys())
            before = now


def compare(before: Pages, now: Pages, delivered: set[str], anew: set[str]) -> None:
    """Print how far what was delivered on the second day is what is new or has changed."""
    known = {content(body) for body in before.values()}
    texts = {url: content(body) for url, body in now.items()}
    told = {texts[url] for url in delivered}
    news = {url for url, text in texts.items() if text not in known}
    stays = {url for url in news & anew if texts[url] not in told}
    old = anew - news
    noise = delivered - news
    md5 = {url for url in old if digest(now[url]) != digest(before.get(url, ""))}
    print(
        f"  {len(stays)} of {len(news & anew)} new or changed pages stay in {sorted(stays)[:4]}\n"
        f"  {len(noise)} of {len(old)} unchanged ones come out, with MD5 of the body {len(md5)} "
        f"{sorted(noise)[:4]}",
        flush=True,
    )


def digest(body: str) -> bytes:
    return hashlib.md5(body.encode(), usedforsecurity=False).digest()


MADE = {"forum": forum, "shop": shop, "blog": blog}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sites", nargs="*", metavar="SITE", default=[*MADE])
    parser.add_argument(
        "--edit", default="true", help="a command that edits the pages of a URL"
    )
    parser.add_argument("--order", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        return run(*json.load(sys.stdin))
    for site in options.sites:
        measure(site, options.edit)
    return None


if __name__ == "__main__":
    main()
