"""The one thread that talks to the index: what is asked of it at the same time goes together."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from scrapy_simhash.detector import NearDuplicateDetector, Verdict
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, StoreError

logger = logging.getLogger(__name__)

# A batch that fails is lost as a whole, and a shared store serves nobody else meanwhile.
BATCH = 64

T = TypeVar("T")
Asked = TypeVar("Asked")
Caller = TypeVar("Caller")


class IndexThread(Generic[Caller]):
    """Runs claims, and whatever else is asked of the index, one after the other.

    Args:
        detector: decides about pages; the thread closes it.
        answer: called in the thread with the verdicts of each batch, and who asked for them.
        answer_body: called in the thread with who asked for a body, and its fingerprint if the
            index remembers it.
    """

    def __init__(
        self,
        detector: NearDuplicateDetector,
        answer: Callable[[list[tuple[Caller, Verdict]]], None],
        answer_body: Callable[[Caller, Fingerprint | None], None],
    ) -> None:
        self._detector = detector
        self._answer = answer
        self._answer_body = answer_body
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash-index")
        self._bodies: deque[tuple[Callable[[], bytes], Caller]] = deque()
        self._ready: deque[tuple[Arrival, Caller]] = deque()
        self._called = False

    def judge(self, page: Arrival, caller: Caller) -> None:
        """Ask for the verdict on a page: ``skipped`` if the index fails."""
        self._ready.append((page, caller))
        self._call()

    def find_body(self, digest: Callable[[], bytes], caller: Caller) -> None:
        """Ask whether the index remembers a body, whose digest is made in the thread."""
        self._bodies.append((digest, caller))
        self._call()

    def run(self, work: Callable[[], T]) -> Future[T]:
        """Return what ``work`` returns, which runs after the claims that are waiting."""
        return self._thread.submit(work)

    def close(self) -> None:
        """Do what is left, then close the detector."""
        self._thread.submit(self._detector.close)
        self._thread.shutdown()

    def _call(self) -> None:
        # Called once, the thread takes all that is there when it comes.
        if not self._called:
            self._called = True
            self._thread.submit(self._serve)

    def _serve(self) -> None:
        # Before it looks: who comes later calls again.
        self._called = False
        while self._bodies or self._ready:
            # First the bodies: what is not known of them has a longer way to go.
            if asked := _some(self._bodies):
                found = self._find([digest() for digest, _ in asked])
                for (_, caller), fingerprint in zip(asked, found, strict=True):
                    self._answer_body(caller, fingerprint)
            if batch := _some(self._ready):
                verdicts = self._judge([page for page, _ in batch])
                callers = [caller for _, caller in batch]
                self._answer(list(zip(callers, verdicts, strict=True)))

    def _find(self, digests: Sequence[bytes]) -> Sequence[Fingerprint | None]:
        try:
            return self._detector.index.find_bodies(digests)
        except Exception as error:  # noqa: BLE001 - no fault of the index may cost a page
            logger.debug("%d bodies are not looked up: %r", len(digests), error)
            return [None] * len(digests)

    def _judge(self, pages: Sequence[Arrival]) -> list[Verdict]:
        try:
            return self._detector.judge_all(pages)
        except StoreError as error:
            # The index has said so where it matters; this is one line a batch.
            logger.debug("%d pages are let through unchecked: %s", len(pages), error)
        except Exception:  # no fault of the index may cost a page
            if len(pages) > 1:
                return [verdict for page in pages for verdict in self._judge([page])]
            logger.exception("The index fails on %s; let through unchecked", pages[0].key)
        return [Verdict("skipped", page.key, reason="unavailable") for page in pages]


def _some(waiting: deque[Asked]) -> list[Asked]:
    """Take as many as go together."""
    return [waiting.popleft() for _ in range(min(len(waiting), BATCH))]
