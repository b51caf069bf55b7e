"""How much of the recall of a full scan an index keeps that probes buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_simhash.fingerprint.blocks import Layout, plan_layout
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.offline.evaluation.pairs import Fingerprints


@dataclass(frozen=True, slots=True)
class LayoutRecall:
    """What a layout keeps.

    Attributes:
        pages: for how many it was planned.
        layout: None if there is none for the distance.
        kept: the share of the near pairs of which the page that is crawled later probes a bucket
            that holds the other; the mean of both orders. None if there are no near pairs.
    """

    pages: int
    layout: Layout | None
    kept: float | None


def layout_recall(
    pairs: Sequence[tuple[Fingerprint, Fingerprint]], recipe: Recipe, pages: int
) -> LayoutRecall:
    """Measure the layout that an index for so many pages has.

    Args:
        pairs: fingerprints of the recipe; those farther apart than its distance do not count.
        recipe: of the index.
        pages: for how many the index is planned.
    """
    near = [(a, b) for a, b in pairs if hamming_distance(a.value, b.value) <= recipe.distance]
    try:
        layout = plan_layout(recipe.bits, recipe.distance, pages)
    except ValueError:
        return LayoutRecall(pages, None, None)
    if not near:
        return LayoutRecall(pages, layout, None)
    kept = sum(_meets(layout, a, b) + _meets(layout, b, a) for a, b in near)
    return LayoutRecall(pages, layout, kept / (2 * len(near)))


def _meets(layout: Layout, later: Fingerprint, earlier: Fingerprint) -> bool:
    blocks, probed = layout.probe(later)
    held = layout.addresses(Fingerprints.of([earlier], layout.bits).words)[0]
    return bool((held[blocks] == probed).any())
