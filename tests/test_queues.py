"""Queues of scrapy-redis that lose no request, however a crawler ends."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from pickle import UnpicklingError
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.exceptions import DontCloseSpider
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

from scrapy_simhash import Addon
from tests import servers
from tests.pages import article, html

pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
redis = pytest.importorskip("redis", reason="redis is not installed")
if servers.PROGRAM is None:
    pytest.skip("no redis-server on this machine", allow_module_level=True)

from scrapy_redis import queue as its  # noqa: E402

from scrapy_simhash import queues  # noqa: E402

KINDS = ["PriorityQueue", "FifoQueue", "LifoQueue"]
LEASE = 60
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def server() -> Iterator[servers.RedisServer]:
    with servers.redis_server() as server:
        yield server


@pytest.fixture
def client(server: servers.RedisServer) -> Iterator[Any]:
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of Redis."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(queues._NotedQueue, "_time", lambda _: clock.now)
    return clock


class Crawler:
    """A crawler with a queue: what it has in progress, and what the engine does with that."""

    def __init__(self, client: Any, kind: str) -> None:
        spider = Spider("docs")
        self.progress: set[Request] = set()
        engine = SimpleNamespace(_slot=SimpleNamespace(inprogress=self.progress))
        spider.crawler = SimpleNamespace(
            settings=Settings({"SIMHASH_LEASE": LEASE}), signals=SignalManager(), engine=engine
        )
        self.queue = getattr(queues, kind)(client, spider, "%(spider)s:requests")

    def push(self, name: int, priority: int = 0) -> None:
        self.queue.push(Request(f"http://a.test/{name}", priority=priority))

    def pop(self) -> str | None:
        request = self.queue.pop()
        if request is None:
            return None
        self.progress.add(request)
        return str(request.url.rpartition("/")[2])

    def is_idle(self) -> bool:
        """Whether the crawler would end here."""
        assert not self.progress
        assert self.pop() is None
        try:
            self.queue._spider_idle(self.queue.spider)
        except DontCloseSpider:
            return False
        return True


@pytest.fixture
def crawler(client: Any, clock: Any) -> Callable[..., Crawler]:
    return lambda kind="PriorityQueue": Crawler(client, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_requests_come_in_the_order_of_scrapy_redis_also_when_they_were_put_back(
    crawler, client, clock, kind
):
    dead, other = crawler(kind), crawler(kind)
    for name, priority in enumerate([0, 5, -3, 0]):
        dead.push(name, priority)
    plain = getattr(its, kind)(client, Spider("plain"), "%(spider)s:requests")
    client.copy("docs:requests", "plain:requests")
    expected = [plain.pop().url.rpartition("/")[2] for _ in range(4)]
    assert dead.pop() == expected[0]
    clock.now += LEASE + 1
    other.queue._recover(own=False)
    assert [other.pop() for _ in range(5)] == [*expected, None]


@pytest.mark.parametrize("kind", KINDS)
def test_no_request_is_lost_whatever_crawlers_do(client, clock, kind):
    """Pushed, taken, done, killed: what is not done is in progress or comes again."""
    steps = st.tuples(st.sampled_from(["push", "pop", "pop", "end", "kill"]), st.integers(0, 2))

    @settings(max_examples=60)
    @given(st.lists(steps, max_size=40))
    def check(steps: list[tuple[str, int]]) -> None:
        client.flushall()
        crawlers = [Crawler(client, kind) for _ in range(3)]
        pushed: set[str] = set()
        done: set[str] = set()
        for step, who in steps:
            crawler = crawlers[who]
            if step == "push":
                crawler.push(len(pushed), priority=len(pushed) % 3)
                pushed.add(str(len(pushed)))
            elif step == "pop":
                crawler.pop()
                everywhere = [request.url for one in crawlers for request in one.progress]
                assert len(everywhere) == len(set(everywhere))
            elif step == "end" and crawler.progress:
                done.add(crawler.progress.pop().url.rpartition("/")[2])
            elif step == "kill":
                crawlers[who] = Crawler(client, kind)
                for _ in range(2):
                    clock.now += LEASE * 0.6
                    for living in crawlers:
                        living.queue._renew()
                for living in crawlers:
                    living.queue._recover(own=False)
        clock.now += LEASE + 1
        heir = Crawler(client, kind)
        heir.queue._recover(own=False)
        left = {heir.pop() for _ in range(len(heir.queue))}
        assert pushed - done <= left <= pushed
        heir.progress.clear()
        assert heir.is_idle()
        assert client.keys() == []

    check()


def test_a_request_that_was_taken_but_never_came_is_put_back(crawler, client):
    """As when Redis has answered, and the answer got lost."""
    one = crawler()
    one.push(1)
    one.queue._decode_request = lambda data: (_ for _ in ()).throw(ConnectionError)
    one.queue.server.hdel, hdel = lambda *_: 0, one.queue.server.hdel
    with pytest.raises(ConnectionError):
        one.queue.pop()
    del one.queue._decode_request
    one.queue.server.hdel = hdel
    assert not one.is_idle()
    assert one.pop() == "1"


@pytest.mark.parametrize("kind", ["FifoQueue", "LifoQueue"])
def test_a_list_is_waited_for(crawler, client, kind):
    one, other = crawler(kind), crawler(kind)
    later = threading.Timer(0.2, other.push, [1])
    later.start()
    assert one.queue.pop(5).url == "http://a.test/1"
    later.join()
    assert one.queue.pop(1) is None


def test_a_request_that_cannot_be_read_comes_once_only(crawler, client):
    one = crawler()
    client.zadd("docs:requests", {b"no request": 0})
    with pytest.raises(UnpicklingError):
        one.queue.pop()
    assert one.is_idle()


def test_a_crawler_stays_as_long_as_another_has_something(crawler, clock):
    one, other = crawler(), crawler()
    one.push(1)
    assert other.pop() == "1"
    assert not one.is_idle()
    other.progress.clear()
    assert other.is_idle()
    assert one.is_idle()


def test_what_a_crawler_of_this_moment_has_is_left_alone(crawler, clock):
    one, other = crawler(), crawler()
    one.push(1)
    assert one.pop() == "1"
    clock.now += LEASE * 0.7
    one.queue._renew()
    clock.now += LEASE * 0.7
    assert other.queue._recover(own=False) == (0, True)


def test_the_clock_of_redis_counts_and_not_the_crawlers_own(client, monkeypatch):
    right = Crawler(client, "PriorityQueue")
    right.push(1)
    right.push(2)
    assert right.pop() == "1"
    with monkeypatch.context() as wrong:
        wrong.setattr(queues, "time", SimpleNamespace(time=lambda: time.time() + 3600))
        ahead = Crawler(client, "PriorityQueue")
        assert ahead.queue._recover(own=False) == (0, True)
        assert ahead.pop() == "2"
    ends = client.zscore("docs:requests:crawlers", ahead.queue._crawler)
    assert ends == pytest.approx(time.time() + LEASE, abs=30)


def test_clearing_the_queue_leaves_nothing(crawler, client):
    one, other = crawler(), crawler()
    for name in range(4):
        one.push(name)
    one.pop()
    other.pop()
    one.queue.clear()
    assert client.keys() == []


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (None, "PriorityQueue"),
        ("scrapy_redis.queue.SpiderPriorityQueue", "PriorityQueue"),
        ("scrapy_redis.queue.FifoQueue", "FifoQueue"),
        ("scrapy_redis.queue.SpiderStack", "LifoQueue"),
    ],
)
def test_the_add_on_puts_ours_in_the_place_of_theirs(theirs, ours):
    project = Settings({"SCHEDULER": "scrapy_redis.scheduler.Scheduler"})
    if theirs:
        project.set("SCHEDULER_QUEUE_CLASS", theirs, "project")
    Addon().update_settings(project)
    assert project["SCHEDULER_QUEUE_CLASS"] == f"scrapy_simhash.queues.{ours}"


def test_the_add_on_leaves_another_queue_and_another_scheduler_alone():
    project = Settings(
        {"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "SCHEDULER_QUEUE_CLASS": "own.Queue"}
    )
    Addon().update_settings(project)
    assert project["SCHEDULER_QUEUE_CLASS"] == "own.Queue"
    plain = Settings()
    Addon().update_settings(plain)
    assert plain.get("SCHEDULER_QUEUE_CLASS") is None


SPIDER = """
import asyncio, json, sys
from types import SimpleNamespace
from scrapy.crawler import CrawlerProcess
from tests.test_crawl import Pages

order = json.loads(sys.argv[1])

class Slow(Pages):
    async def parse(self, response):
        path = response.url.removeprefix(self.base)
        print("got", path, flush=True)
        if path == order["slow"]:
            await asyncio.sleep(100)
        yield {"path": path}

class Delivery:
    def process_item(self, item):
        print("delivered", item["path"], flush=True)
        return item

process = CrawlerProcess({**order["settings"], "ITEM_PIPELINES": {Delivery: 300}})
process.crawl(Slow, site=SimpleNamespace(url=order["site"]), paths=order["paths"])
process.start()
"""


@pytest.mark.parametrize("killed_in", ["downloader", "callback"])
def test_a_killed_crawler_loses_no_page_that_it_had_taken(
    site: Any, server: Any, client: Any, killed_in: str
) -> None:
    """Neither one on its way, nor one whose callback runs, though the index knows of neither."""
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
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    first = crawl(list(site.pages), "/data.json" if killed_in == "callback" else None)
    wanted = "got /data.json\n" if killed_in == "callback" else "delivered /data.json\n"
    lines = [first.stdout.readline()]
    while wanted not in lines and lines[-1]:
        lines.append(first.stdout.readline())
    while killed_in == "downloader" and not site.hits["/slow.html"]:
        time.sleep(0.01)
    first.kill()
    lines += first.communicate()[0].splitlines(keepends=True)
    second = crawl([], None)
    lines += second.communicate(timeout=60)[0].splitlines(keepends=True)
    released.set()
    assert second.returncode == 0
    assert {line.split()[1] for line in lines if line.startswith("delivered")} == set(site.pages)
    assert client.keys("pages:requests*") == []
