"""Dropped copies of pages that are not delivered yet: they are crawled again if that page fails."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import ClassVar

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl import queue as queue_module
from scrapy_simhash.crawl.queue import CrawlQueue
from tests.crawl.spiders import FailingLate, Pages, paths, until


@pytest.mark.parametrize(
    ("done", "room", "downloads"),
    [("dropped", 64 << 20, 1), ("dropped", 100, 2), ("flagged", 64 << 20, 1)],
)
def test_copy_whose_original_fails_is_delivered_once_by_its_response_if_there_was_room_for_it(
    crawl, articles, monkeypatch, done, room, downloads
):
    monkeypatch.setattr(queue_module, "MOST_BYTES", room)
    monkeypatch.setattr(FailingLate, "awaited", done)
    settings = {"SIMHASH_ACTION": "flag" if done == "flagged" else "drop"}
    crawled = crawl(FailingLate, settings=settings, site=articles, paths=[])
    assert paths(crawled) == ["/0/copy"]
    assert crawled.stat("crawled_again") == crawled.stat("dropped") == (done == "dropped")
    assert articles.hits["/0/copy"] == downloads


def test_copy_that_the_queue_does_not_take_is_crawled_later(crawl, articles, caplog):
    """The queue is asked again, and the crawl waits for it when nothing else is on its way."""

    class Away(Scheduler):
        asked: ClassVar[Counter[str]] = Counter()

        def enqueue_request(self, request: Request) -> bool:
            self.asked[request.url] += 1
            if 1 < self.asked[request.url] < 5:
                raise ConnectionError("the queue is away")
            return super().enqueue_request(request)

    class Busy(FailingLate):
        async def start(self) -> AsyncIterator[Request]:
            async for request in super().start():
                yield request
            await until(lambda: Away.asked[self.base + "/0/copy"] == 3)

    settings = {"SCHEDULER": Away, "SIMHASH_LEASE": 6}
    crawled = crawl(Busy, settings=settings, site=articles, paths=[])
    assert "cannot be put into the queue" in caplog.text
    assert paths(crawled) == ["/0/copy"]


def test_a_request_the_queue_refuses_holds_up_none_and_is_lost_after_a_lease(monkeypatch, caplog):
    taken: list[str] = []

    def enqueue(request: Request) -> None:
        taken.append(request.url)
        if request.url.endswith("/1"):
            raise TypeError("it cannot be pickled")

    now = [1000.0]
    monkeypatch.setattr(queue_module, "monotonic", lambda: now[0])
    crawler = SimpleNamespace(engine=SimpleNamespace(crawl=enqueue))
    queue = CrawlQueue(crawler, lease=60)  # type: ignore[arg-type]
    queue.put(*(Request(f"http://a.example/{number}") for number in range(3)))
    queue.retry()
    assert taken == [f"http://a.example/{number}" for number in range(3)]
    now[0] += 61
    queue.retry()
    assert not queue.refused
    said = [record.getMessage() for record in caplog.records]
    assert ["and is lost" in message for message in said] == [False, True]


# Scrapy 2.13 leaves a queue open that it finds empty at the start of a job.
@pytest.mark.filterwarnings("ignore:unclosed file .*requests.queue:ResourceWarning")
def test_job_that_is_stopped_crawls_the_copies_that_wait_when_it_goes_on(crawl, articles, tmp_path):
    """Their original fails when the crawl has been told to stop."""

    class Stopped(FailingLate):
        async def act(self) -> None:
            self.stopping = asyncio.ensure_future(filter_of(self.crawler)._stop())
            await asyncio.sleep(0.3)

    settings = {"JOBDIR": str(tmp_path / "job")}
    assert paths(crawl(Stopped, settings=settings, site=articles, paths=[])) == []
    # It waits for no lease, which is longer than a test may take.
    crawled = crawl(Pages, settings=settings, site=articles, paths=[])
    assert paths(crawled) == ["/0/copy"]
