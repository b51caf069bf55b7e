"""The threads that have pages analysed, each by a worker process of its own.

A thread gives its process the next page before it has answered the last one, so that the process
never waits for a crawl that is busy with something else.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias

import xxhash

from scrapy_simhash.analysis.worker import Body, PageFailed, WorkerProcess, analyse_body
from scrapy_simhash.detector import PageAnalysis
from scrapy_simhash.fingerprint.recipe import Recipe

# An analysis has 1.2 kB at 256 bits.
REMEMBERED = 2000

#: A response's body, or what analyses anything else.
Job: TypeAlias = Body | Callable[[], PageAnalysis]
#: Called in a thread of the analysis, with what an exception says if there was one.
Done: TypeAlias = Callable[[PageAnalysis | Exception], None]


class AnalysisThreads:
    """Analyses pages away from the event loop, and equal bodies only once.

    Args:
        recipe: from text to fingerprint.
        processes: how many worker processes; with 0, one thread does their work.
        timeout: seconds that a process may take for one page.
        excerpt_length: characters of the main text that each analysis has with it.
    """

    def __init__(
        self, recipe: Recipe, *, processes: int, timeout: float, excerpt_length: int = 0
    ) -> None:
        self._recipe = recipe
        self._processes = processes
        self._timeout = timeout
        self._excerpt_length = excerpt_length
        self._jobs: SimpleQueue[tuple[Job, Done] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._seen = _Seen()

    def analyse(self, job: Job, done: Done) -> None:
        """Have a page analysed; ``done`` gets the analysis, or what went wrong. From any thread."""
        with self._starting:
            while len(self._threads) < max(1, self._processes):
                # As daemons, they do not keep a crawl that is broken off from ending.
                thread = threading.Thread(target=self._run, name="simhash", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._jobs.put((job, done))

    def take_repeats(self) -> int:
        """Return how many bodies had been analysed before, since this was last asked."""
        return self._seen.take_repeats()

    def close(self) -> None:
        """Do what is left, then end threads and processes."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        if not self._processes:
            while (job := self._jobs.get()) is not None:
                self._answer(*job)
            return
        worker = WorkerProcess(self._recipe, self._timeout, self._excerpt_length)
        try:
            self._keep_busy(worker)
        finally:
            worker.close()

    def _keep_busy(self, worker: WorkerProcess) -> None:
        sent: deque[tuple[bytes, Done]] = deque()
        go_on = True
        while go_on or sent:
            if go_on and worker.ready:
                try:
                    job = self._jobs.get(block=not sent)
                except Empty:
                    pass
                else:
                    if job is None:
                        go_on = False
                    else:
                        self._begin(worker, *job, sent)
                    continue
            digest, done = sent.popleft()
            try:
                analysis = worker.receive()
            except PageFailed as error:
                done(error)
            else:
                self._seen.note(digest, analysis)
                done(analysis)

    def _begin(
        self, worker: WorkerProcess, job: Job, done: Done, sent: deque[tuple[bytes, Done]]
    ) -> None:
        if not isinstance(job, Body):
            self._answer(job, done)
            return
        digest = self._seen.digest(job)
        if (analysis := self._seen.find(digest)) is not None:
            done(analysis)
            return
        try:
            worker.send(job)
        except PageFailed as error:
            done(error)
        else:
            sent.append((digest, done))

    def _answer(self, job: Job, done: Done) -> None:
        """Analyse a page in this thread."""
        try:
            if isinstance(job, Body):
                digest = self._seen.digest(job)
                analysis = self._seen.find(digest)
                if analysis is None:
                    analysis = analyse_body(*job, self._recipe, self._excerpt_length)
                    self._seen.note(digest, analysis)
            else:
                analysis = job()
        except Exception as error:  # noqa: BLE001 - the caller logs it
            done(error)
        else:
            done(analysis)


class _Seen:
    """The analyses of the bodies that came last, as far as the address plays no part in them."""

    def __init__(self) -> None:
        # A page that is made to be taken for another one would have to know it.
        self._seed = secrets.randbits(64)
        self._lock = threading.Lock()
        self._analyses: OrderedDict[bytes, PageAnalysis] = OrderedDict()
        self._repeats = 0

    def digest(self, page: Body) -> bytes:
        """Return what stands for the body and the charset that it is said to have."""
        state = xxhash.xxh3_128(page.body, seed=self._seed)
        state.update(f"\0{page.declared}".encode())
        return state.digest()

    def find(self, digest: bytes) -> PageAnalysis | None:
        """Return the analysis of an equal body, if it was noted, and count it."""
        with self._lock:
            analysis = self._analyses.get(digest)
            if analysis is not None:
                self._analyses.move_to_end(digest)
                self._repeats += 1
            return analysis

    def note(self, digest: bytes, analysis: PageAnalysis) -> None:
        """Keep an analysis, unless it depends on the address of its page."""
        if not analysis.of_any_address:
            return
        with self._lock:
            self._analyses[digest] = analysis
            if len(self._analyses) > REMEMBERED:
                self._analyses.popitem(last=False)

    def take_repeats(self) -> int:
        """Return how many analyses were found since this was last asked."""
        with self._lock:
            repeats, self._repeats = self._repeats, 0
            return repeats
