"""Whole crawls: what happens to a page, and that nothing is lost."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any, ClassVar
from unittest.mock import Mock
from weakref import ref

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.test import get_crawler

from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.crawl.deliveries import Deliveries
from scrapy_simhash.crawl.requests import QUEUED, request_key
from scrapy_simhash.crawl.summary import Judged
from scrapy_simhash.report.dedup_log import read_log
from scrapy_simhash.settings import FilterSettings
from tests.commands.running import scrapy
from tests.crawl.spiders import Following, InTurn, Pages, check_sum, paths, settled, until
from tests.pages import article, html, turned

LINKED, BOTH = ["/after-second"], ["/after-second", "/second"]


@pytest.mark.parametrize(
    ("path", "meta", "action", "delivered", "said"),
    [
        ("/second", {}, "drop", [], "1 dropped"),
        ("/second", {"simhash": {"key": "another", "dropped": 2}}, "drop", [], "1 dropped"),
        ("/second", {}, [("/sec", "follow"), ("d", "flag")], LINKED, "1 followed: requests sent"),
        ("/second", {}, [("/thi", "follow"), ("s.c", "flag")], BOTH, "1 flagged and delivered"),
        ("/second", {"simhash_action": "flag"}, "drop", BOTH, "1 flagged and delivered"),
        ("/second", {"dont_simhash": True}, "drop", BOTH, "2 not compared: 2 opted_out"),
        ("/second", {"simhash_key": "the story"}, "drop", BOTH, "1 kept, crawled before"),
        ("/first?", {}, "drop", ["/first"], "1 kept, crawled before"),
        # A start request, and the page that it redirects to.
        ("/second", {"depth": 0}, "flag", BOTH, "1 flagged and delivered"),
        ("/moved", {"depth": 0}, "drop", LINKED, "1 followed: requests sent"),
    ],
)
def test_address_meta_and_settings_decide_what_becomes_of_a_copy(
    visit, twins, caplog, path, meta, action, delivered, said
):
    twins.pages["/second"] = html(turned(article(1)), links=("/after-second",))
    twins.pages["/moved"] = 301, {"Location": "/second"}, b""
    meta = {"depth": 1} | meta
    crawled = visit(twins, "/first", path, spider=Following, meta=meta, SIMHASH_ACTION=action)
    assert sorted(paths(crawled)) == sorted(["/after-first", "/first", *delivered])
    assert f"\n           {said}" in caplog.text
    assert crawled.stat("items_dropped") == crawled.stat("followed")
    assert len(crawled.dropped) == crawled.stat("duplicate")
    for key, original, distance in crawled.dropped:
        assert (key, original) == (twins.url + "/second", twins.url + "/first")
        assert 0 < distance <= 48
    check_sum(crawled)


def test_a_copy_with_the_better_address_says_so_and_why(visit, site, tmp_path):
    head = '<link rel="canonical" href="/long/name">'
    page = html(article(1)).replace(b"<title>", f"{head}<title>".encode())
    site.pages = dict.fromkeys(("/b", "/long/name", "/long/name?print=1"), page)
    crawled = visit(site, *site.pages, SIMHASH_ACTION="flag", SIMHASH_LOG=tmp_path / "log")
    told = {item["path"]: item["page"]["better"] for item in crawled.items}
    assert told == {"/b": None, "/long/name": "canonical", "/long/name?print=1": None}
    assert {line.better for line in read_log([tmp_path / "log"])} == {None, "canonical"}
    assert crawled.stat("better") == 1


def test_a_misspelt_action_or_key_of_meta_loses_no_page_and_is_told_once(visit, twins, caplog):
    meta = {"simhash_action": "folow", "simhash_acton": "flag"}
    assert paths(visit(twins, "/first", "/second", meta=meta)) == ["/first", "/second"]
    action = "'folow' is not one of drop, follow, flag; such pages are flagged"
    for said in (f'meta["simhash_action"]: {action}', 'meta["simhash_acton"]: there is no such'):
        assert caplog.text.count(said) == 1


@pytest.mark.parametrize("marks", [{}, {"callback": NO_CALLBACK, "meta": {QUEUED: True}}])
def test_download_in_a_callback_is_neither_compared_nor_remembered(visit, twins, marks):
    """It repeats the page of that very callback, whose other copies are dropped nevertheless."""

    class Fetching(Pages):
        async def parse(self, response: Any) -> Any:
            asked = Request(self.base + "/second", **marks)
            engine = self.crawler.engine
            if hasattr(engine, "download_async"):
                fetched = await engine.download_async(asked)
            else:  # Scrapy 2.13
                fetched = await maybe_deferred_to_future(engine.download(asked))
            # What Scrapy notes of a download is where its caller looks for it.
            assert fetched.request is asked
            assert "download_latency" in fetched.request.meta
            yield {"path": response.url.removeprefix(self.base), "status": fetched.status}

    crawled = visit(twins, "/first", "/second", spider=Fetching)
    assert paths(crawled) == ["/first"]
    assert [crawled.stat(name) for name in ("no_page", "dropped", "crawled_again")] == [1, 1, 0]
    check_sum(crawled)


def test_post_requests_with_other_bodies_are_other_pages():
    requests = [Request("http://a.test/", method="POST", body=body) for body in ("q=a", "q=bb")]
    keys = {request_key(each, each.url) for each in (*requests, Request("http://a.test/"))}
    assert len(keys) == 3


@pytest.mark.parametrize(("scope", "kept"), [("host", 2), ("global", 1)])
def test_scope_host_keeps_one_copy_for_each_host(visit, twins, scope, kept):
    class Hosts(Pages):
        async def start(self) -> AsyncIterator[Any]:
            yield Request(self.base + "/first")
            yield Request(self.base.replace("127.0.0.1", "localhost") + "/second", priority=-1)

    assert len(visit(twins, spider=Hosts, SIMHASH_SCOPE=scope).items) == kept


def test_what_a_spider_does_to_the_verdict_in_its_meta_decides_nothing(visit, twins):
    class Changing(Pages):
        followed: ClassVar[list[Any]] = []

        def parse(self, response: Any) -> Any:
            self.followed.append(response.meta["simhash"].get("follow"))
            yield from super().parse(response)
            response.meta["simhash"] = {"verdict": "unique", "key": "another"}
            if response.url.endswith("/first"):
                yield Request(self.base + "/other", meta=response.meta)

    crawled = visit(twins, "/first", "/second", spider=Changing, SIMHASH_ACTION="follow")
    assert [item["page"]["key"] for item in crawled.items] == [
        *(twins.url + path for path in ("/first", "/other"))
    ]
    assert sorted(Changing.followed, key=bool) == [None, None, True]
    assert crawled.stat("followed") == crawled.stat("items_dropped") == 1
    assert crawled.stat("crawled_again") == 0


def test_a_response_goes_although_its_meta_leads_back_to_it():
    deliveries = Deliveries(get_crawler(), FilterSettings.from_settings(Settings()), Mock())
    request = Request("http://a.test/")
    response = HtmlResponse(request.url, request=request)
    deliveries.judged(Judged(request, response, Verdict("unique", request.url)))
    deliveries.arrived(response)
    assert deliveries.of(response).key == request.url
    response.meta["page"] = response.selector
    alive = ref(response)
    del request, response
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("place", [500, 560])
def test_middleware_may_give_a_response_another_request(crawl, twins, place):
    class Exchanging:
        def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:
            return response.replace(request=request.replace())

    class Slow(Following):
        async def parse(self, response: Any) -> Any:
            # Longer than a round of the upkeep.
            await asyncio.sleep(0.3)
            for output in super().parse(response):
                yield output

    settings = {"DOWNLOADER_MIDDLEWARES": {Exchanging: place}}
    crawled = crawl(Slow, settings=settings, site=twins, paths=["/first", "/second"])
    assert len(crawled.items) == 2
    assert (crawled.stat("dropped"), crawled.stat("crawled_again")) == (1, 0)


@pytest.mark.parametrize("how", ["at once", "half-way", "item"])
def test_twin_of_a_page_that_fails_gets_through(crawl, twins, how):
    def fail(path: str, place: str) -> None:
        if (path, place) == ("/first", how):
            raise RuntimeError("no delivery")

    class Failing(InTurn):
        def parse(self, response: Any) -> Any:
            path = response.url.removeprefix(self.base)
            fail(path, "at once")
            return self.output(path)

        def output(self, path: str) -> Any:
            yield {"path": path}
            fail(path, "half-way")

    class Storage:
        def process_item(self, item: Any, spider: Any = None) -> Any:
            fail(item["path"], "item")
            return item

    settings = {"ITEM_PIPELINES": {Storage: 300}}
    crawled = crawl(Failing, settings=settings, site=twins, acts=["/first", settled, "/second"])
    assert "/second" in paths(crawled)


def failing_extractor(html: str) -> str:
    raise RuntimeError("no idea")


def test_extractor_that_fails_costs_no_page(visit, twins, caplog):
    extractor = f"{__name__}.failing_extractor"
    crawled = visit(twins, "/first", "/second", SIMHASH_EXTRACTOR=extractor)
    assert len(crawled.items) == crawled.stat("skipped/extractor_error") == 2
    assert caplog.text.count("let through unchecked: RuntimeError: no idea") == 2
    # A traceback a page would fill the disk.
    assert caplog.text.count("Traceback") == 1


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")  # scrapy-redis
@pytest.mark.parametrize(("queue", "seconds"), [("memory", 0.01), ("memory", 0.3), ("redis", 0.1)])
def test_page_whose_callback_asks_for_it_again_is_no_original(
    crawl, site, monkeypatch, request, queue, seconds
):
    """Answers that put the crawl off are all alike, and each stands for another page."""
    monkeypatch.setattr("scrapy_simhash.core.upkeep.ROUND_SECONDS", seconds)

    def at_second_asking(text: str) -> Any:
        answers = [html("Wait " * 5 + article(9)), html(text)]
        return lambda _: (200, {"Content-Type": "text/html"}, answers.pop(0))

    class Patient(Pages):
        async def parse(self, response: Any) -> Any:
            if "Wait" in response.text:
                await until(lambda: self.counted("dropped"))
                yield response.request.replace(dont_filter=True)
            else:
                await asyncio.sleep(0.5)
                for item in super().parse(response):
                    yield item

    site.pages = {f"/{number}": at_second_asking(article(number)) for number in range(3)}
    settings = request.getfixturevalue("on_redis") if queue == "redis" else {}
    crawled = crawl(Patient, settings=settings, site=site, paths=["/0", "/1", "/2"])
    assert sorted(paths(crawled)) == ["/0", "/1", "/2"]
    assert crawled.stat("dropped") > 0


def test_page_that_links_to_itself_is_delivered(visit, twins):
    twins.pages["/first"] = html(article(1), links=("/first",))
    crawled = visit(twins, "/first", "/second", spider=Following)
    assert {*paths(crawled)} == {"/first"}
    assert crawled.stat("crawled_again") == 0


def test_twin_of_a_page_that_a_later_middleware_drops_need_not_wait_for_the_end(crawl, twins):
    class Late:
        def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:
            if response.url.endswith("/first"):
                raise IgnoreRequest
            return response

    async def delivered(spider: Pages) -> None:
        await until(lambda: spider.crawler.stats.get_value("item_scraped_count"))
        in_time.append(spider)

    in_time: list[Pages] = []
    settings = {"DOWNLOADER_MIDDLEWARES": {Late: 543}}
    crawled = crawl(InTurn, settings=settings, site=twins, acts=["/first", "/second", delivered])
    assert in_time
    assert paths(crawled) == ["/second"]


def test_copy_that_an_errback_asks_for_again_is_let_through_the_third_time(visit, twins, caplog):
    class Insisting(Pages):
        async def start(self) -> AsyncIterator[Any]:
            async for request in super().start():
                yield request.replace(errback=self.again)

        def again(self, failure: Any) -> Any:
            return failure.request.replace(dont_filter=True)

    crawled = visit(twins, "/first", "/second", spider=Insisting)
    assert paths(crawled) == ["/first", "/second"]
    assert (crawled.stat("dropped"), crawled.stat("flagged")) == (2, 1)
    assert twins.hits["/second"] == 3
    assert "asked for again each of the 2 times that it was dropped" in caplog.text


SHOWN = '''
from scrapy import Spider
SPIDER_MODULES = ["shown"]
ADDONS = {{"scrapy_simhash.Addon": 500}}
SIMHASH_INDEX_URL = "sqlite:///{index}"
TELNETCONSOLE_ENABLED = False
class Shown(Spider):
    name = "shown"
    def parse(self, response):
        """
        @url {url}
        @returns items 1 1
        """
        yield {{"seen": "simhash" in response.meta}}
'''


@pytest.mark.parametrize(
    ("command", "options", "shown"),
    [
        ("shell", ["-c", "print(response.meta)"], "download_latency"),
        ("fetch", [], "<h1"),
        ("parse", ["--spider", "shown"], "'seen': False"),
        ("check", [], ""),
    ],
)
def test_command_that_shows_pages_runs_no_filter(command, options, shown, twins, tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shown\n")
    index, url = tmp_path / "pages.sqlite", twins.url + "/second"
    (tmp_path / "shown.py").write_text(SHOWN.format(index=index, url=url))
    given = [command, *options] if command == "check" else [command, url, *options]
    ran = scrapy(*given, folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout
    assert "'simhash'" not in ran.stdout
    assert not index.exists()
