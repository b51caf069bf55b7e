"""Copies that wait in the queue of scrapy-redis, which outlives each of its crawlers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from scrapy import Request

from scrapy_simhash import Document, SyncDedup
from scrapy_simhash.crawl.requests import COPY
from scrapy_simhash.crawl.waiting import Copies
from tests.crawl.spiders import Pages, paths

# scrapy-redis 0.9.1 calls Scrapy's stats the old way.
pytestmark = pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")


class FirstIsSlow(Pages):
    """The callback of /first takes a moment, notes what lies in the queue, and may fail."""

    fails: bool
    queued: list[int]

    async def parse(self, response: Any) -> AsyncIterator[Any]:
        if response.url.endswith("/first"):
            for _ in range(20):
                await asyncio.sleep(0.1)
                self.queued.append(len(self.crawler.engine._slot.scheduler))
            if self.fails:
                raise RuntimeError("the first one fails")
        for item in super().parse(response):
            yield item


@pytest.mark.parametrize("fails", [True, False])
def test_a_copy_stays_in_the_queue_of_scrapy_redis_until_its_original_has_ended(
    crawl, twins, scrapy_redis_settings, fails
):
    """Whatever is killed meanwhile, the copy is in Redis; it is downloaded once."""
    spider = type("Slow", (FirstIsSlow,), {"fails": fails, "queued": []})
    crawled = crawl(spider, settings=scrapy_redis_settings, site=twins, paths=["/first", "/second"])
    assert paths(crawled) == (["/second"] if fails else ["/first"])
    assert crawled.stat("crawled_again") == fails
    assert crawled.stats["downloader/request_count"] == 2
    # It is out of the queue only in the moment in which it is put back.
    assert 1 in spider.queued[5:]


@contextmanager
def first_of_another_crawler(site: Any, settings: dict[str, Any]) -> Iterator[SyncDedup]:
    """Another crawler of the index has /first in progress."""
    settings["SIMHASH_INDEX_URL"] = f"{settings['REDIS_URL']}?name=both"
    with SyncDedup(settings["SIMHASH_INDEX_URL"], processes=0) as other:
        page = Document(f"{site.url}/first", site.pages["/first"])
        assert other.check(page).kind == "unique"
        yield other


@pytest.mark.parametrize("fails", [True, False])
def test_a_copy_waits_for_the_page_of_another_crawler(crawl, twins, scrapy_redis_settings, fails):
    with first_of_another_crawler(twins, scrapy_redis_settings) as other:
        end = other.failed if fails else other.delivered
        timer = threading.Timer(1.5, end, [f"{twins.url}/first"])
        timer.start()
        crawled = crawl(Pages, settings=scrapy_redis_settings, site=twins, paths=["/second"])
        timer.join()
    assert paths(crawled) == (["/second"] if fails else [])
    assert twins.hits["/second"] == 1


class TakesOver(Pages):
    """Its queue has a copy that another crawler has put there."""

    async def start(self) -> AsyncIterator[Any]:
        copy = [f"{self.base}/second", 0, f"{self.base}/first"]
        yield Request(f"{self.base}/second", dont_filter=True, meta={"depth": 1, COPY: copy})


@pytest.mark.parametrize("is_delivered", [True, False])
def test_a_copy_that_a_killed_crawler_has_left_is_crawled_unless_its_original_was_delivered(
    crawl, twins, scrapy_redis_settings, is_delivered
):
    with first_of_another_crawler(twins, scrapy_redis_settings) as other:
        (other.delivered if is_delivered else other.failed)(f"{twins.url}/first")
    crawled = crawl(TakesOver, settings=scrapy_redis_settings, site=twins, paths=[])
    assert paths(crawled) == ([] if is_delivered else ["/second"])
    assert twins.hits["/second"] == (not is_delivered)


def test_a_copy_is_back_in_the_queue_before_the_index_is_asked_about_its_original(
    crawl, twins, scrapy_redis_settings, monkeypatch
):
    """A crawler that is killed meanwhile does not lose it."""
    queued = []

    async def was_delivered(copies: Any, key: str) -> bool:
        queued.append(len(copies._crawler.engine._slot.scheduler))
        return True

    monkeypatch.setattr(Copies, "_was_delivered", was_delivered)
    crawled = crawl(TakesOver, settings=scrapy_redis_settings, site=twins, paths=[])
    assert queued == [1]
    assert paths(crawled) == []


def test_a_crawl_ends_though_nobody_tells_how_an_original_fares(
    crawl, twins, scrapy_redis_settings
):
    """Without the spider middleware, no page counts as delivered."""
    middleware = "scrapy_simhash.spidermiddlewares.NearDuplicateSpiderMiddleware"
    settings = {**scrapy_redis_settings, "SPIDER_MIDDLEWARES": {middleware: None}}
    crawled = crawl(Pages, settings=settings, site=twins, paths=["/first", "/second"])
    assert paths(crawled) == ["/first", "/second"]
