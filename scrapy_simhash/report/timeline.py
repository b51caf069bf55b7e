"""Numbers of kept and dropped pages over time, in bars of equal width, without the pauses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

#: The parts of a bar.
KEPT, REPEATED, SKIPPED = range(3)

_BINS = 4096
# A pause longer than this, in seconds, and in bins, begins another run.
_PAUSE_SECONDS, _PAUSE_BINS = 900, 30
_MOST_RUNS = 6


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of time in which something was judged.

    Attributes:
        start: seconds since 1970.
        width: seconds of a bar.
        bars: for each, the numbers of kept, repeated and skipped.
    """

    start: int
    width: int
    bars: list[list[int]]


class Timeline:
    """Counts by time, in bins that grow so that there are never more than 4,096."""

    def __init__(self) -> None:
        self._width = 1
        self._bins: dict[int, list[int]] = {}

    def add(self, time: float, part: int) -> None:
        """Count one that was judged at a time: seconds since 1970."""
        self._add(int(time // self._width), part, 1)
        while len(self._bins) > _BINS:
            self._width *= 2
            bins, self._bins = self._bins, {}
            for number, counts in bins.items():
                for place, count in enumerate(counts):
                    self._add(number // 2, place, count)

    def _add(self, number: int, part: int, count: int) -> None:
        if number not in self._bins:
            self._bins[number] = [0, 0, 0]
        self._bins[number][part] += count

    def runs(self, bars: int = 60) -> list[Run]:
        """Return the runs of the log in order, with about so many bars together."""
        if not self._bins:
            return []
        spans = self._spans()
        total = sum(last - first + 1 for first, last in spans)
        step = -(-total // bars)
        runs = [
            Run(
                first * self._width,
                step * self._width,
                [[0, 0, 0] for _ in range(-(-(last - first + 1) // step))],
            )
            for first, last in spans
        ]
        starts = [first for first, _ in spans]
        for number, counts in self._bins.items():
            place = bisect_right(starts, number) - 1
            bar = runs[place].bars[(number - starts[place]) // step]
            for part, count in enumerate(counts):
                bar[part] += count
        return runs

    def _spans(self) -> list[tuple[int, int]]:
        """Return the first and last bin of each run; the longest pauses divide the runs."""
        numbers = sorted(self._bins)
        pause = max(_PAUSE_BINS, _PAUSE_SECONDS // self._width)
        longest = sorted(((b - a, b) for a, b in pairwise(numbers)), reverse=True)
        starts = sorted(b for gap, b in longest[: _MOST_RUNS - 1] if gap > pause)
        ends = [numbers[bisect_left(numbers, start) - 1] for start in starts]
        return list(zip([numbers[0], *starts], [*ends, numbers[-1]], strict=True))
