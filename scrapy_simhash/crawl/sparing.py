"""Requests whose addresses tell that their pages will be copies are not sent, or sent last.

A request is looked at when it leaves the queue. If pages with such addresses have been
copies, it goes back into the queue, behind all others: by the time it leaves that
again, the pages that it may repeat have come, and more is known. So Scrapy's own order,
depth first, serves as well as breadth first. Nothing is kept beside the queue.

A crawl that only watches notes its pages, and learns from them at its end.
"""

import asyncio
from collections import Counter
from urllib.parse import unquote

from cachetools import LRUCache
from scrapy import Request
from scrapy.http import TextResponse

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.crawl.exchange import RowExchange
from scrapy_simhash.crawl.requests import (
    HELD_BACK,
    PREFERRED,
    PRIORITY_STEP,
    is_plain,
    is_start,
)
from scrapy_simhash.crawl.summary import Judged, Summary
from scrapy_simhash.exceptions import SparedPage
from scrapy_simhash.keys import page_key
from scrapy_simhash.printable import logger_of
from scrapy_simhash.report.words import count, size
from scrapy_simhash.settings import FilterSettings
from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.learner import Forecast, Learner, Visit
from scrapy_simhash.url_patterns.replay import Replay
from scrapy_simhash.url_patterns.table import PatternTable
from scrapy_simhash.url_patterns.traps import PAGES_OF_TRAP, Traps

logger = logger_of(__name__)

# Answers that tell nothing about an address: an error may be gone tomorrow.
_TELL_NOTHING = ("status", "opted_out", "no_callback", "unavailable", "slow_host")


class Sparing:
    """Learns from the pages of a crawl, and spares requests if it may.

    Attributes:
        skips: whether requests may be spared.
    """

    def __init__(
        self,
        settings: FilterSettings,
        dedup: Dedup,
        summary: Summary,
        counts: Counter[str],
    ) -> None:
        self._settings = settings
        self._dedup = dedup
        self._summary = summary
        self._counts = counts
        self._is_off = settings.spare == "off"
        self.skips = settings.spare == "skip"
        self._exchange = RowExchange(dedup, is_shared=settings.survives)
        table = self._exchange.table
        self._traps = Traps()
        self._learner = Learner(table, self._traps if self.skips else None)
        # The pages that a watching crawl has noted, and the places of its traps.
        self._replay = Replay()
        self._trap_table = table if self.skips else PatternTable()
        # Forecasts of requests on their way, by the address that was asked for first.
        self._on_their_way: LRUCache[str, Forecast] = LRUCache(10_000)

    def begin(self) -> None:
        if self.skips:
            self._exchange.begin()

    async def close(self) -> None:
        """Learn from what was noted, and send what was learned, while the index is open."""
        if self._is_off:
            return
        self._exchange.end()
        if not self.skips:
            await self._exchange.once()
            await asyncio.to_thread(self._replay.run, self._learner)
        await self._exchange.once()

    # Requests.

    def linked(self, page: str, link: str) -> None:
        """Note an address that the callback of a page asks for."""
        if self._is_off:
            return
        signature = self._traps.link(page, link, self._trap_name)
        if signature:
            logger.warning(
                "%d pages in a row said nothing new and linked nothing new but more of their kind, "
                "as in a calendar without end: deny %s in your link extractor, such as %s",
                PAGES_OF_TRAP,
                signature,
                link,
            )
            self._counts["spared/traps"] += 1

    def _trap_name(self, url: str) -> str:
        """Return host and signature of an address; nothing where none can be learned from it."""
        place = self._trap_table.place(url)
        return place.name if place else ""

    def before_download(self, request: Request) -> Request | None:
        """Return a request that goes into the queue in place of one that is about to be sent.

        Raises:
            SparedPage: its address tells that its page will be a copy.
        """
        level: int = request.meta.pop(HELD_BACK, 0)
        if level:
            request.dont_filter = False
            request.priority += level * PRIORITY_STEP
        is_known = not self._exchange.is_away and not self._dedup.breaker.away
        is_first = {"redirect_times", "retry_times"}.isdisjoint(request.meta)
        # A crawl that skipped may go on as one that watches.
        if not (self.skips and is_known and is_first):
            return None
        if not self._is_optional(request, request.url):
            return None
        forecast = self._learner.forecast(request.url)
        behind = forecast.place_behind(level)
        if behind > level:
            self._counts["spared/held_back"] += not level
            return request.replace(
                priority=request.priority - behind * PRIORITY_STEP,
                dont_filter=True,
                meta={**request.meta, HELD_BACK: behind},
            )
        if forecast.spared:
            self._learner.spare(forecast)
            self._counts["spared/skipped"] += 1
            self._summary.spared(forecast.url, forecast.signature)
            logger.debug(
                "%s is spared: %.0f%% of the pages of %s or more were copies",
                forecast.url,
                100 * forecast.bound,
                forecast.name,
            )
            raise SparedPage(forecast.url, forecast.name)
        if forecast.bound:
            self._on_their_way[request.url] = forecast
        return None

    def _is_optional(self, request: Request, url: str) -> bool:
        """Return whether a request need not be sent if its page is a copy."""
        # Scrapy escapes an address, and whoever writes an expression may not.
        forms = (url, unquote(url))
        return not (
            # A request without a depth may be the beginning of a crawl.
            is_start(request)
            or not is_plain(request)
            or (request.dont_filter and "retry_times" not in request.meta)
            or request.meta.get("simhash_action", "drop") != "drop"
            or self._settings.action.of(url) != "drop"
            or PREFERRED in request.meta
            or any(
                never.search(form)
                for never in self._settings.spare_never
                for form in forms
            )
        )

    # Pages.

    def judged(self, judged: Judged) -> None:
        """Learn from a page and its verdict."""
        request = judged.request
        response = judged.response
        verdict = judged.verdict
        tells_nothing = verdict.kind == "skipped" and verdict.reason in _TELL_NOTHING
        if self._is_off or request.method != "GET" or tells_nothing:
            return
        url = (request.meta.get("redirect_urls") or [request.url])[0]
        original = verdict.original or ""
        if verdict.kind == "revisit":
            if self._came_by(url, verdict.key):
                return  # the page was crawled once more, as somebody wished
            original = verdict.key
        visit = Visit(
            key=verdict.key,
            original=original,
            size=len(response.body),
            is_canonical=verdict.better == "canonical",
            is_sure=verdict.complete,
            is_optional=self.skips or self._is_optional(request, url),
        )
        if self.skips:
            self._learner.record(self._on_their_way.pop(url, Forecast(url)), visit)
        else:
            self._replay.note(url, visit)
        html = ""
        # Only a page that is near another may be one of a trap.
        if verdict.near and not original and isinstance(response, TextResponse):
            html = response.text
        if place := self._trap_table.place(url, learn=bool(html)):
            self._traps.page(response.url, place.name, html, is_copy=bool(original))

    def _came_by(self, url: str, key: str) -> bool:
        """Return whether a page came by this very address before.

        A redirect or the key of the request may hide that an earlier crawl got it by
        this one.
        """
        first = self._learner.first.setdefault(key, url)
        return page_key(url) in (key, page_key(first))

    # Messages.

    def stats(self) -> dict[str, int]:
        """Return the estimates, by the names of the stats."""
        if not self.skips:
            return {
                "spared/would_be": self._replay.pages,
                "spared/would_be_lost": self._replay.losses,
                "spared/bytes": self._replay.bytes,
            }
        estimate = self._learner.estimate
        return {
            "spared/bytes": estimate.bytes,
            "spared/explored": estimate.fetched,
            "spared/explored_wrong": estimate.wrong,
            "spared/lost_estimate": round(estimate.lost),
            "spared/lost_at_most": round(estimate.at_most),
        }

    def text(self) -> str:
        """Return a line on the requests that were, or would have been, spared, if there are any."""
        estimate = self._learner.estimate
        if self.skips and estimate.spared:
            return (
                f"{count(estimate.spared, 'page')} spared by their addresses, about "
                f"{size(estimate.bytes)}; an estimated {estimate.lost:.0f} of them distinct, at "
                f"most {estimate.at_most:.0f} (95%), judging by "
                f"{count(estimate.fetched, 'page')} fetched anyway"
            )
        if not self._replay.pages:
            return ""
        pages = count(self._replay.pages, "page")
        losses = count(self._replay.losses, "distinct page")
        among = "" if self._replay.is_whole else f" of the first {REMEMBERED:,}"
        return (
            f"SIMHASH_SPARE=skip would spare {pages}{among}, {size(self._replay.bytes)}, and "
            f"lose {losses}"
        )
