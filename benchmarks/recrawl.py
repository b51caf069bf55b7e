"""Crawls sites again on later days, and holds what is delivered against what has changed.

``python -m benchmarks.recrawl [docs forum wiki]``. Each day is a crawl over HTTP on loopback
in a process of its own, always on one SQLite index, with SIMHASH_RECRAWL "all", and on another
index with "changed":

- docs: three releases of one documentation site (../shared/data/docs-html) as one host, three days
- forum: made here; lists that shift, print views, counters and ages on each page, replies, removals
- wiki: a MediaWiki that runs already (--wiki URL), crawled by its links; the command of --edit
  edits its pages between the two days

A page is lost if a crawl without the filter delivers it, and neither it nor a page with the same
text is delivered. The truth about a change is the text of the content of both days, word by word.
The rival is MD5 of the body, as Norconex, StormCrawler and Browsertrix have it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import lxml.html
from scrapy import Request, Spider

from tests.conftest import Site
from tests.pages import article

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "docs-html" / "docs.jsonl.xz"
SETTINGS = {
    "ADDONS": {"scrapy_simhash.Addon": 500},
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "SIMHASH_PROCESSES": 1,
}
AROUND = (
    "header, footer, nav, aside, .navheader, .navfooter, .docnav, .related, .printfooter"
    ", head, script, style, datalist"
)
Pages = dict[str, bytes]


class Again(Spider):
    """Crawls paths, or follows links from the first one; keeps bodies if it is told to."""

    name = "again"

    async def start(self) -> AsyncIterator[Any]:
        for path in self.paths:
            yield Request(self.base + path, meta={"depth": 0 if self.follows else 1})

    def parse(self, response: Any) -> Any:
        page = response.meta.get("simhash") or {"change": None}
        path = response.url.removeprefix(self.base)
        yield {"path": path, "change": page["change"], "body": response.text if self.keeps else ""}
        if self.follows:
            for link in response.css("a::attr(href)").getall():
                url = response.urljoin(link).partition("#")[0]
                if url.startswith(self.base) and self.follows in url:
                    yield Request(url)


def crawl(base: str, paths: list[str], follows: str = "", **settings: Any) -> list[dict[str, Any]]:
    """Crawl in a process of its own; return what was delivered."""
    with tempfile.TemporaryDirectory() as folder:
        given, items = Path(folder) / "given.json", Path(folder) / "items.jsonl"
        settings = SETTINGS | {"FEEDS": {str(items): {"format": "jsonlines"}}} | settings
        keeps = not settings.get("SIMHASH_ENABLED", True)
        spider = {"base": base, "paths": paths, "follows": follows, "keeps": keeps}
        given.write_text(json.dumps([settings, spider]))
        subprocess.run(
            [sys.executable, "-m", "benchmarks.recrawl", "--day", str(given)], check=True
        )
        return [json.loads(line) for line in items.read_text("utf-8").splitlines()]


def content(body: str | bytes) -> str:
    """Return the words of a page's content, without what its site puts around it."""
    tree = lxml.html.document_fromstring(body)
    mains = tree.cssselect("[role=main], main, #mw-content-text, div.body") or [tree]
    for node in mains[0].cssselect(AROUND):
        node.drop_tree()
    return " ".join(re.findall(r"\w+", " ".join(mains[0].itertext())))


# The sites.


def docs() -> Iterator[Pages]:
    days: dict[str, Pages] = {"bullseye": {}, "bookworm": {}, "trixie": {}}
    with lzma.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            page = json.loads(line)
            release, _, path = page["id"].partition("/")
            days[release]["/" + path] = page["html"].encode("utf-8", "replace")
    yield from days.values()


def forum() -> Iterator[Pages]:
    chance = random.Random(46)
    posts = {topic: [article(topic, 120)] for topic in range(400)}
    for day in range(3):
        if day:
            first = max(posts) + 1
            posts |= {topic: [article(topic, 120)] for topic in range(first, first + 60)}
            for topic in chance.sample(sorted(posts), 40):
                posts[topic].append(article(10_000 * day + topic, chance.randint(12, 60)))
            for topic in chance.sample(sorted(posts), 8):
                del posts[topic]
        yield _forum_of(posts, day, chance)


def _forum_of(posts: dict[int, list[str]], day: int, chance: random.Random) -> Pages:
    pages = {}
    order = sorted(posts, reverse=True)
    for topic, texts in posts.items():
        noise = f"<p class=seen>Viewed {chance.randint(1, 9999)} times, {day} days ago</p>"
        replies = "".join(f"<div class=post><p>{text}</p></div>" for text in texts)
        title = f"Topic {topic}: {texts[0].split('.')[0]}"
        for view in ("", "?view=print"):
            pages[f"/t/{topic}{view}"] = _page(title, replies, noise)
    for start in range(0, len(order), 20):
        some = order[start : start + 20]
        rows = "".join(
            f"<li><a href=/t/{topic}>{posts[topic][0][:60]}</a> {posts[topic][0][60:160]}</li>"
            for topic in some
        )
        pages[f"/board/{start // 20}"] = _page("Board", f"<ul>{rows}</ul>", "")
    return pages


def _page(title: str, main: str, noise: str) -> bytes:
    return (
        f"<!doctype html><meta charset=utf-8><title>{title}</title><nav>{noise}<a href=/>Home</a>"
        f"</nav><main><h1>{title}</h1>{main}</main><footer>{noise}</footer>"
    ).encode()


# What is measured.


def report(
    name: str, day: int, now: Pages, before: Pages, found: list[Any], fresh: list[Any]
) -> Pages:
    """Print a day on which all pages were wanted, and what a crawl on an empty index delivers.

    Args:
        name: of the site.
        day: from 1.
        now: its pages on this day.
        before: those that were delivered the day before.
        found: the items of this day.
        fresh: those of a crawl on an empty index.

    Returns:
        The pages that were delivered on this day.
    """
    texts = {path: content(body) for path, body in now.items()}
    told = {item["path"]: item["change"] for item in found}
    delivered = {texts[path] for path in told}
    lost = {path for path in now if path not in told and texts[path] not in delivered}
    anew = {item["path"] for item in fresh}
    others = {path for path in lost if path in anew}
    print(f"{name}, day {day}: {len(now)} pages without the filter, {len(told)} delivered; "
          f"{len(lost)} near copies are not, and {len(others)} of these are delivered on an "
          f"empty index, which delivers {len(anew)} {sorted(others)[:4]}")  # fmt: skip
    out = {path: body for path, body in now.items() if path in told}
    if not before:
        return out
    both = [path for path in told if path in before]
    true = {path for path in both if content(before[path]) != texts[path]}
    calls = {
        "change": {path for path in both if told[path] != "same"},
        "MD5 of the body": {path for path in both if _digest(before[path]) != _digest(now[path])},
    }
    print(f"  told: {dict(Counter(told.values()))}; of {len(both)} pages that came on both days "
          f"{len(true)} have another text")  # fmt: skip
    for rule, called in calls.items():
        print(f"  {rule:<16} {len(called - true):4} of {len(both) - len(true)} called changed that "
              f"are not, {len(true - called):4} of {len(true)} missed "
              f"{sorted(true - called)[:4]}")  # fmt: skip
    return out


def report_changed(name: str, day: int, now: Pages, before: Pages, items: list[Any]) -> None:
    """Print a day on which only what is new or has changed was wanted."""
    known = {content(body) for body in before.values()}
    texts = {path: content(body) for path, body in now.items()}
    news = {text for text in texts.values() if text not in known}
    out = [texts[item["path"]] for item in items]
    right = sum(text in news for text in out)
    stays = news - set(out)
    share = right / max(1, len(out))
    print(f"{name}, day {day}, changed: {len(out)} delivered, {right} ({share:.1%}) new or changed;"
          f" {len(stays)} of {len(news)} new or changed texts stay in "
          f"{sorted(path for path in texts if texts[path] in stays)[:4]}")  # fmt: skip


def _digest(body: bytes) -> bytes:
    return hashlib.md5(body, usedforsecurity=False).digest()


def measure(name: str, days: Iterator[Pages]) -> None:
    """Crawl the days of a site that is served here."""
    site, before, out = Site(), Pages(), Pages()
    with tempfile.TemporaryDirectory() as folder:
        for day, pages in enumerate(days, 1):
            site.pages = dict(pages)
            for mode in ("all", "changed"):
                index = f"sqlite:///{folder}/{mode}.sqlite"
                items = crawl(site.url, list(pages), SIMHASH_INDEX_URL=index, SIMHASH_RECRAWL=mode)
                if mode == "all":
                    out = report(name, day, pages, out, items, crawl(site.url, list(pages)))
                elif before:
                    report_changed(name, day, pages, before, items)
            before = pages
    site.close()


def measure_wiki(base: str, edit: str) -> None:
    """Crawl a MediaWiki by its links on two days, with edits in between."""
    before, out = Pages(), Pages()
    start, follows = "/index.php/Main_Page", "/index.php/"
    with tempfile.TemporaryDirectory() as folder:
        for day in (1, 2):
            if day == 2:
                subprocess.run(edit, shell=True, check=True, capture_output=True)
            whole = crawl(base, [start], follows, SIMHASH_ENABLED=False)
            pages = {item["path"]: item["body"].encode() for item in whole}
            for mode in ("all", "changed"):
                index = f"sqlite:///{folder}/{mode}.sqlite"
                items = crawl(base, [start], follows, SIMHASH_INDEX_URL=index, SIMHASH_RECRAWL=mode)
                items = [item for item in items if item["path"] in pages]
                if mode == "all":
                    anew = crawl(base, [start], follows)
                    out = report("wiki", day, pages, out, items, anew)
                elif before:
                    report_changed("wiki", day, pages, before, items)
            before = pages


def run_day(given: Path) -> None:
    """Crawl, in the process of a day."""
    from scrapy.crawler import AsyncCrawlerProcess

    settings, spider = json.loads(given.read_text())
    process = AsyncCrawlerProcess(settings)
    process.crawl(Again, **spider)
    process.start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="*", default=["docs", "forum"])
    parser.add_argument("--wiki", help="the address of a MediaWiki")
    parser.add_argument("--edit", default="true", help="a command that edits pages of it")
    parser.add_argument("--day", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.day:
        run_day(options.day)
        return
    for name in options.sites:
        if name == "wiki":
            measure_wiki(options.wiki, options.edit)
        else:
            measure(name, {"docs": docs, "forum": forum}[name]())


if __name__ == "__main__":
    main()
