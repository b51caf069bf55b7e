"""Replays a crawl over a set of pages: which of them are dropped, and which wrongly.

Pairs alone do not tell what a crawl loses: a page that resembles twenty others is lost once, and
a page is compared only with those that were kept before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Drop:
    """A page that was dropped.

    Attributes:
        page: its number.
        original: number of the kept page that it is said to repeat, the nearest.
        distance: between the two, in bits.
    """

    page: int
    original: int
    distance: int


class Truth:
    """The pages of a set by what they say: copies of one page are one cluster.

    Args:
        count: of pages.
        duplicates: pairs of copies; copies of copies are copies.
        ambiguous: pairs of which the labels do not say.
    """

    def __init__(self, count: int, duplicates: Iterable[Pair], ambiguous: Iterable[Pair]) -> None:
        self._cluster = list(range(count))
        for a, b in duplicates:
            self._cluster[self.cluster(a)] = self.cluster(b)
        self._ambiguous = {frozenset(pair) for pair in ambiguous}

    def cluster(self, page: int) -> int:
        """Return the number of a page's cluster."""
        while (up := self._cluster[page]) != page:
            self._cluster[page] = self._cluster[up]
            page = up
        return page

    @property
    def distinct(self) -> int:
        """How many clusters there are."""
        return len(set(map(self.cluster, range(len(self._cluster)))))

    def wrong(self, drops: Sequence[Drop]) -> list[Drop]:
        """Return the drops of pages of which no copy had been kept.

        A drop for an original that may be a copy of the page counts as right.
        """
        dropped = {drop.page: drop for drop in drops}
        kept = {self.cluster(p) for p in range(len(self._cluster)) if p not in dropped}
        return [
            drop
            for drop in drops
            if self.cluster(drop.page) not in kept
            and frozenset((drop.page, drop.original)) not in self._ambiguous
        ]


def replay(count: int, copies: Mapping[Pair, int], shuffle: int | None = None) -> list[Drop]:
    """Return the pages that a crawl drops, in its order.

    Args:
        count: of pages.
        copies: the pairs that are taken for copies, the lesser number first, and their distances.
        shuffle: seed of the order; None for the order of the numbers.
    """
    near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for (a, b), distance in copies.items():
        near[a].append((distance, b))
        near[b].append((distance, a))
    order = list(range(count))
    if shuffle is not None:
        Random(shuffle).shuffle(order)  # noqa: S311 - to be repeated, not secret
    arrived: dict[int, int] = {}  # kept pages, with their place in the crawl
    drops = []
    for place, page in enumerate(order):
        originals = [(d, arrived[other], other) for d, other in near[page] if other in arrived]
        if originals:
            distance, _, original = min(originals)
            drops.append(Drop(page, original, distance))
        else:
            arrived[page] = place
    return drops
