"""Sparing in whole crawls: what is not sent, what is always sent, and what is learned together."""

from __future__ import annotations

import json
import logging
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from scrapy_simhash.exceptions import SparedPage
from scrapy_simhash.url_patterns import open_patterns
from scrapy_simhash.url_patterns.learner import Learner
from tests.crawl.spiders import Pages
from tests.pages import article, html

NUMBER = 60
SETTINGS = {"SIMHASH_SPARE": "skip", "CONCURRENT_REQUESTS": 1}


class Links(Pages):
    """Follows every link, and keeps the errors of what was not sent."""

    def __init__(self, site: Any, paths: list[str], **marks: Any) -> None:
        super().__init__(site, paths)
        self.marks = marks

    def parse(self, response: Any) -> Any:
        yield {"path": response.url.removeprefix(self.base), "page": response.meta["simhash"]}
        for link in response.css("a::attr(href)").getall():
            yield Request(response.urljoin(link), **self.marks)


class MoreLast(Links):
    """Follows a link to /more when it has followed all others."""

    def parse(self, response: Any) -> Any:
        for output in super().parse(response):
            is_more = isinstance(output, Request) and output.url.endswith("/more")
            yield output.replace(priority=-1) if is_more else output


class Asking(Links):
    """Wants to know what became of each request."""

    told: ClassVar[list[str]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.marks = {"errback": self.failed}

    def failed(self, failure: Any) -> None:
        # Scrapy 2.13.0 takes nothing that an errback yields.
        if failure.check(SparedPage):
            self.told.append(failure.value.signature)


def stock(
    site: Any, first: int = 0, start: str = "/", ids: str = "x", more: tuple[str, ...] = ()
) -> None:
    """Put items on a list; each item has a print view. ``more`` are other links of the list."""
    names = [f"/item?id={n}{ids}" for n in range(NUMBER)]
    site.pages[start] = html(article(first + 999), links=(*names, *more))
    for n, name in enumerate(names):
        page = html(article(first + n), links=(f"{name}&print=1",))
        site.pages[name] = site.pages[f"{name}&print=1"] = page


@pytest.fixture
def shop(site: Any) -> Any:
    stock(site)
    return site


def prints(shop: Any, ids: str = "") -> int:
    return sum(hits for path, hits in shop.hits.items() if f"{ids}&print" in path)


def run(
    crawl: Any, shop: Any, settings: dict[str, Any] | None = None, start: str = "/", **marks: Any
) -> Any:
    return crawl(Links, settings=SETTINGS | (settings or {}), site=shop, paths=[start], **marks)


def test_requests_like_copies_are_not_sent_and_no_page_is_lost(crawl: Any, shop: Any) -> None:
    crawled = run(crawl, shop)
    assert len({item["path"] for item in crawled.items}) == NUMBER + 1
    assert 0 < prints(shop) < NUMBER / 2
    assert crawled.stat("spared/skipped") == NUMBER - prints(shop)


def test_requests_that_copy_the_meta_of_a_start_request_are_spared_too(
    crawl: Any, shop: Any
) -> None:
    crawled = run(crawl, shop, meta={"is_start_request": True})
    assert crawled.stat("spared/skipped") == NUMBER - prints(shop) > 0
    assert crawled.stat("dropped") > crawled.stat("dropped_starts") == 0


def test_the_errback_of_a_spared_request_is_called(crawl: Any, shop: Any) -> None:
    Asking.told = told = []
    crawled = crawl(Asking, settings=SETTINGS, site=shop, paths=["/"])
    assert len(told) == crawled.stat("spared/skipped") == NUMBER - prints(shop) > 0
    assert told[-1].endswith("/item?id=*&print=1")


def test_watching_and_off_change_no_request_nor_its_priority(crawl: Any, shop: Any) -> None:
    """Their order follows, but for Scrapy 2.13, which has another one in each crawl anyway."""

    class Noting(Scheduler):
        asked: ClassVar[list[tuple[str, int]]] = []

        def enqueue_request(self, request: Request) -> bool:
            self.asked.append((request.url, request.priority))
            return super().enqueue_request(request)

    asked = []
    for spare in ("off", "watch"):
        Noting.asked = []
        shop.hits.clear()
        crawled = run(crawl, shop, {"SIMHASH_SPARE": spare, "SCHEDULER": Noting})
        asked.append(sorted(Noting.asked))
        assert any("spared" in name for name in crawled.stats) == (spare == "watch")
        assert len(shop.hits) == 2 * NUMBER + 1
    assert asked[0] == asked[1]
    assert crawled.stat("spared/would_be") > NUMBER / 2
    assert crawled.stat("spared/would_be_lost") == 0


def test_an_address_is_counted_once_however_it_is_written(crawl: Any, shop: Any) -> None:
    for n in range(NUMBER):
        links = (f"/item?id={n}x&print=1", f"/item?print=1&id={n}x", f"/item?id={n}x&print=1#top")
        shop.pages[f"/item?id={n}x"] = html(article(n), links=links)
    crawled = run(crawl, shop)
    assert crawled.stat("spared/skipped") == NUMBER - prints(shop) > 0


def test_copies_among_more_near_pages_than_are_judged_spare_nothing(
    crawl: Any, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.crawl.sparing.RULINGS", 1)
    run(crawl, shop)
    assert prints(shop) == NUMBER


@pytest.mark.parametrize(
    "marks",
    [
        {"dont_filter": True},
        {"meta": {"dont_simhash": True}},
        {"meta": {"simhash_action": "follow"}},
        {"method": "POST"},
    ],
)
def test_what_was_asked_for_is_always_sent(crawl: Any, shop: Any, marks: dict[str, Any]) -> None:
    crawled = run(crawl, shop, **marks)
    assert crawled.stat("spared/skipped") == 0


@pytest.mark.parametrize("never", ["print=1", "页&print", "%E9%A1%B5&print"])
def test_addresses_that_are_never_to_be_spared_are_sent(crawl: Any, site: Any, never: str) -> None:
    stock(site, ids="%E9%A1%B5")
    run(crawl, site, {"SIMHASH_SPARE_NEVER": [never]})
    assert prints(site) == NUMBER


def test_a_second_crawl_of_an_index_knows_what_the_first_learned(
    crawl: Any, shop: Any, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/index.sqlite"
    run(crawl, shop, {"SIMHASH_INDEX_URL": url})
    first = prints(shop)
    shop.hits.clear()
    stock(shop, first=1000)
    run(crawl, shop, {"SIMHASH_INDEX_URL": url, "DOWNLOAD_DELAY": 0.02})
    assert len([path for path in shop.hits if "print" not in path]) == NUMBER + 1
    assert prints(shop) < first


def test_crawlers_on_redis_learn_together(
    crawl: Any, shop: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.crawl.sparing.EXCHANGE_SECONDS", 0.1)
    done = threading.Event()

    def held(_: Any) -> tuple[int, dict[str, str], bytes]:
        done.wait(30)
        return 404, {}, b""

    shop.pages["/held"] = held
    stock(shop, more=("/held",))
    stock(shop, first=1000, start="/more", ids="y")
    settings = {"SIMHASH_INDEX_URL": server.url}
    first = threading.Thread(target=run, args=(crawl, shop, settings | {"CONCURRENT_REQUESTS": 2}))
    first.start()
    try:
        while len([path for path in shop.hits if "x" in path and "print" not in path]) < NUMBER:
            time.sleep(0.05)
        time.sleep(1)
        second = run(crawl, shop, settings | {"DOWNLOAD_DELAY": 0.02}, start="/more")
        assert first.is_alive()
    finally:
        done.set()
        first.join()
    assert len({item["path"] for item in second.items}) == NUMBER + 1
    assert prints(shop, "x") < NUMBER / 2
    # A crawl that begins without knowledge fetches 6 copies before they make a pattern.
    assert prints(shop, "y") - second.stat("spared/explored") < 6


def test_nothing_is_spared_while_the_store_is_away(
    crawl: Any, shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def away(url: str) -> Any:
        raise ValueError("no such place")

    monkeypatch.setattr("scrapy_simhash.crawl.sparing.open_patterns", away)
    crawled = run(crawl, shop, {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/index.sqlite"})
    assert crawled.stat("spared/skipped") == 0
    assert prints(shop) == NUMBER


@pytest.mark.parametrize(("spare", "times"), [("watch", 0), ("skip", 1)])
def test_only_a_crawl_that_spares_says_that_nothing_is_spared(
    crawl: Any,
    shop: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: Any,
    spare: str,
    times: int,
) -> None:
    asked: list[int] = []

    def open_once(url: str) -> Any:
        store = open_patterns(url)

        def changes(since: int) -> Any:
            asked.append(since)
            if len(asked) > 1:
                raise OSError("away")
            return store.changes(since)

        return SimpleNamespace(add=store.add, changes=changes, close=store.close)

    monkeypatch.setattr("scrapy_simhash.crawl.sparing.open_patterns", open_once)
    settings = {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/index.sqlite", "SIMHASH_SPARE": spare}
    run(crawl, shop, settings)
    assert len(asked) > 1
    assert sum("Nothing is spared" in record.message for record in caplog.records) == times


def test_what_was_spared_is_in_the_dedup_log(crawl: Any, shop: Any, tmp_path: Path) -> None:
    log = tmp_path / "dedup.jsonl"
    crawled = run(crawl, shop, {"SIMHASH_LOG": log})
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    spared = [line for line in lines if line["what"] == "spared"]
    assert len(spared) == crawled.stat("spared/skipped")
    assert spared[-1]["signature"] == "/item?id=*&print=1"
    sent = [line for line in lines if line.get("pattern")]
    assert len(sent) == crawled.stat("spared/explored")
    assert {line["pattern"] for line in sent} == {spared[-1]["host"] + "/item?id=*&print=1"}


@pytest.fixture
def calendar(site: Any) -> Any:
    def months(last: int, *, days: bool = False) -> Any:
        site.pages["/"] = html(article(1), links=("/calendar?month=1",))
        for n in range(1, last):
            more = (f"/day?n={n}x",) if days else ()
            links = (f"/calendar?month={n + 1}", "/", *more)
            site.pages[f"/calendar?month={n}"] = html(article(5), title=f"Month {n}", links=links)
            site.pages[f"/day?n={n}x"] = html(article(100 + n), title=f"Day {n}")
        return site

    return months


@pytest.mark.parametrize(("spare", "ends"), [("skip", True), ("watch", False)])
def test_a_calendar_without_end_is_told_once_and_ends_where_requests_are_spared(
    crawl: Any, calendar: Any, caplog: Any, spare: str, ends: bool
) -> None:
    site = calendar(400)
    crawled = run(crawl, site, {"SIMHASH_SPARE": spare, "CLOSESPIDER_PAGECOUNT": 200})
    told = [record.getMessage() for record in caplog.records if "deny" in record.getMessage()]
    assert len(told) == crawled.stat("spared/traps") == 1
    assert told[0].endswith(r"/calendar(?=.*[?&;]month=[^/?&;#]+(?:[&;#]|$))")
    assert (sum("month" in path for path in site.hits) <= 100) is ends


def test_a_calendar_whose_months_link_days_goes_on(crawl: Any, calendar: Any) -> None:
    site = calendar(120, days=True)
    crawled = run(crawl, site)
    assert crawled.stat("spared/traps") == 0
    assert sum("month" in path for path in site.hits) >= 119


def behind_a_wall(site: Any, caplog: Any, *, at_once: bool) -> list[str]:
    """Put items on lists; all pages of items are one log-in until some items have been spared."""
    login, items = html(article(7)), [f"/item?id={n}" for n in range(3 * NUMBER)]
    caplog.set_level(logging.DEBUG, "scrapy_simhash.crawl.sparing")

    def item(request: Any) -> tuple[int, dict[str, str], bytes]:
        spared = sum(" is spared" in record.msg for record in caplog.records)
        page = login if spared < 5 else html(article(100 + items.index(request.path)))
        return 200, {"Content-Type": "text/html"}, page

    lists = [f"/list-{n}" for n in range(len(items))]
    links = items if at_once else lists
    site.pages = {"/": html(article(1), links=links)} | dict.fromkeys(items, item)
    site.pages |= {path: html(article(300 + n), links=[items[n]]) for n, path in enumerate(lists)}
    return items


class Keyed(Links):
    """Names each page by its address."""

    def parse(self, response: Any) -> Any:
        for output in super().parse(response):
            if isinstance(output, Request):
                output.meta["simhash_key"] = output.url[-20:]
            yield output


@pytest.mark.parametrize("spider", [Links, Keyed], ids=["redirected", "with keys of its own"])
def test_a_later_crawl_of_the_same_addresses_does_not_learn_to_spare_them(
    crawl: Any, site: Any, tmp_path: Path, spider: type[Links]
) -> None:
    links = [f"/item?id={n}" for n in range(NUMBER)]
    site.pages["/"] = html(article(999), links=links)
    for n, link in enumerate(links):
        site.pages[link] = 301, {"Location": f"/{n}"}, b""
        site.pages[f"/{n}"] = html(article(n))
    settings = SETTINGS | {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/index.sqlite"}
    for spare in ("off", "skip"):
        changed = {"SIMHASH_SPARE": spare}
        crawled = crawl(spider, settings=settings | changed, site=site, paths=["/"])
        assert len(crawled.items) == NUMBER + 1


def test_an_address_that_was_fetched_is_not_said_to_be_spared_at_a_later_link(
    crawl: Any, site: Any
) -> None:
    stock(site, more=("/more",))
    links = [f"{path}#top" for path in site.pages if "print" in path]
    site.pages["/more"] = html(article(998), links=links)
    crawled = crawl(MoreLast, settings=SETTINGS, site=site, paths=["/"])
    assert crawled.stat("spared/skipped") == NUMBER - prints(site) > 0


def test_a_request_in_the_queue_that_was_fetched_after_all_is_not_said_to_be_spared(
    crawl: Any, site: Any
) -> None:
    """All print views stand in the queue before the first of them tells anything."""
    stock(site)
    views = [path for path in site.pages if "print" in path]
    site.pages["/"] = html(article(999), links=(*views, *(path[:-8] for path in views)))
    crawled = run(crawl, site, {"CONCURRENT_REQUESTS": 8})
    assert crawled.stat("spared/skipped") == NUMBER - prints(site) > 0


def test_nothing_is_sent_late_while_a_page_against_a_pattern_has_its_other_address_in_the_queue(
    crawl: Any, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.crawl.sparing.EXCHANGE_SECONDS", 0.05)
    stock(site, more=("/more",))
    stock(site, 200, "/more", "y")
    names = [path for path in site.pages if path.endswith("y")][:20]
    views = [f"{name}&print=1" for name in names]
    seconds = iter([0.5])
    page = site.pages[names[-1]]

    def last_item(request: Any) -> tuple[int, dict[str, str], bytes]:
        time.sleep(next(seconds, 0))
        return 200, {"Content-Type": "text/html"}, page

    site.pages[names[-1]] = last_item
    # The last link comes first.
    site.pages["/more"] = html(article(998), links=(*names, *views))
    monkeypatch.setattr("scrapy_simhash.crawl.sparing.Learner", partial(Learner, 0.3))
    crawled = crawl(MoreLast, settings=SETTINGS, site=site, paths=["/"])
    assert crawled.stat("spared/sent_late") == 0
    assert crawled.stat("spared/skipped") == NUMBER + 20 - prints(site) > 0


@pytest.mark.parametrize("at_once", [True, False], ids=["in the queue", "on the way to it"])
def test_requests_that_were_spared_are_sent_when_a_wall_goes_away(
    crawl: Any, site: Any, caplog: Any, at_once: bool
) -> None:
    items = behind_a_wall(site, caplog, at_once=at_once)
    crawled = run(crawl, site)
    assert [path for path in items if site.hits[path] != 1] == []
    assert crawled.stat("spared/sent_late") >= 5
    assert crawled.stat("spared/skipped") == crawled.stat("spared/lost_estimate") == 0


def test_what_was_drawn_to_be_sent_is_known_as_such_when_the_pattern_has_fallen(
    crawl: Any, site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the estimate of what was lost would count the first of them only."""
    walled, behind = ([f"/item?id={n}" for n in range(*ends)] for ends in ((0, 60), (100, 160)))
    site.pages = dict.fromkeys(walled, html(article(7)))
    seconds = iter([0.5])

    def item(request: Any) -> tuple[int, dict[str, str], bytes]:
        time.sleep(next(seconds, 0))  # by then all links to others have been seen
        page = html(article(100 + behind.index(request.path)))
        return 200, {"Content-Type": "text/html"}, page

    site.pages |= dict.fromkeys(behind, item)
    site.pages |= {"/": html(article(1), links=(*walled, "/more"))}
    site.pages |= {"/more": html(article(2), links=behind)}
    log = tmp_path / "dedup.jsonl"
    monkeypatch.setattr("scrapy_simhash.crawl.sparing.Learner", partial(Learner, 0.3))
    settings = SETTINGS | {"SIMHASH_LOG": log}
    crawl(MoreLast, settings=settings, site=site, paths=["/"])
    lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    drawn = {line["url"] for line in lines if line["what"] == "spared" or line.get("pattern")}
    assert {site.url + path for path in behind} <= drawn
