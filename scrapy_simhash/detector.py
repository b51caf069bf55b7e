"""Text or HTML in, verdict out: the whole way of a page, without Scrapy.

In a REPL::

    recipe = named_recipe("default")
    detector = NearDuplicateDetector(recipe, open_index("memory://", spec_of(recipe)))
    detector.check_html(html, key="http://example.com/a").kind  # 'unique'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scrapy_simhash.analysis.page import PageAnalysis, analyse_html, analyse_text
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.rule import FAR, Rule
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    DEFAULT_LEASE,
    Arrival,
    Claim,
    Index,
    IndexSpec,
    Match,
    Outcome,
)

Kind = Literal["unique", "duplicate", "revisit", "skipped"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a page.

    Attributes:
        kind: ``unique``, ``duplicate``, ``revisit`` (its own key was crawled before) or
            ``skipped`` (not compared with any other page).
        key: the page's own key.
        reason: for a duplicate, the reason of the rule, see
            :data:`scrapy_simhash.fingerprint.rule.REASONS`; for a skipped page, see
            :data:`scrapy_simhash.analysis.page.SkipReason`.
        fingerprint: the page's fingerprint; None if there is none, because the page was skipped
            before it had one.
        matches: for a duplicate, the originals that it repeats, the nearest first; at least one.
        near: originals within the distance that are other pages by the rule, the nearest first.
        excerpt: of the page's main text; empty if none was asked for.
    """

    kind: Kind
    key: str
    reason: str | None = None
    fingerprint: Fingerprint | None = None
    matches: tuple[Match, ...] = ()
    near: tuple[Match, ...] = ()
    excerpt: str = ""

    @property
    def original(self) -> str | None:
        """For a duplicate, the key of the nearest original."""
        return self.matches[0].key if self.matches else None

    @property
    def distance(self) -> int | None:
        """For a duplicate, the Hamming distance to the nearest original in bits."""
        return self.matches[0].distance if self.matches else None

    @property
    def provisional(self) -> bool:
        """For a duplicate, whether no original of it has been confirmed yet."""
        return bool(self.matches) and all(match.provisional for match in self.matches)


def spec_of(recipe: Recipe, *, lease: float = DEFAULT_LEASE, spider: str = "") -> IndexSpec:
    """Return how an index for a recipe is opened; see :class:`.IndexSpec`."""
    return IndexSpec(
        recipe=recipe.identity,
        bits=recipe.bits,
        distance=recipe.distance,
        blocks=recipe.blocks.count,
        lease=lease,
        spider=spider,
        judge=Rule(recipe.distance),
        reach=recipe.reach,
    )


def verdict_of(arrival: Arrival, claim: Claim, excerpt: str = "") -> Verdict:
    """Return the verdict that follows from a claim."""
    key, fingerprint = arrival.key, arrival.fingerprint
    near = tuple(match for match in claim.near if match.reason != FAR)
    if claim.outcome is Outcome.DUPLICATE:
        reason = claim.matches[0].reason
        return Verdict("duplicate", key, reason, fingerprint, claim.matches, near, excerpt)
    kind: Kind = "unique" if claim.outcome is Outcome.ORIGINAL else "revisit"
    return Verdict(kind, key, None, fingerprint, (), near, excerpt)


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
