"""The filter of one crawl: what its middlewares and its pipeline share.

A page goes through it in two awaits: its analysis in a worker process, and its claim in the index.
A page that became an original is followed until its callback and its items are done: then it is
confirmed, or released if something failed, so that no page is dropped in favour of one that was
never delivered.
"""

import asyncio
import gc
import logging
from collections import Counter
from functools import partial
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from w3lib.encoding import http_content_type_encoding

from scrapy_simhash.core.analysis import Body, PageAnalysis, SkipReason
from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.claims import Claims
from scrapy_simhash.core.pool import WorkerPool
from scrapy_simhash.core.verdict import Verdict, spec_of, verdict_of
from scrapy_simhash.crawl.downloads import mark_downloads
from scrapy_simhash.crawl.progress import Delivery, PassingItems, Progress
from scrapy_simhash.crawl.requests import is_start, request_key, request_to_json
from scrapy_simhash.crawl.slow_hosts import SlowHosts
from scrapy_simhash.crawl.sparing import Sparing
from scrapy_simhash.crawl.summary import Summary
from scrapy_simhash.crawl.upkeep import Upkeep
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Arrival, StoreError
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.keys import page_scope
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import Action, FilterSettings

logger = logging.getLogger(__name__)

_DONE: dict[Action, str] = {"drop": "dropped", "follow": "followed", "flag": "flagged"}


class CrawlFilter:
    """Decides about pages, and keeps the index true to what was delivered.

    Attributes:
        counts: the stats ``simhash/…``, by name; they are published a moment later.
        deliveries: by response; not in its meta, which a spider may change.
    """

    def __init__(self, crawler: Crawler) -> None:
        need_asyncio(crawler)
        self.settings = FilterSettings.from_settings(crawler.settings)
        self._crawler = crawler
        self.counts: Counter[str] = Counter()
        self.deliveries: WeakKeyDictionary[Response, Delivery] = WeakKeyDictionary()
        spider = crawler.spider or crawler.spidercls
        self._index = open_breaker(self.settings, spider.name or "")
        self.progress = Progress()
        self.passing = PassingItems()
        self.summary = Summary(self.settings, self.counts)
        self._slow_hosts = SlowHosts()
        self._pool = WorkerPool(
            self.settings.recipe,
            processes=self.settings.processes,
            timeout=self.settings.timeout,
            excerpt_length=self.settings.log_text if self.settings.log else 0,
        )
        self._claims = Claims(self._index, self._pool, on_loop=not self.settings.survives)
        self.upkeep = Upkeep(
            crawler,
            self._index,
            self._claims,
            self.progress,
            self.settings.lease,
            self.counts,
        )
        self.sparing = Sparing(
            crawler, self.settings, self._index, self.summary, self.counts, self.upkeep.queue
        )
        self._stopping: asyncio.Future[None] | None = None
        connect = crawler.signals.connect
        connect(self._spider_opened, signal=signals.spider_opened)
        connect(self._response_received, signal=signals.response_received)
        connect(self._spider_idle, signal=signals.spider_idle)
        connect(self._spider_closed, signal=signals.spider_closed)

    @property
    def _spider(self) -> Spider:
        assert self._crawler.spider is not None
        return self._crawler.spider

    # Pages and items.

    async def judge(self, request: Request, response: Response, action: Action) -> Verdict:
        """Return the verdict on a response; everything in the crawl that must know is told."""
        key = request_key(request, response.url)
        if (reason := self._reason_to_skip(request, response)) is not None:
            verdict = Verdict("skipped", key, reason)
        else:
            content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
            body = Body(response.body, http_content_type_encoding(content_type))
            analysis = await self.analyse(body, key, response.url)
            # A page that is only flagged is delivered now and need not be crawled again.
            again = None if action == "flag" else request
            verdict = await self.claim(analysis, key, response.url, again)
        self.upkeep.note_verdict(request, verdict)
        self._count_page(request, response, verdict, action)
        pattern = self.sparing.page(request, response, verdict)
        self.summary.page(request, response, verdict, action, pattern)
        if verdict.kind in ("unique", "revisit"):
            self.progress.begin_page(key, request)
        elif verdict.provisional and action != "flag":
            self.upkeep.copies.wait(request, verdict.matches[0].entry)
        return verdict

    async def analyse(self, body: Body, key: str, url: str) -> PageAnalysis:
        """Return the analysis of a page or an item, which has the host of its URL."""
        if self._slow_hosts.has(url):
            return PageAnalysis(None, reason="slow_host")
        analysis = await self._pool.analyse(body)
        if analysis.reason == "timeout":
            logger.warning("SIMHASH_TIMEOUT: %s: %s; let through unchecked", key, analysis.error)
            self._slow_hosts.note_timeout(url)
        elif analysis.error:
            logger.error(
                "The extractor failed on %s; let through unchecked: %s", key, analysis.error
            )
        return analysis

    async def claim(
        self, analysis: PageAnalysis, key: str, url: str, request: Request | None = None
    ) -> Verdict:
        """Return the verdict on a page or an item, which has the scope of its URL.

        By the request another crawler can crawl the page again; it is None if it need not.
        """
        fingerprint, reason, excerpt = analysis.fingerprint, analysis.reason, analysis.excerpt
        if fingerprint is not None:
            stored = None
            if request is not None and self.settings.survives:
                stored = request_to_json(request, self._spider)
            scope = page_scope(url, self.settings.scope)
            arrival = Arrival(key, fingerprint, scope, analysis.facts, stored)
            if (claim := await self._claims.claim(arrival)) is not None:
                return verdict_of(arrival, claim, excerpt)
            reason = "unavailable"
        return Verdict("skipped", key, reason, fingerprint, excerpt=excerpt)

    def _reason_to_skip(self, request: Request, response: Response) -> SkipReason | None:
        if request.meta.get("dont_simhash"):
            return "opted_out"
        # robots.txt, images, and whatever else a component or a callback fetches for itself.
        if request.callback is NO_CALLBACK:
            return "no_callback"
        if response.status != 200:
            return "status"
        if not isinstance(response, HtmlResponse):
            return "not_html"
        if len(response.body) > self.settings.max_body_size:
            return "too_large"
        return None

    def _count_page(
        self, request: Request, response: Response, verdict: Verdict, action: Action
    ) -> None:
        self.counts["responses"] += 1
        self.counts[verdict.kind] += 1
        if verdict.reason is not None:
            self.counts[f"{verdict.kind}/{verdict.reason}"] += 1
        elif verdict.kind == "unique" and verdict.near:
            self.counts[f"near_kept/{verdict.near[0].reason}"] += 1
        if verdict.kind == "duplicate":
            self.counts[_DONE[action]] += 1
            if action == "drop":
                self.counts["bytes_dropped"] += len(response.body)
                # A whole site may stand behind such a page.
                self.counts["dropped_starts"] += is_start(request)

    # The events of the crawl.

    async def _spider_opened(self, spider: Spider) -> None:
        # The crawl keeps whatever there is by now, and looking through it again and again for
        # garbage would hold the event loop for some 40 ms each time.
        gc.freeze()
        assert self._crawler.engine is not None
        mark_downloads(self._crawler.engine)
        self.summary.begin(spider.name)
        await self.upkeep.begin(self._each_round)
        self.sparing.begin()

    def _response_received(self, response: Response, request: Request) -> None:
        # A middleware may have made another response, and given it another request.
        page = request.meta.get("simhash", {})
        if page.get("verdict") in ("unique", "revisit"):
            self.progress.arrived(page["key"], request)
            self.deliveries[response] = Delivery(page["key"])
        elif page.get("follow"):
            self.deliveries[response] = Delivery(drops_items=True)

    def _each_round(self) -> None:
        self._publish_counts()
        if self.summary.is_due():
            self.summary.say_progress(self._index)
            self._tell_sparing()
        self._stop_if_told()

    def _tell_sparing(self) -> None:
        if text := self.sparing.text():
            logger.info("%s", text, extra={"spider": self._spider})

    def _publish_counts(self) -> None:
        stats = self._crawler.stats
        assert stats is not None
        others = {f"outage/{name}": number for name, number in self._index.counts.items()}
        others |= {"same_body": self._pool.repeats, "flooded": self._index.flooded}
        for name, number in (self.counts | others | self.sparing.stats()).items():
            # Some go back to 0.
            if number or stats.get_value(f"simhash/{name}"):
                stats.set_value(f"simhash/{name}", number)

    def _stop_if_told(self) -> None:
        refused = self._index.refused
        told = self._index.away and self.settings.on_unavailable == "stop"
        if self._stopping is None and (refused or told):
            if refused:
                logger.error("SIMHASH_INDEX_URL: %s", refused)
            else:
                logger.error("The index is away: the crawl stops (SIMHASH_ON_UNAVAILABLE)")
            # Not in the upkeep, which the end of the crawl ends.
            self._stopping = asyncio.ensure_future(self._stop())

    async def _stop(self) -> None:
        engine, reason = self._crawler.engine, "simhash_unavailable"
        assert engine is not None
        if hasattr(engine, "close_spider_async"):
            await engine.close_spider_async(reason=reason)
        else:  # Scrapy 2.13
            await maybe_deferred_to_future(engine.close_spider(self._spider, reason))

    def _spider_idle(self, spider: Spider) -> None:
        is_late = self.sparing.send_late()
        if self.upkeep.stays_open() or is_late:
            raise DontCloseSpider

    async def end(self) -> None:
        """Settle all pages; tell the stats, which others read when the spider is closed."""
        await self.upkeep.end()
        self._publish_counts()

    async def _spider_closed(self, spider: Spider) -> None:
        await self.upkeep.end()
        if self._index.left:
            left = count(self._index.left, "page")
            logger.warning("The index was away, and does not have all: %s let through", left)
        await self._pool.close()
        for close in (self._claims.close, self.summary.close):
            await asyncio.get_running_loop().run_in_executor(None, close)
        await self.sparing.close()
        self._publish_counts()
        logger.info("%s", self.summary.text(), extra={"spider": spider})
        self._tell_sparing()
        gc.unfreeze()


def open_breaker(settings: FilterSettings, spider: str) -> Breaker:
    """Open the index of a spider's crawl, or raise a SettingError that names SIMHASH_INDEX_URL."""
    url = settings.index_url
    spec = spec_of(settings.recipe, lease=settings.lease, spider=spider)
    try:
        # A file on this machine that cannot be opened now will not come by itself.
        may_come = store_of(url).remote
        return Breaker(
            partial(open_index, url, spec),
            spec,
            pages=settings.outage_pages,
            start_without=settings.on_unavailable == "continue" and may_come,
        )
    except (ValueError, StoreError) as error:
        raise SettingError(f"SIMHASH_INDEX_URL: {error}") from None


def need_asyncio(crawler: Crawler) -> None:
    """Raise a SettingError unless the crawl runs on asyncio."""
    settings = crawler.settings
    if settings.getbool("TWISTED_REACTOR_ENABLED", True):
        from scrapy.utils.reactor import is_asyncio_reactor_installed

        if not is_asyncio_reactor_installed():
            raise SettingError(
                "TWISTED_REACTOR: scrapy-simhash needs Scrapy's default, "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
            )
