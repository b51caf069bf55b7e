"""The run that a crawl takes part in: which one it is, how it ends, and what it says of it."""

import logging
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.utils.job import job_dir

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.crawl.summary import Judged
from scrapy_simhash.index.index import Index
from scrapy_simhash.printable import logger_of
from scrapy_simhash.redis_settings import uses_scrapy_redis
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings

logger = logger_of(__name__)


def resumed_run(crawler: Crawler) -> int | Literal["last"] | None:
    """Return the run that a crawl goes on with; None if it begins anew.

    A job goes on with its own run. A queue in Redis that was kept goes on with the last one.
    """
    if file := _file_of_job(crawler):
        with suppress(OSError, ValueError):
            return int(file.read_text("ascii"))
    elif uses_scrapy_redis(crawler.settings) and not _flushes(crawler):
        return "last" if crawler.settings.getbool("SCHEDULER_PERSIST") else None
    return None


def _file_of_job(crawler: Crawler) -> Path | None:
    """Return the file with the number of a job's run; None for a crawl without a JOBDIR."""
    folder = job_dir(crawler.settings)
    return Path(folder) / "simhash.run" if folder else None


def _flushes(crawler: Crawler) -> bool:
    settings = crawler.settings
    return uses_scrapy_redis(settings) and settings.getbool("SCHEDULER_FLUSH_ON_START")


class CrawlRun:
    """Begins and ends a crawl's run; ``counts`` are the stats of the filter, by name.

    Attributes:
        begun: when each run began, by its number, in seconds since the Unix epoch.
    """

    def __init__(
        self, crawler: Crawler, settings: FilterSettings, dedup: Dedup, counts: Counter[str]
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._dedup = dedup
        self._counts = counts
        self.begun: dict[int, float] = {}
        # The old addresses of pages that have moved.
        self._left = set[str]()

    async def begin(self) -> None:
        """Say which run begins, and on which index."""
        dedup, run = self._dedup, self._dedup.run
        if run is not None and _flushes(self._crawler):
            # scrapy-redis also forgets what it knows of the spider.
            await dedup.ask(lambda store: _forget_missing(store, run.number))
        runs = await dedup.ask(lambda store: store.runs()) if run else None
        self.begun = {each.number: each.begun for each in runs or ()}
        # The counts of the runs are at hand; a large file takes seconds to count its pages.
        pages = sum(each.pages for each in runs or ()) or await dedup.ask(len) or 0
        said = f"run {run.number}" if run else "no run"
        spider = self._crawler.spider or self._crawler.spidercls
        if run is not None and (file := _file_of_job(self._crawler)):
            file.write_text(str(run.number), "ascii")
        self._say(
            logging.INFO,
            f"Near-duplicates of {spider.name}: {count(pages, 'page')} in "
            f"{place_of(self._settings.index_url)}, {said}, log: {self._settings.log or 'none'}, "
            f"copies: {self._settings.action}, "
            f"recrawl: {self._settings.recrawl}",
        )

    def judged(self, judged: Judged) -> None:
        """Note a page that has moved; beyond a bound, its old address counts as missing."""
        if judged.verdict.moved_from and len(self._left) < 100_000:
            self._left.add(judged.verdict.moved_from)

    async def end(self, *, finished: bool) -> None:
        """End the run, once all pages are settled."""
        if 0 < self._counts["dropped_starts"] == self._counts["responses"]:
            self._say(
                logging.WARNING,
                "All start requests were dropped as copies, so nothing was crawled:"
                ' their meta has "simhash_action"',
            )
        run = self._dedup.run
        if run is None:
            return
        if self._left and finished:
            # Their pages have other addresses now. An address that was seen after all stays.
            await self._dedup.ask(lambda store: _forget_missing(store, run.number, self._left))
        await self._dedup.end_run(finished=finished)
        runs = await self._dedup.ask(lambda store: store.runs()) or ()
        this_run = next((each for each in runs if each.number == run.number), None)
        if this_run is None or not this_run.finished:
            return
        missing = await self._dedup.ask(lambda store: store.missing_count(run.number))
        if missing is not None:
            self._counts["missing"] += missing
        if file := _file_of_job(self._crawler):
            file.unlink(missing_ok=True)
        earlier = [
            each
            for each in runs
            if each.finished and each.spider == this_run.spider and each.number < run.number
        ]
        # A page that this run has seen counts for it now, and no more for the run before.
        before = earlier[-1].pages + this_run.pages if earlier else 0
        if this_run.pages < before / 10:
            self._say(
                logging.WARNING,
                f"This run has seen {count(this_run.pages, 'page')} only, and run "
                f"{earlier[-1].number} about {count(before)}: something may have hidden the others",
            )

    def _say(self, level: int, message: str) -> None:
        logger.log(level, "%s", message, extra={"spider": self._crawler.spider})


def _forget_missing(store: Index, run: int, among: set[str] | None = None) -> None:
    keys = [entry.key for entry in store.missing(run) if among is None or entry.key in among]
    for start in range(0, len(keys), 1000):
        store.gone(keys[start : start + 1000])


def place_of(url: str) -> str:
    """Return the URL of an index without user, password and options, but with its name."""
    parts = urlsplit(url)
    name = parts.query.rpartition("name=")[2].partition("&")[0]
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return f"{place} ({name})" if name else place
