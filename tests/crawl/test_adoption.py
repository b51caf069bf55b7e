"""Pages that a dead crawler had begun: the next crawl of the same spider crawls them again."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from scrapy_simhash.core.analysis import Body, analyse_body
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.requests import request_to_json
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.values import Arrival
from scrapy_simhash.testing.made import Clock, at
from tests.crawl.spiders import Pages, answering, paths
from tests.pages import article, html

Opened = Callable[..., Index]
RECIPE = named_recipe("default")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/index.sqlite"


@pytest.fixture
def opened(url: str) -> Iterator[Opened]:
    """Opens the index as a crawler would."""
    indexes: list[Index] = []

    def open_as(spider: str = "pages") -> Index:
        indexes.append(
            open_index(url, replace(spec_of(RECIPE, lease=1, spider=spider), clock=Clock()))
        )
        return indexes[-1]

    yield open_as
    for index in indexes:
        index.close()


def claim(index: Index, site: Any, number: int, request: str | None, of: str = "") -> None:
    analysis = analyse_body(Body(html(article(number))), RECIPE)
    assert analysis.fingerprint is not None
    key = f"{site.url}/{number}{of}"
    index.claim(Arrival(key, analysis.fingerprint, "", analysis.facts, request))


def stored(site: Any, number: int, of: str = "") -> str:
    text = request_to_json(Request(f"{site.url}/{number}{of}"), Pages(site=site, paths=[]))
    assert text is not None
    return text


def leave(index: Index, site: Any, number: int, request: str | None = None) -> None:
    """Claim for a page as a crawler that died long ago."""
    claim(at(index, 0.0), site, number, request or stored(site, number))
    at(index, None)


def test_a_dead_spiders_pages_are_crawled_by_the_next_of_its_name(
    crawl: Any, articles: Any, url: str, opened: Opened
) -> None:
    leave(opened(), articles, 0)

    class Shop(Pages):
        name = "shop"

    settings = {"SIMHASH_INDEX_URL": url}
    assert paths(crawl(Shop, settings=settings, site=articles, paths=["/1"])) == ["/1"]
    crawled = crawl(Pages, settings=settings, site=articles, paths=["/2"])
    assert sorted(paths(crawled)) == ["/0", "/2"]
    assert paths(crawl(Shop, settings=settings, site=articles, paths=["/0/copy"])) == []


def test_a_copy_that_a_dead_crawler_dropped_is_crawled_when_its_original_fails(
    crawl: Any, articles: Any, url: str, opened: Opened
) -> None:
    living, dead = opened(), opened()
    # Its lease outlives the crawl, however slow the machine is.
    claim(at(living, time.time() + 600), articles, 0, stored(articles, 0))
    at(living, None)
    claim(dead, articles, 0, stored(articles, 0, "/copy"), "/copy")
    dead.close()
    settings = {"SIMHASH_INDEX_URL": url}
    assert paths(crawl(Pages, settings=settings, site=articles, paths=[])) == []
    living.release([f"{articles.url}/0"])
    assert paths(crawl(Pages, settings=settings, site=articles, paths=[])) == ["/0/copy"]
    assert [(entry.key, entry.provisional) for entry in living] == [
        (f"{articles.url}/0/copy", False)
    ]


def changed(site: Any, **parts: Any) -> str:
    return json.dumps({**json.loads(stored(site, 0)), **parts})


@pytest.mark.parametrize(
    "rubbish",
    [
        "[" * 100_000,
        '{"url": 1}',
        {"url": "file:///etc/passwd"},
        {"callback": "closed"},
        {"callback": "__class__"},
    ],
)
def test_rubbish_among_what_was_left_costs_itself_alone(
    crawl: Any, articles: Any, url: str, opened: Opened, caplog: Any, rubbish: Any
) -> None:
    index = opened()
    text = rubbish if isinstance(rubbish, str) else changed(articles, **rubbish)
    leave(index, articles, 0, text)
    leave(index, articles, 1)
    crawled = crawl(Pages, settings={"SIMHASH_INDEX_URL": url}, site=articles, paths=["/2"])
    assert sorted(paths(crawled)) == ["/1", "/2"]
    assert f"{articles.url}/0 cannot be crawled again: " in caplog.text
    assert sorted(entry.key for entry in index) == [articles.url + "/1", articles.url + "/2"]
    assert not any(entry.provisional for entry in index)


@pytest.mark.parametrize("target", ["a new page", "a copy", "missing"])
def test_adopted_page_that_leads_elsewhere_by_now_gives_up_its_place(
    crawl: Any, articles: Any, url: str, opened: Opened, target: str
) -> None:
    index = opened()
    leave(index, articles, 0)
    articles.pages["/0"] = (302, {"Location": "/moved"}, b"")
    if target != "missing":
        articles.pages["/moved"] = html(article(1 if target == "a copy" else 7))
    settings = {"SIMHASH_INDEX_URL": url, "CONCURRENT_REQUESTS": 1, "SIMHASH_LEASE": 1}
    crawl(Pages, settings=settings, site=articles, paths=["/1"])
    assert articles.hits["/0"] == 1
    assert f"{articles.url}/0" not in [entry.key for entry in index]


def test_crawl_stays_while_its_copies_wait_on_another_spiders_page(
    crawl: Any, articles: Any, url: str, opened: Opened
) -> None:
    shop, key = opened("shop"), f"{articles.url}/0"
    claim(shop, articles, 0, "x")
    stop = threading.Event()

    def live() -> None:
        for _ in range(8):
            stop.wait(0.2)
            shop.renew([key])
        shop.release([key])

    thread = threading.Thread(target=live)
    thread.start()
    try:
        settings = {"SIMHASH_INDEX_URL": url, "SIMHASH_LEASE": 1}
        crawled = crawl(Pages, settings=settings, site=articles, paths=["/0/copy"])
    finally:
        stop.set()
        thread.join()
    assert paths(crawled) == ["/0/copy"]


# Scrapy 2.13 leaves a queue open that it finds empty at the start of a job.
@pytest.mark.filterwarnings("ignore:unclosed file .*requests.queue:ResourceWarning")
def test_copies_that_wait_on_another_spiders_page_outlive_a_stop_of_their_job(
    crawl: Any, articles: Any, url: str, opened: Opened, tmp_path: Path
) -> None:
    class Stopped(Pages):
        async def start(self) -> AsyncIterator[Any]:
            yield Request(self.base + "/0/copy", meta={"depth": 1})
            await asyncio.sleep(0.4)
            self.stopping = asyncio.ensure_future(filter_of(self.crawler)._stop())

    shop = opened("shop")
    claim(shop, articles, 0, "x")
    settings = {"SIMHASH_INDEX_URL": url, "SIMHASH_LEASE": 5, "JOBDIR": str(tmp_path / "job")}
    assert crawl(Stopped, settings=settings, site=articles, paths=[]).stat("dropped") == 1
    shop.release([f"{articles.url}/0"])
    assert paths(crawl(Pages, settings=settings, site=articles, paths=[])) == ["/0/copy"]


def test_crawl_takes_the_place_of_a_spider_that_dies_with_the_original_of_a_copy(
    crawl: Any, articles: Any, url: str, opened: Opened
) -> None:
    claim(opened("shop"), articles, 0, "x")
    settings = {"SIMHASH_INDEX_URL": url, "SIMHASH_LEASE": 1}
    crawled = crawl(Pages, settings=settings, site=articles, paths=["/0/copy"])
    assert paths(crawled) == ["/0/copy"]


def test_adopted_page_that_takes_longer_than_its_lease_is_given_to_nobody_else(
    crawl: Any, articles: Any, url: str, opened: Opened
) -> None:
    index, other = opened(), opened()
    for number in range(2):
        leave(index, articles, number)
    found: list[Any] = []

    def slow(request: Any) -> Any:
        time.sleep(2.5)
        found.extend(other.orphans())
        return 404, {}, b""

    articles.pages["/0"] = slow
    settings = {"SIMHASH_INDEX_URL": url, "SIMHASH_LEASE": 1, "CONCURRENT_REQUESTS": 1}
    crawled = crawl(Pages, settings=settings, site=articles, paths=[])
    assert paths(crawled) == ["/1"]
    assert found == []
    assert (articles.hits["/0"], articles.hits["/1"]) == (1, 1)


def test_page_that_a_middleware_asks_for_again_keeps_its_place(
    crawl: Any, articles: Any, url: str, opened: Opened
) -> None:
    class Ban:
        def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:
            return request.replace(dont_filter=True) if response.status == 403 else response

    leave(opened(), articles, 0)
    answering(articles, "/0", (403, {}, b""))
    articles.pages["/0"](None)
    settings = {"SIMHASH_INDEX_URL": url, "DOWNLOADER_MIDDLEWARES": {Ban: 543}}
    assert paths(crawl(Pages, settings=settings, site=articles, paths=[])) == ["/0"]


def test_requests_are_stored_only_where_another_crawler_can_find_them(
    crawl: Any, articles: Any, url: str, monkeypatch: Any
) -> None:
    made: list[str] = []

    def counting(request: Request, *rest: Any) -> str | None:
        made.append(request.url)
        return request_to_json(request, *rest)

    class Slow(Pages):
        async def start(self) -> AsyncIterator[Any]:
            for path in self.paths:
                yield Request(self.base + path)

    monkeypatch.setattr("scrapy_simhash.crawl.filter.request_to_json", counting)
    crawl(Slow, settings={"SIMHASH_INDEX_URL": "memory://"}, site=articles, paths=["/0", "/1"])
    assert made == []
    crawl(Slow, settings={"SIMHASH_INDEX_URL": url}, site=articles, paths=["/0", "/1"])
    assert len(made) == 2
