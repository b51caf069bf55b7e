"""Crawls with scrapy-redis whose crawler is killed: each page is crawled, and none too often."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.pages import article, html

pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
redis = pytest.importorskip("redis", reason="redis is not installed")
if servers.PROGRAM is None:
    pytest.skip("no redis-server on this machine", allow_module_level=True)

ROOT = Path(__file__).parents[2]


SPIDER = """
import asyncio, json, sys
from types import SimpleNamespace
from scrapy.crawler import CrawlerProcess
from tests.crawl.test_crawl import Pages

order = json.loads(sys.argv[1])

class Slow(Pages):
    async def parse(self, response):
        path = response.url.removeprefix(self.base)
        print("got", path, flush=True)
        if path == order["slow"]:
            await asyncio.sleep(100)
        yield {"path": path}

class Delivery:
    def process_item(self, item, spider=None):
        print("delivered", item["path"], flush=True)
        return item

process = CrawlerProcess({**order["settings"], "ITEM_PIPELINES": {Delivery: 300}})
process.crawl(Slow, site=SimpleNamespace(url=order["site"]), paths=order["paths"])
process.start()
"""


@pytest.mark.parametrize("killed_in", ["downloader", "/data.json", "/first.html"])
def test_each_page_that_a_killed_crawler_had_taken_is_crawled_once_more(
    request: Any, site: Any, server: Any, client: Any, killed_in: str
) -> None:
    """One on its way, and one whose callback runs, whether the index knows of it or not."""
    released = threading.Event()

    def slow(handler: Any) -> bytes:
        if site.hits["/slow.html"] == 1:
            released.wait(60)
        return html(article(2))

    site.pages = {
        "/first.html": html(article(1)),
        "/data.json": (200, {"Content-Type": "application/json"}, b"{}"),
        "/slow.html": slow if killed_in == "downloader" else html(article(2)),
    }

    def crawl(paths: list[str], slow: str | None) -> Any:
        order = {
            "settings": {
                "ADDONS": {"scrapy_simhash.Addon": 500},
                "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
                "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
                "SCHEDULER_PERSIST": True,
                "REDIS_URL": server.url,
                "SIMHASH_LEASE": 1,
                "LOG_LEVEL": "ERROR",
            },
            "site": site.url,
            "paths": paths,
            "slow": slow,
        }
        command = [sys.executable, "-c", SPIDER, json.dumps(order)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        request.addfinalizer(process.kill)
        return process

    in_callback = killed_in != "downloader"
    first = crawl(list(site.pages), killed_in if in_callback else None)
    wanted = f"got {killed_in}\n" if in_callback else "delivered /data.json\n"
    lines = [first.stdout.readline()]
    while wanted not in lines and lines[-1]:
        lines.append(first.stdout.readline())
    while not in_callback and not site.hits["/slow.html"]:
        time.sleep(0.01)
    if killed_in == "/first.html":
        # The index holds it, and the queue lets go when it is next asked for a request.
        servers.wait_until(
            lambda: client.keys("*:taken:*") == [], "the queue keeps what the index has"
        )
    first.kill()
    lines += first.communicate()[0].splitlines(keepends=True)
    second = crawl([], None)
    lines += second.communicate(timeout=60)[0].splitlines(keepends=True)
    released.set()
    assert second.returncode == 0
    assert {line.split()[1] for line in lines if line.startswith("delivered")} == set(site.pages)
    assert site.hits[killed_in if in_callback else "/slow.html"] == 2
    assert client.keys("*pages:requests*") == []
