"""Totals by name, for more names than there is memory for."""

from collections.abc import Hashable
from typing import Generic, TypeVar

# Names that are surely remembered; a row takes about 200 bytes.
_NAMES = 50_000

K = TypeVar("K", bound=Hashable)


class Totals(Generic[K]):
    """Adds up rows of numbers by name; of very many names, it forgets the smallest.

    When twice as many names are there as may stay, those with the smallest first number are
    forgotten: the sums of the others are exact unless they were forgotten before, and
    :meth:`rest` has the numbers of the forgotten ones.
    """

    def __init__(self, width: int, names: int = _NAMES) -> None:
        self._names = names
        self._rows: dict[K, list[float]] = {}
        self._forgotten = [0.0] * width
        self._forgotten_names = 0

    def add(self, name: K, *numbers: float) -> None:
        row = self._rows.get(name)
        if row is None:
            if len(self._rows) >= 2 * self._names:
                self._forgotten_names, self._forgotten = self.rest(self._names)
                self._rows = dict(self.largest(self._names))
            row = self._rows[name] = [0.0] * len(self._forgotten)
        for place, number in enumerate(numbers):
            row[place] += number

    def of(self, name: K) -> list[float]:
        """Return the sums of a name; zeros if it is not known."""
        return self._rows.get(name) or [0.0] * len(self._forgotten)

    def largest(self, count: int | None = None, by: int = 0) -> list[tuple[K, list[float]]]:
        """Return the names whose number at place ``by`` is largest, in that order."""
        return sorted(self._rows.items(), key=lambda entry: -entry[1][by])[:count]

    def rest(self, count: int, by: int = 0) -> tuple[int, list[float]]:
        """Return how many names there are beside the :meth:`largest`, and their sums."""
        rows = [row for _, row in self.largest(by=by)[count:]]
        sums = [sum(column) for column in zip(self._forgotten, *rows, strict=True)]
        return len(rows) + self._forgotten_names, sums
