"""The upkeep: what the index is told of pages in progress, and their copies of how they fared."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from scrapy_simhash.core import upkeep as upkeep_module
from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Report
from tests.core.crawling import CENTRES, Crawl, page
from tests.core.failing import FailingStore
from tests.index.promises.made import at, release


@pytest.fixture
def crawl(store: FailingStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crawl]:
    monkeypatch.setattr(upkeep_module, "ROUND_SECONDS", 0.0)
    crawl = Crawl(store)
    with closing(crawl.index):
        yield crawl


@pytest.fixture
def other(crawl: Crawl) -> Iterator[Index]:
    """The index of another crawler, which has claimed a page of each cluster."""
    with closing(at(open_index(crawl.store.url, crawl.store.spec), crawl.store.now)) as other:
        other.claim_all([page(f"{cluster}-0") for cluster, _ in enumerate(CENTRES)])
        yield other


def do_rounds(crawl: Crawl, then: Callable[[], None] = lambda: None) -> None:
    """Do rounds for some turns of the loop."""

    async def run() -> None:
        running = asyncio.ensure_future(crawl.upkeep._rounds._run())
        for _ in range(500):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        then()
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(run())


def told(crawl: Crawl) -> list[tuple[Any, Any]]:
    """Return the pages that failed and were delivered, by report."""
    return [(news.failed, news.delivered) for news in crawl.store.reports]


FAILED, DELIVERED = (["page"], []), ([], ["page"])


@pytest.mark.parametrize(
    ("acts", "outcomes"),
    [
        ("hold hold failed round delivered round", [FAILED]),
        ("hold hold delivered round delivered round failed round", [DELIVERED]),
        # It may come again with another text, which nobody has delivered.
        ("hold failed hold round failed round", [FAILED, FAILED]),
        ("hold delivered hold round failed round", [FAILED]),
        ("missed round round", [FAILED]),
        # It came after all.
        ("hold missed round delivered round", [DELIVERED]),
        ("hold delivered missed round round", [DELIVERED]),
    ],
)
def test_a_page_is_settled_with_the_last_of_its_parts_and_fails_with_any_of_them(
    crawl, acts, outcomes
):
    for act in acts.split():
        if act == "round":
            crawl.round()
        else:
            getattr(crawl.upkeep, act)(["page"] if act == "missed" else "page")
        assert crawl.upkeep.in_progress("page") or act != "hold"
    assert told(crawl) == outcomes
    assert not crawl.upkeep.in_progress("page")


def test_copies_of_other_crawlers_pages_are_told_once_these_are_settled(crawl, other):
    crawl.arrive(["0-1", "1-1", "2-1"])
    other.confirm(["1-0"])
    release(other, "2-0")
    crawl.round()
    assert crawl.waiting == {"0-1"}
    assert crawl.upkeep.in_progress("2-1")
    crawl.round()
    assert [len(news.entries) for news in crawl.store.reports] == [3, 1]


def test_the_index_is_asked_about_a_bounded_number_of_originals_each_in_its_turn(
    crawl, other, monkeypatch
):
    monkeypatch.setattr(upkeep_module, "PAGES_AT_ONCE", 3)
    crawl.arrive(f"{cluster}-1" for cluster, _ in enumerate(CENTRES))
    crawl.round()
    crawl.round()
    first, second = (news.entries for news in crawl.store.reports)
    assert len(first) == len(second) == 3
    assert len({*first, *second}) == len(CENTRES)


def test_a_page_that_failed_is_told_at_once_and_nothing_is_asked_then(crawl, other):
    """Its copy claims next, and nobody would hear the answer."""
    release(other, "1-0")
    crawl.arrive(["0-1", "1-1", "1-2"])
    crawl.upkeep.ended("1-1", failed=True)
    assert crawl.failed == ["1-2"]
    (news,) = crawl.store.reports
    assert (news.failed, [*news.entries]) == (["1-1"], [])


def test_an_idle_crawl_stays_while_copies_wait_for_other_crawlers(crawl, other):
    """The event loop does not wait long for the index."""
    stays = crawl.upkeep.are_copies_waiting
    assert not stays()
    crawl.arrive(["0-1"])
    assert stays()
    other.confirm(["0-0"])
    crawl.is_late = True
    assert stays()
    crawl.is_late = False
    assert not stays()
    assert (crawl.waiting, crawl.failed) == (set(), [])


def test_a_round_that_has_begun_is_finished_when_the_upkeep_ends(crawl, other):
    crawl.arrive(["0-1"])
    crawl.is_late = True
    release(other, "0-0")
    do_rounds(crawl, then=crawl.catch_up)
    assert crawl.failed == ["0-1"]


def test_at_the_end_what_is_left_has_failed_and_copies_hear_that_nobody_will_know(crawl, other):
    crawl.upkeep.hold("page")
    crawl.upkeep.hold("page")  # and an item of it
    crawl.arrive(["0-1"])
    asyncio.run(crawl.upkeep.settle())
    assert crawl.failed == ["0-1"]
    assert told(crawl) == [(["page"], [])]


def test_an_index_that_fails_is_left_alone_for_a_while(crawl, caplog):
    asked = []

    def fail(news: Report) -> None:
        asked.append(news)
        raise RuntimeError("a fault")

    crawl.index.report = fail
    do_rounds(crawl)
    assert len(asked) == len(caplog.records) == 1


def test_leases_are_renewed_three_times_in_their_length(now, crawl):
    crawl.upkeep.hold("page")
    third = crawl.store.spec.lease / 3
    for seconds in (third - 1, 2, third - 1, 2):
        now[0] += seconds
        crawl.round()
    assert [news.renewed for news in crawl.store.reports] == [["page"]] * 2


def test_old_entries_are_deleted_once_a_second_while_there_are_any_and_once_a_minute(now, crawl):
    deleted = [256, 3, 0, 0]
    asked = []

    def read(_: Any) -> int:
        asked.append(now[0] - 1000)
        return deleted.pop(0)

    crawl.index.read = read
    for _ in range(70):
        crawl.round()
        now[0] += 1
    assert asked == [0, 1, 2, 62]
    assert crawl.upkeep.expired == 259
