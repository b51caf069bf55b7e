"""The verbs of :class:`.Dedup` without ``await``, for scripts and threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from scrapy_simhash.core.dedup import Dedup, settling
from scrapy_simhash.core.verdict import Document, Verdict

T = TypeVar("T")


class LoopThread:
    """A thread with an event loop, which runs within the ``with`` block."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        run = self.loop.run_forever
        self._thread = threading.Thread(target=run, name="simhash", daemon=True)

    def __enter__(self) -> LoopThread:
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
    """A :class:`.Dedup` on the event loop of another thread, which also renews leases.

    Any number of threads may call it. Dedup describes the arguments and methods::

        with SyncDedup("sqlite:///pages.sqlite") as dedup:
            with dedup.page(Document(url, html)) as verdict:
                ...  # delivered at the end of this block, failed if it raises
    """

    def __init__(self, url: str = "memory://", **options: Any) -> None:
        self._dedup = Dedup(url, **options)
        self._thread = LoopThread()

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
        """See :meth:`.Dedup.page`; a copy must not wait within the block of its original."""
        checked = self.check(document, wait=wait)
        with settling(checked, self.delivered, self.failed) as verdict:
            yield verdict

    def check(self, document: Document, *, wait: bool = True) -> Verdict:
        return self._thread.run(self._dedup.check(document, wait=wait))

    def delivered(self, key: str) -> None:
        self._thread.loop.call_soon_threadsafe(self._dedup.delivered, key)

    def failed(self, key: str) -> None:
        self._thread.loop.call_soon_threadsafe(self._dedup.failed, key)
