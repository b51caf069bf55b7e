"""Pages that are handed over to a crawl: from a dead one, or because their original failed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import DontCloseSpider

from scrapy_simhash.crawl.crawl_filter import IDLE_SECONDS
from scrapy_simhash.crawl.requests import request_to_json
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import Index, index_from_url
from scrapy_simhash.index.memory import MemoryIndex
from tests.crawl.test_crawl import Pages, paths
from tests.pages import article, html

OPENED = Callable[..., Index]


@pytest.fixture
def articles(site: Any) -> Any:
    for number in range(3):
        site.pages[f"/{number}"] = html(article(number))
        site.pages[f"/{number}/copy"] = html(article(number))
    return site


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/index.sqlite"


@pytest.fixture
def opened(url: str) -> Iterator[OPENED]:
    """Opens the index as a worker would."""
    recipe = named_recipe("default")
    indexes: list[Index] = []

    def open_index(spider: str = "pages") -> Index:
        index = index_from_url(
            url,
            recipe=recipe.identity,
            bits=recipe.bits,
            distance=recipe.distance,
            lease=1,
            spider=spider,
        )
        indexes.append(index)
        return index

    yield open_index
    for index in indexes:
        index.close()


class FailingSlowly(Pages):
    """Fails with a page on which a copy waits by then; then has other things to do for a while."""

    busy = 0.0

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.base + "/0")
        await asyncio.sleep(0.4)
        yield Request(self.base + "/0/copy")
        await asyncio.sleep(self.busy)

    async def parse(self, response: Any) -> Any:
        if response.url.endswith("/0"):
            await asyncio.sleep(1)
            raise RuntimeError("too late")
        yield {"path": response.url.removeprefix(self.base)}


class FailingAndBusy(FailingSlowly):
    busy = 3.0


def delayed(seconds: float, act: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*arguments: Any, **named: Any) -> Any:
        time.sleep(seconds)
        return act(*arguments, **named)

    return slow


def answering(site: Any, path: str, *answers: Any) -> list[Any]:
    """Have a path answered otherwise after the first request, one after the other; return those."""
    usual = 200, {"Content-Type": "text/html"}, site.pages[path]
    asked: list[Any] = []

    def answer(request: Any) -> Any:
        asked.append(request)
        return answers[len(asked) - 2] if 2 <= len(asked) < len(answers) + 2 else usual

    site.pages[path] = answer
    return asked


def leave(
    index: Index, site: Any, number: int, request: str | None = None, *, query: str = ""
) -> None:
    """Claim for a page, under an address with this query, as a worker that died long ago."""
    asked = Request(f"{site.url}/{number}")
    stored = request or request_to_json(asked, Pages(site=site, paths=[]))
    fingerprint = named_recipe("default").fingerprint(article(number))
    index.claim(asked.url + query, fingerprint, request=stored, now=0)


def test_a_dead_spiders_pages_are_crawled_by_the_next_of_its_name(
    crawl: Any, articles: Any, url: str, opened: OPENED
) -> None:
    leave(opened(), articles, 0)

    class Shop(Pages):
        name = "shop"

    settings = {"SIMHASH_INDEX_URL": url}
    assert paths(crawl(Shop, settings=settings, site=articles, paths=["/1"])) == ["/1"]
    crawled = crawl(Pages, settings=settings, site=articles, paths=["/2"])
    assert sorted(paths(crawled)) == ["/0", "/2"]
    assert paths(crawl(Pages, settings=settings, site=articles, paths=["/0/copy"])) == []


@pytest.mark.parametrize("deaths", [3, 4, "rubbish"])
def test_a_page_with_which_five_crawlers_have_died_is_not_crawled_again(
    crawl: Any, articles: Any, url: str, opened: OPENED, caplog: Any, deaths: object
) -> None:
    request = Request(f"{articles.url}/0", meta={"simhash_again": deaths})
    leave(opened(), articles, 0, request_to_json(request, Pages(site=articles, paths=[])))
    crawled = crawl(Pages, settings={"SIMHASH_INDEX_URL": url}, site=articles, paths=[])
    assert paths(crawled) == ([] if deaths == 4 else ["/0"])
    assert ("5 crawlers died" in caplog.text) == (deaths == 4)


@pytest.mark.parametrize("request_text", ["[" * 100_000, '{"url": 1}'])
def test_rubbish_among_what_was_left_does_not_end_the_upkeep(
    crawl: Any, articles: Any, url: str, opened: OPENED, request_text: str
) -> None:
    index = opened()
    leave(index, articles, 0, request_text)
    leave(index, articles, 1)

    class Ending(Pages):
        async def start(self) -> AsyncIterator[Any]:
            yield Request(self.base + "/2")
            await asyncio.sleep(1)
            states.update((entry.key, entry.provisional) for entry in index)

    states: dict[str, bool] = {}
    crawled = crawl(Ending, settings={"SIMHASH_INDEX_URL": url}, site=articles, paths=[])
    assert sorted(paths(crawled)) == ["/1", "/2"]
    assert not states[f"{articles.url}/2"]


@pytest.mark.parametrize("answer_after", [0, 2 * IDLE_SECONDS])
def test_page_that_the_queue_does_not_take_is_crawled_again_later(
    crawl: Any, articles: Any, caplog: Any, monkeypatch: Any, answer_after: float
) -> None:
    class Away(Scheduler):
        refused = False

        def enqueue_request(self, request: Request) -> bool:
            if "simhash_again" in request.meta and not Away.refused:
                Away.refused = True
                raise ConnectionError("the queue is away")
            return super().enqueue_request(request)

    monkeypatch.setattr(MemoryIndex, "last_lease", delayed(answer_after, MemoryIndex.last_lease))
    settings = {"SCHEDULER": Away, "SIMHASH_LEASE": 1}
    crawled = crawl(FailingSlowly, settings=settings, site=articles, paths=[])
    assert Away.refused
    assert "cannot be put into the queue" in caplog.text
    assert paths(crawled) == ["/0/copy"]


@pytest.mark.parametrize("spider", [FailingSlowly, FailingAndBusy])
def test_handed_over_page_that_cannot_be_had_just_now_is_crawled_once_more(
    crawl: Any, articles: Any, spider: Any
) -> None:
    asked = answering(articles, "/0/copy", (503, {}, b""))
    settings = {"SIMHASH_LEASE": 1, "RETRY_ENABLED": False}
    assert paths(crawl(spider, settings=settings, site=articles, paths=[])) == ["/0/copy"]
    assert len(asked) == 3


@pytest.mark.parametrize(
    "answer", [(404, {}, b""), (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7")]
)
def test_handed_over_page_that_is_not_compared_is_not_asked_for_again(
    crawl: Any, articles: Any, answer: Any
) -> None:
    asked = answering(articles, "/0/copy", *[answer] * 5)
    crawl(FailingSlowly, settings={"SIMHASH_LEASE": 1}, site=articles, paths=[])
    assert len(asked) == 2


@pytest.mark.parametrize("target", ["a new page", "a copy", "missing"])
def test_handed_over_page_that_leads_elsewhere_by_now_is_not_asked_for_again(
    crawl: Any, articles: Any, target: str
) -> None:
    asked = answering(articles, "/0/copy", *[(302, {"Location": "/moved"}, b"")] * 5)
    if target != "missing":
        articles.pages["/moved"] = html(article(1 if target == "a copy" else 7))

    class AndAnother(FailingSlowly):
        async def start(self) -> AsyncIterator[Any]:
            yield Request(self.base + "/1")
            async for request in super().start():
                yield request

    crawled = crawl(AndAnother, settings={"SIMHASH_LEASE": 1}, site=articles, paths=[])
    assert sorted(paths(crawled)) == ["/1", *["/moved"] * (target == "a new page")]
    assert len(asked) == 2


def test_handed_over_page_that_a_middleware_asks_for_again_is_not_given_up(
    crawl: Any, articles: Any, url: str, opened: OPENED
) -> None:
    class Ban:
        def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:
            return request.replace(dont_filter=True) if response.status == 403 else response

    index, left = opened(), []
    answering(articles, "/0/copy", (403, {}, b""))
    first = articles.pages["/0/copy"]

    def answer(request: Any) -> Any:
        time.sleep(0.5)
        left.append(index.last_lease())
        return first(request)

    articles.pages["/0/copy"] = answer
    middlewares = {Ban: 543}
    settings = {"SIMHASH_INDEX_URL": url, "DOWNLOADER_MIDDLEWARES": middlewares}
    assert paths(crawl(FailingSlowly, settings=settings, site=articles, paths=[])) == ["/0/copy"]
    assert len(left) == 3
    assert None not in left[1:]


def test_late_answer_of_the_index_does_not_end_a_crawl_that_was_busy_since(
    crawl: Any, articles: Any, monkeypatch: Any
) -> None:
    asked = answering(articles, "/0/copy", (503, {}, b""))
    articles.pages["/slow"] = delayed(3, lambda _: (404, {}, b""))
    usual, seconds = MemoryIndex.last_lease, [2 * IDLE_SECONDS]

    def late_once(index: Any, **named: Any) -> Any:
        answer = usual(index, **named)
        time.sleep(seconds.pop() if seconds else 0)
        return answer

    monkeypatch.setattr(MemoryIndex, "last_lease", late_once)

    class Batches(FailingSlowly):
        batches = 0

        @classmethod
        def from_crawler(cls, crawler: Any, *args: Any, **named: Any) -> Any:
            spider = super().from_crawler(crawler, *args, **named)
            crawler.signals.connect(spider.more, signal=signals.spider_idle)
            return spider

        async def start(self) -> AsyncIterator[Any]:
            yield Request(self.base + "/1")

        def more(self) -> None:
            self.batches += 1
            if self.batches == 1:
                crawl = self.crawler.engine.crawl
                # Until what failed is noted.
                crawl(Request(self.base + "/slow"))
                crawl(Request(self.base + "/0"))
                copy = Request(self.base + "/0/copy")
                asyncio.get_running_loop().call_later(0.4, lambda: crawl(copy))
                raise DontCloseSpider

    settings = {"SIMHASH_LEASE": 1, "RETRY_ENABLED": False}
    crawled = crawl(Batches, settings=settings, site=articles, paths=[])
    assert sorted(paths(crawled)) == ["/0/copy", "/1"]
    assert len(asked) == 3


def test_crawl_stays_while_its_pages_wait_on_another_spiders(
    crawl: Any, articles: Any, url: str, opened: OPENED
) -> None:
    shop, asked = opened("shop"), f"{articles.url}/0"
    shop.claim(asked, named_recipe("default").fingerprint(article(0)), request="x")
    stop = threading.Event()

    def live() -> None:
        for _ in range(35):
            stop.wait(0.2)
            shop.renew([asked])
        shop.release([asked])

    thread = threading.Thread(target=live)
    thread.start()
    try:
        settings = {"SIMHASH_INDEX_URL": url, "SIMHASH_LEASE": 1}
        crawled = crawl(Pages, settings=settings, site=articles, paths=["/0/copy"])
    finally:
        stop.set()
        thread.join()
    assert paths(crawled) == ["/0/copy"]


@pytest.mark.parametrize("rendered", [False, True])
def test_handed_over_page_that_takes_longer_than_its_lease_is_handed_to_nobody_else(
    crawl: Any, articles: Any, url: str, opened: OPENED, rendered: bool
) -> None:
    query = "?rendered=1" if rendered else ""

    class Rendering:
        def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:
            return response.replace(url=response.url + query)

    index, other = opened(), opened()
    for number in range(2):
        leave(index, articles, number, query=query)
    found = []

    def slow(request: Any) -> Any:
        time.sleep(2.5)
        found.extend(other.orphans())
        return 404, {}, b""

    articles.pages["/0"] = slow
    settings = {
        "SIMHASH_INDEX_URL": url,
        "SIMHASH_LEASE": 1,
        "CONCURRENT_REQUESTS": 1,
        "DOWNLOADER_MIDDLEWARES": {Rendering: 900},
    }
    crawled = crawl(Pages, settings=settings, site=articles, paths=[])
    assert len(paths(crawled)) == 1
    assert found == []
