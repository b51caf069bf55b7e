"""Worker processes that analyse pages for one event loop, which reads and writes their sockets.

A worker process gets its next page before it has answered the last one, so that it never waits for
a loop that is busy with something else. Equal bodies are analysed once.
"""

import asyncio
import contextlib
import os
import secrets
import time
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import urlsplit

import xxhash
from cachetools import LRUCache, TTLCache

from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.core.process import Job, WorkerProcess
from scrapy_simhash.core.worker import pack_order
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.printable import logger_of

# Bytes that the remembered analyses may take. One takes a kilobyte at most, and five bytes for each
# character of its excerpt.
REMEMBERED_BYTES = 12_000_000
# Pages that :func:`analyse_all` has analysed ahead, for each process.
_AHEAD = 16

# After so many pages of a host that time out, each within PAUSE seconds of the one before, the host
# is let through for PAUSE seconds.
TIMEOUTS = 3
PAUSE = 600.0
# Hosts that are remembered.
HOSTS = 1000

T = TypeVar("T")

logger = logger_of(__name__)


class SlowHosts:
    """Counts the pages of each host that timed out, because each of them holds up all others."""

    def __init__(self) -> None:
        self._timeouts: TTLCache[str, int] = TTLCache(HOSTS, PAUSE, lambda: time.monotonic())

    def has(self, url: str) -> bool:
        """Return whether the host of an address is let through for now."""
        return bool(self._timeouts) and self._timeouts.get(urlsplit(url).netloc, 0) >= TIMEOUTS

    def note_timeout(self, url: str) -> None:
        host = urlsplit(url).netloc
        self._timeouts[host] = number = self._timeouts.get(host, 0) + 1
        if number == TIMEOUTS:
            logger.warning(
                "SIMHASH_TIMEOUT: %d pages of %s took too long; its pages are let through unchecked"
                " for %g minutes",
                number,
                host,
                PAUSE / 60,
            )


class WorkerPool:
    """Analyses pages in worker processes, which start with the first pages.

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
        self._workers: list[WorkerProcess] = []
        self._waiting: deque[Job] = deque()
        # It starts its thread with the first page.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash-analysis")
        self._closing = False
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
        return any(worker.load for worker in self._workers)

    async def analyse(self, body: Body) -> PageAnalysis:
        """Return the analysis of a page or text, which has an error if it failed."""
        loop = asyncio.get_running_loop()
        digest = xxhash.xxh3_128_digest(body.data, self._seed)
        name = digest, body.charset, body.reader
        analysis = self._seen.get(name)
        if analysis is not None:
            self.repeats += 1
        elif self._processes:
            job = Job(body, loop.create_future())
            self._waiting.append(job)
            self._hand_out()
            analysis = await job.answer
        else:
            how = body, self._recipe, self._excerpt_length
            analysis = await loop.run_in_executor(self._thread, analyse_body, *how)
        if not analysis.error:
            self._seen[name] = analysis
        return analysis

    def _hand_out(self) -> None:
        """Give the workers what they can take; start one more if all of them are busy."""
        while self._waiting and not self._closing:
            if self._waiting[0].answer.done():  # nobody waits for it any more
                self._waiting.popleft()
                continue
            if len(self._workers) < self._processes and all(w.load for w in self._workers):
                self._start_worker()
            ready = [worker for worker in self._workers if worker.ready]
            if not ready:
                return
            min(ready, key=lambda worker: worker.load).send(self._waiting.popleft())

    def _start_worker(self) -> None:
        try:
            worker = WorkerProcess(
                self._order,
                bits=self._recipe.bits,
                timeout=self._timeout,
                freed=self._hand_out,
                ended=self._worker_ended,
            )
        except OSError as error:
            # The others, if there are any, go on.
            if not self._workers:
                said = f"no worker process can be started: {error}"
                failed = PageAnalysis(None, reason="extractor_error", error=said)
                self._waiting.popleft().end(failed)
        else:
            self._workers.append(worker)

    def _worker_ended(self, worker: WorkerProcess, jobs: deque[Job]) -> None:
        """Go on without a worker; the pages that it had not begun come first."""
        self._workers.remove(worker)
        self._waiting.extendleft(reversed(jobs))
        self._hand_out()

    async def close(self) -> None:
        """End the processes and the thread; pages that still wait are given up."""
        self._closing = True
        await asyncio.gather(*(worker.close() for worker in self._workers))
        for job in self._waiting:
            job.answer.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)


def analyse_all(
    pages: Iterable[tuple[T, Body]],
    recipe: Recipe,
    *,
    processes: int = os.cpu_count() or 1,
    timeout: float = 60.0,
    excerpt_length: int = 0,
    largest: int | None = None,
) -> Generator[tuple[T, PageAnalysis], None, None]:
    """Yield pages with their analyses, in their order; for callers without an event loop.

    A page that fails, or has more than ``largest`` bytes, has a reason instead of a fingerprint.
    """
    pool = WorkerPool(recipe, processes=processes, timeout=timeout, excerpt_length=excerpt_length)

    async def analyse(body: Body) -> PageAnalysis:
        if largest is not None and len(body.data) > largest:
            return PageAnalysis(None, reason="too_large")
        return await pool.analyse(body)

    async def end() -> None:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, pool.close(), return_exceptions=True)

    names: deque[T] = deque()
    running: deque[asyncio.Task[PageAnalysis]] = deque()
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        try:
            for name, body in pages:
                names.append(name)
                running.append(loop.create_task(analyse(body)))
                if len(running) > _AHEAD * max(processes, 1):
                    yield names.popleft(), loop.run_until_complete(running.popleft())
            while running:
                yield names.popleft(), loop.run_until_complete(running.popleft())
        finally:
            # An interrupt may leave a stop of the loop in its queue, which would stop the end.
            loop.stop()
            loop.run_forever()
            loop.run_until_complete(end())
