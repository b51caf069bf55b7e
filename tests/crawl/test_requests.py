"""Requests that are kept in the index to be made again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import JsonRequest

from scrapy_simhash.crawl.requests import request_from_json, request_to_json


class Shop(Spider):
    name = "shop"

    def parse_product(self, response: Any, **kwargs: Any) -> None: ...

    def failed(self, failure: Any) -> None: ...


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
        headers={"X-Token": ["a", "b"], "Cookie": "session=1"},
        cookies={"lang": "zh"},
        priority=3,
        flags=["seen"],
        cb_kwargs={"page": 2},
        meta={"depth": 4, "handle": object(), "simhash": {"verdict": "duplicate"}},
    )
    text = request_to_json(request, spider)
    assert text is not None
    again = request_from_json(text, spider)
    for name in ("url", "method", "body", "callback", "errback", "cookies", "priority", "flags"):
        assert getattr(again, name) == getattr(request, name)
    assert again.headers.getlist("X-Token") == [b"a", b"b"]
    assert "Cookie" not in again.headers
    assert again.cb_kwargs == {"page": 2}
    assert again.meta == {"depth": 4}
    assert again.dont_filter


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
    with pytest.raises(ValueError, match="cannot be made again"):
        request_from_json(text.replace("failed", "gone"), spider)
