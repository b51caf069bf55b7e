"""Dropped copies of pages that are not delivered yet: they are crawled again if that page fails."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.copies import AGAIN, ASKED_AT_ONCE, ATTEMPTS, COPIES_OF_ONE, Copies
from scrapy_simhash.index.contract import Unsettled
from tests.crawl.test_crawl import Pages, paths
from tests.pages import article, html


def asked(name: str, **meta: Any) -> Request:
    return Request(f"http://a.example/{name}", meta=meta)


def unsettled(*, provisional: set[int] = frozenset(), gone: set[int] = frozenset()) -> Unsettled:
    return Unsettled(frozenset(provisional), frozenset(gone))


def urls(requests: list[Request]) -> list[str]:
    return [request.url.rsplit("/", 1)[1] for request in requests]


def test_copies_are_crawled_again_if_their_original_is_gone_and_forgotten_if_it_is_confirmed() -> (
    None
):
    copies = Copies(patience=60)
    for entry in (1, 2, 3):
        copies.wait(asked(f"copy-of-{entry}"), entry)
    again = copies.settle(copies.entries(), unsettled(provisional={1}, gone={2}))
    assert urls(again) == ["copy-of-2"]
    assert copies.entries() == [1]
    assert copies.settle([1], unsettled()) == []
    assert not copies


def test_request_of_a_copy_is_made_as_if_for_the_first_time() -> None:
    copies = Copies(patience=60)
    spent = {"retry_times": 2, "redirect_times": 20, "simhash": {}, "depth": 3}
    copies.wait(asked("copy", **spent), 1)
    [again] = copies.settle([1], unsettled(gone={1}))
    assert again.meta == {"depth": 3, AGAIN: 1}
    assert again.dont_filter


def test_a_hundred_copies_wait_on_one_original_at_most() -> None:
    copies = Copies(patience=60)
    for number in range(COPIES_OF_ONE + 10):
        copies.wait(asked(str(number)), 1)
    copies.wait(asked("another"), 2)
    assert len(copies.settle([1], unsettled(gone={1}))) == COPIES_OF_ONE
    assert copies.entries() == [2]


def test_index_is_asked_about_a_bounded_number_of_originals_each_in_its_turn() -> None:
    copies = Copies(patience=60)
    for entry in range(ASKED_AT_ONCE + 10):
        copies.wait(asked("copy"), entry)
    first = copies.entries()
    copies.settle(first, unsettled(provisional=set(first)))
    assert len(first) == ASKED_AT_ONCE
    assert set(copies.entries()) >= set(range(ASKED_AT_ONCE, ASKED_AT_ONCE + 10))


def test_copy_that_cannot_be_had_is_asked_for_again_a_few_times(caplog: Any) -> None:
    copies = Copies(patience=0)
    copies.note_failure(asked("of another"))
    assert not copies
    copies.wait(asked("copy"), 1)
    [again] = copies.settle([1], unsettled(gone={1}))
    for _ in range(ATTEMPTS - 1):
        copies.note_failure(again)
        assert copies
        [again] = copies.due()
    copies.note_failure(again)
    assert not copies
    assert "http://a.example/copy repeats a page that failed" in caplog.text


def test_copy_is_not_asked_for_again_at_once() -> None:
    copies = Copies(patience=60)
    copies.note_failure(asked("copy", **{AGAIN: 1}))
    assert copies.due() == []
    assert urls(copies.take_all()) == ["copy"]
    assert not copies


# Whole crawls.


@pytest.fixture
def articles(site: Any) -> Any:
    for number in range(3):
        site.pages[f"/{number}"] = html(article(number))
        site.pages[f"/{number}/copy"] = html(article(number))
    return site


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


def answering(site: Any, path: str, *answers: Any) -> list[Any]:
    """Have a path answered otherwise after the first request, one after the other; return those."""
    usual = 200, {"Content-Type": "text/html"}, site.pages[path]
    requests: list[Any] = []

    def answer(request: Any) -> Any:
        requests.append(request)
        return answers[len(requests) - 2] if 2 <= len(requests) < len(answers) + 2 else usual

    site.pages[path] = answer
    return requests


@pytest.mark.parametrize("spider", [FailingSlowly, FailingAndBusy])
def test_copy_that_cannot_be_had_just_now_is_crawled_once_more(
    crawl: Any, articles: Any, spider: Any
) -> None:
    requests = answering(articles, "/0/copy", (503, {}, b""))
    settings = {"SIMHASH_LEASE": 1, "RETRY_ENABLED": False}
    assert paths(crawl(spider, settings=settings, site=articles, paths=[])) == ["/0/copy"]
    assert len(requests) == 3


def test_copy_whose_server_does_not_answer_is_crawled_once_more(crawl: Any, articles: Any) -> None:
    class Unreachable:
        failed = False

        def process_request(self, request: Any, spider: Any = None) -> None:
            if AGAIN in request.meta and not Unreachable.failed:
                Unreachable.failed = True
                raise ConnectionError("nobody there")

    settings = {"SIMHASH_LEASE": 1, "DOWNLOADER_MIDDLEWARES": {Unreachable: 900}}
    crawled = crawl(FailingSlowly, settings=settings, site=articles, paths=[])
    assert Unreachable.failed
    assert paths(crawled) == ["/0/copy"]


@pytest.mark.parametrize(
    "answer", [(404, {}, b""), (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7")]
)
def test_copy_that_is_no_page_any_more_is_not_asked_for_again(
    crawl: Any, articles: Any, answer: Any
) -> None:
    requests = answering(articles, "/0/copy", *[answer] * 5)
    crawl(FailingSlowly, settings={"SIMHASH_LEASE": 1}, site=articles, paths=[])
    assert len(requests) == 2


def test_copy_that_the_queue_does_not_take_is_crawled_later(
    crawl: Any, articles: Any, caplog: Any
) -> None:
    class Away(Scheduler):
        refused = False

        def enqueue_request(self, request: Request) -> bool:
            if AGAIN in request.meta and not Away.refused:
                Away.refused = True
                raise ConnectionError("the queue is away")
            return super().enqueue_request(request)

    settings = {"SCHEDULER": Away, "SIMHASH_LEASE": 1}
    crawled = crawl(FailingSlowly, settings=settings, site=articles, paths=[])
    assert Away.refused
    assert "cannot be put into the queue" in caplog.text
    assert paths(crawled) == ["/0/copy"]


def test_one_copy_is_delivered_though_several_fail(crawl: Any, site: Any) -> None:
    """A page fails, and so do the copies that come in its place, until one does not."""
    for number in range(6):
        site.pages[f"/{number}"] = html(article(1))

    class MostFail(Pages):
        seen: ClassVar[Counter[str]] = Counter()

        async def parse(self, response: Any) -> Any:
            self.seen[response.url] += 1
            await asyncio.sleep(0.2)
            if len(self.seen) < 4:
                raise RuntimeError("cannot parse")
            yield {"path": response.url.removeprefix(self.base)}

    crawled = crawl(MostFail, site=site, paths=[f"/{number}" for number in range(6)])
    assert len(crawled.items) == 1


def test_requests_that_a_spider_makes_of_a_copys_meta_have_no_part_in_it(
    crawl: Any, articles: Any
) -> None:
    class Copying(FailingSlowly):
        async def parse(self, response: Any) -> Any:
            async for item in super().parse(response):
                yield item
            if response.url.endswith("/copy"):
                yield Request(self.base + "/gone", meta=response.meta, dont_filter=True)

    gone: list[Any] = []
    articles.pages["/gone"] = lambda request: gone.append(request) or (503, {}, b"")
    settings = {"SIMHASH_LEASE": 1, "RETRY_ENABLED": False}
    crawl(Copying, settings=settings, site=articles, paths=[])
    assert len(gone) == 1


def test_job_that_is_stopped_crawls_the_copies_that_wait_when_it_goes_on(
    crawl: Any, articles: Any, tmp_path: Any
) -> None:
    """Their original fails when the crawl has been told to stop."""

    class Stopped(FailingSlowly):
        async def parse(self, response: Any) -> Any:
            if response.url.endswith("/0"):
                await asyncio.sleep(0.8)
                self.stopping = asyncio.ensure_future(filter_of(self.crawler)._stop())
                await asyncio.sleep(0.3)
                raise RuntimeError("too late")
            yield {"path": response.url.removeprefix(self.base)}

    settings = {"JOBDIR": str(tmp_path / "job")}
    assert paths(crawl(Stopped, settings=settings, site=articles, paths=[])) == []
    start = time.monotonic()
    crawled = crawl(Pages, settings=settings, site=articles, paths=[])
    assert paths(crawled) == ["/0/copy"]
    assert time.monotonic() - start < 5
