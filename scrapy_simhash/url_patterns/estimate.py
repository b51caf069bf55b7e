"""An unbiased estimate of what sparing lost, from the share that was fetched anyway.

A page that is taken for a copy, and is fetched with chance p, represents (1 - p) / p
pages that were spared (Horvitz and Thompson 1952).
"""

from dataclasses import dataclass, field
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import REMEMBERED


@dataclass
class _OfPattern:
    spared: int = 0
    wrong: int = 0
    weights: float = 0.0


@dataclass
class Estimate:
    """The number of spared requests, and of distinct pages among them.

    Attributes:
        spared: addresses that were not fetched.
        fetched: addresses that could have been spared and were fetched anyway.
        wrong: the number of these that led to distinct pages.
        bytes: that the spared pages would have had, by the mean of their signatures'
            copies.
    """

    spared: int = 0
    fetched: int = 0
    wrong: int = 0
    bytes: int = 0
    _greatest: float = 0.0
    _patterns: LRUCache[str, _OfPattern] = field(
        default_factory=lambda: LRUCache(REMEMBERED)
    )

    def spare(self, pattern: str, length: int) -> None:
        """Count an address that was not fetched, and the bytes that spares."""
        self.spared += 1
        self.bytes += length
        self._patterns.setdefault(pattern, _OfPattern()).spared += 1

    def explore(self, chance: float) -> None:
        """Count an address that was fetched anyway, and the chance (above 0) of that."""
        self.fetched += 1
        self._greatest = max(self._greatest, (1 - chance) / chance)

    def add_wrong(
        self,
        pattern: str,
        chance: float,
        number: int = 1,
    ) -> None:
        """Count such an address that led to a distinct page.

        With -1 it is taken back: the page turned out to have another address, which was
        fetched.
        """
        self.wrong += number
        numbers = self._patterns.setdefault(pattern, _OfPattern())
        numbers.wrong += number
        numbers.weights += number * (1 - chance) / chance

    @property
    def lost(self) -> float:
        """The expected number of distinct pages that were not fetched.

        A pattern that fell before anything was spared has lost nothing.
        """
        numbers = self._patterns.values()
        return sum(min(max(0.0, each.weights), each.spared) for each in numbers)

    @property
    def at_most(self) -> float:
        """The upper end of the one-sided 95% interval of that number.

        It is the greatest weight times the upper end for a Poisson count of the wrong
        ones: half of a 95% point of chi-square, as Wilson and Hilferty have it (1931).
        """
        wrong = sum(each.wrong for each in self._patterns.values() if each.spared)
        half = max(0, wrong) + 1  # of the degrees of freedom
        z = NormalDist().inv_cdf(0.95)
        most_wrong = half * (1 - 1 / (9 * half) + z / (3 * sqrt(half))) ** 3
        weight = self._greatest or self.spared
        return min(float(self.spared), weight * most_wrong)


@lru_cache(maxsize=4096)  # most look-ups find the counts as they were
def lower_bound(successes: float, trials: float) -> float:
    """Return the lower end of Wilson's interval (1927) for a share; 0.0 without trials."""
    if trials <= 0:
        return 0.0
    share = successes / trials
    z = NormalDist().inv_cdf(0.975)
    centre = share + z**2 / (2 * trials)
    spread = z * sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    return max(0.0, (centre - spread) / (1 + z**2 / trials))
