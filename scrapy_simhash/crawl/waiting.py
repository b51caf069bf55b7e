"""Copies that wait until the fate of the page that they repeat is known.

A copy is dropped at once, and its request goes back into the crawl's own queue. If the
page is delivered, the request is dropped, too. If the page fails, the request goes on
with the response that was kept, or is downloaded again.

On Scrapy's own queue the request rests in memory meanwhile. A queue in Redis outlives
this process, so there the request goes back at once. A crawler that takes it out puts
it back, unless it knows by now how the original has fared.
"""

import asyncio
from collections import Counter
from functools import partial
from typing import NamedTuple, NoReturn

from cachetools import LRUCache
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.crawl.queue import CrawlQueue
from scrapy_simhash.crawl.requests import COPY, once_more, requests_on_the_way
from scrapy_simhash.crawl.summary import Judged
from scrapy_simhash.redis_settings import uses_scrapy_redis


class _Copy(NamedTuple):
    """A copy in a queue in Redis, as its request's meta has it.

    Attributes:
        key: the copy's own key.
        entry: of the page that it repeats; 0, which is none, for a page of an outage,
            which other crawlers do not know.
        original: the key of that page. A crawler that has an index of its machine may
            have another page at the entry.
    """

    key: str
    entry: int
    original: str


class Copies:
    """The copies of a crawl that wait; ``counts`` are the stats of the filter, by name."""

    def __init__(
        self,
        crawler: Crawler,
        dedup: Dedup,
        queue: CrawlQueue,
        counts: Counter[str],
    ) -> None:
        self._crawler = crawler
        self._dedup = dedup
        self._queue = queue
        self._counts = counts
        self._is_shared = uses_scrapy_redis(crawler.settings)
        # They tell whether the originals of copies in Redis were delivered.
        self._fates: LRUCache[_Copy, asyncio.Future[bool]] = LRUCache(100_000)

    def wait(self, judged: Judged) -> None:
        """Have a copy wait that is dropped or followed for a page in progress."""
        verdict = judged.verdict
        request = once_more(judged.request)
        # The tab of a browser is closed by now.
        if "playwright_page" not in judged.request.meta:
            self._queue.keep(verdict.key, judged.request, judged.response)
        if self._is_shared:
            original = verdict.matches[0]
            copy = _Copy(verdict.key, max(0, original.entry), original.key)
            request.meta[COPY] = [*copy]
            # It goes behind other pages, because each look at it costs a moment.
            request.priority -= 1
            self._queue.put(request)
        else:
            self._dedup.follow(verdict, partial(self._settled, verdict.key, request))

    def _settled(self, key: str, request: Request, is_delivered: bool) -> None:
        """Let a copy that rests in memory go on, unless its original was delivered."""
        if is_delivered:
            self._queue.take_response(key)
        else:
            self._counts["crawled_again"] += 1
            self._queue.put_waited(key, request)

    async def look_at(self, request: Request) -> Response | None:
        """Return the response of a copy whose original failed, if it was kept.

        Raises:
            IgnoreRequest: the original was delivered, or is in progress.
        """
        copy = _Copy(*request.meta[COPY])
        fate = self._fates.get(copy) or self._follow(copy)
        if not fate.done():
            # This comes first, because a crawler that is killed loses the requests in
            # its hands.
            self._queue.put(request.copy())
            await self._pause(fate)
            _ignore(request, "waits for the page that it repeats")
        del self._fates[copy]
        response = self._queue.take_response(copy.key)
        if fate.result() and bool(
            await self._dedup.ask(lambda index: index.entries_of([copy.original]))
        ):
            # The response that was kept goes with it.
            _ignore(request, "repeats a page that was delivered")
        del request.meta[COPY]
        request.priority += 1
        self._counts["crawled_again"] += 1
        return response

    def _follow(self, copy: _Copy) -> asyncio.Future[bool]:
        fate: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._fates[copy] = fate
        self._dedup.upkeep.follow_entry(copy.entry, fate.set_result)
        return fate

    async def _pause(self, fate: asyncio.Future[bool]) -> None:
        """Hold the slot of a request for a moment, because another look would tell no more."""
        was_idle = self._is_idle()
        await asyncio.wait([fate], timeout=1)
        if was_idle and self._is_idle() and not fate.done():
            # A page that has not ended by now never will.
            self._dedup.upkeep.fail_all()

    def _is_idle(self) -> bool:
        """Return whether nothing but copies is on its way."""
        return all(
            COPY in request.meta for request in requests_on_the_way(self._crawler)
        )


def _ignore(request: Request, why: str) -> NoReturn:
    # Its errback was told when the page was dropped.
    request.errback = None
    raise IgnoreRequest(f"{request.url} {why}")
