"""The run that a crawl takes part in: its number, its end, and the messages about it."""

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.extensions.httpcache import DummyPolicy
from scrapy.settings import BaseSettings
from scrapy.settings.default_settings import HTTPCACHE_POLICY
from scrapy.utils.job import job_dir

from scrapy_simhash.core.dedup import Dedup, Resumed
from scrapy_simhash.crawl.requests import COPY, QUEUED, request_aliases, request_key
from scrapy_simhash.crawl.summary import Judged
from scrapy_simhash.index.entry_states import run_of
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Run
from scrapy_simhash.printable import logger_of, printable, without_userinfo
from scrapy_simhash.redis_settings import uses_scrapy_redis
from scrapy_simhash.report.words import clipped, count
from scrapy_simhash.settings import FilterSettings

logger = logger_of(__name__)


def resumed_run(crawler: Crawler) -> Resumed:
    """Return the run that a crawl goes on with; None if it begins anew.

    A job goes on with its own run. A queue in Redis that was kept goes on with the last
    one.
    """
    settings = crawler.settings
    if file := _file_of_job(crawler):
        with suppress(OSError, ValueError):
            return int(file.read_text("ascii"))
    elif uses_scrapy_redis(settings) and settings.getbool("SCHEDULER_PERSIST"):
        return None if _flushes(settings) else "last"
    return None


def _file_of_job(crawler: Crawler) -> Path | None:
    """Return the file with the number of a job's run; None for a crawl without a JOBDIR."""
    folder = job_dir(crawler.settings)
    return Path(folder) / "simhash.run" if folder else None


def _flushes(settings: BaseSettings) -> bool:
    return uses_scrapy_redis(settings) and settings.getbool("SCHEDULER_FLUSH_ON_START")


class CrawlRun:
    """Begins and ends a crawl's run; ``counts`` are the stats of the filter, by name.

    Attributes:
        begun: when each run began, by its number, in seconds since the Unix epoch.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: FilterSettings,
        dedup: Dedup,
        counts: Counter[str],
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._dedup = dedup
        self._counts = counts
        self.begun: dict[int, float] = {}
        # The numbers of this spider's runs, and 0 for pages of no run.
        self._own_runs = {0}
        self._old_addresses = set[str]()

    async def begin(self) -> None:
        """Log the run that begins, its index, and the spiders that share it."""
        run = self._dedup.run
        runs: Sequence[Run] = ()
        settings = self._settings
        if run is not None:
            if _flushes(self._crawler.settings):
                # scrapy-redis also forgets what it knows of the spider.
                await self._dedup.ask(lambda store: _forget_missing(store, run.number))
            runs = await self._dedup.ask(Index.runs) or ()
            self.begun = {each.number: each.begun for each in runs}
            self._own_runs |= {
                each.number for each in runs if each.spider == run.spider
            }
            if file := _file_of_job(self._crawler):
                file.write_text(str(run.number), "ascii")
        others = [each for each in runs if each.number not in self._own_runs]
        # The counts of the runs are at hand; a large file takes seconds to count its
        # pages.
        pages = sum(each.pages for each in runs) or await self._dedup.ask(len) or 0
        logger.info(
            "Near-duplicates of %s: %s in %s, %s, log: %s, copies: %s, recrawl: %s%s",
            self._dedup.breaker.spec.spider,
            count(pages, "page"),
            place_of(settings.index_url),
            f"run {run.number}" if run else "no run",
            settings.log or "none",
            settings.action,
            settings.recrawl,
            _shared_with(others),
        )
        if settings.recrawl == "changed" and _repeats_downloads(self._crawler.settings):
            logger.warning(
                "SIMHASH_RECRAWL sees no change: HTTPCACHE_POLICY is Scrapy's default, which takes "
                "every page from the cache for ever; use "
                "scrapy.extensions.httpcache.RFC2616Policy, or no cache"
            )

    def judged(self, judged: Judged) -> None:
        """Note a page that has moved, that failed, or that another spider has brought."""
        verdict = judged.verdict
        if verdict.change == "moved":
            self._old_addresses.add(str(verdict.moved_from))
        if judged.action == "drop":
            run = run_of(verdict.matches[0].run)
            self._counts["dropped_for_others"] += (
                bool(self.begun) and run not in self._own_runs
            )
        is_page = verdict.kind == "skipped" and verdict.reason != "no_callback"
        # No other error tells that a page is not there.
        if is_page and judged.response.status not in (404, 410):
            self._missed(judged.request, judged.response.url)

    def failed(self, request: Request) -> None:
        """Note a request that got no answer, or was not sent, for example because it is spared."""
        if QUEUED in request.meta and COPY not in request.meta:
            self._missed(request, request.url)

    def _missed(self, request: Request, url: str) -> None:
        keys = [request_key(request, url), *request_aliases(request, url)]
        self._dedup.upkeep.missed(keys)

    async def end(self, *, finished: bool) -> None:
        """End the run, once all pages are settled."""
        if 0 < self._counts["dropped_starts"] == self._counts["responses"]:
            logger.warning(
                "All start requests were dropped as copies, so nothing was crawled: their meta has "
                '"simhash_action"'
            )
        run = self._dedup.run
        if run is None:
            return
        if self._old_addresses and finished:
            # Their pages have other addresses now. An address that was seen after all
            # stays.
            await self._dedup.ask(
                lambda store: _forget_missing(store, run.number, self._old_addresses)
            )
        await self._dedup.end_run(finished=finished)
        runs = await self._dedup.ask(Index.runs) or ()
        this_run = next((each for each in runs if each.number == run.number), None)
        if this_run is None or not this_run.finished:
            return
        self._counts["missing"] += this_run.missing
        self._counts["failed"] += this_run.failed
        if not this_run.counts:
            known_pages = this_run.seen + this_run.failed + this_run.missing
            logger.warning(
                "Run %d does not count for SIMHASH_KEEP_RUNS: it saw %s of %s, and %s failed",
                run.number,
                count(this_run.seen),
                count(known_pages, "known page"),
                count(this_run.failed),
            )


def _shared_with(runs: Sequence[Run]) -> str:
    """Return the other spiders that share an index, the last ones first."""
    names = dict.fromkeys(printable(run.spider) for run in reversed(runs) if run.pages)
    return f", shared with {clipped(', '.join(names), 100)}" if names else ""


def _repeats_downloads(settings: BaseSettings) -> bool:
    """Return whether each page comes from Scrapy's cache, however old it is."""
    return (
        settings.getbool("HTTPCACHE_ENABLED")
        and not settings.getint("HTTPCACHE_EXPIRATION_SECS")
        and settings["HTTPCACHE_POLICY"] in (HTTPCACHE_POLICY, DummyPolicy)
    )


def _forget_missing(
    store: Index,
    run: int,
    among: Collection[str] | None = None,
) -> None:
    missing = (entry.key for entry in store.missing(run))
    store.gone([key for key in missing if among is None or key in among])


def place_of(url: str) -> str:
    """Return the URL of an index without user, password and options, but with its name."""
    place, _, options = without_userinfo(url).partition("?")
    name = dict(parse_qsl(options)).get("name")
    return f"{place} ({name})" if name else place
