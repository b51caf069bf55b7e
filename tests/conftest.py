"""A real crawl against a real server: what the tests of the Scrapy edge run on."""

import asyncio
import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import settings
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.utils.reactor import install_reactor

from scrapy_simhash.index.redis import client as client_module
from scrapy_simhash.signals import near_duplicate
from tests import servers

# How long an example takes says nothing about what it does. A commit is judged by the same examples
# wherever it is tested; `pytest --hypothesis-profile explore` looks for others.
settings.register_profile("explore", deadline=None)
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")

# A suite started in the background ignores Ctrl-C, and so would the programs that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Answer = tuple[int, dict[str, str], bytes]


class Site:
    """A server on loopback whose pages a test writes: a body, an answer, or a function."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes | Answer | Callable[[BaseHTTPRequestHandler], Answer]] = {}
        self.hits: Counter[str] = Counter()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body go out together: alone, the body would wait 40 ms for a receipt.
            wbufsize = -1

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                self.posted = self.rfile.read(length)
                site.hits[self.path] += 1
                answer = site.pages.get(self.path, (404, {}, b"not here"))
                if callable(answer):
                    answer = answer(self)
                if isinstance(answer, bytes):
                    answer = (200, {"Content-Type": "text/html; charset=utf-8"}, answer)
                status, headers, body = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with closing(Site()) as site:
        yield site


@dataclass
class Crawl:
    """What a crawl came to."""

    items: list[Any] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    dropped: list[tuple[str, str, int]] = field(default_factory=list)

    def stat(self, name: str) -> int:
        return int(self.stats.get(f"simhash/{name}", 0))


@pytest.fixture(scope="session")
def reactor_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The asyncio reactor, running in a thread for the whole session."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor

    thread = threading.Thread(target=reactor.run, kwargs={"installSignalHandlers": False})
    thread.start()
    yield reactor._asyncioEventloop
    reactor.callFromThread(reactor.stop)
    thread.join()
    reactor._asyncioEventloop.close()


def left_over(crawl_filter: Any) -> Iterator[object]:
    """Yield what a crawl that was finished still has of its pages: they would fill the memory."""
    if crawl_filter is not None:
        yield from crawl_filter.queue._responses
        yield from crawl_filter.queue.refused
        yield from crawl_filter.copies._fates
        yield from crawl_filter.deliveries._of_item
        crawl_filter.deliveries.fail_lost(())
        yield from crawl_filter.deliveries._expected
        yield from crawl_filter.dedup.upkeep._parts
        yield from crawl_filter.dedup.upkeep._failing
        yield from crawl_filter.preferred._pages
        yield from crawl_filter.preferred._have_waited


@pytest.fixture(scope="session")
def crawl(reactor_loop: asyncio.AbstractEventLoop) -> Callable[..., Crawl]:
    """Run a spider with the add-on; an exception at start-up is raised here."""

    def run(spider: type[Spider], *, settings: dict[str, Any] | None = None, **more: Any) -> Crawl:
        base: dict[str, Any] = {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "RETRY_TIMES": 1,
            "DOWNLOAD_DELAY": 0,
            # One thread in this process: starting a worker for each small crawl is slow.
            "SIMHASH_PROCESSES": 0,
        }
        crawler = Crawler(spider, {**base, **(settings or {})})
        outcome = Crawl()

        def dropped(verdict: Any, request: Any, response: Any) -> None:
            assert request.meta["simhash"]["key"] == verdict.key
            assert request.url == response.url
            outcome.dropped.append((verdict.key, verdict.original, verdict.distance))

        def item_scraped(item: Any) -> None:
            outcome.items.append(item)

        crawler.signals.connect(dropped, signal=near_duplicate)
        crawler.signals.connect(item_scraped, signal=signals.item_scraped)

        async def go() -> None:
            earlier = asyncio.all_tasks()
            await crawler.crawl(**more).asFuture(reactor_loop)
            # A round that comes later asks an index that is closed.
            assert "Rounds" not in repr(asyncio.all_tasks() - earlier)

        for name in ("scrapy", "scrapy_simhash"):
            logging.getLogger(name).setLevel(logging.DEBUG)
        asyncio.run_coroutine_threadsafe(go(), reactor_loop).result(timeout=600)
        outcome.stats = crawler.stats.get_stats()
        if outcome.stats["finish_reason"] == "finished":
            assert not [*left_over(getattr(crawler, "_simhash_filter", None))]
        return outcome

    return run


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """On a busy machine a living Redis may take longer than a crawl waits for it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("socket_timeout", "socket_connect_timeout"):
            patch.setitem(client_module._PATIENCE, name, 60)
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[servers.RedisServer]:
    """A Redis that the tests of a file share."""
    with servers.redis_server() as server:
        yield server


@pytest.fixture
def client(server: servers.RedisServer) -> Iterator[Any]:
    """A client of it, when it is empty."""
    redis = pytest.importorskip("redis", reason="redis is not installed")
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client
