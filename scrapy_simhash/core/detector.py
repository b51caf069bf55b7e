"""Text or HTML in, verdict out: the whole way of a page, without Scrapy.

In a REPL::

    recipe = named_recipe("default")
    detector = NearDuplicateDetector(recipe, open_index("memory://", spec_of(recipe)))
    detector.check_html(html, key="http://example.com/a").kind  # 'unique'
"""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_simhash.core.analysis import PageAnalysis, analyse_html, analyse_text
from scrapy_simhash.core.verdict import Verdict, verdict_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index.contract import Arrival, Index


class NearDuplicateDetector:
    """Decides whether a page repeats one that was seen before.

    Every method raises :class:`.StoreError` if the index cannot be used, and ValueError for a key
    or a scope with a lone surrogate, or for an index of another width. Callers bound the size of a
    page, because time and memory grow with it.

    Args:
        recipe: from text to fingerprint.
        index: where the originals are; made for the same recipe. Whoever opened it closes it.
    """

    def __init__(self, recipe: Recipe, index: Index) -> None:
        self.recipe = recipe
        self.index = index

    def check_html(self, html: str, *, key: str, scope: str = "") -> Verdict:
        """Return the verdict on a page; a unique one, and a revisit, is confirmed at once.

        Args:
            html: the decoded page.
            key: names the page. If keys are URLs, the rule knows which pages are of one site.
            scope: pages of different scopes never match.

        Raises:
            ValueError: the recipe's extractor does not exist.
            Exception: whatever an extractor given by import path raises.
        """
        return self._settled(analyse_html(html, self.recipe), key, scope)

    def check_text(self, text: str, *, key: str, scope: str = "") -> Verdict:
        """Return the verdict on a text, by distance alone; see :meth:`check_html`."""
        return self._settled(analyse_text(text, self.recipe), key, scope)

    def _settled(self, analysis: PageAnalysis, key: str, scope: str) -> Verdict:
        if analysis.fingerprint is None:
            return Verdict("skipped", key, analysis.reason)
        arrival = Arrival(key, analysis.fingerprint, scope, analysis.facts)
        (verdict,) = self.judge_all([arrival])
        if verdict.kind != "duplicate":
            self.index.confirm([key])
        return verdict

    def judge_all(self, arrivals: Sequence[Arrival]) -> list[Verdict]:
        """Claim the places of several pages at once; return a verdict for each, in their order.

        A unique page, or a revisit of one in progress, is provisional until ``index.confirm`` or
        ``index.release``, or until its lease has run out.
        """
        claims = self.index.claim_all(arrivals)
        return [verdict_of(page, claim) for page, claim in zip(arrivals, claims, strict=True)]
