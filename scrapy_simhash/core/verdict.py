"""A document, the verdict on it, and the spec of the index that gives the verdict."""

from dataclasses import dataclass
from typing import Any, Literal

from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.values import (
    Arrival,
    Change,
    Claim,
    IndexSpec,
    Match,
    Outcome,
)
from scrapy_simhash.rule.rule import FAR, Rule, is_doubtful

VerdictKind = Literal[Outcome, "skipped"]


@dataclass(frozen=True, slots=True)
class Document:
    """A page or a text that is compared with those before it.

    Attributes:
        url: its final address; the host tells which pages are of one site.
        data: the decompressed body of a response, or its text.
        content_type: the header, which may declare a charset and names the reader. A
            str of plain text is compared whole, like an item. A type without a reader
            is skipped.
        key: the document's name in the index; by default, its canonical URL.
        aliases: other keys of it, by which an earlier run may have known it.
    """

    url: str
    data: bytes | str
    content_type: str = "text/html"
    key: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a page.

    Attributes:
        kind: ``unique``, ``duplicate``, ``revisit`` (its own key was crawled before) or
            ``skipped`` (not compared with any other page).
        key: the page's own key.
        reason: for a duplicate, the reason of the rule, see
            :data:`scrapy_simhash.rule.rule.REASONS`; for a skipped page, see
            :data:`scrapy_simhash.core.analysis.SkipReason`.
        fingerprint: the page's fingerprint; None if the page was skipped before it
            had one.
        matches: for a duplicate, the originals that it repeats, the nearest first; at
            least one.
        near: originals within the distance that are other pages by the rule, the
            nearest first.
        change: for a unique page, what became of it since earlier runs: ``new``,
            ``same``, ``changed`` or ``moved``; None if the store was not asked.
        before: the entry of an earlier run that a page goes on with, which is not new.
        unchanged: True if an earlier run delivered the same text, at this address or
            another; so may a revisit be.
        excerpt: of the page, see :class:`.PageAnalysis`; empty if none was asked for.
        better: for a duplicate, why its address is better than the original's, see
            :func:`scrapy_simhash.better.better`; empty if it is not.
        doubtful: for a duplicate, whether it may be another record than the original,
            see :func:`.is_doubtful`.
        complete: whether the page was compared with all pages near it. If not, there
            were more of them than the index judges.
    """

    kind: VerdictKind
    key: str
    reason: str | None = None
    fingerprint: Fingerprint | None = None
    matches: tuple[Match, ...] = ()
    near: tuple[Match, ...] = ()
    excerpt: str = ""
    change: Change | None = None
    before: Match | None = None
    better: str = ""
    unchanged: bool = False
    doubtful: bool = False
    complete: bool = True

    @property
    def moved_from(self) -> str | None:
        """The key that a moved page had in an earlier run."""
        return self.before.key if self.before and self.change == "moved" else None

    @property
    def owned(self) -> bool:
        """True if the caller has to deliver the page, because it is unique or a revisit."""
        return self.kind in ("unique", "revisit")

    @property
    def original(self) -> str | None:
        """The key of the nearest original of a duplicate."""
        return self.matches[0].key if self.matches else None

    @property
    def distance(self) -> int | None:
        """The bits to the nearest original of a duplicate, else to the page as it was before."""
        match = self.matches[0] if self.matches else self.before
        return match.distance if match else None

    @property
    def provisional(self) -> bool:
        """True for a duplicate of which no original has been confirmed yet."""
        return bool(self.matches) and all(match.provisional for match in self.matches)


def spec_of(recipe: Recipe, **fields: Any) -> IndexSpec:
    """Return the spec that opens an index for a recipe; its other fields are given by name.

    Raises:
        ValueError: the recipe has 32 bits.
    """
    if recipe.bits == 32:
        raise ValueError(
            f"the recipe {recipe.name!r} has 32 bits, which are for worked examples with compare: "
            "an index takes 64, 128 or 256"
        )
    return IndexSpec(
        recipe=recipe.identity,
        bits=recipe.bits,
        distance=recipe.distance,
        blocks=recipe.blocks.count,
        judge=Rule(recipe.distance),
        **fields,
    )


def verdict_of(arrival: Arrival, claim: Claim, excerpt: str = "") -> Verdict:
    # A revisit matches itself.
    matches = claim.matches if claim.outcome == "duplicate" else ()
    return Verdict(
        claim.outcome,
        arrival.key,
        reason=matches[0].reason if matches else None,
        fingerprint=arrival.fingerprint,
        matches=matches,
        near=tuple(match for match in claim.near if match.reason != FAR),
        excerpt=excerpt,
        change=claim.change,
        before=claim.before,
        unchanged=claim.unchanged,
        doubtful=bool(matches) and is_doubtful(arrival.facts, matches[0].facts),
        complete=len(claim.matches) + len(claim.near) < RULINGS,
    )
