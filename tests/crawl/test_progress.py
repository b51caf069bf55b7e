"""Pages on their way to their callback, and requests that are put into the queue once more."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from scrapy import Request

from scrapy_simhash.crawl.progress import Again, Arrivals
from scrapy_simhash.crawl.requests import once_more


def test_page_that_never_arrives_at_its_callback_is_lost() -> None:
    arrivals = Arrivals()
    here, lost, arrived = (Request(f"http://a.example/{n}") for n in range(3))
    for request in (here, lost, arrived):
        arrivals.begin(request.url, request)
    arrivals.arrived(arrived.url, arrived)
    assert arrivals.take_lost({here}) == [lost.url]
    assert arrivals.take_lost({here}) == []


def test_request_of_a_copy_is_made_as_if_for_the_first_time() -> None:
    spent = {"retry_times": 2, "redirect_times": 20, "simhash": {}, "depth": 3}
    again = once_more(Request("http://a.example/", meta=spent))
    assert again.meta == {"depth": 3}
    assert again.dont_filter


def again(enqueue: Any, patience: float = 60.0) -> Again:
    return Again(SimpleNamespace(engine=SimpleNamespace(crawl=enqueue)), patience)  # type: ignore


def test_request_that_the_queue_refuses_for_longer_than_a_lease_is_lost(caplog: Any) -> None:
    def refuse(request: Request) -> None:
        raise ValueError("cannot be written down")

    queue = again(refuse, patience=0.05)
    queue.put([Request("http://a.example/copy")])
    assert queue
    time.sleep(0.06)
    queue.retry()
    assert not queue
    assert "http://a.example/copy cannot be put into the queue" in caplog.text
    assert ", and is lost" in caplog.records[-1].getMessage()


def test_request_that_the_queue_never_takes_holds_up_no_other() -> None:
    taken: list[str] = []

    def enqueue(request: Request) -> None:
        if request.url.endswith("/1"):
            raise TypeError("it cannot be pickled")
        taken.append(request.url)

    again(enqueue).put(Request(f"http://a.example/{number}") for number in range(3))
    assert taken == ["http://a.example/0", "http://a.example/2"]


def test_refused_request_is_tried_again_after_a_pause() -> None:
    asked: list[Request] = []

    def refuse(request: Request) -> None:
        asked.append(request)
        raise ConnectionError("away")

    queue = again(refuse)
    queue.put([Request("http://a.example/copy")])
    queue.retry()
    assert len(asked) == 1
