"""The item pipeline: items that carry the text themselves."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from typing import Any, ClassVar

import pytest
from scrapy import Spider

from scrapy_simhash.downloadermiddlewares import NearDuplicateDownloaderMiddleware
from scrapy_simhash.index import open_existing
from scrapy_simhash.report.dedup_log import read_log
from tests.conftest import Crawl
from tests.crawl.spiders import TEXT, Items
from tests.pages import article, edited, html
from tests.sites import paragraphs

A, B, C = (f"http://{host}.example/1" for host in "abc")
Item = dict[str, Any]


@pytest.fixture
def yielded(crawl: Callable[..., Crawl], site: Any) -> Callable[..., Crawl]:
    """Crawl a page that yields items, which have a text unless another field is named."""

    def run(items: list[Item], **settings: Any) -> Crawl:
        fields = {} if "SIMHASH_ITEM_HTML_FIELD" in settings else TEXT
        return crawl(Items, settings=fields | settings, site=site, items=items)

    return run


def texts(pages: dict[Any, str | bytes]) -> list[Item]:
    return [{"url": key, "text": text} for key, text in pages.items()]


def urls(crawled: Crawl) -> list[str]:
    return sorted(item["url"] for item in crawled.items)


@pytest.mark.parametrize(("action", "done"), [("drop", "dropped"), ("flag", "flagged")])
def test_item_that_repeats_another_is_dropped_or_flagged(action, done, yielded, tmp_path):
    """Its text may be bytes."""
    pages = {A: article(1), B: edited(article(1), 3).encode(), C: article(3)}
    crawled = yielded(texts(pages), SIMHASH_ACTION=action, SIMHASH_LOG=tmp_path / "log")
    assert len(crawled.items) == (3 if action == "flag" else 2)
    assert C in urls(crawled)
    assert crawled.stat(f"items_{done}") == 1
    [copy] = (line for line in read_log([tmp_path / "log"]) if line.verdict == "duplicate")
    assert (copy.what, copy.action, copy.bytes) == ("item", action, None)
    assert copy.text


def test_an_item_may_carry_html_or_the_bytes_of_a_page(yielded):
    pages = [html("".join(paragraphs("Chinese", n))) for n in (1, 2, 3, 1)]
    items = [{"url": f"http://{n}.example/", "body": page} for n, page in enumerate(pages)]
    items[0]["body"] = pages[0].decode()
    assert len(yielded(items, SIMHASH_ITEM_HTML_FIELD="body").items) == 3


def test_only_a_field_that_is_named_is_compared(yielded):
    """The rest of a row in CSV has no name, and neither has a column without a header."""
    more = {None: [article(9)], "": article(9)}
    items = [more | {"url": key, "body": article(n)} for n, key in enumerate((A, B))]
    for text_field in (None, ""):
        settings = {"SIMHASH_ITEM_TEXT_FIELD": text_field, "SIMHASH_ITEM_HTML_FIELD": "body"}
        assert len(yielded(items, **settings).items) == 2


@pytest.mark.parametrize("key", [A, 7])
def test_item_whose_twin_could_not_be_stored_is_stored(yielded, key):
    """A pipeline may have changed the key of the one that failed."""

    class Storage:
        def process_item(self, item: Any, spider: Any = None) -> Any:
            if item["url"] == A:
                item["url"] = key
                raise RuntimeError("cannot store")
            return item

    items = texts(dict.fromkeys((A, B), article(1)))
    crawled = yielded(items, ITEM_PIPELINES={Storage: 300})
    assert urls(crawled) == [B]


def test_item_with_half_a_character_in_its_key_is_compared(yielded):
    keys = ("first \ud83d", "second \ud83d", "http://a.example/\ud83d")
    crawled = yielded(texts(dict.fromkeys(keys, article(1))))
    assert (len(crawled.items), crawled.stat("items_dropped")) == (1, 2)


def test_item_without_key_or_text_passes_and_the_summary_says_why(yielded, caplog, tmp_path):
    caplog.set_level("INFO")
    items = [{"url": A}, {"text": article(1)}, {"text": article(1)}]
    items += texts({"http://[half": article(2)})
    items += texts({B: "short"})
    crawled = yielded(items, SIMHASH_LOG=tmp_path / "log")
    assert len(crawled.items) == crawled.stat("items_skipped") == 5
    assert "5 items not compared: 3 no_key, 1 no_text" in caplog.text
    logged = [line for line in read_log([tmp_path / "log"]) if line.what == "item"]
    assert [(line.verdict, line.reason) for line in logged] == [("skipped", "too_short")]


@pytest.mark.parametrize("has_pages", [True, False])
def test_items_of_one_key_are_delivered_and_the_last_one_counts(yielded, tmp_path, has_pages):
    url = f"sqlite:///{tmp_path}/items.sqlite"
    items = [{"url": A, "text": article(number)} for number in range(3)]
    left_out = {} if has_pages else dict.fromkeys([NearDuplicateDownloaderMiddleware])
    crawled = yielded(items, SIMHASH_INDEX_URL=url, DOWNLOADER_MIDDLEWARES=left_out)
    assert len(crawled.items) == 3
    with closing(open_existing(url)) as index:
        assert [entry.key for entry in index].count(A) == 1
        assert not any(entry.provisional for entry in index)


def test_only_items_that_changed_come_out_if_that_is_asked_for(yielded, tmp_path):
    index = {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/items"}
    settings = index | {"SIMHASH_RECRAWL": "changed"}
    items = texts({A: article(1), B: article(2)})
    for _ in range(2):
        assert urls(yielded(items, **index)) == [A, B]
    crawled = yielded(texts({A: article(1), B: article(3)}), **settings)
    assert urls(crawled) == [B]
    assert crawled.stat("items_unchanged") == 1
    lines = [line for line in read_log([tmp_path / "items.dedup.jsonl"]) if line.what == "item"]
    assert [line.action for line in lines] == [None] * 4 + ["drop", None]


def test_items_that_repeat_the_page_they_come_from_go_with_it_at_once(crawl, site, tmp_path):
    """Also one whose key is not that of the page, as with a canonical URL or a number."""

    class Articles(Spider):
        name = "articles"
        start_urls = (site.url + "/article",)

        def parse(self, response: Any) -> Any:
            for key in (response.url, "number 7"):
                yield {"url": key, "text": " ".join(response.css("p::text").getall())}

    site.pages["/article"] = html(article(1))
    url = f"sqlite:///{tmp_path}/index"
    settings = TEXT | {"SIMHASH_INDEX_URL": url, "SIMHASH_RECRAWL": "changed"}
    crawled = crawl(Articles, settings=settings)
    assert urls(crawled) == [site.url + "/article", "number 7"]
    counts = [crawled.stat(f"items_{what}") for what in ("kept", "skipped", "dropped")]
    assert counts == [2, 0, 0]
    again = crawl(Articles, settings=settings)
    assert (again.items, again.stat("items_unchanged")) == ([], 2)


@pytest.mark.parametrize("pause", [0, 0.5])
def test_items_of_which_a_later_pipeline_leaves_nothing_are_stored_with_their_page(yielded, pause):
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

    first, second = ([f"http://{host}.example/{n}" for n in range(3)] for host in "ab")
    items = texts({url: article(int(url[-1])) for url in (*first, *second)})
    crawled = yielded(items, ITEM_PIPELINES={Before: 1, Storage: 900})
    assert sorted(Storage.stored) == first
    assert crawled.stat("items_dropped") == 3
