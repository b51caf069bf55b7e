"""Copies that wait in the queue of scrapy-redis, which outlives each of its crawlers."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from scrapy import Request

from scrapy_simhash import Document, SyncDedup
from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.requests import COPY
from scrapy_simhash.crawl.waiting import Copies
from tests.crawl.spiders import FailingLate, Pages, paths, settled, until

# scrapy-redis 0.9.1 calls Scrapy's stats the old way.
pytestmark = pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")


def queued(spider: Pages) -> int:
    return len(spider.crawler.engine._slot.scheduler)


@pytest.mark.parametrize("fails", [True, False])
def test_a_copy_stays_in_the_queue_until_its_original_has_ended(crawl, articles, on_redis, fails):
    """Whatever is killed meanwhile, the copy is in Redis; it is downloaded once."""

    class Slow(FailingLate):
        async def act(self) -> None:
            self.fails = fails
            # It is out of the queue only in the moment in which it is put back.
            await until(lambda: queued(self) == 1)
            await asyncio.sleep(1)

    begun = time.monotonic()
    crawled = crawl(Slow, settings=on_redis, site=articles, paths=[])
    assert paths(crawled) == (["/0/copy"] if fails else ["/0"])
    assert crawled.stat("crawled_again") == fails
    assert crawled.stats["downloader/request_count"] == 2
    assert crawled.stats["told"] == 1
    # Each look at it takes a second, in which nothing else is asked.
    looks = crawled.stats["downloader/exception_type_count/scrapy.exceptions.IgnoreRequest"]
    assert looks < 3 + time.monotonic() - begun


@contextmanager
def first_of_another_crawler(site: Any, settings: dict[str, Any]) -> Iterator[SyncDedup]:
    """Another crawler of the index has /first in progress."""
    settings["SIMHASH_INDEX_URL"] = f"{settings['REDIS_URL']}?name=both"
    with SyncDedup(settings["SIMHASH_INDEX_URL"], processes=0) as other:
        page = Document(f"{site.url}/first", site.pages["/first"])
        assert other.check(page).kind == "unique"
        yield other


@pytest.mark.parametrize("fails", [True, False])
def test_a_copy_waits_for_the_page_of_another_crawler(crawl, twins, on_redis, fails):
    class Meanwhile(Pages):
        async def start(self) -> AsyncIterator[Any]:
            async for request in super().start():
                yield request
            await until(lambda: self.counted("dropped"))
            await until(lambda: queued(self) == 1)
            end = other.failed if fails else other.delivered
            await asyncio.to_thread(end, f"{self.base}/first")

    with first_of_another_crawler(twins, on_redis) as other:
        crawled = crawl(Meanwhile, settings=on_redis, site=twins, paths=["/second"])
    assert paths(crawled) == (["/second"] if fails else [])
    assert [item["request"].priority for item in crawled.items] == [0] * fails
    assert twins.hits["/second"] == 1


class TakesOver(Pages):
    """Its queue has a copy that another crawler has put there; without more, of an outage."""

    entry = 0

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            yield request
            await settled(self)
        copy = [f"{self.base}/second", self.entry, f"{self.base}/first"]
        yield Request(f"{self.base}/second", dont_filter=True, meta={"depth": 1, COPY: copy})


@pytest.mark.parametrize("fate", ["delivered", "failed", "of an outage", "of another index"])
def test_a_copy_that_a_killed_crawler_has_left_is_crawled_unless_its_original_was_delivered(
    crawl, twins, on_redis, monkeypatch, fate
):
    with first_of_another_crawler(twins, on_redis) as other:
        copy = other.check(Document(f"{twins.url}/second", twins.pages["/second"]), wait=False)
        (other.failed if fate == "failed" else other.delivered)(f"{twins.url}/first")
    if fate == "of another index":  # in which the number of its entry is another page's
        on_redis["SIMHASH_INDEX_URL"] = "memory://"
    if fate != "of an outage":
        monkeypatch.setattr(TakesOver, "entry", copy.matches[0].entry)
    crawled = crawl(TakesOver, settings=on_redis, site=twins, paths=["/other"])
    is_crawled = fate in ("failed", "of another index")
    assert paths(crawled) == ["/other"] + ["/second"] * is_crawled
    assert twins.hits["/second"] == (fate != "delivered")


def test_a_copy_is_queued_again_before_anything_is_waited_for(crawl, twins, on_redis, monkeypatch):
    """A crawler that is killed meanwhile does not lose it."""
    queued = []

    async def pause(copies: Any, fate: Any) -> None:
        queued.append(len(copies._crawler.engine._slot.scheduler))
        await fate

    monkeypatch.setattr(Copies, "_pause", pause)
    crawl(TakesOver, settings=on_redis, site=twins, paths=[])
    assert queued == [1]


def test_a_crawl_ends_though_nobody_tells_how_an_original_fares(crawl, twins, on_redis):
    """Something has it in progress for ever; or no page counts as delivered."""

    class NeverEnds(TakesOver):
        async def start(self) -> AsyncIterator[Any]:
            dedup = filter_of(self.crawler).dedup
            first = Document(f"{self.base}/first", twins.pages["/first"])
            assert (await dedup.check(first)).owned
            second = Document(f"{self.base}/second", twins.pages["/second"])
            self.entry = (await dedup.check(second, wait=False)).matches[0].entry
            async for request in super().start():
                yield request

    settings = on_redis
    assert paths(crawl(NeverEnds, settings=settings, site=twins, paths=[])) == ["/second"]
    middleware = "scrapy_simhash.spidermiddlewares.NearDuplicateSpiderMiddleware"
    settings = settings | {"SPIDER_MIDDLEWARES": {middleware: None}}
    settings["SIMHASH_INDEX_URL"] = "memory://"
    crawled = crawl(Pages, settings=settings, site=twins, paths=["/first", "/second"])
    assert paths(crawled) == ["/first", "/second"]
