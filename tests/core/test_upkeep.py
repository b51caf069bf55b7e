"""The upkeep: what the index is told of pages in progress, and their copies of how they fared."""

import asyncio
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from scrapy_simhash.core import upkeep as upkeep_module
from scrapy_simhash.core.upkeep import PAGES_AT_ONCE, Upkeep
from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.index.values import Match, Report


class Crawl:
    """A crawler with an index, and the thread that asks it, which may fail or be late."""

    def __init__(self) -> None:
        self.upkeep = Upkeep(self, self, lease=60.0)  # type: ignore[arg-type]
        self.told: list[bool] = []
        self.news: list[Report] = []
        self.is_late = False
        self._owed: list[tuple[Future[Any], Any]] = []
        self.answer()

    def answer(self, provisional: Any = (), gone: Any = ()) -> None:
        self._provisional, self._gone = {*provisional}, {*gone}

    # The index.

    def report(self, news: Report) -> dict[int, bool]:
        if any(news) or news.renewed is not None:
            self.news.append(news)
        return {at: at not in self._gone for at in {*news.entries} - self._provisional}

    def read(self, call: Any) -> None:
        """It has nothing that expires."""

    def retry(self) -> None:
        """It never rests."""

    # The thread.

    def run(self, work: Any, *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._owed.append((future, partial(work, *args)))
        if not self.is_late:
            self.catch_up()
        return future

    def catch_up(self) -> None:
        owed, self._owed = self._owed, []
        for future, work in owed:
            try:
                future.set_result(work())
            except RuntimeError as error:
                future.set_exception(error)

    # The crawler.

    def wait(self, entry: int, key: str = "another crawler's") -> None:
        match = Match(entry, key, 0, 0.0, provisional=True)
        self.upkeep.follow(Verdict("duplicate", "copy", matches=(match,)), self.told.append)

    def round(self) -> None:
        asyncio.run(self.upkeep._round())

    def keep_up(self, then: Any = lambda: None) -> None:
        """Do rounds for some turns of the loop."""

        async def run() -> None:
            running = asyncio.ensure_future(self.upkeep._rounds._run())
            for _ in range(500):
                await asyncio.sleep(0)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            then()
            for _ in range(20):
                await asyncio.sleep(0)

        asyncio.run(run())


@pytest.fixture
def crawl(monkeypatch: pytest.MonkeyPatch) -> Crawl:
    monkeypatch.setattr(upkeep_module, "ROUND_SECONDS", 0.0)
    return Crawl()


def test_a_page_is_settled_with_the_last_of_its_parts_and_fails_with_any_of_them(crawl):
    for key in ("good", "bad"):
        crawl.upkeep.hold(key)
        crawl.upkeep.hold(key)
        crawl.upkeep.ended(key, failed=key == "bad")
        assert crawl.upkeep.in_progress(key)
    crawl.round()
    assert crawl.news == []
    for key in ("good", "bad"):
        crawl.upkeep.ended(key, failed=False)
    crawl.round()
    crawl.upkeep.ended("good", failed=True)  # late, as when it was given up
    assert not crawl.upkeep.in_progress("good")
    crawl.round()
    assert [(news.failed, news.delivered) for news in crawl.news] == [(["bad"], ["good"])]


@pytest.mark.parametrize("failed", [True, False])
def test_a_page_that_comes_again_is_released_if_it_failed_and_is_not_confirmed(crawl, failed):
    """It may have come with another text, which nobody has delivered."""
    crawl.upkeep.hold("page")
    crawl.upkeep.ended("page", failed=failed)
    crawl.upkeep.hold("page")
    crawl.round()
    assert [(news.failed, news.delivered) for news in crawl.news] == [(["page"], [])] * failed
    crawl.upkeep.ended("page", failed=True)
    crawl.round()
    last = crawl.news[-1]
    assert (last.failed, last.delivered) == (["page"], [] if failed else ["page"])


def test_copies_of_other_crawlers_pages_are_told_once_these_are_settled(crawl):
    for entry in (1, 2, 3):
        crawl.wait(entry)
    crawl.answer(provisional=[1], gone=[2])
    crawl.round()
    assert crawl.told == [False, True]
    crawl.round()
    assert [news.entries for news in crawl.news] == [[1, 2, 3], [1]]


def test_the_index_is_asked_about_a_bounded_number_of_originals_each_in_its_turn(crawl):
    entries = range(1, PAGES_AT_ONCE + 11)
    for entry in entries:
        crawl.wait(entry)
    crawl.answer(provisional=entries)
    crawl.round()
    crawl.round()
    first, second = (news.entries for news in crawl.news)
    assert len(first) == len(second) == PAGES_AT_ONCE
    assert {*first, *second} == {*entries}


def test_an_idle_crawl_stays_while_copies_wait_for_other_crawlers(crawl):
    """The event loop does not wait long for the index."""

    def stays() -> bool:
        crawl.upkeep.ask_now(0.01)
        return crawl.upkeep.are_copies_waiting

    assert not stays()
    crawl.wait(5)
    crawl.answer(provisional=[5])
    assert stays()
    crawl.answer()
    crawl.is_late = True
    assert stays()
    crawl.is_late = False
    assert not stays()
    assert crawl.told == [True]


def test_a_round_that_has_begun_is_finished_when_the_upkeep_ends(crawl):
    crawl.is_late = True
    crawl.wait(5)
    crawl.keep_up(then=crawl.catch_up)
    assert crawl.told == [True]


def test_at_the_end_what_is_left_has_failed_and_copies_hear_that_nobody_will_know(crawl):
    crawl.upkeep.hold("page")
    crawl.wait(5)
    crawl.answer(provisional=[5])
    asyncio.run(crawl.upkeep.settle())
    assert crawl.told == [False]
    assert crawl.news[0].failed == ["page"]


def test_an_index_that_fails_is_left_alone_for_a_while(crawl, caplog):
    def fail(news: Report) -> None:
        crawl.news.append(news)
        raise RuntimeError("a fault")

    crawl.report = fail
    crawl.keep_up()
    assert len(crawl.news) == len(caplog.records) == 1


def test_leases_are_renewed_three_times_in_their_length(crawl, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(upkeep_module.time, "monotonic", lambda: now[0])
    crawl.upkeep._renewed = now[0]
    crawl.upkeep.hold("page")
    for seconds in (19, 2, 19, 2):
        now[0] += seconds
        crawl.round()
    assert [news.renewed for news in crawl.news] == [["page"]] * 2


def test_a_page_that_came_after_all_is_not_told_as_failed():
    crawl = Crawl()
    crawl.upkeep.hold("coming")
    crawl.upkeep.hold("there")
    crawl.upkeep.ended("there", failed=False)
    crawl.upkeep.missed(["coming", "there", "missed"])
    crawl.round()
    crawl.round()
    assert [(news.failed, news.delivered) for news in crawl.news] == [(["missed"], ["there"])]


def test_old_entries_are_deleted_once_a_second_while_there_are_any_and_once_a_minute(
    crawl, monkeypatch
):
    now = [1000.0]
    monkeypatch.setattr(upkeep_module.time, "monotonic", lambda: now[0])
    deleted = [256, 3, 0, 0]
    asked = []

    def read(_: Any) -> int:
        asked.append(now[0] - 1000)
        return deleted.pop(0)

    crawl.read = read
    for _ in range(70):
        crawl.round()
        now[0] += 1
    assert asked == [0, 1, 2, 62]
    assert crawl.upkeep.expired == 259
