"""Requests that are kept in the index to be made again."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import JsonRequest
from scrapy.spiders import CrawlSpider

from scrapy_simhash.crawl.requests import request_from_json, request_to_json


def helper(response: Any) -> None: ...


class Shop(Spider):
    name = "shop"
    stored_function = helper
    rmtree = shutil.rmtree

    def __init__(self) -> None:
        super().__init__()
        self.own_function = helper

    def parse_product(self, response: Any, **kwargs: Any) -> None: ...

    def failed(self, failure: Any) -> None: ...

    def _private(self, response: Any) -> None: ...

    @property
    def trap(self) -> Any:
        raise AssertionError("a name from a store calls nothing")


class Rules(CrawlSpider):
    name = "rules"


@pytest.fixture
def spider() -> Spider:
    return Shop()


def test_round_trip_keeps_what_makes_the_request(spider: Any) -> None:
    request = JsonRequest(
        "http://shop.example/p?q=1",
        method="POST",
        data={"q": "茶"},
        callback=spider.parse_product,
        errback=spider.failed,
        headers={"Accept-Language": ["a", "b"]},
        priority=3,
        flags=["seen"],
        cb_kwargs={"page": 2},
        meta={
            "depth": 4,
            "cookiejar": 1,
            "handle": object(),
            "simhash_key": "tea",
            **dict.fromkeys(("retry_times", "redirect_times", "download_latency"), 2),
        },
    )
    text = request_to_json(request, spider)
    assert text is not None
    again = request_from_json(text, spider)
    for name in ("url", "method", "body", "callback", "errback", "priority", "flags"):
        assert getattr(again, name) == getattr(request, name)
    assert again.headers.getlist("Accept-Language") == [b"a", b"b"]
    assert again.cb_kwargs == {"page": 2}
    assert again.meta == {"depth": 4, "cookiejar": 1, "simhash_key": "tea"}
    assert again.dont_filter


_HEADERS = ("Cookie", "Authorization", "proxy-authorization", "X-Api-Key")
_TEXTS = ("proxy", "_rotating_proxy", "http_proxy", "http_pass", "_auth_proxy")
_PARTS = ("playwright_context_kwargs", "splash", "zyte_api", "simhash", "cookies", "proxy_list")
SECRET = {
    "headers": dict.fromkeys(_HEADERS, "s3cret"),
    "cookies": {"session": "s3cret"},
    "meta": dict.fromkeys(_TEXTS, "http://user:s3cret@proxy.example")
    | {key: {"password": "s3cret"} for key in _PARTS},
}


def test_secrets_are_not_stored(spider: Any) -> None:
    text = request_to_json(Request("http://shop.example/", **SECRET), spider)
    assert text is not None
    assert "s3cret" not in text
    assert "proxy" not in text.lower()


def test_secrets_in_a_store_are_not_used(spider: Any) -> None:
    text = request_to_json(Request("http://shop.example/"), spider)
    assert text is not None
    headers = [[name, [value]] for name, value in SECRET["headers"].items()]
    planted = {"headers": headers, "cookies": SECRET["cookies"], "meta": SECRET["meta"]}
    again = request_from_json(json.dumps({**json.loads(text), **planted}), spider)
    assert not again.headers
    assert not again.cookies
    assert again.meta == {}


def test_names_that_a_project_lists_are_stored(spider: Any) -> None:
    kept = {"category": "tea", "page": {"size": 5}}
    headers = {"X-Shop": "1", "X-Api-Key": "s3cret"}
    request = Request("http://shop.example/", meta=kept | {"token": "s3cret"}, headers=headers)
    names = ["category", "page", "x-shop"]
    text = request_to_json(request, spider, names)
    assert text is not None
    assert "s3cret" not in text
    again = request_from_json(text, spider, names)
    assert again.meta == kept
    assert again.headers == {b"X-Shop": [b"1"]}
    other = request_from_json(text, spider)
    assert not other.meta
    assert not other.headers


def test_request_whose_address_has_a_password_is_not_stored(spider: Any) -> None:
    assert request_to_json(Request("http://user:s3cret@shop.example/"), spider) is None


@pytest.mark.parametrize(
    "name",
    [
        "_private",
        "__class__",
        "__init__",
        "close",
        "closed",
        "from_crawler",
        "start",
        "log",
        "name",
        "trap",
        "stored_function",
        "own_function",
        "rmtree",
        "helper",
        "",
        "parse_product.__self__",
        7,
        ["parse_product"],
    ],
)
def test_name_from_a_store_calls_nothing_but_a_callback(spider: Any, name: Any) -> None:
    text = request_to_json(Request("http://shop.example/"), spider)
    assert text is not None
    for part in ("callback", "errback"):
        with pytest.raises(ValueError, match="is no callback of the spider"):
            request_from_json(json.dumps({**json.loads(text), part: name}), spider)


@pytest.mark.parametrize(
    "callback", ["_private", "close", "stored_function", "own_function", "log"]
)
def test_request_whose_callback_is_no_public_method_is_not_stored(
    spider: Any, callback: str
) -> None:
    request = Request("http://shop.example/", callback=getattr(spider, callback))
    assert request_to_json(request, spider) is None


def test_pages_of_a_crawl_spiders_rules_are_stored() -> None:
    """Scrapy gives them a private callback, which calls that of the rule."""
    spider = Rules()
    request = Request("http://a.example/", callback=spider._callback, errback=spider._errback)
    text = request_to_json(request, spider)
    assert text is not None
    assert request_from_json(text, spider).callback == spider._callback


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "s3://bucket/key", "data:,hello", "ftp://a/"]
)
def test_request_of_anything_but_a_web_page_is_neither_stored_nor_made(
    spider: Any, url: str
) -> None:
    assert request_to_json(Request(url), spider) is None
    text = request_to_json(Request("http://shop.example/"), spider)
    assert text is not None
    with pytest.raises(ValueError, match="not that of a web page"):
        request_from_json(json.dumps({**json.loads(text), "url": url}), spider)


def test_request_without_callback_goes_to_parse_again(spider: Any) -> None:
    text = request_to_json(Request("http://shop.example/"), spider)
    assert text is not None
    assert request_from_json(text, spider).callback is None


@pytest.mark.parametrize(
    "options",
    [
        {"callback": lambda response: None},
        {"callback": Shop().parse_product},
        {"cb_kwargs": {"handle": object()}},
        {"cb_kwargs": {"pair": (1, 2)}},
    ],
)
def test_request_that_json_cannot_hold_cannot_be_made_again(
    spider: Any, options: dict[str, Any]
) -> None:
    assert request_to_json(Request("http://shop.example/", **options), spider) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"url": 1}', "null", "[" * 100_000])
def test_text_that_is_no_request_is_refused(spider: Any, text: str) -> None:
    with pytest.raises(ValueError):
        request_from_json(text, spider)


@pytest.mark.parametrize(
    "part",
    [
        {"encoding": "no-such-encoding"},
        {"headers": [["a"]]},
        {"headers": 5},
        {"body": "\u00e4"},
        {"callback": "name"},
        {"callback": 7},
        {"priority": "high"},
        {"cb_kwargs": 3},
        {"meta": [1]},
        {"url": "no url"},
    ],
)
def test_stored_request_with_rubbish_in_it_is_refused(spider: Any, part: dict[str, Any]) -> None:
    text = request_to_json(Request("http://shop.example/"), spider)
    assert text is not None
    with pytest.raises(ValueError):
        request_from_json(json.dumps({**json.loads(text), **part}), spider)


def test_method_that_the_spider_has_lost_is_refused(spider: Any) -> None:
    text = request_to_json(Request("http://shop.example/", callback=spider.failed), spider)
    assert text is not None
    with pytest.raises(ValueError, match="'gone' is no callback of the spider"):
        request_from_json(text.replace("failed", "gone"), spider)
