"""The filter over saved pages: which pages stay, and which are copies of which."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

from scrapy_simhash.analysis.page import Body, PageAnalysis, text_body
from scrapy_simhash.analysis.pool import analyse_all
from scrapy_simhash.detector import NearDuplicateDetector
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index import Arrival
from scrapy_simhash.keys import Scope, page_scope
from scrapy_simhash.offline.pages import SavedPage

# Pages that claim their places together.
_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a saved page.

    Attributes:
        key: names the page in the index.
        kept: whether the page stays.
        verdict: ``unique``, ``duplicate``, ``revisit`` (the index has it already) or ``skipped``.
        original: for a duplicate, the key of the page that it repeats.
        distance: for a duplicate, in bits.
        reason: for a duplicate, the reason of the rule; for a skipped page, which is kept, why it
            was not compared.
    """

    key: str
    kept: bool
    verdict: str
    original: str | None = None
    distance: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the analysis of a page.

    Attributes:
        processes: worker processes; 0 for a thread, in which no page can be stopped.
        timeout: seconds that a page may take; then it is not compared.
        largest: bytes of a page; larger ones are not compared.
    """

    processes: int
    timeout: float
    largest: int


def analyses(
    pages: Iterable[SavedPage], recipe: Recipe, limits: Limits
) -> Generator[tuple[SavedPage, PageAnalysis], None, None]:
    """Yield pages with their analyses, in their order."""
    waiting: deque[SavedPage] = deque()

    def bodies() -> Iterator[Body]:
        for page in pages:
            waiting.append(page)
            is_text = page.body is None
            yield text_body(page.text or "") if is_text else Body(page.body or b"", page.declared)

    made = analyse_all(
        bodies(),
        recipe,
        processes=limits.processes,
        timeout=limits.timeout,
        largest=limits.largest,
    )
    with contextlib.closing(made):
        for analysis in made:
            yield waiting.popleft(), analysis


def decide(
    analysed: Iterable[tuple[SavedPage, PageAnalysis]],
    detector: NearDuplicateDetector,
    scope: Scope,
) -> Iterator[Decision]:
    """Yield the decision on each page, in their order; originals are confirmed.

    A second page of the same key that is near the first is not kept either.

    Raises:
        StoreError: the index fails.
    """
    seen: set[str] = set()
    pages = iter(analysed)
    while some := list(itertools.islice(pages, _TOGETHER)):
        arrivals = [
            Arrival(
                page.key,
                analysis.fingerprint,
                page_scope(page.url or "", scope),
                analysis.facts,
            )
            for page, analysis in some
            if analysis.fingerprint is not None
        ]
        verdicts = iter(detector.judge_all(arrivals))
        new: list[str] = []
        for page, analysis in some:
            key = page.key
            if analysis.fingerprint is None:
                yield Decision(key, True, "skipped", reason=analysis.reason)
                continue
            verdict = next(verdicts)
            kept = verdict.kind != "duplicate"
            decision = Decision(
                key, kept, verdict.kind, verdict.original, verdict.distance, verdict.reason
            )
            if verdict.kind == "revisit" and key in seen:
                decision = Decision(key, False, "duplicate", original=key, distance=0)
            if kept:
                new.append(key)
            seen.add(key)
            yield decision
        detector.index.confirm(new)
