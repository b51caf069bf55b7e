"""Dropped copies of pages that are not delivered yet: they are crawled again if that page fails."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.copies import ASKED_AT_ONCE, COPIES_OF_ONE, Copies
from scrapy_simhash.index.contract import Unsettled
from tests.crawl.spiders import FailingLate, Pages, answering, paths, until
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
    copies = Copies()
    for entry in (1, 2, 3):
        copies.wait(asked(f"copy-of-{entry}"), entry)
    again = copies.settle(copies.entries(), unsettled(provisional={1}, gone={2}))
    assert urls(again) == ["copy-of-2"]
    assert copies.entries() == [1]
    assert copies.settle([1], unsettled()) == []
    assert not copies


def test_request_of_a_copy_is_made_as_if_for_the_first_time() -> None:
    copies = Copies()
    spent = {"retry_times": 2, "redirect_times": 20, "simhash": {}, "depth": 3}
    copies.wait(asked("copy", **spent), 1)
    [again] = copies.settle([1], unsettled(gone={1}))
    assert again.meta == {"depth": 3}
    assert again.dont_filter


def test_a_hundred_copies_wait_on_one_original_at_most() -> None:
    copies = Copies()
    for number in range(COPIES_OF_ONE + 10):
        copies.wait(asked(str(number)), 1)
    copies.wait(asked("another"), 2)
    assert len(copies.settle([1], unsettled(gone={1}))) == COPIES_OF_ONE
    assert copies.entries() == [2]


def test_index_is_asked_about_a_bounded_number_of_originals_each_in_its_turn() -> None:
    copies = Copies()
    for entry in range(ASKED_AT_ONCE + 10):
        copies.wait(asked("copy"), entry)
    first = copies.entries()
    copies.settle(first, unsettled(provisional=set(first)))
    assert len(first) == ASKED_AT_ONCE
    assert set(copies.entries()) >= set(range(ASKED_AT_ONCE, ASKED_AT_ONCE + 10))


# Whole crawls.


@pytest.mark.parametrize(
    "answer", [(404, {}, b""), (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7")]
)
def test_copy_that_is_no_page_any_more_is_not_asked_for_again(
    crawl: Any, articles: Any, answer: Any
) -> None:
    requests = answering(articles, "/0/copy", *[answer] * 5)
    crawl(FailingLate, settings={"SIMHASH_LEASE": 1}, site=articles, paths=[])
    assert len(requests) == 2


def test_copy_that_the_queue_does_not_take_is_crawled_later(
    crawl: Any, articles: Any, caplog: Any
) -> None:
    class Away(Scheduler):
        asked: ClassVar[Counter[str]] = Counter()

        def enqueue_request(self, request: Request) -> bool:
            self.asked[request.url] += 1
            if self.asked[request.url] == 2:
                raise ConnectionError("the queue is away")
            return super().enqueue_request(request)

    settings = {"SCHEDULER": Away, "SIMHASH_LEASE": 1}
    crawled = crawl(FailingLate, settings=settings, site=articles, paths=[])
    assert Away.asked[articles.url + "/0/copy"] == 3
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


# Scrapy 2.13 leaves a queue open that it finds empty at the start of a job.
@pytest.mark.filterwarnings("ignore:unclosed file .*requests.queue:ResourceWarning")
def test_job_that_is_stopped_crawls_the_copies_that_wait_when_it_goes_on(
    crawl: Any, articles: Any, tmp_path: Any
) -> None:
    """Their original fails when the crawl has been told to stop."""

    class Stopped(FailingLate):
        async def parse(self, response: Any) -> Any:
            if response.url.endswith("/0"):
                await until(lambda: self.counted("dropped"))
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
