"""Numbers of kept and dropped pages over time, in columns of equal width."""

from __future__ import annotations

from dataclasses import dataclass

#: The parts of a column.
KEPT, REPEATED, SKIPPED = range(3)

_MOST = 120


@dataclass(frozen=True, slots=True)
class Column:
    """A stretch of time.

    Attributes:
        start: seconds since 1970.
        seconds: its width.
        counts: how many were kept, repeated and skipped.
    """

    start: int
    seconds: int
    counts: list[int]


class Timeline:
    """Counts by time, in columns that grow so that there are never more than 120."""

    def __init__(self) -> None:
        self._seconds = 1
        self._counts: dict[int, list[int]] = {}

    def add(self, time: float, part: int) -> None:
        """Count one that was judged at a time: seconds since 1970."""
        self._add(int(time // self._seconds), part, 1)
        while max(self._counts) - min(self._counts) >= _MOST:
            self._seconds *= 2
            before, self._counts = self._counts, {}
            for number, counts in before.items():
                for place, count in enumerate(counts):
                    self._add(number // 2, place, count)

    def _add(self, number: int, part: int, count: int) -> None:
        self._counts.setdefault(number, [0, 0, 0])[part] += count

    def columns(self) -> list[Column]:
        """Return the columns from the first time to the last."""
        if not self._counts:
            return []
        return [
            Column(n * self._seconds, self._seconds, self._counts.get(n, [0, 0, 0]))
            for n in range(min(self._counts), max(self._counts) + 1)
        ]
