"""Analyses of many pages, for programs that do not crawl."""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, wait

from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.core.sync import LoopThread
from scrapy_simhash.core.workers import Workers
from scrapy_simhash.offline.interrupts import uninterrupted
from scrapy_simhash.offline.saved_pages import Analysed, SavedPage


def analyse_all(
    pages: Iterable[SavedPage], workers: Workers
) -> Generator[Analysed, None, None]:
    """Yield pages with their analyses, in their order, and close the workers.

    A page that fails, or is too large, has a reason instead of a fingerprint.
    """
    running = deque[tuple[SavedPage, Future[PageAnalysis]]]()
    with LoopThread() as thread:
        try:
            for page in pages:
                with uninterrupted():  # a coroutine that does not begin is a warning
                    running.append((page, thread.begin(workers.analyse(page.body))))
                if len(running) > 16 * max(workers.processes, 1):
                    first, analysis = running.popleft()
                    yield first, analysis.result()
            for first, analysis in running:
                yield first, analysis.result()
        finally:
            with uninterrupted():
                thread.run(workers.close())
                wait([analysis for _, analysis in running])
