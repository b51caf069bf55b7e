"""Precision and recall of recipes on labelled pages, over all pairs, as a crawl judges them.

In a REPL::

    dataset = read_dataset("sets/news")
    for result in evaluate(dataset, [named_recipe("default"), named_recipe("classic")]):
        score = result.judgement.score
        print(result.name, score.precision, score.recall, score.f1)
"""

from __future__ import annotations

import logging
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Any

from scrapy_simhash.detector import PageAnalysis, analyse_extraction, analyse_text
from scrapy_simhash.extraction.extractor import Extraction, extract
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.datasets import Dataset, Document
from scrapy_simhash.offline.evaluation.layouts import LayoutRecall, layout_recall
from scrapy_simhash.offline.evaluation.pairs import Fingerprints
from scrapy_simhash.offline.evaluation.rivals import Rival
from scrapy_simhash.offline.evaluation.scores import Judgement, judge

__all__ = ["Analysed", "Result", "analyse_document", "evaluate"]

logger = logging.getLogger(__name__)

#: Called with how many documents are done, and how many there are.
Progress = Callable[[int, int], None]

#: Layouts are measured for an index of as many pages as the set has, and of so many.
LARGE_INDEX = 1_000_000

_DOCUMENTS_PER_TASK = 8


@dataclass(frozen=True, slots=True)
class Result:
    """A recipe, or a rival, on a set.

    Attributes:
        dataset: the name of the set.
        name: of the recipe or rival.
        method: the recipe's identity, or how the rival is used.
        distance: k; None if the method has none.
        documents: how many.
        skipped: those that match nothing, by reason.
        exact: those that match only the very same page.
        judgement: how right it is.
        layouts: the recall of index layouts; empty for rivals.
        bytes_per_page: of a fingerprint or sketch.
        extraction_ms: CPU time a page, median; None for texts.
        fingerprint_ms: CPU time a page from its text on, median; None if no text was looked at.
    """

    dataset: str
    name: str
    method: str
    distance: int | None
    documents: int
    skipped: dict[str, int]
    exact: int
    judgement: Judgement
    layouts: list[LayoutRecall]
    bytes_per_page: int
    extraction_ms: float | None
    fingerprint_ms: float | None


@dataclass(frozen=True, slots=True)
class Analysed:
    """A document under several recipes and rivals.

    Attributes:
        analyses: by each recipe.
        sketches: by each rival; None where there is no text.
        extraction_ms: CPU time of each recipe's extractor; None for a text.
        fingerprint_ms: CPU time from the text on, of each recipe and then of each rival; None
            where there is no text.
    """

    analyses: list[PageAnalysis]
    sketches: list[Any]
    extraction_ms: list[float | None]
    fingerprint_ms: list[float | None]


def evaluate(
    dataset: Dataset,
    recipes: Sequence[Recipe],
    rivals: Sequence[Rival] = (),
    *,
    processes: int = 1,
    progress: Progress | None = None,
    listed: int = 20,
) -> list[Result]:
    """Judge recipes, and rivals, on the same documents.

    Args:
        dataset: the set.
        recipes: at least one; rivals get the text that the first one's extractor takes.
        rivals: of ``scrapy_simhash.offline.evaluation.rivals.RIVALS``, those that are installed.
        processes: that extract and fingerprint.
        progress: called after each document.
        listed: how many false pairs, and how many missed ones, are named at most.

    Returns:
        the results of the recipes, then of the rivals, each in their order.
    """
    rows: list[Analysed] = []
    for row in _analysed(dataset.documents, recipes, rivals, processes):
        rows.append(row)
        if progress:
            progress(len(rows), len(dataset.documents))
    duplicates = _duplicates(dataset)
    results: list[Result] = []
    for number, recipe in enumerate(recipes):
        analyses = [row.analyses[number] for row in rows]
        fingerprints = [analysis.fingerprint for analysis in analyses]
        comparison = Fingerprints.of(fingerprints, recipe.bits)
        notes = ["exact" if analysis.exact else analysis.reason for analysis in analyses]
        pairs = [
            (one, other)
            for a, b in duplicates
            if (one := fingerprints[a]) and (other := fingerprints[b])
        ]
        results.append(
            Result(
                dataset=dataset.name,
                name=recipe.name,
                method=recipe.identity,
                distance=recipe.distance,
                documents=len(rows),
                skipped=dict(Counter(a.reason for a in analyses if a.reason is not None)),
                exact=sum(analysis.exact for analysis in analyses),
                judgement=judge(dataset, comparison, recipe.distance, listed, notes),
                layouts=[layout_recall(pairs, recipe, pages) for pages in (len(rows), LARGE_INDEX)],
                bytes_per_page=recipe.bits // 8,
                extraction_ms=_median(row.extraction_ms[number] for row in rows),
                fingerprint_ms=_median(row.fingerprint_ms[number] for row in rows),
            )
        )
    for number, rival in enumerate(rivals):
        sketches = [row.sketches[number] for row in rows]
        empty = sum(sketch is None for sketch in sketches)
        results.append(
            Result(
                dataset=dataset.name,
                name=rival.name,
                method=rival.note,
                distance=rival.distance,
                documents=len(rows),
                skipped={"empty": empty} if empty else {},
                exact=0,
                judgement=judge(dataset, rival.compare(sketches), rival.distance or 0, listed),
                layouts=[],
                bytes_per_page=rival.size,
                extraction_ms=results[0].extraction_ms,
                fingerprint_ms=_median(row.fingerprint_ms[len(recipes) + number] for row in rows),
            )
        )
    return results


def analyse_document(
    document: Document, recipes: Sequence[Recipe], rivals: Sequence[Rival] = ()
) -> Analysed:
    """Extract a document's text once for each extractor, and fingerprint it by each method."""
    extractions: dict[str, tuple[Extraction | None, float | None]] = {}
    analysed = Analysed([], [], [], [])
    for recipe in recipes:
        if recipe.extractor not in extractions:
            extractions[recipe.extractor] = _extract(document, recipe.extractor)
        extraction, extraction_ms = extractions[recipe.extractor]
        analysed.extraction_ms.append(extraction_ms)
        begun = time.process_time()
        analysed.analyses.append(_analyse(document, extraction, recipe))
        analysed.fingerprint_ms.append(_since(begun) if extraction else None)
    extraction, _ = extractions[recipes[0].extractor]
    for rival in rivals:
        begun = time.process_time()
        sketch = rival.sketch(extraction.text) if extraction and extraction.text.strip() else None
        analysed.sketches.append(sketch)
        analysed.fingerprint_ms.append(None if sketch is None else _since(begun))
    return analysed


def _extract(document: Document, extractor: str) -> tuple[Extraction | None, float | None]:
    if document.html is None:
        return Extraction(document.text or ""), None
    begun = time.process_time()
    try:
        extraction = extract(document.html, extractor, url=document.url)
    except Exception as error:  # noqa: BLE001 - a crawl lets the page through, whatever it is
        logger.warning("%s failed on %s: %r", extractor, document.id, error)
        return None, None
    return extraction, _since(begun)


def _analyse(document: Document, extraction: Extraction | None, recipe: Recipe) -> PageAnalysis:
    if extraction is None:
        return PageAnalysis(None, "extractor_error")
    if document.html is None:
        return analyse_text(extraction.text, recipe)
    return analyse_extraction(extraction, recipe)


def _analysed(
    documents: Sequence[Document],
    recipes: Sequence[Recipe],
    rivals: Sequence[Rival],
    processes: int,
) -> Iterator[Analysed]:
    analyse = partial(analyse_document, recipes=recipes, rivals=rivals)
    if processes == 1:
        yield from map(analyse, documents)
        return
    # Spawned, not forked: whoever calls may have threads.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        # Ctrl-C at the terminal is for this process: the others inherit that it is blocked.
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            analysed = pool.map(analyse, documents, chunksize=_DOCUMENTS_PER_TASK)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        # Closed early, it cancels what has not begun.
        yield from analysed


def _duplicates(dataset: Dataset) -> list[tuple[int, int]]:
    number = {document.id: index for index, document in enumerate(dataset.documents)}
    pairs = dataset.pairs.items()
    return [(number[a], number[b]) for (a, b), known in pairs if known.label == "duplicate"]


def _since(begun: float) -> float:
    return 1000 * (time.process_time() - begun)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
