"""Numbers for the bars of the report: over time, and by distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from scrapy_simhash.report.words import count

#: The parts of a stretch of time.
KEPT, REPEATED, SKIPPED = range(3)

_MOST_STRETCHES = 24
_BANDS = 6


class Stretch(NamedTuple):
    """A stretch of time.

    Attributes:
        start: seconds since 1970.
        seconds: its length.
        counts: how many were kept, repeated and skipped.
    """

    start: int
    seconds: int
    counts: list[int]


class Timeline:
    """Counts by time, in stretches that grow so that there are never more than 24."""

    def __init__(self) -> None:
        self._seconds = 1
        self._counts: dict[int, list[int]] = {}

    def add(self, time: float, part: int) -> None:
        """Count one that was judged at a time: seconds since 1970."""
        self._add(int(time // self._seconds), part, 1)
        while max(self._counts) - min(self._counts) >= _MOST_STRETCHES:
            self._seconds *= 2
            before, self._counts = self._counts, {}
            for number, counts in before.items():
                for place, count_ in enumerate(counts):
                    self._add(number // 2, place, count_)

    def _add(self, number: int, part: int, count_: int) -> None:
        self._counts.setdefault(number, [0, 0, 0])[part] += count_

    def stretches(self) -> list[Stretch]:
        """Return the stretches in which something was judged, in order."""
        return [
            Stretch(number * self._seconds, self._seconds, counts)
            for number, counts in sorted(self._counts.items())
        ]


class DistanceBar(NamedTuple):
    """How many near-duplicates have one of a few distances, which the name tells in words."""

    name: str
    number: int


def distance_bars(distances: Mapping[int, int], k: int) -> list[DistanceBar]:
    """Return how many near-duplicates are how far from their originals, in bands of bits."""
    if not distances:
        return []
    farthest = max(k, *distances)
    width = max(1, -(-farthest // _BANDS))
    bars = [DistanceBar("0 bits: the same text", distances.get(0, 0))]
    for first in range(1, farthest + 1, width):
        last = min(first + width - 1, farthest)
        name = count(first, "bit") if first == last else f"{first} to {last} bits"
        number = sum(distances.get(bits, 0) for bits in range(first, last + 1))
        bars.append(DistanceBar(name, number))
    return bars
