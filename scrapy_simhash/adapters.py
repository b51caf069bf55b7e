"""Other engines on the core's public verbs: Crawlee, and any ``async`` code that downloads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.core.verdict import Document, Verdict
from scrapy_simhash.keys import page_key

if TYPE_CHECKING:
    from crawlee import Request
    from crawlee.crawlers import BasicCrawler

Handler = Callable[[Any], Awaitable[None]]


@asynccontextmanager
async def response_page(
    dedup: Dedup, response: Any, *, body: bytes = b"", wait: bool = True
) -> AsyncIterator[Verdict]:
    """Yield the verdict on a response, as :meth:`.Dedup.page` does.

    A response whose status is not 200 is skipped, because it may be another one tomorrow.

    Args:
        dedup: an open memory of pages.
        response: an ``httpx.Response`` or ``aiohttp.ClientResponse`` that was not read yet, or was.
        body: what the request posted, which is part of its page's key.
        wait: whether a copy waits until the page in progress that it repeats was delivered or
            failed.
    """
    url = str(response.url)
    is_httpx = hasattr(response, "aread")
    status = response.status_code if is_httpx else response.status
    key = page_key(url, response.request.method if is_httpx else response.method, body)
    if status != 200:
        yield Verdict("skipped", key, "status")
        return
    data = await (response.aread() if is_httpx else response.read())
    document = Document(url, data, response.headers.get("content-type", ""), key)
    async with dedup.page(document, wait=wait) as verdict:
        yield verdict


class CrawleeDedup:
    """Keeps one copy of each page that a crawler of Crawlee gets; handlers see no others.

    Args:
        crawler: of HTTP or Playwright.
        url: the URL of the index; :class:`.Dedup` has the other arguments.
        duplicate: called with the context and the verdict of each copy, for its links.
    """

    def __init__(
        self,
        crawler: BasicCrawler[Any, Any],
        url: str = "memory://",
        *,
        duplicate: Callable[[Any, Verdict], Awaitable[None]] | None = None,
        spider: str = "crawlee",
        **options: Any,
    ) -> None:
        self._crawler = crawler
        self._duplicate = duplicate
        self.dedup = Dedup(url, spider=f"crawlee:{spider}", **options)

    async def run(self, requests: Sequence[str | Request]) -> None:
        """Crawl with the index open."""
        async with self.dedup:
            await self._crawler.run(list(requests))

    def keeps(self, handler: Handler) -> Handler:
        """Return a handler that is called for pages that repeat no other, and fail if it raises."""

        @wraps(handler)
        async def handle(context: Any) -> None:
            async with self.dedup.page(await _document(context)) as verdict:
                if verdict.kind != "duplicate":
                    await handler(context)
                elif self._duplicate is not None:
                    await self._duplicate(context, verdict)

        return handle


async def _document(context: Any) -> Document:
    request = context.request
    response = getattr(context, "http_response", None)
    url = request.loaded_url or request.url
    key = page_key(url, request.method, request.payload or b"")
    if response is None:  # a browser's
        return Document(url, await context.page.content(), key=key)
    content_type = response.headers.get("content-type", "")
    return Document(url, await response.read(), content_type, key)
