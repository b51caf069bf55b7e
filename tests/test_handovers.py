"""Pages that are handed over to a crawl: from a dead one, or because their original failed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from scrapy_simhash.crawl import IDLE_SECONDS
from scrapy_simhash.index import Index, index_from_url
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.recipe import named_recipe
from scrapy_simhash.requests import request_to_json
from tests.pages import article, html
from tests.test_crawl import Pages, paths

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


def leave(index: Index, site: Any, number: int, request: str | None = None) -> None:
    """Claim for a page as a worker that died long ago."""
    asked = Request(f"{site.url}/{number}")
    stored = request or request_to_json(asked, Pages(site=site, paths=[]))
    fingerprint = named_recipe("default").fingerprint(article(number))
    index.claim(asked.url, fingerprint, request=stored, now=0)


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


def test_page_that_waits_in_the_queue_for_longer_than_its_lease_is_handed_to_nobody_else(
    crawl: Any, articles: Any, url: str, opened: OPENED
) -> None:
    index, other = opened(), opened()
    for number in range(2):
        leave(index, articles, number)
    found = []

    def slow(request: Any) -> Any:
        time.sleep(2.5)
        found.extend(other.orphans())
        return 404, {}, b""

    articles.pages["/0"] = slow
    settings = {"SIMHASH_INDEX_URL": url, "SIMHASH_LEASE": 1, "CONCURRENT_REQUESTS": 1}
    crawled = crawl(Pages, settings=settings, site=articles, paths=[])
    assert "/1" in paths(crawled)
    assert f"{articles.url}/1" not in [page.key for page in found]
