"""Queues of scrapy-redis that lose no request, however a crawler ends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.exceptions import DontCloseSpider
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

from tests import servers

pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
redis = pytest.importorskip("redis", reason="redis is not installed")
if servers.PROGRAM is None:
    pytest.skip("no redis-server on this machine", allow_module_level=True)

from scrapy_redis import queue as its  # noqa: E402

from scrapy_simhash import queues  # noqa: E402

KINDS = ["PriorityQueue", "FifoQueue", "LifoQueue"]
LEASE = 60
ROOT = Path(__file__).parent.parent


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
            settings=Settings({"SIMHASH_LEASE": LEASE, "TWISTED_REACTOR_ENABLED": False}),
            signals=SignalManager(),
            engine=engine,
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
        left = set()
        while name := heir.pop():
            left.add(name)
            heir.progress.clear()
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
        wrong.setattr(queues, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 3600))
        ahead = Crawler(client, "PriorityQueue")
        assert ahead.queue._recover(own=False) == (0, True)
        assert ahead.pop() == "2"
    ends = client.zscore("{docs:requests}:crawlers", ahead.queue._crawler)
    assert ends == pytest.approx(time.time() + LEASE, abs=30)


@pytest.mark.parametrize("kind", KINDS)
def test_requests_that_kill_their_crawlers_are_set_aside_and_no_others_are(client, clock, kind):
    """Whichever they are, and wherever new ones come in between."""
    requests = st.tuples(st.booleans(), st.integers(0, 7))

    @settings(max_examples=40)
    @given(st.lists(requests, min_size=1, max_size=12), st.integers(1, 4))
    # An innocent one, and before it ever new ones that are not suspect yet.
    @example([(False, 0), *[(True, priority) for priority in range(1, 8)]], 2)
    def check(requests: list[tuple[bool, int]], at_first: int) -> None:
        client.flushall()
        deadly = {str(name) for name, (kills, _) in enumerate(requests) if kills}
        to_come, coming = list(enumerate(requests)), at_first
        done: set[str] = set()
        one = Crawler(client, kind)
        while True:
            for name, (_, priority) in to_come[:coming]:
                one.push(name, priority)
            del to_come[:coming]
            coming = 1
            one.queue._recover(own=False)
            while len(one.progress) < 6 and one.pop():
                pass
            names = {request.url.rpartition("/")[2] for request in one.progress}
            if names & deadly:
                clock.now += LEASE + 1
                one = Crawler(client, kind)
            elif names or to_come:
                done |= names
                one.progress.clear()
            else:
                break
        assert one.is_idle()
        aside = client.hkeys("{docs:requests}:set-aside")
        names = {one.queue._decode_request(data).url.rpartition("/")[2] for data in aside}
        assert (names, done) == (deadly, {str(name) for name in range(len(requests))} - deadly)
        assert len(client.keys()) == bool(aside)

    check()


def test_of_equal_requests_each_is_noted_until_it_is_done(crawler, clock):
    one, other = crawler("FifoQueue"), crawler("FifoQueue")
    for _ in range(2):
        one.push(1)
        assert one.pop() == "1"
    one.progress.pop()
    assert one.pop() is None
    clock.now += LEASE + 1
    other.queue._recover(own=False)
    assert other.pop() == "1"


def test_a_crawler_that_waits_for_a_request_keeps_those_that_it_has(server, client):
    one = Crawler(client, "FifoQueue")
    with redis.Redis.from_url(server.url) as connection:
        other = Crawler(connection, "FifoQueue")
        one.queue._lease = other.queue._lease = 0.6
        one.push(1)
        assert one.pop() == "1"
        later = threading.Timer(0.8, other.queue._recover, kwargs={"own": False})
        later.start()
        assert one.queue.pop(2) is None
        later.join()


def test_living_crawlers_keep_what_they_have_when_redis_was_away(crawler, clock, monkeypatch):
    monkeypatch.setattr(queues, "time", SimpleNamespace(monotonic=lambda: clock.now))
    one, other = crawler(), crawler()
    one.push(1)
    assert one.pop() == "1"
    # Nobody could renew anything, and this one is the first that can.
    clock.now += LEASE * 2
    other.queue._renew()
    assert other.queue._recover(own=False) == (0, True)
    one.queue._renew()
    for _ in range(2):
        clock.now += LEASE / 3
        other.queue._renew()
        assert other.queue._recover(own=False) == (0, True)
    # By now the first is really dead.
    clock.now += LEASE / 2
    other.queue._renew()
    assert other.queue._recover(own=False) == (1, False)


def test_texts_may_be_decoded_by_the_client(server, client):
    with redis.Redis.from_url(server.url, decode_responses=True) as text:
        one = Crawler(text, "FifoQueue")
        one.queue.serializer = json
        one.queue._encode_request = lambda request: json.dumps(request.url)
        one.queue._decode_request = lambda data: Request(json.loads(data))
        one.push(1)
        assert one.pop() == "1"
        assert one.queue._recover(own=False) == (0, False)
        one.queue.clear()
    assert client.keys() == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_keys_are_in_one_slot_of_a_cluster(kind):
    with servers.redis_server("--cluster-enabled yes") as one, one.client() as client:
        client.execute_command("CLUSTER ADDSLOTS", *range(1 << 14))
        servers.wait_until(
            lambda: client.cluster("info")["cluster_state"] == "ok", "the cluster is down"
        )
        crawler = Crawler(client, kind)
        crawler.push(1)
        assert crawler.pop() == "1"
        crawler.progress.clear()
        assert crawler.is_idle()


def test_clearing_the_queue_leaves_nothing(crawler, client):
    one, other = crawler(), crawler()
    for name in range(4):
        one.push(name)
    one.pop()
    other.pop()
    one.queue.clear()
    assert client.keys() == []
