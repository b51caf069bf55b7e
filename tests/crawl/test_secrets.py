"""Passwords in addresses, headers, cookies, proxies and settings stay where the user wrote them."""

import base64
import logging
from collections.abc import AsyncIterator
from itertools import product
from typing import Any
from urllib.parse import urlsplit

from scrapy import FormRequest, Request, Spider
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.runs import place_of
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.registry import store_of
from tests.pages import article, html

SECRET = "pass-word-5"
SITE, WITH_PASSWORD = "http://site.example", f"http://user:{SECRET}@site.example"
HEADERS = {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET, "Cookie": f"a={SECRET}"}
LOGIN = {"http_user": "user", "http_pass": SECRET}
# Where a request may have a secret.
REQUESTS: dict[str, dict[str, Any]] = {
    "address": {},
    "key": {"meta": {"simhash_key": WITH_PASSWORD}},
    "headers": {"headers": HEADERS},
    "cookies": {"cookies": {"session": SECRET}},
    "proxy": {"meta": {"proxy": WITH_PASSWORD}},
    "form": {"formdata": {"password": SECRET}},
    "body": {"method": "POST", "body": SECRET},
    "meta": {"meta": {"token": SECRET}},
    "kwargs": {"cb_kwargs": {"login": LOGIN}},
}


class Secretive(Spider):
    """Sends each request for a page and for a copy of it."""

    name = "secretive"

    async def start(self) -> AsyncIterator[Any]:
        for copy, (kind, options) in product("01", REQUESTS.items()):
            url = f"{WITH_PASSWORD if kind == 'address' else SITE}/{copy}/{kind}"
            meta = {"depth": 1, **options.get("meta", {})}
            if kind == "key":
                meta["simhash_key"] += f"/{copy}"
            yield FormRequest(url, **{**options, "meta": meta})

    def parse(self, response: Any, **_: Any) -> Any:
        yield {"url": response.url}


class Answers:
    """Stands for any download handler, as some take addresses with a password."""

    def process_request(self, request: Request, spider: Any = None) -> HtmlResponse:
        kind = urlsplit(request.url).path.rpartition("/")[2]
        body = html(article([*REQUESTS].index(kind)))
        return HtmlResponse(request.url, body=body, encoding="utf-8")


def test_no_secret_of_a_request_is_in_index_log_or_messages(
    crawl, server, client, tmp_path, caplog
):
    settings = {
        "SIMHASH_INDEX_URL": server.url,
        "SIMHASH_LOG": str(tmp_path / "dedup.jsonl"),
        "CONCURRENT_REQUESTS": 1,
        "DOWNLOADER_MIDDLEWARES": {Answers: 1000},
    }
    with caplog.at_level(logging.DEBUG):
        crawled = crawl(Secretive, settings=settings)
    assert crawled.stat("unique") == len(crawled.dropped) == len(REQUESTS)
    messages = [r.getMessage() for r in caplog.records if r.name.startswith("scrapy_simhash")]
    places = {
        "index": b"".join(key + (client.dump(key) or b"") for key in client.keys("*")),
        "log": (tmp_path / "dedup.jsonl").read_bytes(),
        "messages": "\n".join(messages).encode(),
        "signals and stats": str([crawled.dropped, crawled.stats]).encode(),
    }
    for place, text in places.items():
        for secret in (SECRET.encode(), base64.b64encode(f"user:{SECRET}".encode()), b"user:"):
            assert secret not in text, place


SCHEMES = ("redis://", "rediss://", "redis:/", "redis+cluster://", "")
BEFORE = ("", "#", "?", "/", "a/", "a#", "a?", "[", "%", "a\u2100")
AFTER = ("", "#", "?x", "/x", "@a", "]", ":a", "=1&db=x")
RESTS = ("@host:6379/0", "host:6379/0", "@host/0", "@host:port/0", "/0")


def test_a_password_in_an_address_that_is_wrong_is_not_shown():
    messages = []
    for scheme, before, after, rest in product(SCHEMES, BEFORE, AFTER, RESTS):
        for take_apart in (parse_location, store_of):
            try:
                take_apart(f"{scheme}user:{before}{SECRET}{after}{rest}")
            except ValueError as error:
                messages.append(f"{error} {error.__cause__}")
    assert len(messages) > 1000
    assert SECRET not in "\n".join(messages)


def test_the_place_of_an_index_has_its_name_and_no_login():
    """The options may have one, too."""
    url = f"redis://user:{SECRET}@h:1/2?name=shop&username=user&password={SECRET}"
    assert place_of(url) == "redis://h:1/2 (shop)"
    assert place_of(f"unix:///a.sock?db=0&password={SECRET}") == "unix:///a.sock"
