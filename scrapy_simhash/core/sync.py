"""Analyses, and the verbs of :class:`.Dedup`, without ``await``: for scripts and threads."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Coroutine, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from scrapy_simhash.core.analysis import Body, PageAnalysis
from scrapy_simhash.core.dedup import Dedup, settling
from scrapy_simhash.core.verdict import Document, Verdict
from scrapy_simhash.core.workers import Workers
from scrapy_simhash.fingerprint.recipe import Recipe

T = TypeVar("T")


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="simhash", daemon=True)

    def __enter__(self) -> _LoopThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result()


class SyncDedup:
    """A :class:`.Dedup` on an event loop in a thread of its own, which renews leases meanwhile.

    Any number of threads may call it. Arguments, and what its methods do, are those of Dedup::

        with SyncDedup("sqlite:///pages.sqlite") as dedup:
            with dedup.page(Document(url, html)) as verdict:
                ...  # delivered at the end of this block, failed if it raises
    """

    def __init__(self, url: str = "memory://", **options: Any) -> None:
        self._dedup = Dedup(url, **options)
        self._thread = _LoopThread()

    def __enter__(self) -> SyncDedup:
        self._thread.__enter__()
        self._thread.run(self._dedup.__aenter__())
        return self

    def __exit__(self, error: object, *_: object) -> None:
        try:
            self._thread.run(self._dedup.__aexit__(error))
        finally:
            self._thread.__exit__()

    @contextmanager
    def page(self, document: Document, *, wait: bool = True) -> Iterator[Verdict]:
        """See :meth:`.Dedup.page`; a copy must not wait in the block of its own original."""
        checked = self.check(document, wait=wait)
        with settling(checked, self.delivered, self.failed) as verdict:
            yield verdict

    def check(self, document: Document, *, wait: bool = True) -> Verdict:
        return self._thread.run(self._dedup.check(document, wait=wait))

    def delivered(self, key: str) -> None:
        self._thread.loop.call_soon_threadsafe(self._dedup.delivered, key)

    def failed(self, key: str) -> None:
        self._thread.loop.call_soon_threadsafe(self._dedup.failed, key)


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

    A page that fails, or has more than ``largest`` bytes, has a reason instead of a fingerprint.
    """
    workers = Workers(recipe, processes=processes, timeout=timeout, excerpt_length=excerpt_length)

    async def analyse(body: Body) -> PageAnalysis:
        if largest is not None and len(body.data) > largest:
            return PageAnalysis(None, reason="too_large")
        return await workers.analyse(body)

    running = deque[tuple[T, Future[PageAnalysis]]]()
    with _LoopThread() as thread:
        try:
            for name, body in pages:
                running.append((name, thread.begin(analyse(body))))
                if len(running) > 16 * max(processes, 1):
                    first, analysis = running.popleft()
                    yield first, analysis.result()
            while running:
                first, analysis = running.popleft()
                yield first, analysis.result()
        finally:
            thread.run(workers.close())
            wait([analysis for _, analysis in running])
