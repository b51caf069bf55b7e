"""The way of a page from its body to its verdict, off the event loop.

Three may know the verdict without an extraction, each what the others do not: the index remembers
the bodies of originals, of all workers and of long ago, by fingerprint alone; the analysis threads
remember whole analyses of what came last, also of copies and of pages without a fingerprint; and
the index itself knows the page once it claims.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from scrapy_simhash.analysis.pool import AnalysisThreads, Job
from scrapy_simhash.analysis.worker import Body, PageFailed, PageTimeout
from scrapy_simhash.crawl.bodies import body_digest
from scrapy_simhash.crawl.index_thread import IndexThread
from scrapy_simhash.crawl.progress import Deliveries
from scrapy_simhash.detector import NearDuplicateDetector, PageAnalysis, Verdict
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, Index, StoreError
from scrapy_simhash.settings import FilterSettings

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class _Asked:
    """A page on the way to its verdict.

    Attributes:
        digest: what the index may remember its body by; None if it must not.
        repeats: its fingerprint is the one that the index remembers of the body.
    """

    job: Job
    key: str
    scope: str
    request: str | None
    again: bool
    answer: asyncio.Future[Verdict]
    excerpt: str = ""
    digest: bytes | None = None
    repeats: bool = False


class Judge:
    """Has pages analysed and claimed, and hands their verdicts to the event loop.

    Args:
        settings: of the crawl.
        index: that decides; the judge closes it.
        deliveries: get what is handed back when an original is withdrawn.
    """

    def __init__(self, settings: FilterSettings, index: Index, deliveries: Deliveries) -> None:
        self._settings = settings
        self._index = index
        self._deliveries = deliveries
        detector = NearDuplicateDetector(settings.recipe, index)
        self._asker: IndexThread[_Asked] = IndexThread(detector, self._judged, self._looked_up)
        self._analysis = AnalysisThreads(
            settings.recipe,
            processes=settings.processes,
            timeout=settings.timeout,
            excerpt_length=settings.log_text,
        )
        self._repeats = 0

    def ask(
        self, job: Job, *, key: str, scope: str, request: str | None, again: bool = False
    ) -> asyncio.Future[Verdict]:
        """Return what will be the verdict; from the event loop.

        See :meth:`scrapy_simhash.detector.NearDuplicateDetector.judge`.
        """
        answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        asked = _Asked(job, key, scope, request, again, answer)
        # The index has no excerpts. An item, which has no address, claims again and again by its
        # fingerprint while its original is in progress, and that takes margins.
        if isinstance(job, Body) and job.url is not None and not self._settings.log_text:
            self._asker.find_body(partial(self._digest, asked, job), asked)
        else:
            self._analyse(asked)
        return answer

    def run(self, work: Callable[[], T]) -> Future[T]:
        """Return what ``work`` returns, which runs on the index thread."""
        return self._asker.run(work)

    def take_repeats(self) -> int:
        """Return how many bodies were known, since this was last asked; from the event loop."""
        repeats, self._repeats = self._repeats, 0
        return repeats + self._analysis.take_repeats()

    def close(self) -> None:
        """Do what is left, then end threads and processes, and close the index."""
        self._analysis.close()
        self._asker.close()

    # The steps, each on the thread that the one before leads to.

    def _digest(self, asked: _Asked, body: Body) -> bytes:
        asked.digest = body_digest(body, asked.scope, self._settings.recipe)
        return asked.digest

    def _looked_up(self, asked: _Asked, fingerprint: Fingerprint | None) -> None:
        """Go on with a page of whose body the index told, in the index thread."""
        if fingerprint is None:
            self._analyse(asked)
        else:
            asked.repeats = True
            self._claim(asked, fingerprint)

    def _analyse(self, asked: _Asked) -> None:
        self._analysis.analyse(asked.job, partial(self._analysed, asked))

    def _analysed(self, asked: _Asked, analysis: PageAnalysis | Exception) -> None:
        """Go on with a page, in a thread of the analysis."""
        key = asked.key
        if isinstance(analysis, PageAnalysis):
            asked.excerpt = analysis.excerpt
            if not analysis.of_any_address:
                asked.digest = None
            if analysis.fingerprint is not None:
                self._claim(asked, analysis.fingerprint)
                return
            reason = analysis.reason
        elif isinstance(analysis, PageTimeout):
            logger.warning("SIMHASH_TIMEOUT: %s: %s; let through unchecked", key, analysis)
            reason = "timeout"
        else:
            detail = analysis if isinstance(analysis, PageFailed) else repr(analysis)
            logger.error("The extractor failed on %s; let through unchecked: %s", key, detail)
            reason = "extractor_error"
        self._answer([(asked, Verdict("skipped", key, reason=reason))])

    def _claim(self, asked: _Asked, fingerprint: Fingerprint) -> None:
        page = Arrival(asked.key, fingerprint, asked.scope, asked.request, asked.again)
        self._asker.judge(page, asked)

    def _judged(self, answers: list[tuple[_Asked, Verdict]]) -> None:
        """Go on with pages that have claimed, in the index thread."""
        final: list[tuple[_Asked, Verdict]] = []
        bodies: dict[bytes, Fingerprint] = {}
        for asked, verdict in answers:
            if asked.repeats and (verdict.kind == "unique" or verdict.distance):
                self._begin_anew(asked, verdict)
                continue
            final.append((asked, verdict))
            # Without margins, only an original that is just like it is found for sure.
            finds_itself = verdict.kind == "unique" or verdict.distance == 0
            if finds_itself and verdict.fingerprint and asked.digest and not asked.repeats:
                bodies[asked.digest] = verdict.fingerprint
        if final:
            self._answer(final)
        if bodies:
            try:
                self._index.note_bodies(bodies)
            except Exception as error:  # noqa: BLE001 - the next pages wait for their verdicts
                logger.debug("%d bodies are not noted: %r", len(bodies), error)

    def _begin_anew(self, asked: _Asked, verdict: Verdict) -> None:
        """Have a page analysed after all: the original that had its body has gone."""
        asked.repeats = False
        if verdict.kind == "unique":
            # Should it fail, the page will be found to have its place already.
            with contextlib.suppress(StoreError):
                self._deliveries.withdraw(verdict)
        self._analyse(asked)

    def _answer(self, answers: list[tuple[_Asked, Verdict]]) -> None:
        """Hand verdicts to the event loop, from any thread."""
        loop = answers[0][0].answer.get_loop()
        # Once for all of them: each time wakes it up.
        loop.call_soon_threadsafe(self._resolve, answers)

    def _resolve(self, answers: list[tuple[_Asked, Verdict]]) -> None:
        for asked, verdict in answers:
            self._repeats += asked.repeats
            if asked.excerpt:
                verdict = replace(verdict, excerpt=asked.excerpt)
            if not asked.answer.done():
                asked.answer.set_result(verdict)
