"""Spiders of whole crawls, and what tests ask of them."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from scrapy import Request, Spider

from scrapy_simhash.crawl import filter_of
from tests.pages import html

ONE_AT_A_TIME = {"CONCURRENT_REQUESTS": 1}
TEXT = {"SIMHASH_ITEM_TEXT_FIELD": "text"}


class Pages(Spider):
    """Crawls paths of a site in their order; tells of each page that gets through."""

    name = "pages"

    def __init__(self, site: Any, paths: list[str], meta: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.base, self.paths, self.meta = site.url, paths, meta or {}

    async def start(self) -> AsyncIterator[Any]:
        for place, path in enumerate(self.paths):
            # As if a list had led to them, because start requests are never dropped.
            meta = {"depth": 1, **self.meta}
            yield Request(self.base + path, dont_filter=True, meta=meta, priority=-place)

    def parse(self, response: Any) -> Any:
        path = response.url.removeprefix(self.base)
        yield {"path": path, "page": response.meta["simhash"], "request": response.request}

    def told(self, failure: Any) -> None:
        self.crawler.stats.inc_value("told")

    def counted(self, stat: str) -> int:
        return int(self.crawler.stats.get_value(f"simhash/{stat}", 0))


class InTurn(Pages):
    """Asks for one page after the other; between them, it does or waits for what a test wants."""

    def __init__(self, site: Any, acts: list[Any]) -> None:
        super().__init__(site, [])
        self.acts = acts

    async def start(self) -> AsyncIterator[Any]:
        for act in self.acts:
            if inspect.iscoroutinefunction(act):
                await act(self)
            elif callable(act):
                await asyncio.to_thread(act)
            else:
                before = self.counted("responses")
                yield Request(self.base + act)
                await until(lambda before=before: self.counted("responses") > before)


async def settled(spider: Pages) -> None:
    """Wait until the index knows of every page how it fared."""
    upkeep = filter_of(spider.crawler).dedup.upkeep
    await until(lambda: is_told(upkeep) and not upkeep._parts)


async def stopping(spider: Pages) -> None:
    await until(lambda: spider.crawler.engine._slot.closing)


class FailingLate(Pages):
    """Fails with a page, or delivers it, once the stat ``awaited`` counts a copy of it."""

    awaited, fails = "dropped", True

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.base + "/0")
        await until(lambda: self.counted("unique"))
        meta = {"depth": 1, **self.meta}
        yield Request(self.base + "/0/copy", errback=self.told, meta=meta)

    async def parse(self, response: Any) -> Any:
        if response.url.endswith("/0"):
            await until(lambda: self.counted(self.awaited))
            await self.act()
            if self.fails:
                raise RuntimeError("too late")
        yield {"path": response.url.removeprefix(self.base)}

    async def act(self) -> None:
        """Do what a test wants done before the page fails or is delivered."""


class Following(Pages):
    """Follows the links of each page that gets through."""

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        yield from response.follow_all(css="a")


class Blog(Following):
    """Crawls a site from its front page, in the order of its links."""

    name = "blog"

    def __init__(self, site: Any, start: str = "/", meta: dict[str, Any] | None = None) -> None:
        super().__init__(site, [start], meta)

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.base + self.paths[0], meta=self.meta)


class Items(Spider):
    """Yields the items it is given from one page that has nothing of its own to compare."""

    name = "items"

    def __init__(self, site: Any, items: list[dict[str, Any]]) -> None:
        super().__init__()
        site.pages["/list"] = html("A list.")
        self.start_urls = [site.url + "/list"]
        self.items = items

    def parse(self, response: Any) -> Any:
        yield from self.items


async def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("a crawl waits in vain")
        await asyncio.sleep(0.02)


def is_told(upkeep: Any) -> bool:
    """Return whether the index was told of all pages that have ended."""
    return not (upkeep._failed or upkeep._delivered)


def paths(crawled: Any) -> list[str]:
    return [item["path"] for item in crawled.items]


def check_sum(crawled: Any) -> None:
    assert crawled.stat("responses") == sum(
        crawled.stat(kind) for kind in ("unique", "duplicate", "revisit", "skipped")
    )
