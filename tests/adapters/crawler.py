"""A crawl without Scrapy, as a program.

It prints nothing; it appends the path of each page that is delivered to a file.
"""

import asyncio
import json
import os
import sys
from typing import Any

# After two leases a copy waits no longer; on a busy machine a handler may take seconds.
LEASE = 10.0


class Plan:
    """What becomes of pages: delivered, or failed by their handler."""

    def __init__(self, out: str, fail: list[str]) -> None:
        self._file = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._fail = fail

    async def deliver(self, path: str) -> None:
        await asyncio.sleep(0.01)
        if path in self._fail:
            raise RuntimeError("the handler fails")
        os.write(self._file, path.encode() + b"\n")


async def crawlee(index: str, site: str, paths: list[str], plan: Plan) -> None:
    from crawlee import ConcurrencySettings, service_locator
    from crawlee.crawlers import HttpCrawler
    from crawlee.storage_clients import MemoryStorageClient

    from scrapy_simhash import Dedup, Document

    service_locator.set_storage_client(MemoryStorageClient())
    crawler = HttpCrawler(
        concurrency_settings=ConcurrencySettings(desired_concurrency=4, max_concurrency=8),
        max_request_retries=0,
        configure_logging=False,
    )
    dedup = Dedup(index, spider="s", processes=0, lease=LEASE)

    @crawler.router.default_handler
    async def handle(context: Any) -> None:
        url = context.request.loaded_url
        async with dedup.page(Document(url, await context.http_response.read())) as verdict:
            if verdict.kind != "duplicate":
                await plan.deliver(url.removeprefix(site))

    async with dedup:
        await crawler.run([site + path for path in paths])


async def httpx(index: str, site: str, paths: list[str], plan: Plan) -> None:
    from httpx import AsyncClient

    async with AsyncClient() as client:
        await by_hand(client.get, index, site, paths, plan)


async def aiohttp(index: str, site: str, paths: list[str], plan: Plan) -> None:
    from aiohttp import ClientSession

    async with ClientSession() as client:
        await by_hand(client.get, index, site, paths, plan)


async def by_hand(get: Any, index: str, site: str, paths: list[str], plan: Plan) -> None:
    from scrapy_simhash import Dedup, response_page

    async def fetch(path: str) -> None:
        async with limit, response_page(dedup, await get(site + path)) as verdict:
            if verdict.kind != "duplicate":
                await plan.deliver(path)

    limit = asyncio.Semaphore(8)
    async with Dedup(index, processes=0, lease=LEASE) as dedup:
        await asyncio.gather(*map(fetch, paths), return_exceptions=True)


def main() -> None:
    engine, given = sys.argv[1], json.loads(sys.argv[2])
    plan = Plan(given["out"], given["fail"])
    asyncio.run(globals()[engine](given["index"], given["site"], given["paths"], plan))


if __name__ == "__main__":
    main()
