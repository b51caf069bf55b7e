"""Sparing in whole crawls: what is not sent, what is always sent, and what is learned together."""

import json
import sqlite3
from contextlib import closing
from itertools import chain, repeat
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from scrapy_simhash.exceptions import SparedPage
from scrapy_simhash.index import open_existing
from scrapy_simhash.url_patterns.rows import Row, SharedRows
from tests.crawl.spiders import Pages
from tests.pages import article, html

NUMBER = 60
SETTINGS = {"SIMHASH_SPARE": "skip", "CONCURRENT_REQUESTS": 1}


class Links(Pages):
    """Follows every link; keeps the errors of requests that are not sent."""

    errors: ClassVar[list[Any]] = []

    def __init__(self, site: Any, paths: list[str], **marks: Any) -> None:
        super().__init__(site, paths)
        self.marks = marks
        self.errors.clear()

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        for link in response.css("a::attr(href)").getall():
            yield Request(response.urljoin(link), errback=self.failed, **self.marks)

    def failed(self, failure: Any) -> None:
        # Scrapy 2.13.0 takes nothing that an errback yields.
        self.errors.append(failure.value)


def stock(site: Any, first: int = 0, start: str = "/", ids: str = "x") -> None:
    """Put items on a list; each item has a print view."""
    names = [f"/item?id={n}{ids}" for n in range(NUMBER)]
    site.pages[start] = html(article(first + 999), links=(*names,))
    for n, name in enumerate(names):
        page = html(article(first + n), links=(f"{name}&print=1",))
        site.pages[name] = site.pages[f"{name}&print=1"] = page


@pytest.fixture
def shop(site: Any) -> Any:
    stock(site)
    return site


def prints(shop: Any, ids: str = "") -> int:
    return sum(hits for path, hits in shop.hits.items() if f"{ids}&print" in path)


def run(crawl: Any, shop: Any, settings: Any = None, start: str = "/", **marks: Any) -> Any:
    return crawl(Links, settings=SETTINGS | (settings or {}), site=shop, paths=[start], **marks)


def test_requests_like_copies_are_not_sent_and_no_page_is_lost(crawl, shop, tmp_path):
    log = tmp_path / "dedup.jsonl"
    crawled = run(crawl, shop, {"SIMHASH_LOG": log})
    assert len({item["path"] for item in crawled.items}) == NUMBER + 1
    assert 0 < prints(shop) < NUMBER / 2
    assert 0 < crawled.stat("spared/held_back") <= NUMBER  # each is counted once
    number = crawled.stat("spared/skipped")
    assert number == NUMBER - prints(shop)
    # Their errbacks are told, and the log has them.
    host, signature = shop.url.removeprefix("http://"), "/item?id=*&print=1"
    spared = [error.signature for error in Links.errors if isinstance(error, SparedPage)]
    assert spared == [host + signature] * number
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["signature"] for line in lines if line["what"] == "spared"] == [signature] * number


def test_watching_and_off_change_no_request_nor_its_priority(crawl, shop):
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


@pytest.mark.parametrize("spare", ["watch", "off"])
def test_a_job_that_skipped_goes_on_without_its_marks(crawl, shop, tmp_path, spare, caplog):
    job = {"JOBDIR": str(tmp_path)}
    first = run(crawl, shop, job | {"CLOSESPIDER_PAGECOUNT": NUMBER // 2})
    assert first.stat("spared/held_back") > 0
    second = run(crawl, shop, job | {"SIMHASH_SPARE": spare})
    assert prints(shop) == NUMBER
    linked = [item["request"] for item in second.items if "item" in item["path"]]
    assert linked
    assert not [r for r in linked if "simhash_held_back" in r.meta or r.dont_filter]
    assert {request.priority for request in linked} == {0}
    assert "there is no such key" not in caplog.text


def test_copies_among_more_near_pages_than_are_judged_spare_nothing(crawl, shop, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.core.verdict.RULINGS", 1)
    run(crawl, shop)
    assert prints(shop) == NUMBER


def test_what_was_asked_for_is_always_sent(crawl, shop):
    attempts = {"redirect_times": 1}, {"retry_times": 1}
    meta = {"dont_simhash": True}, {"simhash_action": "follow"}, *attempts
    marks: list[dict[str, Any]] = [{"meta": each} for each in meta]
    marks = [{}, *marks, {"dont_filter": True}, {"method": "POST"}]

    class Marking(Links):
        def parse(self, response: Any) -> Any:
            for output in super().parse(response):
                if isinstance(output, Request) and "print" in output.url:
                    number = int(output.url.split("=")[1].split("x")[0])
                    yield output.replace(**marks[number % len(marks)])
                else:
                    yield output

    crawled = crawl(Marking, settings=SETTINGS, site=shop, paths=["/"])
    sent = [n for n in range(NUMBER) if shop.hits[f"/item?id={n}x&print=1"]]
    assert [n for n in range(NUMBER) if n % len(marks)] == [n for n in sent if n % len(marks)]
    assert crawled.stat("spared/skipped") > 0


def test_addresses_that_are_never_to_be_spared_are_sent(crawl, site):
    """An expression may have an address with its escapes, or without."""
    stock(site, ids="%E9%A1%B5")
    run(crawl, site, {"SIMHASH_SPARE_NEVER": ["[02468]页&print", "[13579]%E9%A1%B5&print"]})
    assert prints(site) == NUMBER


def test_a_known_page_that_is_spared_is_not_missing(crawl, site, tmp_path):
    names = [f"/item?id={n}x" for n in range(NUMBER)]
    site.pages["/"] = html(article(999), links=names)
    site.pages |= {name: html(article(n)) for n, name in enumerate(names)}
    url = f"sqlite:///{tmp_path}/index.sqlite"
    run(crawl, site, {"SIMHASH_INDEX_URL": url, "SIMHASH_SPARE": "off"})
    host = site.url.removeprefix("http://")
    with closing(open_existing(url)) as index:
        SharedRows().add(index, host, {"/item?id=*": Row(copies=10**6, telling=10**6)})
    again = run(crawl, site, {"SIMHASH_INDEX_URL": url, "DOWNLOAD_DELAY": 0.02})
    assert again.stat("missing") == 0
    assert again.stat("failed") == again.stat("spared/skipped") > NUMBER / 2


def test_crawls_of_one_index_learn_from_each_other(crawl, shop, tmp_path):
    settings = {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/index.sqlite"}
    run(crawl, shop, settings)
    stock(shop, first=1000, start="/more", ids="y")
    second = run(crawl, shop, settings | {"DOWNLOAD_DELAY": 0.02}, start="/more")
    # A crawl that begins without knowledge fetches 6 copies before they make a pattern.
    assert prints(shop, "y") - second.stat("spared/explored") < 6


def test_nothing_is_spared_while_the_index_is_silent(crawl, shop, tmp_path, monkeypatch, caplog):
    read = Mock(side_effect=chain([set()], repeat(OSError("away"))))
    monkeypatch.setattr(SharedRows, "read", read)
    monkeypatch.setattr("scrapy_simhash.crawl.exchange.EXCHANGE_SECONDS", 0.01)
    settings = {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/index.sqlite"}
    crawled = run(crawl, shop, settings)
    assert read.call_count > 1
    assert prints(shop) > NUMBER / 2
    assert crawled.stat("spared/skipped") < NUMBER / 2
    assert sum("patterns are not shared" in record.message for record in caplog.records) == 1


def test_nothing_is_spared_while_the_index_cannot_be_written(crawl, shop, tmp_path, monkeypatch):
    """It is known at once, and not only when the crawlers exchange what they know."""
    path = tmp_path / "index.sqlite"
    monkeypatch.setattr("scrapy_simhash.index.sqlite_store.BUSY_TIMEOUT", 0.01)
    monkeypatch.setattr("scrapy_simhash.crawl.exchange.EXCHANGE_SECONDS", 1000)
    settings = {"SIMHASH_INDEX_URL": f"sqlite:///{path}"}
    run(crawl, shop, settings)
    stock(shop, first=1000, start="/list", ids="y")
    writers = list[sqlite3.Connection]()

    def more(_: Any) -> Any:
        writers.append(sqlite3.connect(path, check_same_thread=False))
        writers[-1].execute("BEGIN IMMEDIATE")
        return 200, {"Content-Type": "text/html"}, html(article(998), links=("/list",))

    shop.pages["/more"] = more
    run(crawl, shop, settings | {"DOWNLOAD_DELAY": 0.02}, start="/more")
    (writer,) = writers
    writer.close()
    assert prints(shop, "y") == NUMBER


@pytest.mark.parametrize(("spare", "ends"), [("skip", True), ("watch", False)])
def test_an_endless_calendar_is_told_once_and_sparing_ends_it(crawl, site, caplog, spare, ends):
    site.pages["/"] = html(article(1), links=("/calendar?month=1",))
    for n in range(1, 200):
        links = (f"/calendar?month={n + 1}", "/")
        site.pages[f"/calendar?month={n}"] = html(article(5), title=f"Month {n}", links=links)
    crawled = run(crawl, site, {"SIMHASH_SPARE": spare, "CLOSESPIDER_PAGECOUNT": 120})
    told = [record.getMessage() for record in caplog.records if "deny" in record.getMessage()]
    assert len(told) == crawled.stat("spared/traps") == 1
    assert "/calendar?month={number} " in told[0]
    assert (sum("month" in path for path in site.hits) <= 80) is ends


class Keyed(Links):
    """Names each item, whose views have the same name."""

    def parse(self, response: Any) -> Any:
        for output in super().parse(response):
            if isinstance(output, Request):
                output.meta["simhash_key"] = output.url.partition("&")[0][-20:]
            yield output


def test_views_of_pages_that_came_by_another_address_are_not_sent(crawl, shop):
    crawl(Keyed, settings=SETTINGS, site=shop, paths=["/"])
    assert 0 < prints(shop) < NUMBER / 2


@pytest.mark.parametrize("spider", [Links, Keyed], ids=["redirected", "with keys of its own"])
def test_a_later_crawl_of_known_addresses_learns_not_to_spare_them(crawl, site, tmp_path, spider):
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
