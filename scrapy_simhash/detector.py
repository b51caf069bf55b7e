"""Text or HTML in, verdict out: the whole way of a page, without Scrapy.

In a REPL::

    recipe = named_recipe("default")
    index = index_from_url(
        "memory://", recipe=recipe.identity, bits=recipe.bits, distance=recipe.distance
    )
    detector = NearDuplicateDetector(recipe, index)
    detector.check_html(html, key="http://example.com/a").kind  # 'unique'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal

from scrapy_simhash.extraction.excerpt import excerpt
from scrapy_simhash.extraction.extractor import Extraction, extract
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, Claim, Index, Outcome, Page

Kind = Literal["unique", "duplicate", "revisit", "skipped"]

#: Why a page was not compared with anything.
SkipReason = Literal[
    # Nothing to read; a text without a page around it that is below the minimum length.
    "empty",
    "too_short",
    # Asked for by the request's meta, or fetched by a component for itself.
    "opted_out",
    "no_callback",
    # Not a page.
    "status",
    "not_html",
    "too_large",
    # It could not be compared, and is let through.
    "timeout",
    "extractor_error",
    "unavailable",
    "not_repeatable",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a page.

    Attributes:
        kind: ``unique``, ``duplicate``, ``revisit`` (its own key was crawled before) or
            ``skipped`` (not compared with anything).
        key: the page's own key.
        original: for a duplicate, the key of the nearest original.
        distance: for a duplicate, the Hamming distance to it in bits.
        reason: for a skipped page, why.
        fingerprint: the page's fingerprint, if one was computed.
        provisional: for a duplicate, whether no original has been confirmed yet.
        waiting: for a duplicate, whether the index has noted it as waiting on that original.
        handed_back: pages to be crawled again, see :class:`scrapy_simhash.index.Claim`.
        excerpt: of the page's main text, if it was asked for.
    """

    kind: Kind
    key: str
    original: str | None = None
    distance: int | None = None
    reason: SkipReason | None = None
    fingerprint: Fingerprint | None = None
    provisional: bool = False
    waiting: bool = False
    handed_back: tuple[Page, ...] = ()
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """The fingerprint of a page, or the reason why there is none.

    Attributes:
        fingerprint: of the main text; for an exact analysis, a digest of all that tells it apart.
        reason: why there is no fingerprint.
        exact: there is too little running text to tell the page from others of its template, so
            that only a page with the very same text (but for its own address, and ids), title,
            data and (with ``prose``) images repeats it; one with a short text, only on the same
            host.
        excerpt: of the main text, if it was asked for.
    """

    fingerprint: Fingerprint | None
    reason: SkipReason | None = None
    exact: bool = False
    excerpt: str = ""

    @property
    def of_any_address(self) -> bool:
        """Whether the same body at another address has the same analysis."""
        return not self.exact and self.reason != "too_short"


def analyse_html(
    html: str, recipe: Recipe, url: str | None = None, excerpt_length: int = 0
) -> PageAnalysis:
    """Extract the main text of a page and fingerprint it.

    Args:
        html: the decoded page; the caller bounds its size.
        recipe: names the extractor and everything after it.
        url: the page's address; without it a short page repeats none.
        excerpt_length: characters of the main text that the analysis has with it.

    Raises:
        Exception: whatever an extractor given by import path raises.
    """
    extraction = extract(html, recipe.extractor, url=url)
    analysis = analyse_extraction(extraction, recipe)
    return replace(analysis, excerpt=excerpt(extraction.text, excerpt_length))


def analyse_extraction(extraction: Extraction, recipe: Recipe) -> PageAnalysis:
    """Fingerprint what an extractor took from a page; see :func:`analyse_html`."""
    text = extraction.text
    if not text.strip():
        return PageAnalysis(None, "empty")
    fingerprint = recipe.analyse(text).fingerprint
    return PageAnalysis(fingerprint, None if fingerprint else "too_short")


def analyse_text(text: str, recipe: Recipe, excerpt_length: int = 0) -> PageAnalysis:
    """Fingerprint a text, unless it is shorter than the recipe's minimum length."""
    shown = excerpt(text, excerpt_length)
    fingerprint = recipe.analyse(text).fingerprint
    if fingerprint is None:
        return PageAnalysis(None, "too_short", excerpt=shown)
    return PageAnalysis(fingerprint, excerpt=shown)


class NearDuplicateDetector:
    """Decides whether a page repeats one that was seen before.

    Args:
        recipe: from text to fingerprint.
        index: where the originals are; made for the same recipe. The detector closes it.
    """

    def __init__(self, recipe: Recipe, index: Index) -> None:
        self.recipe = recipe
        self.index = index

    def __enter__(self) -> NearDuplicateDetector:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def check_html(self, html: str, *, key: str, scope: str = "") -> Verdict:
        """Return the verdict on a page; a unique one is confirmed at once."""
        return self._settled(analyse_html(html, self.recipe, url=key), key, scope)

    def check_text(self, text: str, *, key: str, scope: str = "") -> Verdict:
        """Return the verdict on a text; a unique one is confirmed at once."""
        return self._settled(analyse_text(text, self.recipe), key, scope)

    def _settled(self, analysis: PageAnalysis, key: str, scope: str) -> Verdict:
        verdict = self.judge(analysis, key=key, scope=scope)
        if verdict.kind in ("unique", "revisit"):
            self.index.confirm([key])
        return verdict

    def judge(
        self, analysis: PageAnalysis, *, key: str, scope: str = "", request: str | None = None
    ) -> Verdict:
        """Claim an analysed page's place in the index.

        A unique page is provisional until ``index.confirm`` or ``index.release``.

        Args:
            analysis: from :func:`analyse_html` or :func:`analyse_text`.
            key: what names the page.
            scope: pages of different scopes are never compared.
            request: enough to crawl the page again, see :meth:`scrapy_simhash.index.Index.claim`.
        """
        if analysis.fingerprint is None:
            return Verdict("skipped", key, reason=analysis.reason)
        return self.judge_all([Arrival(key, analysis.fingerprint, scope, request)])[0]

    def judge_all(self, arrivals: Sequence[Arrival]) -> list[Verdict]:
        """Claim the places of several pages at once; see :meth:`judge`."""
        claims = self.index.claim_all(arrivals)
        return [_verdict(page, claim) for page, claim in zip(arrivals, claims, strict=True)]

    def close(self) -> None:
        """Close the index."""
        self.index.close()


def _verdict(page: Arrival, claim: Claim) -> Verdict:
    if claim.outcome is Outcome.DUPLICATE:
        nearest = claim.matches[0]
        return Verdict(
            "duplicate",
            page.key,
            original=nearest.key,
            distance=nearest.distance,
            fingerprint=page.fingerprint,
            provisional=all(match.provisional for match in claim.matches),
            waiting=claim.waiting,
        )
    kind: Kind = "unique" if claim.outcome is Outcome.ORIGINAL else "revisit"
    return Verdict(kind, page.key, fingerprint=page.fingerprint, handed_back=claim.handed_back)
