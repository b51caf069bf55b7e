"""The verbs of :class:`.Dedup` without ``await``, for scripts, notebooks and threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from scrapy_simhash.core.dedup import Dedup, settling
from scrapy_simhash.core.verdict import Document, Verdict

T = TypeVar("T")


class SyncDedup:
    """A :class:`.Dedup` on an event loop in a thread of its own, which renews leases meanwhile.

    Any number of threads may call it. Arguments, and what its methods do, are those of Dedup::

        with SyncDedup("sqlite:///pages.sqlite") as dedup:
            with dedup.page(Document(url, html)) as verdict:
                ...  # delivered at the end of this block, failed if it raises
    """

    def __init__(self, url: str = "memory://", **options: Any) -> None:
        self._dedup = Dedup(url, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="simhash", daemon=True)

    def __enter__(self) -> SyncDedup:
        self._thread.start()
        self._run(self._dedup.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._run(self._dedup.close())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @contextmanager
    def page(self, document: Document, *, wait: bool = True) -> Iterator[Verdict]:
        """See :meth:`.Dedup.page`; a copy must not wait in the block of its own original."""
        found = self.check(document, wait=wait)
        with settling(found, self.delivered, self.failed) as verdict:
            yield verdict

    def check(self, document: Document, *, wait: bool = True) -> Verdict:
        return self._run(self._dedup.check(document, wait=wait))

    def delivered(self, key: str) -> None:
        self._loop.call_soon_threadsafe(self._dedup.delivered, key)

    def failed(self, key: str) -> None:
        self._loop.call_soon_threadsafe(self._dedup.failed, key)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
