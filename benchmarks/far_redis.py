"""A crawl whose Redis is far away: round trips a page, and pages a second.

    python -m benchmarks.far_redis [--delay 0.2] [--pages 400] [--concurrent 16]

A proxy delays each answer of Redis. The crawl of pages on loopback, a tenth of which are copies, is
run without the filter, with it at a near Redis, and with it at the far one. *Round trips a page*:
how long a page waited for its claim, in delays. *Calls a page*: what was sent to Redis, in turns of
question and answer. Run it at two commits to compare them.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess, CrawlerRunner
from scrapy.utils.reactor import install_reactor

from benchmarks.redis_measuring import Table, need_redis
from scrapy_simhash.core.claims import Claims
from tests.conftest import Site
from tests.pages import article, html
from tests.servers import redis_server


class Proxy:
    """Passes bytes on to a server, and its answers back after a delay.

    Attributes:
        turns: how often something was asked after an answer.
    """

    def __init__(self, target: tuple[str, int], delay: float) -> None:
        self.target, self.delay, self.turns, self.port = target, delay, 0, 0
        ready = threading.Event()

        async def serve() -> None:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await server.serve_forever()

        threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
        ready.wait()

    async def _serve(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        there, on = await asyncio.open_connection(*self.target)
        asked = False

        async def questions() -> None:
            nonlocal asked
            while data := await here.read(1 << 16):
                self.turns += not asked
                asked = True
                on.write(data)

        async def answers() -> None:
            nonlocal asked
            while data := await there.read(1 << 16):
                asked = False
                asyncio.get_running_loop().call_later(self.delay, back.write, data)

        await asyncio.gather(questions(), answers(), return_exceptions=True)


class Pages(Spider):
    name = "pages"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url, meta={"depth": 1})

    def parse(self, response: Any) -> Any:
        yield {"url": response.url}


async def crawl(args: argparse.Namespace, urls: list[str], index: str | None) -> tuple[float, Any]:
    """Return pages a second, and the seconds that claims took."""
    waited: list[float] = []
    claim = Claims.claim

    async def timed(self: Claims, arrival: Any) -> Any:
        started = time.monotonic()
        try:
            return await claim(self, arrival)
        finally:
            waited.append(time.monotonic() - started)

    Claims.claim = timed  # type: ignore[method-assign]
    settings: dict[str, Any] = {
        "LOG_LEVEL": "ERROR",
        "CONCURRENT_REQUESTS": args.concurrent,
        "CONCURRENT_REQUESTS_PER_DOMAIN": args.concurrent,
        "TELNETCONSOLE_ENABLED": False,
        "SIMHASH_INDEX_URL": index,
    }
    if index:
        settings["ADDONS"] = {"scrapy_simhash.Addon": 500}
    runner = CrawlerRunner(settings)
    crawler = runner.create_crawler(Pages)
    started = time.monotonic()
    await runner.crawl(crawler, urls).asFuture(asyncio.get_running_loop())
    seconds = time.monotonic() - started
    Claims.claim = claim  # type: ignore[method-assign]
    assert crawler.stats is not None
    assert crawler.stats.get_value("downloader/response_count") == len(urls)
    return len(urls) / seconds, waited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--concurrent", type=int, default=16)
    args = parser.parse_args()
    need_redis()
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    site = Site()
    paths = [f"/{number}" for number in range(args.pages)]
    for number, path in enumerate(paths):
        is_copy = number > 50 and number % 10 == 1
        site.pages[path] = html(article(number - 41 if is_copy else number))
    urls = [site.url + path for path in paths]
    columns = ("the index", "pages/s", "round trips a page", "calls a page")
    table = Table(*columns)

    async def run() -> None:
        speed, _ = await crawl(args, urls, None)
        table.row("none", speed, "", "")
        for delay in (0.0, args.delay):
            with redis_server() as server:
                proxy = Proxy(("127.0.0.1", server.port), delay)
                url = f"redis://127.0.0.1:{proxy.port}/0?socket_timeout=5&socket_connect_timeout=5"
                speed, waited = await crawl(args, urls, url)
                trips = statistics.mean(waited) / delay if delay else ""
                table.row(f"{1000 * delay:.0f} ms away", speed, trips, proxy.turns / len(urls))

    process = CrawlerProcess({"LOG_LEVEL": "ERROR"})
    from twisted.internet import reactor

    async def run_and_stop() -> None:
        try:
            await run()
        finally:
            process.stop()
            reactor.callLater(0.1, reactor.stop)  # type: ignore[attr-defined]

    asyncio.get_event_loop().call_soon(lambda: asyncio.ensure_future(run_and_stop()))
    reactor.run()  # type: ignore[attr-defined]
    site.close()


if __name__ == "__main__":
    main()
