"""Precision and recall of a recipe on labelled pages, and what a crawl of them would lose.

In a REPL::

    result = evaluate(read_dataset("sets/news"), named_recipe("default"))
    print(result.score.precision, result.score.recall, result.file_order.wrong_per_thousand)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from scrapy_simhash.analysis.page import Body, PageAnalysis, text_body
from scrapy_simhash.analysis.pool import analyse_all
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.rule import Rule
from scrapy_simhash.index.contract import Judge
from scrapy_simhash.offline.datasets import Dataset, Document
from scrapy_simhash.offline.evaluation.pairs import Fingerprints
from scrapy_simhash.offline.evaluation.scores import Near, Result, scored

__all__ = ["Result", "evaluate", "judged_pairs"]

_TIMEOUT = 60.0  # seconds a page


def evaluate(
    dataset: Dataset,
    recipe: Recipe,
    *,
    processes: int = 1,
    progress: Callable[[], object] | None = None,
    listed: int = 20,
) -> Result:
    """Judge all pairs of a set as a crawl judges them: by distance, and then by the rule.

    Args:
        dataset: the set.
        recipe: that is measured.
        processes: that extract and fingerprint.
        progress: called after each document.
        listed: how many wrong pairs, missed ones and wrong drops are named at most.
    """
    analyses: list[PageAnalysis] = []
    bodies = map(_body, dataset.documents)
    for analysis in analyse_all(bodies, recipe, processes=processes, timeout=_TIMEOUT):
        analyses.append(analysis)
        if progress:
            progress()
    skipped = Counter(str(analysis.reason) for analysis in analyses if analysis.reason)
    near = judged_pairs(dataset.documents, analyses, recipe, Rule(recipe.distance))
    facts = [analysis.facts for analysis in analyses]
    return scored(dataset, recipe, near, facts, dict(skipped), listed)


def judged_pairs(
    documents: Sequence[Document],
    analyses: Sequence[PageAnalysis],
    recipe: Recipe,
    judge: Judge,
) -> list[Near]:
    """Return the pairs within the recipe's distance, the nearest first, each with its ruling.

    Args:
        documents: of a set.
        analyses: of these documents, in their order.
        recipe: that made the fingerprints.
        judge: that rules on each pair.
    """
    fingerprints = Fingerprints.of([analysis.fingerprint for analysis in analyses], recipe.bits)
    _, pairs = fingerprints.scan(recipe.distance)
    keys = [key_of(document) for document in documents]
    return [
        Near(
            pair, distance, judge(keys[a], analyses[a].facts, keys[b], analyses[b].facts, distance)
        )
        for pair, distance in pairs
        for a, b in (pair,)
    ]


def key_of(document: Document) -> str:
    """Return what names a document to the rule: its address, or its id."""
    return document.url or document.id


def _body(document: Document) -> Body:
    if document.html is None:
        return text_body(document.text or "")
    return Body(document.html.encode("utf-8", "replace"), "utf-8")
