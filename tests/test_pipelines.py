"""The item pipeline: items that carry the text themselves."""

import asyncio
import time
from contextlib import closing
from typing import Any, ClassVar

import pytest
from scrapy import Spider
from scrapy.exceptions import DropItem

from scrapy_simhash.crawl import filter_of
from scrapy_simhash.index import open_existing
from tests.crawl.spiders import TEXT, Items
from tests.pages import article, edited, html
from tests.sites import chinese


def urls(crawled: Any) -> list[str]:
    return sorted(item["url"] for item in crawled.items)


def test_item_that_repeats_another_is_dropped(crawl, site):
    """Its text may be bytes."""
    text = article(1)
    items = [
        {"url": "http://a.example/1", "text": text},
        {"url": "http://b.example/1", "text": edited(text, 3).encode()},
        {"url": "http://a.example/2", "text": article(3)},
    ]
    crawled = crawl(Items, settings=TEXT, site=site, items=items)
    assert len(crawled.items) == 2
    assert "http://a.example/2" in urls(crawled)
    assert crawled.stat("items_dropped") == 1


def test_an_item_may_carry_html_or_the_bytes_of_a_page(crawl, site):
    pages = [html(". ".join(chinese(n * 10 + i) for i in range(8))) for n in (1, 2, 3, 1)]
    items = [{"url": f"http://{n}.example/", "body": page} for n, page in enumerate(pages)]
    items[0]["body"] = pages[0].decode()
    crawled = crawl(Items, settings={"SIMHASH_ITEM_HTML_FIELD": "body"}, site=site, items=items)
    assert len(crawled.items) == 3


def test_item_whose_twin_could_not_be_stored_is_stored(crawl, site):
    class Storage:
        def process_item(self, item: Any, spider: Any = None) -> Any:
            if item["url"] == "http://a.example/1":
                raise RuntimeError("cannot store")
            return item

    text = article(1)
    items = [
        {"url": "http://a.example/1", "text": text},
        {"url": "http://b.example/1", "text": text},
    ]
    settings = {**TEXT, "ITEM_PIPELINES": {Storage: 300}}
    crawled = crawl(Items, settings=settings, site=site, items=items)
    assert urls(crawled) == ["http://b.example/1"]
    assert crawled.stat("same_body") <= 1  # it waited, and was analysed once at most


def test_item_with_half_a_character_in_its_key_is_compared(crawl, site):
    items = [
        {"url": "first \ud83d", "text": article(1)},
        {"url": "second \ud83d", "text": article(1)},
        {"url": "http://a.example/\ud83d", "text": article(1)},
    ]
    crawled = crawl(Items, settings=TEXT, site=site, items=items)
    assert len(crawled.items) == 1
    assert crawled.stat("items_dropped") == 2


def test_item_without_key_or_text_passes_and_the_summary_says_why(crawl, site, caplog):
    caplog.set_level("INFO")
    items = [{"url": "http://a.example/1"}, {"text": article(1)}, {"text": article(1)}]
    items.append({"url": "http://[half", "text": article(2)})
    crawled = crawl(Items, settings=TEXT, site=site, items=items)
    assert len(crawled.items) == crawled.stat("items_skipped") == 4
    assert "4 items not compared: 3 no_key, 1 no_text" in caplog.text


def test_item_whose_key_a_later_pipeline_changes_is_an_original(crawl, site):
    class Storage:
        def process_item(self, item: Any, spider: Any = None) -> Any:
            item["url"] = 7
            return item

    items = [{"url": f"http://{host}.example/1", "text": article(1)} for host in "ab"]
    settings = {**TEXT, "ITEM_PIPELINES": {Storage: 300}, "SIMHASH_LEASE": 2}
    crawled = crawl(Items, settings=settings, site=site, items=items)
    assert len(crawled.items) == crawled.stat("items_dropped") == 1


def test_items_of_one_key_are_delivered_and_the_last_one_counts(crawl, site, tmp_path):
    url = f"sqlite:///{tmp_path}/items.sqlite"
    items = [{"url": "http://a.example/1", "text": article(number)} for number in range(3)]
    crawled = crawl(Items, settings={**TEXT, "SIMHASH_INDEX_URL": url}, site=site, items=items)
    assert len(crawled.items) == 3
    with closing(open_existing(url)) as index:
        assert [entry.key for entry in index].count("http://a.example/1") == 1
        assert not any(entry.provisional for entry in index)


def test_items_that_repeat_the_page_they_come_from_pass_at_once(crawl, site):
    """Also one whose key is not that of the page, as with a canonical URL or a number."""

    class Articles(Spider):
        name = "articles"
        start_urls = (site.url + "/article",)

        def parse(self, response: Any) -> Any:
            for key in (response.url, "number 7"):
                yield {"url": key, "text": " ".join(response.css("p::text").getall())}

    site.pages["/article"] = html(article(1))
    crawled = crawl(Articles, settings={**TEXT, "SIMHASH_LEASE": 2})
    assert urls(crawled) == [site.url + "/article", "number 7"]
    assert crawled.stat("items_kept") == 2
    assert crawled.stat("items_skipped") == crawled.stat("items_dropped") == 0


@pytest.mark.parametrize("pause", [0, 0.5])
def test_items_of_which_a_later_pipeline_leaves_nothing_are_stored_with_the_last_of_their_page(
    crawl, site, pause
):
    """A pipeline that stores items often does not return them."""

    class Before:
        async def process_item(self, item: Any, spider: Any = None) -> Any:
            if "b.example" in item["url"]:
                await asyncio.sleep(pause)
            return item

    class Storage:
        stored: ClassVar[list[str]] = []

        def process_item(self, item: Any, spider: Any = None) -> None:
            self.stored.append(item["url"])

    texts = [article(number) for number in range(3)]
    items = [
        {"url": f"http://{host}.example/{number}", "text": text}
        for host in "ab"
        for number, text in enumerate(texts)
    ]
    # A copy that waits for the end of the crawl is let through after the lease.
    settings = {**TEXT, "ITEM_PIPELINES": {Before: 1, Storage: 900}, "SIMHASH_LEASE": 5}
    crawled = crawl(Items, settings=settings, site=site, items=items)
    assert sorted(Storage.stored) == [f"http://a.example/{number}" for number in range(3)]
    assert crawled.stat("items_dropped") == 3


def test_item_that_an_earlier_pipeline_drops_is_forgotten(crawl, site):
    crawls = []

    class Before:
        @classmethod
        def from_crawler(cls, crawler: Any) -> Any:
            crawls.append(filter_of(crawler))
            return cls()

        def process_item(self, item: Any, spider: Any = None) -> Any:
            raise DropItem("not wanted")

    items = [{"url": f"http://a.example/{number}", "text": article(number)} for number in range(3)]
    crawled = crawl(
        Items, settings={**TEXT, "ITEM_PIPELINES": {Before: 10}}, site=site, items=items
    )
    assert crawled.stats["item_dropped_count"] == 3
    assert not crawls[0].deliveries._of_item


def hanging(html: str) -> str:
    if "endless" in html:
        time.sleep(20)
    return html


def test_html_of_an_item_has_the_time_limit_of_a_page(crawl, site):
    items = [{"url": "a", "body": "endless " * 20}, {"url": "b", "body": html(article(1)).decode()}]
    crawled = crawl(
        Items,
        settings={
            "SIMHASH_ITEM_HTML_FIELD": "body",
            "SIMHASH_PROCESSES": 1,
            "SIMHASH_TIMEOUT": 2,
            "SIMHASH_EXTRACTOR": "tests.test_pipelines.hanging",
        },
        site=site,
        items=items,
    )
    assert urls(crawled) == ["a", "b"]
    assert crawled.stat("items_skipped") == 1
