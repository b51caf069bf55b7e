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

from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
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

    def end(self, analysis: PageAnalysis) -> None:
        """Answer, unless nobody waits any more."""
        if not self.answer.done():
            self.answer.set_result(analysis)


class Turns:
    """Pages that wait for a worker. Sites take turns, those of which a page cost a worker last.

    Pages without a site wait together, and are never let through.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Job]] = {}
        self._strikes: TTLCache[str, int] = TTLCache(SITES, PAUSE, lambda: time.monotonic())
        self._arrived = asyncio.Event()

    def put(self, job: _Job) -> None:
        """Have a page wait, unless its site is let through."""
        if self._strikes_of(job.site) >= STRIKES:
            job.end(PageAnalysis(None, reason="slow_host"))
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
                site = min(self._waiting, key=self._strikes_of)
            jobs = self._waiting.pop(site)
            job = jobs.popleft()
            if jobs:
                self._waiting[site] = jobs
            if not job.answer.done():
                return job

    def strike(self, site: str) -> None:
        """Note that a page of a site cost a worker; with the third one, let the others through."""
        if not site:
            return
        self._strikes[site] = number = self._strikes_of(site) + 1
        if number == STRIKES:
            logger.warning(
                "SIMHASH_TIMEOUT: %d pages of %s took too long or ended their worker process; its"
                " pages are let through unchecked for %g minutes",
                *(number, site, PAUSE / 60),
            )
            for job in self._waiting.pop(site, ()):
                job.end(PageAnalysis(None, reason="slow_host"))

    def clear(self) -> None:
        """Give up all that wait."""
        for jobs in self._waiting.values():
            for job in jobs:
                job.answer.cancel()
        self._waiting.clear()

    def _strikes_of(self, site: str) -> int:
        return self._strikes.get(site, 0)


class WorkerPool:
    """Analyses pages in worker processes; one more starts when a page finds all of them busy.

    All calls come from one event loop, which must run until :meth:`close` has returned.

    Args:
        recipe: from text to fingerprint.
        processes: the number of worker processes; with 0, one thread does their work, and no page
            can be stopped in it.
        timeout: seconds that a worker process may take for one page.
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
        self._turns = Turns()
        self._workers: set[asyncio.Task[None]] = set()
        # Pages that wait or are being analysed.
        self._open = 0
        self._is_warm = asyncio.Event()
        # It starts its thread with the first page.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash-analysis")
        # By digest, charset and reader of a body.
        self._seen: LRUCache[tuple[bytes, str | None, str], PageAnalysis] = LRUCache(
            max(1, REMEMBERED_BYTES // (1000 + 5 * excerpt_length))
        )
        # A page that is made to be taken for another one would have to know it.
        self._seed = secrets.randbits(64)
        #: How many bodies had been analysed before.
        self.repeats = 0

    @property
    def is_busy(self) -> bool:
        """True if worker processes have pages that they have not answered."""
        return self._open > 0

    async def warm(self) -> None:
        """Start the first worker process, so that no page waits for it."""
        if self._processes:
            if not self._workers:
                self._add_worker()
            await self._is_warm.wait()

    async def analyse(self, body: Body, site: str = "") -> PageAnalysis:
        """Return the analysis of a page or text, which has an error if it failed.

        ``site`` is the registered domain of a page, if it has one.
        """
        loop = asyncio.get_running_loop()
        digest = xxhash.xxh3_128_digest(body.data, self._seed)
        name = digest, body.charset, body.reader
        analysis = self._seen.get(name)
        if analysis is not None:
            self.repeats += 1
            return analysis
        if self._processes:
            self._open += 1
            try:
                job = _Job(body, site, loop.create_future())
                self._turns.put(job)
                if len(self._workers) < min(self._open, self._processes):
                    self._add_worker()
                analysis = await job.answer
            finally:
                self._open -= 1
        else:
            how = body, self._recipe, self._excerpt_length
            analysis = await loop.run_in_executor(self._thread, analyse_body, *how)
        if analysis.fingerprint is not None or analysis.reason in ("empty", "too_short"):
            self._seen[name] = analysis
        return analysis

    def _add_worker(self) -> None:
        self._workers.add(asyncio.get_running_loop().create_task(self._work()))

    async def _work(self) -> None:
        """Answer pages, in one process after another."""
        task = asyncio.current_task()
        assert task is not None
        while True:
            try:
                process = await WorkerProcess.start(self._order, self._recipe.bits, self._timeout)
            except OSError as error:
                self._is_warm.set()
                if len(self._workers) > 1:  # the others go on
                    self._workers.discard(task)
                    return
                said = f"no worker process can be started: {error}"
                failed = PageAnalysis(None, reason="extractor_error", error=said)
                (await self._turns.take()).end(failed)
                continue
            self._is_warm.set()
            try:
                for _ in range(PAGES_PER_PROCESS):
                    job = await self._turns.take()
                    if process.has_ended:  # while it had no page
                        self._turns.put(job)
                        break
                    await self._answer(job, process)
                    if process.has_ended:
                        self._turns.strike(job.site)
                        break
            finally:
                process.end()

    async def _answer(self, job: _Job, process: WorkerProcess) -> None:
        try:
            job.end(await process.analyse(job.body))
        finally:
            job.answer.cancel()  # if the pool is closed

    async def close(self) -> None:
        """End the processes and the thread; pages that still wait are given up."""
        for task in self._workers:
            task.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._turns.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)
