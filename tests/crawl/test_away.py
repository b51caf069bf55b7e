"""Whole crawls whose index goes away and comes back: nothing is lost, and nobody waits for it."""

import logging
import resource
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.filter import open_dedup
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.store import StoreMismatch
from scrapy_simhash.settings import FilterSettings
from tests.core.failing import FailingStore
from tests.crawl.spiders import FailingLate, InTurn, Pages, paths, settled, stopping, until
from tests.pages import article, html

SETTINGS = {"SIMHASH_INDEX_URL": "redis://nowhere.example/0?name=away"}


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


def test_crawl_stops_if_told_so(crawl, families, store, caplog):
    settings = {**SETTINGS, "SIMHASH_ON_UNAVAILABLE": "stop"}
    acts = ["/0-0", store.go_away, "/1-0", stopping, "/2-0"]
    crawled = crawl(InTurn, settings=settings, site=families, acts=acts)
    assert crawled.stats["finish_reason"] == "simhash_unavailable"
    assert paths(crawled) == ["/0-0", "/1-0"]
    assert caplog.text.count("SIMHASH_ON_UNAVAILABLE") == 1
    with pytest.raises(SettingError, match="SIMHASH_INDEX_URL: the store is away"):
        open_dedup(FilterSettings.from_settings(Settings(settings)), "pages")


def test_store_that_cannot_be_used_once_it_comes_ends_the_crawl(crawl, families, store, caplog):
    def be_another() -> None:
        store.error = StoreMismatch("made with another recipe")

    store.go_away()
    acts = ["/0-0", be_another, stopping, "/1-0"]
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


def test_a_store_that_is_away_for_a_while_costs_no_page(crawl, families, store, caplog):
    """No text is without a copy, and the store learns what it was not told."""

    async def away(spider: Pages) -> None:
        await until(lambda: filter_of(spider.crawler).dedup.breaker.away)

    async def back(spider: Pages) -> None:
        await until(lambda: not filter_of(spider.crawler).dedup.breaker.away)

    acts = ["/0-0", "/1-0", settled, store.go_away, "/2-0", "/2-1", "/1-1", away, store.come_back]
    acts += [settled, back, "/2-2", "/0-1", "/3-0"]
    crawled = crawl(InTurn, settings=SETTINGS, site=families, acts=acts)
    assert sorted(paths(crawled)) == ["/0-0", "/1-0", "/1-1", "/2-0", "/2-2", "/3-0"]
    assert (crawled.stat("outage"), crawled.stat("crawled_again")) == (2, 0)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2  # it is away, and it lacks pages at the end
    kept = {key.rpartition("/")[2] for key in store.confirmed()}
    assert kept == {"0-0", "1-0", "2-2", "3-0"}
    with closing(open_existing(store.url)) as index:
        assert not any(run.finished for run in index.runs())  # it has not seen all pages


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
