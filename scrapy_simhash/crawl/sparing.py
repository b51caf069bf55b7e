"""Requests whose addresses tell that their pages will be copies are not sent.

A request is looked at twice: when a callback yields it, so that it does not fill the queue, and
before its download, when more is known. What is learned goes to the index's store and comes from
there in the background; no request waits for it, and while the store is away nothing is spared.
Requests that were not sent are kept for a while, because a pattern may turn out to be wrong.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import unquote

from cachetools import LRUCache
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.crawl.requests import PREFERRED, is_start
from scrapy_simhash.crawl.summary import Judged, Summary
from scrapy_simhash.exceptions import SparedPage
from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.keys import page_key
from scrapy_simhash.printable import logger_of
from scrapy_simhash.report.dedup_log import host_of
from scrapy_simhash.report.words import clipped, count, size
from scrapy_simhash.settings import FilterSettings
from scrapy_simhash.url_patterns import open_patterns
from scrapy_simhash.url_patterns.learner import REMEMBERED, Forecast, Learner
from scrapy_simhash.url_patterns.store import BATCH, PatternStore, Tally
from scrapy_simhash.url_patterns.traps import PAGES, Traps, deny_expression

logger = logger_of(__name__)

EXCHANGE_SECONDS = 5.0
# Batches of rows that are read at a time, and addresses that are remembered of each kind.
_BATCHES = 100
_REMEMBERED = 100_000
# Requests that were not sent and are kept: the newest, because an old pattern has proved itself.
_UNSENT = 10_000
# Pages that come before what a fallen pattern has spared is sent: the page that speaks against it
# may have another address, which stands in the queue.
_PAGES_OF_DOUBT = 100
# Answers that tell nothing about an address: an error may be gone tomorrow.
_TELL_NOTHING = ("status", "opted_out", "no_callback", "unavailable", "slow_host")


@dataclass(eq=False)
class Sparing:
    """Learns from the pages of a crawl, and spares requests if it may."""

    crawler: Crawler
    settings: FilterSettings
    dedup: Dedup
    summary: Summary
    counts: Counter[str]
    queue: Callable[[Iterable[Request]], None]

    def __post_init__(self) -> None:
        self._traps = Traps()
        skips = self.settings.spare == "skip"
        self._learner = Learner(traps=self._traps if skips else None)
        # Forecasts of requests on their way, by the address that was asked for first.
        self._on_their_way: LRUCache[str, Forecast] = LRUCache(_REMEMBERED)
        # Digests of addresses that fitted a pattern: each is counted once, however many pages link
        # to it, and not at all if it was fetched. A fetched one is here by its hash, because a
        # digest takes twenty times as long.
        self._counted: LRUCache[int, None] = LRUCache(_REMEMBERED)
        # By address, without a fragment: requests that were not sent, why, and the bytes spared.
        self._unsent: LRUCache[str, tuple[Request, Forecast, int]] = LRUCache(_UNSENT)
        self._pages = 0
        # Rows of patterns that have fallen, and the pages that had come by then.
        self._fallen: dict[tuple[str, str], int] = {}
        # The address by which this crawl got each page first.
        self._first_asked: LRUCache[str, str] = LRUCache(REMEMBERED)
        # Addresses that were sent after all, and are on their way.
        self._sent_late: LRUCache[str, bool] = LRUCache(_REMEMBERED)
        self._store: PatternStore | None = None
        self._since = 0
        # Before the first rows came, nothing is known of what others have learned.
        self._store_is_away = self.settings.survives
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash-patterns")
        self._running: asyncio.Task[None] | None = None
        self._is_off = self.settings.spare == "off"

    def begin(self) -> None:
        """Begin to exchange what is learned with the other crawlers of the index."""
        if not self._is_off:
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Send what was learned."""
        if self._running is None:
            return
        self._running.cancel()
        self._learner.close()
        await self._exchange()
        if self._store is not None:
            self._thread.submit(self._store.close)
        self._thread.shutdown(wait=False)

    # Requests.

    def on_the_way(self, request: Request, page: str) -> Request | None:
        """Return a request that a callback yields as it is to be queued, None if it is spared.

        A request with an errback goes on, since its errback is called before the download. ``page``
        is the address of the page that links to the request.
        """
        if not self._is_off and self._traps.may_be_part(page, request.url):
            self._watch_for_traps(page, request.url)
        if self.settings.spare != "skip" or request.errback is not None:
            return request
        if not self._may_spare(request):
            return request
        forecast = self._learner.forecast(request.url)
        if not forecast.spared:
            if forecast.bound:
                # It was drawn to be fetched, also if the pattern no longer holds by then.
                self._on_their_way[request.url] = forecast
            return request
        self._spare(forecast, request, is_queued=False)
        return None

    def before_download(self, request: Request) -> None:
        """Spare a request that is about to be sent, by raising SparedPage."""
        # A request without a depth may be the beginning of a crawl.
        if self._is_off or is_start(request) or not self._may_spare(request):
            return
        forecast = self._learner.forecast(request.url)
        if not forecast.bound:
            return
        if forecast.spared:
            self._spare(forecast, request, is_queued=True)
            if self.settings.spare == "skip":
                raise SparedPage(forecast.url, forecast.host + forecast.signature)
        self._counted[forecast.digest] = None
        self._on_their_way[request.url] = forecast

    def _may_spare(self, request: Request) -> bool:
        meta = request.meta
        return not (
            self._store_is_away
            or self.dedup.away
            or request.method != "GET"
            or request.body
            or request.dont_filter
            or request.callback is NO_CALLBACK
            or meta.get("dont_simhash")
            # Its spider wants copies, too.
            or meta.get("simhash_action", "drop") != "drop"
            or self.settings.action.of(request.url) != "drop"
            or PREFERRED in meta
            or "redirect_times" in meta
            or "retry_times" in meta
            or self._is_never_spared(request.url)
        )

    def _is_never_spared(self, url: str) -> bool:
        # Scrapy escapes an address, and whoever writes an expression may not.
        return any(
            never.search(form)
            for never in self.settings.spare_never
            for form in (url, unquote(url))
        )

    def _spare(self, forecast: Forecast, request: Request, *, is_queued: bool) -> None:
        if forecast.digest in self._counted or hash(_page_of(request.url)) in self._counted:
            return
        self._counted[forecast.digest] = None
        length = self._learner.spare(forecast)
        if self.settings.spare == "skip":
            # The dupefilter has seen what comes from the queue.
            again = request.replace(dont_filter=True) if is_queued else request
            self._unsent[_page_of(request.url)] = (again, forecast, length)
            self.counts["spared/skipped"] += 1
            self.summary.spared(forecast.url, forecast.host, forecast.signature)
            logger.debug(
                "%s is spared: %.0f%% of the pages of %s%s or more were copies",
                forecast.url,
                100 * forecast.bound,
                forecast.host,
                forecast.signature,
                extra={"spider": self.crawler.spider},
            )

    def send_late(self, *, is_idle: bool) -> bool:
        """Send requests that were spared by patterns that no longer hold; tell whether any.

        With an empty queue, no page can raise a pattern again.
        """
        rows = {
            (forecast.host, forecast.signature): forecast
            for _, forecast, _ in self._unsent.values()
        }
        fallen = {row for row, forecast in rows.items() if not self._learner.holds(forecast)}
        self._fallen = {row: self._fallen.get(row, self._pages) for row in fallen}
        if not is_idle:
            last = self._pages - _PAGES_OF_DOUBT
            fallen = {row for row, fell_at in self._fallen.items() if fell_at <= last}
        if not fallen:
            return False
        requests = []
        for url, (request, forecast, _) in [*self._unsent.items()]:
            if (forecast.host, forecast.signature) in fallen:
                self._take_back(url)
                # It may be spared once more, by another pattern.
                self._counted.pop(forecast.digest, None)
                self._sent_late[request.url] = True
                requests.append(request)
        self.counts["spared/sent_late"] += len(requests)
        logger.info(
            "%s sent after all, because these addresses no longer tell of copies: %s",
            count(len(requests), "spared request"),
            clipped(", ".join(sorted(host + signature for host, signature in fallen)), 300),
            extra={"spider": self.crawler.spider},
        )
        self.queue(requests)
        return True

    def _take_back(self, url: str) -> None:
        """Count an address as not spared, if it was."""
        if unsent := self._unsent.pop(url, None):
            self._learner.estimate.take_back_spared(unsent[2])
            self.counts["spared/skipped"] -= 1

    # Pages.

    def judged(self, judged: Judged) -> None:
        """Learn from a page and its verdict, and note the pattern that its address fitted."""
        judged.pattern = self._learn(judged.request, judged.response, judged.verdict)

    def _learn(self, request: Request, response: Response, verdict: Verdict) -> str | None:
        if self._is_off or request.method != "GET":
            return None
        asked = (request.meta.get("redirect_urls") or [request.url])[0]
        self._pages += 1
        page = _page_of(asked)
        self._counted[hash(page)] = None
        # It was on its way when another link to it was spared.
        self._take_back(page)
        forecast = self._on_their_way.pop(asked, None) or Forecast(asked)
        pattern = forecast.host + forecast.signature if forecast.bound else None
        if verdict.kind == "skipped" and verdict.reason in _TELL_NOTHING:
            return pattern
        original = verdict.original
        if verdict.kind == "unique":
            self._first_asked[verdict.key] = asked
        elif verdict.kind == "revisit":
            # An earlier crawl may have got it by this address, too, which a redirect or the key of
            # the request hides.
            first = self._first_asked.setdefault(verdict.key, asked)
            if page_key(asked) in (verdict.key, page_key(first)):
                return pattern  # the page was crawled once more, as somebody wished
            original = verdict.key
        if self._sent_late.pop(asked, False):
            self._learner.estimate.recovered += original is None
        signature = self._learner.record(
            forecast,
            key=verdict.key,
            original=original,
            size=len(response.body),
            is_canonical=verdict.better == "canonical",
            is_sure=len(verdict.matches) + len(verdict.near) < RULINGS,
        )
        is_poor = verdict.kind == "unique" and bool(verdict.near)
        if original is None and signature:
            name = host_of(response.url) + signature
            self._traps.page(response.url, name, is_poor=is_poor)
        return pattern

    def _watch_for_traps(self, page: str, link: str) -> None:
        forecast = self._learner.forecast(link)
        if self._traps.link(page, forecast.host + forecast.signature):
            logger.warning(
                "%d pages like %s in a row were near others and brought nothing new but links to "
                "more of their kind, as in a calendar without end; to leave them out, deny %s",
                PAGES,
                link,
                deny_expression(forecast.signature),
                extra={"spider": self.crawler.spider},
            )
            self.counts["spared/traps"] += 1

    # Messages.

    def stats(self) -> dict[str, int]:
        """Return what is estimated, by the names of the stats."""
        estimate = self._learner.estimate
        return {
            "spared/would_be": 0 if self.settings.spare == "skip" else estimate.spared,
            "spared/bytes": estimate.bytes,
            "spared/explored": estimate.fetched,
            "spared/explored_wrong": estimate.wrong,
            "spared/lost_estimate": round(estimate.lost),
            "spared/lost_at_most": round(estimate.at_most),
            "spared/would_be_lost": self._learner.lost,
        }

    def text(self) -> str:
        """Return what sparing did, or would have done; empty if nothing."""
        estimate = self._learner.estimate
        if not estimate.spared:
            return ""
        pages, length = count(estimate.spared, "page"), size(estimate.bytes)
        if self.settings.spare == "skip":
            return (
                f"{pages} spared by their addresses, some {length}; an estimate of "
                f"{estimate.lost:.0f} of them distinct, at most {estimate.at_most:.0f} (95%), "
                f"by {count(estimate.fetched, 'page')} fetched all the same"
            )
        return (
            f"{pages} that SIMHASH_SPARE=skip would spare by their addresses, {length}; "
            f"{count(self._learner.lost, 'distinct page')} would be lost"
        )

    # The store.

    async def _run(self) -> None:
        while True:
            await self._exchange()
            self.send_late(is_idle=False)
            await asyncio.sleep(EXCHANGE_SECONDS)

    async def _exchange(self) -> None:
        """Send what was learned here, and learn what was learned elsewhere."""
        table = self._learner.table
        rows = table.take_increments()
        if not self.settings.survives:
            return
        talk = asyncio.get_running_loop().run_in_executor
        try:
            for _ in range(_BATCHES):
                changed = await talk(self._thread, self._talk, rows)
                table.read(changed)
                if len(changed) < BATCH:
                    break
        except Exception as error:  # noqa: BLE001 - sparing is no reason to end a crawl
            # Rows that could not be sent are left in the list.
            table.put_back(rows)
            # The index has said already that the store is away.
            if not self._store_is_away and self.settings.spare != "watch":
                logger.warning("Nothing is spared while address patterns are away: %s", error)
            self._store_is_away = True
        else:
            self._store_is_away = False

    def _talk(self, rows: list[Tally]) -> list[Tally]:
        """Send rows, which leave the list; return some that have changed since the last call."""
        if self._store is None:
            self._store = open_patterns(self.settings.index_url)
        while rows:
            self._store.add(rows[-BATCH:])
            del rows[-BATCH:]
        changed, self._since = self._store.changes(self._since)
        return changed


def _page_of(url: str) -> str:
    return url.partition("#")[0]
