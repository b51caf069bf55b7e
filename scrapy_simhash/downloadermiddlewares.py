"""The downloader middleware: each response gets its verdict, and a near-duplicate its due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash import signals
from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.requests import (
    COPY,
    ORDERS,
    PREFERRED,
    QUEUED,
    WAITED,
    request_key,
)
from scrapy_simhash.exceptions import NearDuplicatePage
from scrapy_simhash.pipelines import NearDuplicatePipeline
from scrapy_simhash.printable import logger_of
from scrapy_simhash.settings import Action
from scrapy_simhash.spidermiddlewares import NearDuplicateSpiderMiddleware

if TYPE_CHECKING:
    from scrapy_simhash.core.verdict import Verdict

logger = logger_of(__name__)

FLAG = "near-duplicate"
KNOWN_META = {*ORDERS, COPY, QUEUED, PREFERRED, WAITED}


class NearDuplicateDownloaderMiddleware:
    """Drops, or marks, pages that repeat one that was crawled before."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._filter = filter_of(crawler)
        crawler.signals.connect(self._spider_opened, signal=scrapy_signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateDownloaderMiddleware:
        return cls(crawler)

    def _spider_opened(self, spider: Spider) -> None:
        if self._crawler.get_spider_middleware(NearDuplicateSpiderMiddleware) is None:
            self._filter.warn(
                "SPIDER_MIDDLEWARES: NearDuplicateSpiderMiddleware is missing. No page counts as"
                " delivered, so copies are crawled again. Use ADDONS, which places all components."
            )
        if self._crawler.get_item_pipeline(NearDuplicatePipeline) is None:
            self._filter.warn(
                "ITEM_PIPELINES: NearDuplicatePipeline is missing. A job that is stopped loses the"
                " copies that wait. Use ADDONS, which places all components."
            )

    async def process_request(
        self, request: Request, spider: Spider | None = None
    ) -> Response | Request | None:
        """Let a request pass, put it back into the queue, or spare it.

        Of a page that has waited, return the response.

        Raises:
            IgnoreRequest: it waits, or what it waits for has come; see :class:`.Waiting`.
            SparedPage: its address tells that its page will be a copy; see SIMHASH_SPARE.
        """
        if (response := await self._filter.waiting.before_download(request)) is not None:
            return response
        if QUEUED in request.meta:
            return self._filter.sparing.before_download(request)
        return None

    def process_exception(
        self, request: Request, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Take note of a page that failed."""
        self._filter.run_of_spider.failed(request, exception)
        self._filter.waiting.ended(request)

    async def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response | Request:
        """Return the response, with the verdict in its meta, or a request that goes before it.

        Raises:
            NearDuplicatePage: it repeats another page and the action is ``drop``.
        """
        if (first := self._filter.waiting.first(request, response)) is not None:
            return first
        self._look_at_meta(request)
        times = _times_dropped(request, response)
        judged = await self._filter.judge(request, response, times)
        verdict, action = judged.verdict, judged.action
        # A fresh dict each time: requests that copy a response's meta share what is inside. A
        # middleware before this one may have given the response another request.
        page = _as_meta(verdict, times, self._filter.last_seen(verdict))
        if verdict.unchanged and self._filter.settings.recrawl == "changed":
            page["follow"] = True
        for each_request in (request, response.request or request):
            each_request.meta["simhash"] = page
        if verdict.kind == "duplicate":
            if action == "drop" and (tab := request.meta.get("playwright_page")) is not None:
                # The spider, which would close it, does not see it; when too many pages of
                # scrapy-playwright are open, the crawl stands still.
                await tab.close()
            self._act(verdict, action, request, response)
        return response

    def _look_at_meta(self, request: Request) -> None:
        for name in request.meta:
            if str(name).startswith("simhash_") and name not in KNOWN_META:
                known = ", ".join(("dont_simhash", *ORDERS))
                self._filter.warn(f'meta["{name}"]: there is no such key; there are {known}')

    def _act(self, verdict: Verdict, action: Action, request: Request, response: Response) -> None:
        original, spider = verdict.matches[0], self._crawler.spider
        logger.debug(
            "%s repeats %s (distance %d, %s, action %s)",
            response.url,
            original.key,
            original.distance,
            verdict.reason,
            action,
            extra={"spider": spider},
        )
        self._crawler.signals.send_catch_log(
            signals.near_duplicate,
            verdict=verdict,
            request=request,
            response=response,
            spider=spider,
        )
        response.flags.append(FLAG)
        page = request.meta["simhash"]
        if action == "follow":
            page["follow"] = True
        elif action == "drop":
            page["dropped"] += 1
            raise NearDuplicatePage(verdict.key, original.key, original.distance)


def _times_dropped(request: Request, response: Response) -> int:
    """Return how often in a row a page was dropped for which an errback asks again."""
    earlier = request.meta.get("simhash")
    if isinstance(earlier, dict) and earlier.get("key") == request_key(request, response.url):
        return int(earlier.get("dropped") or 0)
    return 0


def _as_meta(
    verdict: Verdict, dropped: int, last_seen: float | None
) -> dict[str, str | float | bool | None]:
    return {
        "verdict": verdict.kind,
        "key": verdict.key,
        "original": verdict.original,
        "distance": verdict.distance,
        "reason": verdict.reason,
        "better": verdict.better or None,
        "fingerprint": str(verdict.fingerprint) if verdict.fingerprint else None,
        "change": verdict.change,
        "moved_from": verdict.moved_from,
        "last_seen": last_seen,
        "dropped": dropped,
    }
