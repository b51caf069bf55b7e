"""Worker processes that analyse pages for one event loop.

Pages wait by site and sites take turns, so that no site holds up the others.

Pools such as concurrent.futures, pebble and loky pickle what they send. They import a
script without a ``__main__`` guard again, or cannot end a job that hangs. asyncio's
subprocesses may lose the status of a child that ends at the moment at which it is
killed.
"""

import asyncio
import marshal
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from cachetools import TTLCache

from scrapy_simhash.core.analysis import Body, PageAnalysis, SkipReason, analyse_body
from scrapy_simhash.core.worker import analysis_of, order_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.printable import logger_of

# A site is let through for SITE_PAUSE seconds after STRIKES of its pages cost a worker
# process, each within SITE_PAUSE seconds of the one before.
STRIKES = 3
SITE_PAUSE = 600.0

# The folder of the crawl is "" in sys.path, and -c puts it first. It goes to the end,
# because modules in it may have names of Python's own.
_PROGRAM = """
import sys
if "" in sys.path:
    sys.path.remove("")
    sys.path.append("")
from scrapy_simhash.core.worker import main
main()
"""

logger = logger_of(__name__)


class Job(NamedTuple):
    """A page that waits for its analysis.

    Attributes:
        strikes: the number of pages that had cost a worker when this one came.
    """

    body: Body
    site: str
    answer: asyncio.Future[PageAnalysis]
    strikes: int

    def end(self, analysis: PageAnalysis) -> None:
        """Answer, unless the caller has given up."""
        if not self.answer.done():
            self.answer.set_result(analysis)

    def skip(self, reason: SkipReason, error: str = "") -> None:
        self.end(PageAnalysis(None, reason=reason, error=error))


class Turns:
    """Pages that wait for a worker. Sites take turns; those that have cost workers come last.

    Pages without a site wait together, and are never let through for their site.

    Args:
        patience: pages that may cost a worker while another page waits; then it is let
            through.

    Attributes:
        strikes: pages that cost a worker so far.
    """

    def __init__(self, patience: int) -> None:
        self.strikes = 0
        self._patience = patience
        self._waiting: dict[str, deque[Job]] = {}
        self._strikes_of: TTLCache[str, int] = TTLCache(
            1000, SITE_PAUSE, lambda: time.monotonic()
        )
        self._arrived = asyncio.Event()

    def put(self, job: Job) -> None:
        """Have a page wait, unless its site is let through."""
        if self._strikes_of.get(job.site, 0) >= STRIKES:
            job.skip("slow_host")
            return
        self._waiting.setdefault(job.site, deque()).append(job)
        self._arrived.set()

    async def take(self) -> Job:
        """Return the next page, once there is one."""
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            site = min(self._waiting, key=lambda site: self._strikes_of.get(site, 0))
            jobs = self._waiting.pop(site)
            job = jobs.popleft()
            if jobs:
                self._waiting[site] = jobs
            if not job.answer.done():
                return job

    def strike(self, site: str) -> None:
        """Note that a page of a site cost a worker; pages that wait may have to be let through."""
        if not site:
            return
        self.strikes += 1
        self._strikes_of[site] = number = self._strikes_of.get(site, 0) + 1
        if number == STRIKES:
            logger.warning(
                "SIMHASH_TIMEOUT: %d pages of %s took too long or ended their worker process; its"
                " pages are let through unchecked for %g minutes",
                number,
                site,
                SITE_PAUSE / 60,
            )
            for job in self._waiting.pop(site, ()):
                job.skip("slow_host")
        for jobs in self._waiting.values():
            for job in jobs:
                if self.strikes - job.strikes >= self._patience:
                    job.skip(
                        "timeout",
                        "no worker was free, because pages of other sites hang",
                    )


class Worker:
    """A process that analyses one page at a time. If it has ended, the next page starts another.

    Args:
        order: the first message to the process, see :mod:`.worker`.
        timeout: seconds that one page may take.
    """

    # Extraction libraries keep caches that only grow.
    most_pages = 20_000

    def __init__(self, order: tuple[Any, ...], timeout: float) -> None:
        self._order = order
        self._timeout = timeout
        self._pages = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def has_ended(self) -> bool:
        return self._child is None or self._child.poll() is not None

    async def analyse(self, body: Body) -> PageAnalysis:
        """Return the analysis of a page. If it has a reason, the process may have ended.

        Raises:
            OSError: no process can be started.
        """
        if self.has_ended or self._pages >= self.most_pages:
            self.end()
            await self._start()
        self._pages += 1
        loop = asyncio.get_running_loop()
        begun = loop.time()
        # The process ends itself after the first timeout, unless it was stopped.
        answer = await self._ask(tuple(body), 2 * self._timeout)
        if answer is not None:
            return analysis_of(marshal.loads(answer))  # noqa: S302 - it comes from our own process
        status = self.end()
        if status == -signal.SIGALRM or loop.time() > begun + 2 * self._timeout:
            error = f"no answer within {self._timeout:g} seconds (SIMHASH_TIMEOUT)"
            return PageAnalysis(None, reason="timeout", error=error)
        error = f"the worker process ended with status {status}"
        return PageAnalysis(None, reason="crash", error=error)

    def end(self) -> int | None:
        """End the process, if there is one, and return its status."""
        status = None
        if self._child is not None:
            # First, because a loop that is closed already cannot close the socket.
            self._child.kill()
            status = self._child.wait()
        if self._streams is not None:
            self._streams[1].transport.abort()
        return status

    async def _start(self) -> None:
        """Have a process import all that it needs."""
        parent_end, child_end = socket.socketpair()
        with child_end:
            self._streams = await asyncio.open_unix_connection(sock=parent_end)
            self._child = _start_child(child_end.fileno())
        self._pages = 0
        if await self._ask(self._order, 60.0) is None:  # the machine may be busy
            raise OSError(f"it ended with status {self.end()}")

    async def _ask(self, values: Any, seconds: float) -> bytes | None:
        """Return the answer to a message; None if the process ends, or is killed for its time."""
        assert self._child is not None
        assert self._streams is not None
        reader, writer = self._streams
        # asyncio.wait_for may overlook that it is cancelled.
        alarm = asyncio.get_running_loop().call_later(seconds, self._child.kill)
        try:
            writer.write(marshal.dumps(values))
            size = int.from_bytes(await reader.readexactly(4), "big")
            return await reader.readexactly(size)
        except (ConnectionError, asyncio.IncompleteReadError):
            return None
        finally:
            alarm.cancel()


class Workers:
    """Analyses pages in worker processes; one more starts when a page finds all of them busy.

    All calls come from one event loop, which must run until :meth:`close` has returned.

    Args:
        recipe: from text to fingerprint.
        processes: the number of worker processes; with 0, one thread does their work,
            and no page can be stopped in it.
        timeout: seconds that a worker process may take for one page. A page that has a
            site waits for twice as long at most.
        excerpt_length: characters of the main text that each analysis has with it.
        largest: bytes of the largest page that is analysed; None for no bound.

    Attributes:
        answers: for pages that worker processes analyse, or will.
        processes: the number of worker processes.
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        processes: int,
        timeout: float,
        excerpt_length: int = 0,
        largest: int | None = None,
    ) -> None:
        self.answers: set[asyncio.Future[PageAnalysis]] = set()
        self._recipe = recipe
        self.processes = processes
        self._timeout = timeout
        self._excerpt_length = excerpt_length
        self._largest = largest
        self._order = order_of(recipe, timeout, excerpt_length)
        # Each worker takes no more than two pages that hang.
        self._turns = Turns(patience=2 * processes)
        self._workers: set[asyncio.Task[None]] = set()
        # It starts its thread with the first page.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash-analysis")

    async def analyse(self, body: Body, site: str = "") -> PageAnalysis:
        """Return the analysis of a page or text, which has an error if it failed.

        ``site`` is the registered domain of a page, if it has one.
        """
        if self._largest is not None and len(body.data) > self._largest:
            return PageAnalysis(None, reason="too_large")
        if self.processes:
            return await self._in_process(body, site)
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, analyse_body, body, self._recipe, self._excerpt_length
        )

    async def _in_process(self, body: Body, site: str) -> PageAnalysis:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[PageAnalysis] = loop.create_future()
        self.answers.add(answer)
        try:
            self._turns.put(Job(body, site, answer, self._turns.strikes))
            if len(self._workers) < min(len(self.answers), self.processes):
                self._workers.add(loop.create_task(self._work()))
            return await answer
        finally:
            self.answers.discard(answer)

    async def _work(self) -> None:
        """Answer pages with a worker."""
        task = asyncio.current_task()
        worker = Worker(self._order, self._timeout)
        assert task is not None
        try:
            while True:
                job = await self._turns.take()
                try:
                    job.end(await worker.analyse(job.body))
                    if worker.has_ended:
                        self._turns.strike(job.site)
                except OSError as error:
                    if len(self._workers) > 1:  # the others go on
                        self._turns.put(job)
                        break
                    job.skip(
                        "extractor_error", f"no worker process can be started: {error}"
                    )
        finally:
            worker.end()
            self._workers.discard(task)

    async def close(self) -> None:
        """End the processes and the thread; pages that still wait are given up."""
        for task in self._workers:
            task.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        for answer in self.answers:
            answer.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)


def _start_child(stream: int) -> subprocess.Popen[bytes]:
    """Start a process whose input and output are the socket with this descriptor."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=stream,
        stdout=stream,
        env={
            # numpy starts threads for each core, which takes a third of the start.
            "OPENBLAS_NUM_THREADS": "1",
            **os.environ,
            # An extractor given by import path must be found where the crawl finds it.
            # Python passes over a Path in sys.path, too.
            "PYTHONPATH": os.pathsep.join(
                path or "." for path in sys.path if isinstance(path, str)
            ),
        },
        # Ctrl-C at the terminal is for the crawl, which ends the process when it is
        # done.
        start_new_session=True,
    )
