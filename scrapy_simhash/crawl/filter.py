"""The filter of one crawl: what its middlewares and its pipeline share.

It asks the core for the verdict on each page, and tells the core how the page fared in
the end. The middlewares and the pipeline act on a copy.
"""

import asyncio
from collections import Counter
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_simhash.core.analysis import SkipReason
from scrapy_simhash.core.dedup import Dedup, Resumed
from scrapy_simhash.core.upkeep import ROUND_SECONDS, Rounds
from scrapy_simhash.core.verdict import Document, Verdict
from scrapy_simhash.crawl.deliveries import Deliveries
from scrapy_simhash.crawl.preferred import Preferred
from scrapy_simhash.crawl.queue import CrawlQueue
from scrapy_simhash.crawl.requests import (
    QUEUED,
    content_type,
    is_start,
    request_aliases,
    request_key,
    requests_on_the_way,
)
from scrapy_simhash.crawl.runs import CrawlRun, resumed_run
from scrapy_simhash.crawl.sparing import Sparing
from scrapy_simhash.crawl.summary import Judged, Summary
from scrapy_simhash.crawl.waiting import Copies
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index.store import StoreError
from scrapy_simhash.printable import logger_of
from scrapy_simhash.report.dedup_log import TEXT_LENGTH
from scrapy_simhash.report.words import count
from scrapy_simhash.setting_values import Action, checked_action, own_action
from scrapy_simhash.settings import FilterSettings

logger = logger_of(__name__)


class CrawlFilter:
    """Decides about pages, and keeps the index true to what was delivered.

    Its attributes are the parts of a crawl, which the middlewares and the pipeline
    share.

    Attributes:
        counts: the stats ``simhash/…``, by name; they are published a moment later.
    """

    def __init__(self, crawler: Crawler) -> None:
        has_reactor = crawler.settings.getbool("TWISTED_REACTOR_ENABLED", True)
        if has_reactor and not is_asyncio_reactor_installed():
            raise SettingError(
                "TWISTED_REACTOR: scrapy-simhash needs Scrapy's default, "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
            )
        self._crawler = crawler
        self._warned = set[str]()
        name = (crawler.spider or crawler.spidercls).name or ""
        self.counts: Counter[str] = Counter()
        self.settings = FilterSettings.from_settings(crawler.settings).of_spider(name)
        self.dedup = open_dedup(self.settings, name, resumed_run(crawler))
        self.run_of_spider = CrawlRun(crawler, self.settings, self.dedup, self.counts)
        self.queue = CrawlQueue(crawler, self.settings.lease)
        self.copies = Copies(crawler, self.dedup, self.queue, self.counts)
        self.preferred = Preferred(
            crawler,
            self.queue,
            self.counts,
            is_on=self.settings.prefer == "canonical",
        )
        self.deliveries = Deliveries(crawler, self.settings, self.dedup.upkeep)
        self.summary = Summary(self.settings, self.counts, name)
        self.sparing = Sparing(self.settings, self.dedup, self.summary, self.counts)
        self._rounds = Rounds(self._round, ROUND_SECONDS)
        self._stopping: asyncio.Future[None] | None = None
        connect = crawler.signals.connect
        connect(self._spider_opened, signal=signals.spider_opened)
        connect(self._request_scheduled, signal=signals.request_scheduled)
        connect(self._spider_idle, signal=signals.spider_idle)
        connect(self._spider_closed, signal=signals.spider_closed)

    # Pages.

    async def judge(self, request: Request, response: Response) -> Judged:
        """Judge a response, and tell the other parts."""
        key = request_key(request, response.url)
        if reason := self._reason_to_skip(request, response):
            verdict = Verdict("skipped", key, reason)
        else:
            document = Document(
                response.url,
                response.body,
                content_type(response),
                key,
                aliases=request_aliases(request, response.url),
            )
            verdict = await self.dedup.check(document, wait=False)
        judged = Judged(request, response, verdict, _times_dropped(request, key))
        judged.is_withheld = verdict.unchanged and self.settings.recrawl == "changed"
        if verdict.kind == "duplicate":
            judged.action = self._action(judged)
        self.deliveries.judged(judged)
        self.sparing.judged(judged)
        self.summary.judged(judged)
        self.run_of_spider.judged(judged)
        if self.preferred.is_on:
            self.preferred.judged(judged)
        if verdict.provisional and judged.action != "flag":
            self.copies.wait(judged)
        return judged

    def _action(self, copy: Judged) -> Action:
        """Return what becomes of a copy."""
        action = self._chosen_action(copy)
        if action == "drop" and copy.times_dropped >= 2:  # an errback insists on it
            logger.warning(
                "%s is let through, although it repeats %s, because it was asked for again "
                "each of the %d times that it was dropped",
                copy.verdict.key,
                copy.verdict.original,
                copy.times_dropped,
            )
            return "flag"
        return action

    def _chosen_action(self, copy: Judged) -> Action:
        """Return the action of the project; no page is lost by a mistake in it."""
        request = copy.request
        if "simhash_action" in request.meta:
            try:
                return checked_action(request.meta["simhash_action"])
            except ValueError as error:
                self.warn(
                    f'meta["simhash_action"]: {error}; such pages are flagged only'
                )
                return "flag"
        action = self.settings.action.of(request.url)
        try:
            call = own_action(action)
            action = checked_action(
                call(copy.verdict, request, copy.response) if call else action
            )
        except Exception:
            logger.exception(
                "SIMHASH_ACTION: %s failed on %s, which is flagged",
                action,
                copy.response.url,
            )
            return "flag"
        # The links of such a page are the crawl. What it redirects to has its meta.
        return "follow" if action == "drop" and is_start(request) else action

    def warn(self, message: str) -> None:
        """Log a warning, once."""
        if message not in self._warned:
            self._warned.add(message)
            logger.warning("%s", message)

    def _reason_to_skip(
        self, request: Request, response: Response
    ) -> SkipReason | None:
        # robots.txt, images, and whatever else a component or a callback fetches for
        # itself. A copy among them must not be dropped, because the callback that has
        # asked for it would fail. The entry is taken off, because other requests may
        # copy the meta.
        if not request.meta.pop(QUEUED, False) or request.callback is NO_CALLBACK:
            return "no_callback"
        if request.meta.get("dont_simhash"):
            return "opted_out"
        if response.status != 200:
            return "status"
        return None

    def meta_of(self, judged: Judged) -> dict[str, Any]:
        """Return a page's entry in meta, a fresh one each time.

        Requests that copy a meta share what is inside.
        """
        verdict = judged.verdict
        before = verdict.before
        meta = {
            "verdict": verdict.kind,
            "key": verdict.key,
            "original": verdict.original,
            "distance": verdict.distance,
            "reason": verdict.reason,
            "better": verdict.better or None,
            "fingerprint": str(verdict.fingerprint) if verdict.fingerprint else None,
            "change": verdict.change,
            "moved_from": verdict.moved_from,
            "last_seen": self.run_of_spider.begun.get(before.run) if before else None,
            "dropped": judged.times_dropped + (judged.action == "drop"),
        }
        if judged.action == "follow" or judged.is_withheld:
            meta["follow"] = True
        return meta

    # The events of the crawl.

    async def _spider_opened(self, spider: Spider) -> None:
        await self.dedup.__aenter__()
        await self.run_of_spider.begin()
        self.summary.begin(self.dedup.run)
        self.sparing.begin()
        self._rounds.begin()

    def _request_scheduled(self, request: Request) -> None:
        request.meta[QUEUED] = True

    async def _round(self) -> None:
        self.deliveries.fail_lost(requests_on_the_way(self._crawler))
        if self.queue.refused:
            self.queue.retry()
        if self.preferred.is_on:
            self.preferred.give_up(self.preferred.patience)
        self._publish_counts()
        self.summary.say_progress(self.dedup.breaker)
        self._stop_if_refused()

    def _publish_counts(self) -> None:
        stats = self._crawler.stats
        assert stats is not None
        counts = self.counts | self.dedup.counts | self.sparing.stats()
        for name, number in counts.items():
            # Some go back to 0.
            if number or stats.get_value(f"simhash/{name}"):
                stats.set_value(f"simhash/{name}", number)

    def _stop_if_refused(self) -> None:
        """Stop the crawl if its index cannot be used, or is away and the crawl must not go on."""
        index = self.dedup.breaker
        if self._stopping is not None:
            return
        if index.refused:
            logger.error("SIMHASH_INDEX_URL: %s", index.refused)
        elif index.away and self.settings.on_unavailable == "stop":
            logger.error("The index is away: the crawl stops (SIMHASH_ON_UNAVAILABLE)")
        else:
            return
        # It is a task apart from the rounds, which end with the crawl.
        self._stopping = asyncio.ensure_future(self._stop())

    async def _stop(self) -> None:
        engine = self._crawler.engine
        spider = self._crawler.spider
        assert engine is not None
        assert spider is not None
        reason = "simhash_unavailable"
        if hasattr(engine, "close_spider_async"):
            await engine.close_spider_async(reason=reason)
        else:  # Scrapy 2.13
            await maybe_deferred_to_future(engine.close_spider(spider, reason))

    def _spider_idle(self, spider: Spider) -> None:
        waited = self.preferred.give_up(patience=0)
        self.queue.put()
        upkeep = self.dedup.upkeep
        # Nothing is on its way, so no open page will ever end.
        upkeep.fail_all()
        if upkeep.are_copies_waiting() or self.queue.refused or waited:
            raise DontCloseSpider

    async def end(self) -> None:
        """Settle all pages while the queue is open; tell the stats, which others read afterwards.

        Copies that wait are put into the queue: a later run of the job crawls them
        again.
        """
        self._rounds.end()
        await self.dedup.upkeep.settle()
        self.preferred.end()
        self._publish_counts()

    async def _spider_closed(self, spider: Spider, reason: str) -> None:
        self.queue.is_closed = True
        await self.end()
        await self.run_of_spider.end(finished=reason == "finished")
        if let_through := self.dedup.breaker.let_through:
            logger.warning(
                "The index was away, and will not learn of %s that came meanwhile",
                count(let_through, "page"),
            )
        await self.sparing.close()
        await self.dedup.close()
        self._publish_counts()
        self.counts.update(self.dedup.unmatched)
        logger.info(self.summary.text(self.sparing.text()))


def _times_dropped(request: Request, key: str) -> int:
    """Return how often in a row a page was dropped for which an errback asks again."""
    earlier = request.meta.get("simhash")
    if isinstance(earlier, dict) and earlier.get("key") == key:
        return int(earlier.get("dropped") or 0)
    return 0


def open_dedup(
    settings: FilterSettings,
    spider: str,
    resumed: Resumed = None,
) -> Dedup:
    """Open the index of a spider's crawl, or raise a SettingError that names SIMHASH_INDEX_URL."""
    try:
        return Dedup(
            settings.index_url,
            recipe=settings.recipe,
            spider=spider,
            scope=settings.scope,
            lease=settings.lease,
            processes=settings.processes,
            timeout=settings.timeout,
            max_size=settings.max_body_size,
            excerpt_length=TEXT_LENGTH if settings.log else 0,
            start_without=settings.on_unavailable == "continue",
            runs=True,
            resumed=resumed,
            keep_runs=settings.keep_runs,
        )
    except (ValueError, StoreError) as error:
        raise SettingError(f"SIMHASH_INDEX_URL: {error}") from None
