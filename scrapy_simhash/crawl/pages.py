"""Responses: each gets its verdict, and a near-duplicate what the action says."""

from __future__ import annotations

import logging

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from w3lib.encoding import http_content_type_encoding

from scrapy_simhash import signals
from scrapy_simhash.analysis.page import Body, SkipReason
from scrapy_simhash.crawl.filter import CrawlFilter
from scrapy_simhash.crawl.requests import request_key
from scrapy_simhash.detector import Verdict
from scrapy_simhash.exceptions import NearDuplicatePage
from scrapy_simhash.settings import Action, checked_action

logger = logging.getLogger(__name__)

FLAG = "near-duplicate"


class Pages:
    """Lets responses through, or drops or marks them.

    Args:
        crawler: the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._filter = CrawlFilter.of(crawler)
        self._temporary = set(map(int, crawler.settings.getlist("RETRY_HTTP_CODES")))

    def before_download(self, request: Request) -> None:
        """Let a request pass, or spare it.

        Raises:
            SparedPage: its address tells that its page will be a copy.
        """
        if self._filter.sparing is not None:
            self._filter.sparing.before_download(request)

    async def let_through(self, request: Request, response: Response) -> Response:
        """Return the response, with the verdict in its meta.

        Raises:
            NearDuplicatePage: it repeats another page and the action is ``drop``.
            SettingError: ``meta["simhash_action"]`` is no action.
        """
        action = self._filter.settings.action
        if "simhash_action" in request.meta:
            action = checked_action(request.meta["simhash_action"], 'meta["simhash_action"]')
        verdict = await self._verdict(request, response, action)
        is_temporary = response.status in self._temporary
        self._filter.upkeep.note_verdict(request, verdict, is_temporary=is_temporary)
        pattern = None
        if self._filter.sparing is not None:
            pattern = self._filter.sparing.page(request, response, verdict)
        self._filter.summary.page(request, response, verdict, action, pattern)
        self._count(verdict)
        # A fresh dict each time: requests that copy a response's meta share what is inside.
        request.meta["simhash"] = _as_meta(verdict)
        if verdict.kind in ("unique", "revisit"):
            self._filter.progress.begin_page(verdict.key, request)
        elif verdict.kind == "duplicate":
            self._act(verdict, action, request, response)
        return response

    def note_failure(self, request: Request, exception: Exception) -> None:
        """Note that a request could not be answered."""
        if not isinstance(exception, IgnoreRequest):
            self._filter.copies.note_failure(request)

    async def _verdict(self, request: Request, response: Response, action: Action) -> Verdict:
        key = request_key(request, response.url)
        reason = self._reason_to_skip(request, response)
        if reason is not None:
            return Verdict("skipped", key, reason)
        return await self._filter.check(
            Body(response.body, _declared_charset(response)),
            key=key,
            url=response.url,
            # A page that is only flagged is delivered now and need not be crawled again.
            request=None if action == "flag" else request,
        )

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

    def _count(self, verdict: Verdict) -> None:
        count = self._filter.count
        count("responses")
        count(verdict.kind)
        if verdict.reason is not None:
            count(f"{verdict.kind}/{verdict.reason}")
        elif verdict.kind == "unique" and verdict.near:
            count(f"near_kept/{verdict.near[0].reason}")

    def _act(self, verdict: Verdict, action: Action, request: Request, response: Response) -> None:
        assert verdict.original is not None
        assert verdict.distance is not None
        logger.debug(
            "%(url)s repeats %(original)s (distance %(distance)d, %(reason)s, action %(action)s)",
            {
                "url": response.url,
                "original": verdict.original,
                "distance": verdict.distance,
                "reason": verdict.reason,
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
        if action == "flag":
            return
        if verdict.provisional:
            self._filter.copies.wait(request, verdict.matches[0].entry)
        if action == "follow":
            request.meta["simhash"]["follow"] = True
            return
        self._filter.count("dropped")
        self._filter.count("bytes_dropped", len(response.body))
        raise NearDuplicatePage(verdict.key, verdict.original, verdict.distance)


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
