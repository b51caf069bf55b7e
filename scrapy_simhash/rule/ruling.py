"""The contract between the index, which asks about two pages, and the judge that answers."""

from collections.abc import Callable
from typing import NamedTuple


class Page(NamedTuple):
    """A page as a judge sees it: its key, and its facts, which are opaque to the store."""

    key: str
    facts: bytes


class Ruling(NamedTuple):
    """A judgement, and a short stable name of the line of the rule that decided."""

    is_copy: bool
    reason: str


# The arrival, the original, and their distance in bits. A judge is pure: the same
# arguments give the same ruling in every crawler.
Judge = Callable[[Page, Page, int], Ruling]


def by_distance(*_: object) -> Ruling:
    """Judge every page within the distance to be a copy."""
    return Ruling(True, "distance")
