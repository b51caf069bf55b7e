"""Hosts whose pages time out: they are let through for a while, and no others."""

from __future__ import annotations

import time
from typing import Any

import pytest

from scrapy_simhash.core import pool
from scrapy_simhash.core.pool import HOSTS, PAUSE, TIMEOUTS, SlowHosts
from tests.crawl.spiders import ONE_AT_A_TIME, Pages
from tests.pages import article, html


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pool, "time", clock)
    return clock


def test_host_is_let_through_for_a_while_with_one_warning(clock: Clock, caplog: Any) -> None:
    hosts = SlowHosts()
    for number in range(TIMEOUTS):
        assert not hosts.has("http://a.example/next")
        hosts.note_timeout(f"http://a.example/{number}")
    assert hosts.has("http://a.example/next")
    assert not hosts.has("http://b.example/")
    # Those that were on their way by then.
    assert len(caplog.records) == 1
    clock.now += PAUSE + 1
    assert not hosts.has("http://a.example/next")


def test_pages_that_time_out_now_and_then_do_no_harm_to_their_host(clock: Clock) -> None:
    hosts = SlowHosts()
    for _ in range(10 * TIMEOUTS):
        hosts.note_timeout("http://a.example/")
        clock.now += PAUSE + 1
        assert not hosts.has("http://a.example/")


def test_hosts_are_remembered_up_to_a_number(clock: Clock) -> None:
    hosts = SlowHosts()
    for number in range(HOSTS + 10):
        for _ in range(TIMEOUTS):
            hosts.note_timeout(f"http://{number}.example/")
    assert not hosts.has("http://1.example/")
    assert hosts.has(f"http://{HOSTS}.example/")


def test_pages_of_a_host_that_times_out_are_delivered_without_an_analysis(
    crawl: Any, site: Any
) -> None:
    for number in range(8):
        site.pages[f"/{number}"] = b"hang"
    site.pages["/9"] = html(article(1))
    settings = {
        **ONE_AT_A_TIME,
        "SIMHASH_PROCESSES": 1,
        "SIMHASH_TIMEOUT": 0.5,
        "SIMHASH_EXTRACTOR": "tests.core.test_pool.hostile",
    }
    start = time.monotonic()
    paths = [f"/{number}" for number in range(8)] + ["/9"]
    # Each is a page of its own, though its body is that of the others.
    crawled = crawl(Pages, settings=settings, site=site, paths=paths)
    assert len(crawled.items) == 9
    assert crawled.stat("skipped/timeout") == TIMEOUTS
    assert crawled.stat("skipped/slow_host") == 9 - TIMEOUTS
    assert time.monotonic() - start < 10
