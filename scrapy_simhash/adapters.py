"""Responses of other engines, judged by the core: of any ``async`` code that downloads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.core.verdict import Document, Verdict
from scrapy_simhash.keys import page_key


@asynccontextmanager
async def response_page(
    dedup: Dedup,
    response: Any,
    *,
    body: bytes = b"",
    wait: bool = True,
) -> AsyncIterator[Verdict]:
    """Yield the verdict on a response, as :meth:`.Dedup.page` does.

    A response whose status is not 200 is skipped, because it may be another one
    tomorrow.

    Args:
        dedup: an open memory of pages.
        response: an ``httpx.Response`` or ``aiohttp.ClientResponse`` that was not read
            yet, or was.
        body: what the request posted, which is part of its page's key.
        wait: whether a copy waits until the page in progress that it repeats was
            delivered or failed.
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
