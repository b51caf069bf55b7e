"""Bars for the report's template: numbers in, percentages of a drawing out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapy_simhash.report.timeline import Column
from scrapy_simhash.report.words import count

_BANDS = 6


@dataclass(frozen=True, slots=True)
class DistanceBar:
    """A row of the chart of distances.

    Attributes:
        name: the distances, in words.
        number: of near-duplicates.
        percent: of the longest bar.
    """

    name: str
    number: int
    percent: float


def top(columns: Sequence[Column]) -> int:
    """Return the number at the upper edge of a chart: one digit and zeros, such as 20 or 500."""
    most = max((sum(column.counts) for column in columns), default=1)
    power = int(10 ** (len(str(most)) - 1))
    return -(-most // power) * power


def distance_bars(distances: Mapping[int, int], k: int) -> list[DistanceBar]:
    """Return how many near-duplicates are how far from their originals, in bands of bits."""
    if not distances:
        return []
    width = max(1, -(-max(k, *distances) // _BANDS))
    sums = {0: distances.get(0, 0)}
    for first in range(1, max(k, *distances) + 1, width):
        last = min(first + width - 1, max(k, *distances))
        sums[first] = sum(distances.get(bits, 0) for bits in range(first, last + 1))
    most = max(sums.values())
    return [
        DistanceBar(_band(first, width, max(k, *distances)), number, 100 * number / most)
        for first, number in sums.items()
    ]


def _band(first: int, width: int, farthest: int) -> str:
    last = min(first + width - 1, farthest)
    if first == 0:
        return "0 bits: the same text"
    return count(first, "bit") if first == last else f"{first} to {last} bits"
