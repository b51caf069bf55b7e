"""The upkeep: when an idle engine must stay, and what is told to an index that fails or is late."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import Any

import pytest

from scrapy_simhash.core import upkeep as upkeep_module
from scrapy_simhash.core.upkeep import Upkeep
from scrapy_simhash.index.values import Report, Unsettled


class Calls:
    """An index that notes what it is told, and can fail."""

    def __init__(self) -> None:
        self.told: list[Report] = []
        self.error: Exception | None = None
        self.answer = Unsettled(frozenset(), frozenset())

    def report(self, news: Report, *, at_once: bool = False) -> Unsettled:
        if any(news) or news.renewed is not None:
            self.told.append(news)
            if self.error is not None:
                raise self.error
        return self.answer

    def read(self, call: Any) -> None:
        """It has nothing that expires."""


class Late:
    """Claims whose thread does its work when the test says so."""

    def __init__(self) -> None:
        self.is_late = False
        self._owed: list[tuple[Future[Any], Any]] = []

    def run(self, work: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._owed.append((future, work))
        if not self.is_late:
            self.catch_up()
        return future

    def catch_up(self) -> None:
        for future, work in self._owed:
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - it is raised where it is asked for
                future.set_exception(error)
        self._owed.clear()


class Crawl:
    def __init__(self, lease: float = 60.0) -> None:
        self.told: list[bool] = []
        self.index, self.claims = Calls(), Late()
        self.upkeep = Upkeep(
            self.index,  # type: ignore[arg-type]
            self.claims,  # type: ignore[arg-type]
            lease,
        )
        self.progress, self.copies = self.upkeep.progress, self.upkeep.copies

    def wait(self, entry: int) -> None:
        self.copies.wait(entry, "", self.told.append)

    def has_work(self) -> bool:
        return self.upkeep.has_work(0.01)

    async def rounds(self, number: int) -> None:
        """Keep up for so many rounds at least, without waiting between them."""
        running = asyncio.ensure_future(self.upkeep._run())
        for _ in range(20 * number):  # turns of the loop
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def crawl(monkeypatch: pytest.MonkeyPatch) -> Crawl:
    monkeypatch.setattr(upkeep_module, "ROUND_SECONDS", 0.0)
    monkeypatch.setattr(upkeep_module, "SLOW_ROUNDS", 0)
    return Crawl()


def finished(work: Any) -> Any:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def test_crawl_that_is_done_may_close(crawl: Crawl) -> None:
    assert not crawl.has_work()


def test_what_is_in_progress_when_the_spider_is_idle_has_failed(crawl: Crawl) -> None:
    crawl.progress.begin("page")
    assert not crawl.has_work()
    assert [news.failed for news in crawl.index.told] == [["page"]]


def test_crawl_stays_while_copies_wait(crawl: Crawl) -> None:
    crawl.wait(5)
    crawl.index.answer = Unsettled(frozenset({5}), frozenset())
    assert crawl.has_work()
    assert crawl.told == []
    crawl.index.answer = Unsettled(frozenset(), frozenset({5}))
    assert crawl.has_work()
    assert crawl.told == [False]
    assert not crawl.has_work()


def test_round_that_has_begun_is_finished_when_the_upkeep_ends(crawl: Crawl) -> None:
    crawl.claims.is_late = True
    crawl.wait(5)
    crawl.index.answer = Unsettled(frozenset(), frozenset({5}))

    async def end_in_the_middle() -> None:
        await crawl.rounds(5)
        crawl.claims.catch_up()
        for _ in range(20):
            await asyncio.sleep(0)

    finished(end_in_the_middle())
    assert crawl.told == [False]


def test_late_answer_of_the_index_ends_the_crawl_when_it_is_there(crawl: Crawl) -> None:
    crawl.claims.is_late = True
    assert crawl.has_work()
    assert crawl.has_work()
    crawl.claims.catch_up()
    assert not crawl.has_work()


def test_copy_that_waits_since_the_index_was_asked_keeps_the_crawl_open(crawl: Crawl) -> None:
    crawl.claims.is_late = True
    assert crawl.has_work()
    crawl.wait(5)
    crawl.claims.catch_up()
    assert crawl.has_work()


def test_index_that_fails_is_left_alone_for_a_while(crawl: Crawl, caplog: Any) -> None:
    crawl.index.error = RuntimeError("a fault")
    crawl.progress.begin("failed")
    crawl.progress.end("failed", failed=True)
    finished(crawl.rounds(30))
    assert len(crawl.index.told) == 1
    assert len(caplog.records) == 1


def test_leases_are_renewed_three_times_in_their_length(crawl: Crawl) -> None:
    short = Crawl(lease=0.06)
    short.progress.begin("page")
    started = time.monotonic()
    while len(short.index.told) < 4:
        finished(short.rounds(10))
    assert time.monotonic() - started >= 0.06
    assert {*map(tuple, (news.renewed for news in short.index.told))} == {("page",)}
    crawl.progress.begin("page")
    finished(crawl.rounds(30))
    assert crawl.index.told == []
