"""The rule is monotone: a difference more never turns two pages that are kept into copies."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from scrapy_simhash.rule.facts import Facts
from scrapy_simhash.rule.kinship import Kinship
from scrapy_simhash.rule.rule import rule
from scrapy_simhash.rule.sketch import NARROW, SAMPLE, WIDE, sketch

#: The sorts of units, and the widths of their sketches.
SORTS = {"numbers": WIDE, "words": NARROW, "sentences": 64, "text": NARROW, "listed": 32}


class Made:
    """A page as sets of units, to which differences are added."""

    def __init__(self, made: random.Random, like: Made | None = None) -> None:
        self.made = made
        self.units = (
            {sort: set(each) for sort, each in like.units.items()}
            if like
            else {
                sort: {made.getrandbits(64) for _ in range(made.randint(3, 12))} for sort in SORTS
            }
        )
        self.names = dict(like.names) if like else {"headings": 1, "title": 2, "heading": 3}
        self.fixed = like.fixed if like else self._fixed()

    def _fixed(self) -> dict[str, object]:
        size, flags = self.made.randint(50, 110), [self.made.random() < 0.7 for _ in range(3)]
        return {"text_steps": size, "fills": flags[0], "backed": flags[1], "thin": not flags[2]}

    def differ(self) -> None:
        sort = self.made.choice([*SORTS, "names"])
        if sort == "names":
            self.names[self.made.choice([*self.names])] = self.made.getrandbits(23)
            self.names["headings"] = self.made.getrandbits(23)
            return
        units = self.units[sort]
        if self.made.random() < 0.8:  # in the place of another one
            shared = sorted(units)
            units.discard(shared[self.made.randrange(len(shared))])
        units.add(self.made.getrandbits(64))

    def facts(self) -> Facts:
        said = hash(tuple(tuple(sorted(self.units[sort])) for sort in SORTS if sort != "listed"))
        sketches = {sort: sketch([*self.units[sort]], 255, width) for sort, width in SORTS.items()}
        rest = sketch([*range(7, 7 + SAMPLE)])
        return Facts(
            **self.names, site=1, said=said & 0xFFFFFF, rest=rest, **sketches, **self.fixed
        )


@pytest.mark.parametrize("kin", [*Kinship])
def test_a_difference_more_never_makes_a_copy(kin: Kinship) -> None:
    made = random.Random(kin.name)
    for _ in range(1500):
        one = Made(made)
        other = Made(made, one)
        distance, was_copy, seen = 0, True, []
        for _ in range(8):
            other.differ()
            distance += made.randint(0, 8)
            a, b = one.facts(), other.facts()
            exact = all(_is_exact(one, other, sort) for sort in SORTS)
            is_copy = rule(a, b, kin, distance, 48).is_copy
            seen.append((is_copy, distance))
            if exact:
                assert was_copy or not is_copy, (kin, seen, a, b)
                was_copy = is_copy


def _is_exact(one: Made, other: Made, sort: str) -> bool:
    """Return whether no two units of one sketch fall on one bit: hashes may hide a difference."""
    apart = one.units[sort] ^ other.units[sort]
    return len({each & (SORTS[sort] - 1) for each in apart}) == len(apart)


def test_equal_pages_are_copies() -> None:
    one = Made(random.Random(1)).facts()
    one = replace(one, thin=False)
    assert rule(one, one, Kinship.DOMAIN, 0, 48).is_copy
