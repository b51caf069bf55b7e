"""The rule is monotone: a difference more never turns two pages that are kept into copies."""

import random
from collections import Counter
from functools import cache

import pytest

from scrapy_simhash.rule.facts import SKETCHES, Facts
from scrapy_simhash.rule.kinship import Kinship
from scrapy_simhash.rule.rule import rule
from tests.pages import article, judged
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


#: What a page says of a boat, and what that of another boat says.
BOAT = {
    "Length": ("9.40 m", "8.20 m"),
    "Berths": ("4", "6"),
    "Home port": ("Ystad", "Visby"),
    "Sail": ("white", "brown"),
    "harbour": ("Malmo", "Kalmar"),
    "year": ("1987", "1991"),
    "weekday": ("Sunday", "Tuesday"),
    "not": ("", " never"),
    "sail": ("white", "brown"),
    "more": ("", "A dinghy with a small engine hangs at the stern."),
    "neighbour": ("The Kittiwake", "The Fulmar"),
}
FIELDS = ("Length", "Berths", "Home port", "Sail")
LAYOUTS = {
    "terms": ("<dl>{}</dl>", "<dt>{}</dt><dd>{}</dd>"),
    "boxes": ("<div class=data>{}</div>", "<div><span>{}</span><span>{}</span></div>"),
    "lines": ("<p>{}</p>", "{}: {}<br>"),
}
ADDRESSES = {
    "path": ("http://boats.test/hire/{}", "http://boats.test/hire/{}"),
    "query": ("http://boats.test/boat.php?no={}", "http://boats.test/boat.php?no={}"),
    "sites": ("http://boats.test/hire/{}", "http://sails.test/b/{}"),
}


def boat(values: dict[str, str], layout: str) -> str:
    """Return the page of a boat for hire: fields, a text that names some of them, and a list."""
    around, row = LAYOUTS[layout]
    fields = around.format("".join(row.format(name, values[name]) for name in FIELDS))
    said = (
        f"She sails under a {values['sail']} sail that the owner has sewn in a winter.",
        f"You take her over in {values['harbour']}, next to the crane of the old yard.",
        f"Her keel was laid in {values['year']} by two brothers who built nothing else.",
        f"We hand over the keys each {values['weekday']} before the ferry leaves.",
        f"Pets may{values['not']} come on board, and nor may a bicycle.",
        values["more"],
    )
    prose = article(31, 160).split(". ")
    text = "".join(f"<p>{prose[at]}. {line}</p>" for at, line in enumerate(said))
    rest = "".join(f"<p>{line}.</p>" for line in prose[len(said) :])
    links = "".join(
        f"<li><a href='/hire/{name.split()[-1]}'>{name}</a></li>"
        for name in ("The Gannet", "The Skua", values["neighbour"])
    )
    return (
        "<!doctype html><title>Seagull 31 | Boats for hire</title><nav><a href=/>Boats</a></nav>"
        f"<main><h1>Seagull 31</h1>{fields}{text}{rest}<h2>At the same pier</h2><ul>{links}</ul>"
        "</main><footer>Boats for hire, Ystad</footer>"
    )


@cache
def is_kept(differences: frozenset[str], layout: str, addresses: str) -> bool:
    values = {name: said[name in differences] for name, said in BOAT.items()}
    same = {name: said[0] for name, said in BOAT.items()}
    one, other = ADDRESSES[addresses]
    pages = (one.format(14), boat(same, layout)), (other.format(15), boat(values, layout))
    return not judged(*pages).is_copy


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("addresses", ADDRESSES)
@pytest.mark.parametrize("first", BOAT)
def test_a_difference_keeps_a_page_on_its_site_and_no_other_makes_a_copy_of_it(
    first, addresses, layout
):
    names = [first, *random.Random(layout).sample([name for name in BOAT if name != first], 4)]
    kept = [
        is_kept(frozenset(names[:number]), layout, addresses) for number in range(len(names) + 1)
    ]
    assert kept == sorted(kept), names
    # A list of others may change by an entry.
    assert kept[1] or addresses == "sites" or first == "neighbour"
