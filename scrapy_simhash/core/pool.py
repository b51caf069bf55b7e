"""Worker processes that analyse pages for one event loop.

Pages wait by site and sites take turns, so that no site holds up the others. Equal bodies are
analysed once.
"""

import asyncio
import secrets
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import xxhash
from cachetools import LRUCache, TTLCache

from scrapy_simhash.core.analysis import Body, PageAnalysis, SkipReason, analyse_body
from scrapy_simhash.core.process import WorkerProcess
from scrapy_simhash.core.worker import pack_order
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.printable import logger_of

# Bytes that the remembered analyses may take. One takes a kilobyte at most, and five bytes for each
# character of its excerpt.
REMEMBERED_BYTES = 12_000_000
# Extraction libraries keep caches that only grow.
PAGES_PER_PROCESS = 20_000

# After so many pages of a site that cost a worker process, each within PAUSE seconds of the one
# before, the site is let through for PAUSE seconds.
STRIKES = 3
PAUSE = 600.0
# Sites that are remembered.
SITES = 1000

logger = logger_of(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    body: Body
    site: str
    answer: asyncio.Future[PageAnalysis]
    # The number of pages that had cost a worker when this one came.
    strikes_before: int

    def end(self, analysis: PageAnalysis) -> None:
        """Answer, unless nobody waits any more."""
        if not self.answer.done():
            self.answer.set_result(analysis)

    def skip(self, reason: SkipReason, error: str = "") -> None:
        self.end(PageAnalysis(None, reason=reason, error=error))


class Turns:
    """Pages that wait for a worker. Sites take turns.

    While some pages cost workers, sites of which a page was analysed go first, and those of which a
    page cost a worker go last. Pages without a site wait together, and are never let through.

    Args:
        patience: a page that waits is let through when so many others have cost a worker.

    Attributes:
        strikes: pages that cost a worker so far.
    """

    def __init__(self, patience: int) -> None:
        self.strikes = 0
        self._patience = patience
        self._waiting: dict[str, deque[_Job]] = {}
        self._strikes: TTLCache[str, int] = TTLCache(SITES, PAUSE, lambda: time.monotonic())
        self._analysed: LRUCache[str, bool] = LRUCache(SITES)
        self._arrived = asyncio.Event()

    def put(self, job: _Job) -> None:
        """Have a page wait, unless its site is let through."""
        if self._strikes.get(job.site, 0) >= STRIKES:
            job.skip("slow_host")
            return
        self._waiting.setdefault(job.site, deque()).append(job)
        self._arrived.set()

    async def take(self) -> _Job:
        """Return the next page, once there is one."""
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            site = next(iter(self._waiting))
            if self._strikes:
                site = min(self._waiting, key=self._rank)
            jobs = self._waiting.pop(site)
            job = jobs.popleft()
            if jobs:
                self._waiting[site] = jobs
            if not job.answer.done():
                return job

    def _rank(self, site: str) -> int:
        return self._strikes.get(site, 0) or -self._analysed.get(site, False)

    def praise(self, site: str) -> None:
        """Note that a page of a site was analysed."""
        self._analysed[site] = True

    def strike(self, site: str) -> None:
        """Note that a page of a site cost a worker; pages that wait may have to be let through."""
        if not site:
            return
        self.strikes += 1
        self._strikes[site] = number = self._strikes.get(site, 0) + 1
        if number == STRIKES:
            logger.warning(
                "SIMHASH_TIMEOUT: %d pages of %s took too long or ended their worker process; its"
                " pages are let through unchecked for %g minutes",
                *(number, site, PAUSE / 60),
            )
            for job in self._waiting.pop(site, ()):
                job.skip("slow_host")
        for jobs in self._waiting.values():
            for job in jobs:
                if self.strikes - job.strikes_before >= self._patience:
                    job.skip("timeout", "no worker was free, because pages of other sites hang")


class WorkerPool:
    """Analyses pages in worker processes; one more starts when a page finds all of them busy.

    All calls come from one event loop, which must run until :meth:`close` has returned.

    Args:
        recipe: from text to fingerprint.
        processes: the number of worker processes; with 0, one thread does their work, and no page
            can be stopped in it.
        timeout: seconds that a worker process may take for one page. A page that has a site waits
            for twice as long at most.
        excerpt_length: characters of the main text that each analysis has with it.
    """

    def __init__(
        self, recipe: Recipe, *, processes: int, timeout: float, excerpt_length: int = 0
    ) -> None:
        self._recipe = recipe
        self._processes = processes
        self._timeout = timeout
        self._excerpt_length = excerpt_length
        self._order = pack_order(recipe, timeout, excerpt_length)
        # Each worker takes no more than two pages that hang.
        self._turns = Turns(patience=2 * processes)
        self._workers: set[asyncio.Task[None]] = set()
        # Answers to pages that wait or are being analysed.
        self._answers: set[asyncio.Future[PageAnalysis]] = set()
        # It starts its thread with the first page.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash-analysis")
        # By digest, charset and reader of a body.
        self._seen: LRUCache[tuple[bytes, str | None, str], PageAnalysis] = LRUCache(
            max(1, REMEMBERED_BYTES // (1000 + 5 * excerpt_length))
        )
        # A page that is made to be taken for another one would have to know it.
        self._seed = secrets.randbits(64)
        #: The number of bodies that had been analysed before.
        self.repeats = 0

    @property
    def is_busy(self) -> bool:
        """True if worker processes have pages that they have not answered."""
        return bool(self._answers)

    async def analyse(self, body: Body, site: str = "") -> PageAnalysis:
        """Return the analysis of a page or text, which has an error if it failed.

        ``site`` is the registered domain of a page, if it has one.
        """
        name = xxhash.xxh3_128_digest(body.data, self._seed), body.charset, body.reader
        analysis = self._seen.get(name)
        if analysis is not None:
            self.repeats += 1
            return analysis
        if self._processes:
            analysis = await self._in_process(body, site)
        else:
            analysis = await asyncio.get_running_loop().run_in_executor(
                self._thread, analyse_body, body, self._recipe, self._excerpt_length
            )
        if analysis.fingerprint is not None or analysis.reason in ("empty", "too_short"):
            self._seen[name] = analysis
        return analysis

    async def _in_process(self, body: Body, site: str) -> PageAnalysis:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[PageAnalysis] = loop.create_future()
        self._answers.add(answer)
        try:
            self._turns.put(_Job(body, site, answer, self._turns.strikes))
            if len(self._workers) < min(len(self._answers), self._processes):
                self._workers.add(loop.create_task(self._work()))
            return await answer
        finally:
            self._answers.discard(answer)

    async def _work(self) -> None:
        """Answer pages, in one process after another."""
        worker = asyncio.current_task()
        assert worker is not None
        while True:
            try:
                process = await WorkerProcess.start(self._order, self._timeout)
                try:
                    await self._serve(process)
                finally:
                    process.end()
            except OSError as error:
                if len(self._workers) > 1:  # the others go on
                    self._workers.discard(worker)
                    return
                job = await self._turns.take()
                job.skip("extractor_error", f"no worker process can be started: {error}")

    async def _serve(self, process: WorkerProcess) -> None:
        for _ in range(PAGES_PER_PROCESS):
            job = await self._turns.take()
            if process.has_ended:  # while it had no page
                self._turns.put(job)
                return
            job.end(await process.analyse(job.body))
            if process.has_ended:
                self._turns.strike(job.site)
                return
            self._turns.praise(job.site)

    async def close(self) -> None:
        """End the processes and the thread; pages that still wait are given up."""
        for task in self._workers:
            task.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        for answer in self._answers:
            answer.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
