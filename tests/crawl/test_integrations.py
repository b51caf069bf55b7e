"""The filter beside other parts of Scrapy and its neighbours."""

import re
from typing import Any, ClassVar

import pytest

from tests.crawl.spiders import FailingLate, Pages, check_sum, paths
from tests.test_addon import COMPONENTS

ALL = ["/first", "/second", "/other"]
KEPT = ["/first", "/other"]


@pytest.mark.parametrize("missing", [[], ["SPIDER_MIDDLEWARES"], ["ITEM_PIPELINES"]])
def test_components_can_be_named_each_and_a_missing_one_is_told(visit, twins, caplog, missing):
    settings = {name: dict([placed]) for name, placed in COMPONENTS.items() if name not in missing}
    assert paths(visit(twins, "/first", "/other", ADDONS={}, **settings)) == KEPT
    assert re.findall(r"(\w+): \w+ is missing", caplog.text) == missing


def test_who_hears_first_that_the_spider_is_closed_reads_all_stats(visit, twins):
    class Reading(Pages):
        read: ClassVar[list[int]] = []

        def closed(self, reason: str) -> None:
            self.read.append(self.counted("dropped"))

    visit(twins, "/first", "/second", spider=Reading)
    assert Reading.read == [1]


def test_answers_from_the_http_cache_are_the_same_pages(visit, twins, tmp_path):
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        again = visit(twins, *ALL, SIMHASH_INDEX_URL=f"sqlite:///{tmp_path}/index.sqlite", **cache)
    assert again.stats["httpcache/hit"] == 3
    assert paths(again) == KEPT
    assert (again.stat("same"), again.stat("duplicate")) == (2, 1)
    check_sum(again)


def test_page_objects_work_on_the_pages_that_get_through(visit, twins):
    poet = pytest.importorskip("scrapy_poet", reason="scrapy-poet is not installed")
    from web_poet import WebPage

    class TitlePage(WebPage):
        def to_item(self) -> Any:
            return {"title": self.css("title::text").get()}

    class Poetic(Pages):
        async def parse(self, response: poet.DummyResponse, page: TitlePage) -> Any:
            yield {"path": response.url.removeprefix(self.base), **page.to_item()}

    addons = {"scrapy_simhash.Addon": 500, "scrapy_poet.Addon": 300}
    crawled = visit(twins, *ALL, spider=Poetic, ADDONS=addons)
    assert paths(crawled) == KEPT
    assert crawled.items[0]["title"] == "A page"


class BrowserPage(list[str]):
    async def close(self) -> None:
        self.append("closed")


def test_browser_page_of_a_dropped_copy_is_closed_and_its_response_is_not_kept(crawl, articles):
    meta = {"playwright_page": BrowserPage(["open"])}
    crawled = crawl(FailingLate, site=articles, paths=[], meta=meta)
    assert paths(crawled) == ["/0/copy"]
    assert meta["playwright_page"] == ["open", "closed"]
    assert articles.hits["/0/copy"] == 2
