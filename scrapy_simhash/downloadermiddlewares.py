"""The downloader middleware: a verdict on every downloaded page."""

from __future__ import annotations

import logging

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from w3lib.encoding import http_content_type_encoding

from scrapy_simhash import signals
from scrapy_simhash.analysis.worker import Body
from scrapy_simhash.crawl.crawl_filter import CrawlFilter
from scrapy_simhash.crawl.requests import request_key, request_to_json
from scrapy_simhash.detector import SkipReason, Verdict
from scrapy_simhash.exceptions import NearDuplicatePage
from scrapy_simhash.keys import page_scope
from scrapy_simhash.settings import Action, checked_action, is_enabled

logger = logging.getLogger(__name__)

FLAG = "near-duplicate"


class NearDuplicateDownloaderMiddleware:
    """Drops, or marks, pages that repeat one that was crawled before."""

    def __init__(self, crawler: Crawler) -> None:
        if not is_enabled(crawler.settings):
            raise NotConfigured
        self._crawler = crawler
        self._filter = CrawlFilter.of(crawler)
        self._temporary = set(map(int, crawler.settings.getlist("RETRY_HTTP_CODES")))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicateDownloaderMiddleware:
        """Make the middleware of a crawl.

        Raises:
            SettingError: a setting cannot be used.
        """
        return cls(crawler)

    async def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        """Return the response, with the verdict in its meta.

        Raises:
            NearDuplicatePage: it repeats another page and the action is ``drop``.
            SettingError: ``meta["simhash_action"]`` is no action.
        """
        settings = self._filter.settings
        action = settings.action
        if "simhash_action" in request.meta:
            action = checked_action(request.meta["simhash_action"], 'meta["simhash_action"]')
        handed_over = self._filter.handovers.came(request)
        try:
            verdict = await self._verdict(request, response, action)
        finally:
            # Not for the requests that copy this one's meta.
            request.meta.pop("simhash_again", None)
        # Claiming under the same key has ended it.
        is_claimed = verdict.kind != "skipped" and verdict.key == handed_over
        if handed_over and not is_claimed and response.status not in self._temporary:
            # A page that is dropped does not arrive.
            arriving = None if verdict.kind == "duplicate" else request
            self._filter.deliveries.give_up(handed_over, arriving)
        self._filter.count("responses")
        self._filter.count(verdict.kind)
        if verdict.reason is not None:
            self._filter.count(f"{verdict.kind}/{verdict.reason}")
        self._filter.account.page(request, response, verdict, action)
        # A fresh dict each time: requests that copy a response's meta share what is inside.
        request.meta["simhash"] = _as_meta(verdict)
        if verdict.kind in ("unique", "revisit"):
            self._filter.deliveries.begin_page(verdict.key, request)
            self._filter.handovers.crawl_again(verdict.handed_back)
        elif verdict.kind == "duplicate":
            self._act(verdict, action, request, response)
        return response

    async def _verdict(self, request: Request, response: Response, action: Action) -> Verdict:
        key = request_key(request, response.url)
        reason = self._reason_to_skip(request, response)
        if reason is not None:
            return Verdict("skipped", key, reason=reason)
        # A page that is only flagged is delivered now and need not be crawled again.
        stored = None if action == "flag" else request_to_json(request, self._filter.spider)
        verdict = await self._filter.check(
            Body(response.body, _declared_charset(response), response.url),
            key=key,
            scope=page_scope(response.url, self._filter.settings.scope),
            request=stored,
            again="simhash_again" in request.meta,
        )
        if verdict.kind == "unique" and stored is not None:
            self._filter.hold(request, verdict.key)
        if verdict.provisional and not verdict.waiting and action != "flag":
            # Nobody could crawl it again if its original were not delivered after all.
            return Verdict(
                "skipped",
                key,
                reason="not_repeatable",
                fingerprint=verdict.fingerprint,
                excerpt=verdict.excerpt,
            )
        return verdict

    def _reason_to_skip(self, request: Request, response: Response) -> SkipReason | None:
        if request.meta.get("dont_simhash"):
            return "opted_out"
        # robots.txt, images, and whatever else a component fetches for itself.
        if request.callback is NO_CALLBACK:
            return "no_callback"
        if response.status != 200:
            return "status"
        if not isinstance(response, HtmlResponse):
            return "not_html"
        if len(response.body) > self._filter.settings.max_body_size:
            return "too_large"
        return None

    def _act(self, verdict: Verdict, action: Action, request: Request, response: Response) -> None:
        assert verdict.original is not None
        assert verdict.distance is not None
        logger.debug(
            "%(url)s repeats %(original)s (distance %(distance)d, action %(action)s)",
            {
                "url": response.url,
                "original": verdict.original,
                "distance": verdict.distance,
                "action": action,
            },
            extra={"spider": self._filter.spider},
        )
        self._crawler.signals.send_catch_log(
            signals.near_duplicate,
            verdict=verdict,
            request=request,
            response=response,
            spider=self._filter.spider,
        )
        response.flags.append(FLAG)
        if action == "drop":
            self._filter.count("dropped")
            self._filter.count("bytes_dropped", len(response.body))
            raise NearDuplicatePage(verdict.key, verdict.original, verdict.distance)
        if action == "follow":
            request.meta["simhash"]["follow"] = True


def _as_meta(verdict: Verdict) -> dict[str, str | int | bool | None]:
    return {
        "verdict": verdict.kind,
        "key": verdict.key,
        "original": verdict.original,
        "distance": verdict.distance,
        "reason": verdict.reason,
        "fingerprint": str(verdict.fingerprint) if verdict.fingerprint else None,
    }


def _declared_charset(response: Response) -> str | None:
    content_type = response.headers.get("Content-Type") or b""
    return http_content_type_encoding(content_type.decode("latin-1"))
