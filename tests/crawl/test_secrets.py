"""Passwords in addresses, headers, cookies, proxies and settings stay where the user wrote them."""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import FormRequest, Request, Spider
from scrapy.http import HtmlResponse

from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.registry import store_of
from tests.pages import article, html

SECRET = "pass-word-5"
KINDS = "address key headers cookies proxy form body meta kwargs".split()
HEADERS = {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET, "Cookie": f"a={SECRET}"}


class Secretive(Spider):
    """Asks in nine ways that have a secret in them, and meets copies of each."""

    name = "secretive"

    base = "http://site.example"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.base}/list", meta={"depth": 1})

    def parse(self, response: Any) -> Any:
        address = f"user:{SECRET}@{self.base.partition('://')[2]}"
        for copy in range(2):
            path, meta = f"/{copy}", {"depth": 1}
            yield Request(f"http://{address}{path}/address", self.page, meta=meta)
            key = {"simhash_key": f"http://{address}{path}/named", **meta}
            yield Request(self.base + path + "/key", self.page, meta=key)
            yield Request(self.base + path + "/headers", self.page, headers=HEADERS, meta=meta)
            cookies = {"session": SECRET}
            yield Request(self.base + path + "/cookies", self.page, cookies=cookies, meta=meta)
            proxy = {"proxy": f"http://{address}", **meta}
            yield Request(self.base + path + "/proxy", self.page, meta=proxy)
            form = {"password": SECRET}
            yield FormRequest(f"{self.base}{path}/form", self.page, formdata=form, meta=meta)
            yield Request(self.base + path + "/body", self.page, "POST", body=SECRET, meta=meta)
            kept = {"token": SECRET, **meta}
            yield Request(self.base + path + "/meta", self.page, meta=kept)
            login = {"http_user": "user", "http_pass": SECRET}
            yield Request(
                self.base + path + "/kwargs", self.page, meta=meta, cb_kwargs={"login": login}
            )

    def page(self, response: Any, **_: Any) -> Any:
        yield {"url": response.url}


class Answers:
    """Stands for any download handler, as some take addresses with a password."""

    def process_request(self, request: Request, spider: Any = None) -> HtmlResponse:
        kind = urlsplit(request.url).path.rpartition("/")[2]
        number = KINDS.index(kind) if kind in KINDS else 99
        return HtmlResponse(request.url, body=html(article(number)), encoding="utf-8")


def test_no_secret_of_a_request_reaches_index_log_or_messages(
    crawl: Any, server: Any, client: Any, tmp_path: Path, caplog: Any
) -> None:
    settings = {
        "SIMHASH_INDEX_URL": server.url,
        "SIMHASH_LOG": str(tmp_path / "dedup.jsonl"),
        "SIMHASH_LOG_TEXT": 200,
        "CONCURRENT_REQUESTS": 1,
        "DOWNLOADER_MIDDLEWARES": {Answers: 1000},
    }
    with caplog.at_level(logging.DEBUG):
        crawled = crawl(Secretive, settings=settings)
    assert crawled.stat("unique") == len(KINDS) + 1
    assert len(crawled.dropped) == len(KINDS)
    ours = [record for record in caplog.records if record.name.startswith("scrapy_simhash")]
    written = "\n".join(record.getMessage() for record in ours).encode()
    written += (tmp_path / "dedup.jsonl").read_bytes()
    written += b"".join(key + (client.dump(key) or b"") for key in client.keys("*"))
    written += str(crawled.dropped).encode()
    basic = base64.b64encode(f"user:{SECRET}".encode())
    for secret in (SECRET.encode(), basic, b"user:"):
        assert secret not in written


SCHEMES = ("redis://", "rediss://", "redis:/", "redis+cluster://", "")
BEFORE = ("", "#", "?", "/", "a/", "a#", "a?", "[", "%", "a\u2100")
AFTER = ("", "#", "?x", "/x", "@a", "]", ":a", "=1&db=x")
RESTS = ("@host:6379/0", "host:6379/0", "@host/0", "@host:port/0", "/0")


def test_a_password_in_an_address_that_is_wrong_is_not_shown() -> None:
    messages = []
    for scheme, before, after, rest in product(SCHEMES, BEFORE, AFTER, RESTS):
        for take_apart in (parse_location, store_of):
            try:
                take_apart(f"{scheme}user:{before}{SECRET}{after}{rest}")
            except ValueError as error:
                messages.append(f"{error} {error.__cause__}")
    assert len(messages) > 1000
    assert SECRET not in "\n".join(messages)
