"""Crawlers without Scrapy, on one index with a Scrapy crawl: each page is kept once."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from scrapy_simhash import Dedup, Document, Verdict
from tests.crawl.spiders import Pages
from tests.pages import article, html

CLUSTERS = 10


@pytest.fixture
def clusters(site: Any) -> Any:
    """Clusters of four near pages, as /number/copy."""
    for number in range(CLUSTERS):
        for copy in range(4):
            site.pages[f"/{number}/{copy}"] = html(article(number))
    return site


def paths(*copies: int) -> list[str]:
    return [f"/{number}/{copy}" for copy in copies for number in range(CLUSTERS)]


class Handler:
    """Delivers pages that are no copies, and fails with some of them."""

    def __init__(self, base: str, bad: Sequence[str]) -> None:
        self.base = base
        self.bad = bad
        self.delivered: list[str] = []

    async def handle(self, url: str, verdict: Verdict) -> None:
        path = url.removeprefix(self.base)
        if verdict.kind != "duplicate":
            await asyncio.sleep(0.01)
            if path in self.bad:
                raise RuntimeError("the handler fails")
            self.delivered.append(path)


async def crawlee(dedup: Dedup, urls: list[str], handler: Handler) -> None:
    from crawlee import ConcurrencySettings, service_locator
    from crawlee.crawlers import HttpCrawler
    from crawlee.storage_clients import MemoryStorageClient

    service_locator.set_storage_client(MemoryStorageClient())
    crawler = HttpCrawler(
        concurrency_settings=ConcurrencySettings(desired_concurrency=4, max_concurrency=8),
        max_request_retries=0,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: Any) -> None:
        url = context.request.loaded_url
        async with dedup.page(Document(url, await context.http_response.read())) as verdict:
            await handler.handle(url, verdict)

    await crawler.run(urls)


async def httpx(dedup: Dedup, urls: list[str], handler: Handler) -> None:
    from httpx import AsyncClient

    async def fetch(url: str) -> None:
        response = await client.get(url)
        content_type = response.headers.get("content-type", "")
        document = Document(str(response.url), response.content, content_type)
        async with dedup.page(document) as verdict:
            await handler.handle(url, verdict)

    async with AsyncClient() as client:
        await asyncio.gather(*map(fetch, urls), return_exceptions=True)


class OtherPages(Pages):
    """Another spider, because a later run of the same one delivers each page once more."""

    name = "others"


@pytest.mark.parametrize("engine", [crawlee, httpx])
def test_engines_and_scrapy_keep_one_copy_together(engine, clusters, crawl, server, client):
    """A page whose handler fails is kept as its copy."""

    async def run() -> None:
        # After two leases a copy waits no longer; on a busy machine a handler may take seconds.
        async with Dedup(index, processes=0, lease=10.0) as dedup:
            await engine(dedup, [clusters.url + path for path in paths(1, 2)], handler)

    index = f"{server.url}?name=shared"
    half = {"SIMHASH_INDEX_URL": index}
    first = crawl(Pages, settings=half, site=clusters, paths=paths(0)[::2])
    handler = Handler(clusters.url, bad=paths(1))
    asyncio.run(run())
    second = crawl(OtherPages, settings=half, site=clusters, paths=paths(3))
    assert sorted(item["path"] for item in first.items) == paths(0)[::2]
    assert sorted(handler.delivered) == paths(2)[1::2]
    assert second.items == []
