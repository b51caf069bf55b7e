"""Whole crawls whose index goes away and comes back: nothing is lost, and nobody waits for it."""

import asyncio
import logging
import resource
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import Settings

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.filter import open_dedup
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index.store import StoreMismatch
from scrapy_simhash.settings import FilterSettings
from tests import servers
from tests.core.failing import FailingStore
from tests.crawl.spiders import ONE_AT_A_TIME, FailingLate, Pages, is_settled, paths, until
from tests.pages import article, html

URL = "redis://nowhere.example/0?name=away"


class Others(Pages):
    """A spider to which the pages of others are originals, also those of earlier runs."""

    name = "others"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FailingStore:
    store = FailingStore(tmp_path / "far.sqlite")
    monkeypatch.setattr("scrapy_simhash.core.dedup.open_index", store.open)
    monkeypatch.setattr("scrapy_simhash.core.breaker.STORE_PAUSE", 0.3)
    return store


@pytest.fixture
def families(site: Any) -> Any:
    """Ten texts, each in three copies: /0-0, /0-1, /0-2, /1-0 …"""
    for text in range(10):
        for copy in range(3):
            site.pages[f"/{text}-{copy}"] = html(article(text, 600)) + b"<!-- %d -->" % copy
    return site


# What a crawl may wait for.
SETTLED = "every page so far is settled"
AWAY = "the store has been found to be away"
STOPPING = "the crawl stops"
CAUGHT_UP = "the store is back and has everything"


class InTurn(Pages):
    """Asks for one page after the other; between them, something happens or is waited for."""

    def __init__(self, site: Any, acts: list[Any]) -> None:
        super().__init__(site, [])
        self.acts = acts

    async def start(self) -> AsyncIterator[Any]:
        crawl = filter_of(self.crawler)
        for act in self.acts:
            if callable(act):
                await asyncio.get_running_loop().run_in_executor(None, act)
            elif act == SETTLED:
                await until(lambda: is_settled(crawl))
            elif act == STOPPING:
                await until(lambda: self.crawler.engine._slot.closing)
            elif act == AWAY:
                await until(lambda: crawl.dedup.breaker.away)
            elif act == CAUGHT_UP:
                await until(lambda: not crawl.dedup.breaker.away)
            else:
                before = self.counted("responses")
                yield Request(self.base + act)
                await until(lambda before=before: self.counted("responses") > before)


SETTINGS = {"SIMHASH_INDEX_URL": URL}


def test_copies_that_come_while_the_index_is_away_are_judged_once(crawl, families, store):
    store.go_away()
    settings = {**SETTINGS, "CONCURRENT_REQUESTS": 2}
    crawled = crawl(Pages, settings=settings, site=families, paths=[*families.pages])
    assert (crawled.stat("responses"), crawled.stat("dropped")) == (30, 20)
    assert crawled.stat("crawled_again") == 0


def test_crawl_stops_if_told_so(crawl, families, store):
    settings = {**SETTINGS, "SIMHASH_ON_UNAVAILABLE": "stop"}
    acts = ["/0-0", store.go_away, "/1-0", STOPPING, "/2-0"]
    crawled = crawl(InTurn, settings=settings, site=families, acts=acts)
    assert crawled.stats["finish_reason"] == "simhash_unavailable"
    assert paths(crawled) == ["/0-0", "/1-0"]
    with pytest.raises(SettingError, match="SIMHASH_INDEX_URL: the store is away"):
        open_dedup(FilterSettings.from_settings(Settings(settings)), "pages")


def test_store_that_cannot_be_used_once_it_comes_ends_the_crawl(crawl, families, store, caplog):
    def be_another() -> None:
        store.error = StoreMismatch("made with another recipe")

    store.go_away()
    acts = ["/0-0", be_another, STOPPING, "/1-0"]
    crawled = crawl(InTurn, settings=SETTINGS, site=families, acts=acts)
    assert crawled.stats["finish_reason"] == "simhash_unavailable"
    assert "SIMHASH_INDEX_URL: made with another recipe" in caplog.text
    with pytest.raises(SettingError, match="SIMHASH_INDEX_URL: made with another recipe"):
        open_dedup(FilterSettings.from_settings(Settings(SETTINGS)), "pages")


def test_store_that_hangs_holds_up_no_event_loop(crawl, families, store, monkeypatch, reactor_loop):
    """Neither while pages come nor when the spider is idle nor at the end."""
    monkeypatch.setattr("scrapy_simhash.core.breaker.STORE_PAUSE", 0.0)
    turned_in_time: list[bool] = []

    def hang() -> None:
        store.hang = until_the_loop_turns
        store.go_away()

    def until_the_loop_turns() -> None:
        turned = threading.Event()
        reactor_loop.call_soon_threadsafe(turned.set)
        turned_in_time.append(turned.wait(100))

    acts = ["/0-0", hang, "/1-0", "/2-0"]
    crawled = crawl(InTurn, settings=SETTINGS, site=families, acts=acts)
    assert sorted(paths(crawled)) == ["/0-0", "/1-0", "/2-0"]
    assert all(turned_in_time)
    assert len(turned_in_time) >= 3


# With a real server.

needs_redis = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server here")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[servers.RedisServer]:
    pytest.importorskip("redis")
    monkeypatch.setattr("scrapy_simhash.core.breaker.STORE_PAUSE", 0.3)
    with servers.redis_server("--appendonly yes", "--appendfsync always") as server:
        yield server


def outages(server: servers.RedisServer) -> dict[str, tuple[Any, Any]]:
    def configure(**options: str) -> None:
        with server.client() as client:
            for name, value in options.items():
                client.config_set(name.replace("_", "-"), value)

    return {
        "killed": (server.kill, server.start),
        "full": (
            lambda: configure(maxmemory_policy="noeviction", maxmemory="1"),
            lambda: configure(maxmemory="0"),
        ),
    }


@needs_redis
@pytest.mark.parametrize("how", ["killed", "full"])
def test_redis_that_fails_in_the_middle_costs_no_page(crawl, families, server, how, caplog):
    """No cluster is without a copy."""
    go_away, come_back = outages(server)[how]
    acts = ["/0-0", "/1-0", SETTLED, go_away, "/2-0", "/2-1", "/1-1", AWAY, come_back]
    acts += [SETTLED, CAUGHT_UP, "/2-2", "/0-1", "/3-0"]
    settings = {"SIMHASH_INDEX_URL": server.url}
    crawled = crawl(InTurn, settings=settings, site=families, acts=acts)
    # A server that can be read knows /1-1 to be a copy.
    assert sorted({*paths(crawled), "/1-1"}) == ["/0-0", "/1-0", "/1-1", "/2-0", "/2-2", "/3-0"]
    assert crawled.stat("outage") > 0
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2  # it is away, and it lacks pages at the end
    again = crawl(Others, settings={**settings, **ONE_AT_A_TIME}, site=families, paths=["/2-1"])
    assert len(again.dropped) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_full_disk_keeps_no_crawl_open_for_a_lease(crawl, articles, tmp_path, fails):
    """Nothing more is written once a copy waits on a page; the crawler knows how that fared."""
    path = tmp_path / "full.sqlite"

    class Filling(FailingLate):
        async def act(self) -> None:
            self.fails = fails
            sizes = [file.stat().st_size for file in tmp_path.iterdir()]
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes), limits[1]))

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        settings = {"SIMHASH_INDEX_URL": f"sqlite:///{path}", "SIMHASH_LEASE": 3600}
        crawled = crawl(Filling, settings=settings, site=articles, paths=[])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert paths(crawled) == ["/0/copy" if fails else "/0"]
