"""An unbiased estimate of what sparing lost, from the share that was fetched all the same.

A page that is fetched with chance p although it is taken for a copy stands for (1 - p) / p pages
that were spared (Horvitz and Thompson 1952).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

_Z_95_ONE_SIDED = 1.644854


@dataclass
class Estimate:
    """The number of spared requests, and of distinct pages among them.

    Attributes:
        spared: addresses that were not fetched.
        fetched: addresses that could have been spared and were fetched all the same.
        wrong: those of them that led to distinct pages.
        bytes: that the spared pages would have had, by the mean of their signatures' copies.
    """

    spared: int = 0
    fetched: int = 0
    wrong: int = 0
    bytes: int = 0
    _weights: float = 0.0
    _greatest: float = 0.0

    def explore(self, chance: float, *, wrong: bool) -> None:
        """Count an address that was fetched all the same, with the chance (above 0) of that."""
        weight = (1 - chance) / chance
        self.fetched += 1
        self._greatest = max(self._greatest, weight)
        if wrong:
            self.wrong += 1
            self._weights += weight

    def take_back(self, chance: float) -> None:
        """Uncount a wrong one: its page turned out to have another address, which was fetched."""
        self.wrong -= 1
        self._weights -= (1 - chance) / chance

    @property
    def lost(self) -> float:
        """The expected number of distinct pages that were not fetched."""
        return min(max(0.0, self._weights), float(self.spared))

    @property
    def at_most(self) -> float:
        """The upper end of the one-sided 95% interval of that number.

        It is the greatest weight times the upper end for a Poisson count of the wrong ones; that
        is three times the greatest weight without a wrong one.
        """
        if not self.spared:
            return 0.0
        if not self._greatest:
            return float(self.spared)
        most_wrong = _chi_square_95(2 * (self.wrong + 1)) / 2
        return min(float(self.spared), self._greatest * most_wrong)


def _chi_square_95(freedom: float) -> float:
    """Return the 95% point of chi-square, by Wilson and Hilferty (1931)."""
    step = 2 / (9 * freedom)
    return float(freedom * (1 - step + _Z_95_ONE_SIDED * sqrt(step)) ** 3)
