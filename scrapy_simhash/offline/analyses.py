"""Analyses of many bodies, for programs that do not crawl."""

import os
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, wait
from typing import TypeVar

from scrapy_simhash.core.analysis import Body, PageAnalysis
from scrapy_simhash.core.sync import LoopThread
from scrapy_simhash.core.workers import Workers
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.interrupts import uninterrupted

T = TypeVar("T")


def analyse_all(
    pages: Iterable[tuple[T, Body]],
    recipe: Recipe,
    *,
    processes: int = os.cpu_count() or 1,
    timeout: float = 60.0,
    excerpt_length: int = 0,
    largest: int | None = None,
) -> Generator[tuple[T, PageAnalysis], None, None]:
    """Yield pages with their analyses, in their order.

    A page that fails, or has more than ``largest`` bytes, has a reason instead of a
    fingerprint.
    """
    workers = Workers(
        recipe,
        processes=processes,
        timeout=timeout,
        excerpt_length=excerpt_length,
        largest=largest,
    )
    running = deque[tuple[T, Future[PageAnalysis]]]()
    with LoopThread() as thread:
        try:
            for name, body in pages:
                with uninterrupted():  # a coroutine that does not begin is a warning
                    running.append((name, thread.begin(workers.analyse(body))))
                if len(running) > 16 * max(processes, 1):
                    first, analysis = running.popleft()
                    yield first, analysis.result()
            for first, analysis in running:
                yield first, analysis.result()
        finally:
            with uninterrupted():
                thread.run(workers.close())
                wait([analysis for _, analysis in running])
