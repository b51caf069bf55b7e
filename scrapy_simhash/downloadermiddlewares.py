"""The downloader middleware: it judges responses, and drops, follows or flags copies."""

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
    HELD_BACK,
    ORDERS,
    PREFERRED,
    QUEUED,
    WAITED,
    take_identity_off,
)
from scrapy_simhash.exceptions import NearDuplicatePage
from scrapy_simhash.pipelines import NearDuplicatePipeline
from scrapy_simhash.printable import logger_of
from scrapy_simhash.spidermiddlewares import NearDuplicateSpiderMiddleware

if TYPE_CHECKING:
    from scrapy_simhash.crawl.summary import Judged

logger = logger_of(__name__)

FLAG = "near-duplicate"
KNOWN_META = {*ORDERS, COPY, QUEUED, PREFERRED, WAITED}


class NearDuplicateDownloaderMiddleware:
    """Drops, or marks, pages that repeat one that was crawled before."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._filter = crawl = filter_of(crawler)
        self._copies = crawl.copies
        self._preferred = crawl.preferred
        self._queue = crawl.queue
        self._sparing = crawl.sparing
        crawler.signals.connect(
            self._spider_opened, signal=scrapy_signals.spider_opened
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateDownloaderMiddleware:
        return cls(crawler)

    def _spider_opened(self, spider: Spider) -> None:
        missing = "is missing. Use ADDONS, which places all components."
        if self._crawler.get_spider_middleware(NearDuplicateSpiderMiddleware) is None:
            self._filter.warn(
                f"SPIDER_MIDDLEWARES: NearDuplicateSpiderMiddleware {missing} Without it, no page"
                " counts as delivered, so copies are crawled again."
            )
        if self._crawler.get_item_pipeline(NearDuplicatePipeline) is None:
            self._filter.warn(
                f"ITEM_PIPELINES: NearDuplicatePipeline {missing} Without it, a job that is stopped"
                " loses the copies that wait."
            )

    async def process_request(
        self, request: Request, spider: Spider | None = None
    ) -> Response | Request | None:
        """Let a request pass, put it back into the queue, or spare it.

        Of a page that has waited, return the response.

        Raises:
            IgnoreRequest: its page waits, or need not come; see :class:`.Copies`,
                :class:`.Preferred`.
            SparedPage: its address tells that its page will be a copy; see
                SIMHASH_SPARE.
        """
        if COPY in request.meta:
            return await self._copies.look_at(request)
        if WAITED in request.meta:
            # The entry is taken off, because other requests may copy the meta.
            key = request.meta.pop(WAITED)
            response = self._queue.take_response(key)
            if response is None:
                self._preferred.has_waited(key)
            return response
        if PREFERRED in request.meta:
            take_identity_off(request)
            self._preferred.before_download(request)
        elif QUEUED in request.meta and (
            self._sparing.skips or HELD_BACK in request.meta
        ):
            return self._sparing.before_download(request)
        return None

    def process_exception(
        self, request: Request, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Note that a page failed."""
        self._filter.run_of_spider.failed(request)
        self._preferred.address_ended(request)

    async def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response | Request:
        """Return the response, with the verdict in its meta, or a request that goes before it.

        Raises:
            NearDuplicatePage: it repeats another page and the action is ``drop``.
        """
        if self._preferred.is_on:
            request_before = self._preferred.request_before(request, response)
            if request_before is not None:
                return request_before
        self._check_meta(request)
        judged = await self._filter.judge(request, response)
        meta = self._filter.meta_of(judged)
        # A middleware before this one may have given the response another request.
        for owner in (request, response.request or request):
            owner.meta["simhash"] = meta
        if judged.action is not None:
            response.flags.append(FLAG)
            self._tell(judged)
        if judged.action == "drop":
            # The spider, which would close the tab of a browser, does not see the page.
            # When too many pages of scrapy-playwright are open, the crawl stands still.
            if tab := request.meta.get("playwright_page"):
                await tab.close()
            original = judged.verdict.matches[0]
            raise NearDuplicatePage(judged.verdict.key, original.key, original.distance)
        return response

    def _check_meta(self, request: Request) -> None:
        for name in request.meta:
            if str(name).startswith("simhash_") and name not in KNOWN_META:
                keys = ", ".join(("dont_simhash", *ORDERS))
                self._filter.warn(
                    f'meta["{name}"]: there is no such key; there are {keys}'
                )

    def _tell(self, judged: Judged) -> None:
        """Tell the log and the listeners of the signal of a copy."""
        verdict = judged.verdict
        logger.debug(
            "%s repeats %s (distance %d, %s, action %s)",
            judged.response.url,
            verdict.original,
            verdict.distance,
            verdict.reason,
            judged.action,
        )
        self._crawler.signals.send_catch_log(
            signals.near_duplicate,
            verdict=verdict,
            request=judged.request,
            response=judged.response,
            spider=self._crawler.spider,
        )
