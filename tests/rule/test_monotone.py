"""The rule is monotone: a difference more never turns two pages that are kept into copies."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.rule.facts import SKETCHES, Facts
from scrapy_simhash.rule.kinship import Kinship
from scrapy_simhash.rule.rule import rule
from tests.extraction.made import NAMES as CLASSES
from tests.extraction.made import PARTS, WORDS, made_page
from tests.pages import judged
from tests.rule.made import page

#: The sorts of units that are the page's own.
SORTS = [sort for sort in SKETCHES if sort not in ("labels", "pairs", "rest")]
NAMES = ("headings", "title", "heading")


class Made:
    """The units and names of a page, to which differences are added."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.units = {sort: [self._unit() for _ in range(chance.randint(3, 12))] for sort in SORTS}
        self.units["pairs"] = [self._unit() for _ in range(chance.randint(1, 5))]
        labels = [str(place) for place, _ in enumerate(self.units["pairs"])]
        self.fixed = {"thin": chance.random() < 0.3, "labels": labels}
        self.size = int(2 ** chance.uniform(6, 14))

    def _unit(self) -> str:
        return str(self.chance.getrandbits(64))

    def differ(self) -> None:
        """Exchange a name, a value or a unit that the other page has, or add a unit."""
        sort = self.chance.choice([*SORTS, "names", "pairs"])
        if sort == "names":
            changed = dict.fromkeys((self.chance.choice(NAMES), "headings"))
            self.fixed |= {name: self.chance.getrandbits(23) for name in changed}
        elif sort != "pairs" and self.chance.random() < 0.2:
            self.units[sort].append(self._unit())
        else:  # the same labels, because other ones are another form
            self.units[sort][self.chance.randrange(len(self.units[sort]))] = self._unit()

    def facts(self) -> Facts:
        names = self.fixed.get("title", 1), self.fixed.get("heading", 1)
        fixed = {name: value for name, value in self.fixed.items() if name not in NAMES[1:]}
        return page(*names, size=self.size, **fixed, **self.units)

    def are_told_apart(self, other: "Made", own: Facts, others: Facts) -> bool:
        """Return whether no two units fall on one bit of a sketch, which may hide a difference."""
        return all(
            (getattr(own, sort).bits ^ getattr(others, sort).bits).bit_count()
            == len({*units} ^ {*other.units[sort]})
            for sort, units in self.units.items()
        )


def test_a_unit_or_a_name_more_that_differs_never_makes_a_copy():
    copies = Counter[Kinship]()
    for seed in range(400):
        one, other = (Made(random.Random(seed)) for _ in range(2))
        own = one.facts()
        was_copy = dict.fromkeys(Kinship, True)
        near = 0.0
        for _ in range(8):
            other.differ()
            near += other.chance.random() / 6
            others = other.facts()
            if one.are_told_apart(other, own, others):
                for kin in Kinship:
                    is_copy = rule(own, others, kin, near).is_copy
                    assert was_copy[kin] or not is_copy, (own, others, kin, near)
                    was_copy[kin] = is_copy
                    copies[kin] += is_copy
    assert min(copies[kin] for kin in Kinship) > 100


#: Parts of whole pages. Links beside a text are told apart by a sketch of few bits.
WHOLE = st.sampled_from([name for name in PARTS if name != "links in the text"])
ADDRESSES = ("boat.php?no=14", "boat.php?no=15"), ("hire/14", "hire/15"), ("hire/14", "boats/gull")


@settings(max_examples=60)
@given(
    st.lists(WHOLE, unique=True),
    st.lists(WHOLE, unique=True, max_size=5),
    st.sampled_from(["not", "quelor", "Sunday", "1987"]),
    st.sampled_from([WORDS, CLASSES]),
    st.integers(0, 99),
    st.sampled_from(ADDRESSES),
)
def test_a_word_that_differs_keeps_a_page_on_its_site_if_it_is_the_pages(
    parts, differ, word, elements, seed, addresses
):
    names = dict.fromkeys(["text", *parts, *differ])
    one, other = (made_page(names, seed, elements, each, word)[0] for each in ((), differ))
    keys = [f"http://boats.test/{address}" for address in addresses]
    is_another = any(PARTS[name].is_own for name in differ)
    assert judged(*zip(keys, (one, other), strict=True)).is_copy is not is_another
