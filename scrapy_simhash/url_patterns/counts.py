"""Counts of one signature, and the bound that makes a pattern of it."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

Z_95 = 1.959964  # of the normal distribution, two-sided


class Counts(NamedTuple):
    """How the pages of one signature fared. Increments are counts too, and may be negative.

    Attributes:
        duplicates: pages that were copies.
        telling: those of the copies that were evidence, see :class:`.Evidence`.
        distinct: pages that were no copies.
        wrong: those of the distinct pages that had been taken for copies by their address.
        bytes: of the copies, decompressed.
    """

    duplicates: int = 0
    telling: int = 0
    distinct: int = 0
    wrong: int = 0
    bytes: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the counts of both together."""
        return Counts(*map(int.__add__, self, other))


NOTHING = Counts()


def lower_bound(successes: float, trials: float) -> float:
    """Return the lower end of Wilson's interval (1927) for a share; 0.0 without trials."""
    if trials <= 0:
        return 0.0
    share, z = successes / trials, Z_95
    spread = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, (share + z * z / (2 * trials) - spread) / (1 + z * z / trials))
