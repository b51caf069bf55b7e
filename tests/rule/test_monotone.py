"""The rule is monotone: a difference more never turns two pages that are kept into copies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from scrapy_simhash.rule.facts import SKETCHES, Facts
from scrapy_simhash.rule.kinship import Kinship
from scrapy_simhash.rule.rule import rule
from scrapy_simhash.rule.sketch import sketch
from tests.pages import article, judged

#: The sorts of units that are the page's own, with the bits of their sketches.
SORTS = {sort: width for sort, width in SKETCHES.items() if sort not in ("labels", "pairs", "rest")}
NAMES = ("headings", "title", "heading")


class Made:
    """The units and names of a page, to which differences are added."""

    def __init__(self, made: random.Random) -> None:
        self.made = made
        self.units = {sort: [self._unit() for _ in range(made.randint(3, 12))] for sort in SORTS}
        self.pairs = {label: self._unit() for label in range(made.randint(1, 5))}
        self.names = dict.fromkeys(NAMES, 1)
        self.fixed = {name: made.random() < 0.7 for name in ("fills", "backed")}
        self.fixed["thin"] = made.random() < 0.3
        self.steps = made.randint(50, 110)

    def like(self) -> Made:
        other = Made(self.made)
        other.__dict__.update(self.__dict__)
        other.units = {sort: [*units] for sort, units in self.units.items()}
        other.pairs = dict(self.pairs)
        other.names = dict(self.names)
        return other

    def _unit(self) -> int:
        return self.made.getrandbits(64)

    def differ(self) -> None:
        """Exchange a name, a value or a unit that the other page has, or add a unit."""
        sort = self.made.choice([*SORTS, "names", "pairs"])
        if sort == "names":
            self.names[self.made.choice(NAMES)] = self.made.getrandbits(23)
            self.names["headings"] = self.made.getrandbits(23)
        elif sort == "pairs":  # the same labels, because other ones are another form
            self.pairs[self.made.choice([*self.pairs])] = self._unit()
        elif self.made.random() < 0.2:
            self.units[sort].append(self._unit())
        else:
            self.units[sort][self.made.randrange(len(self.units[sort]))] = self._unit()

    def facts(self) -> Facts:
        said = hash(repr([self.units[sort] for sort in SORTS if sort != "listed"])) & 0xFFFFFF
        return Facts(
            **self.names,
            **self.fixed,
            **{sort: sketch(self.units[sort], width) for sort, width in SORTS.items()},
            rest=sketch([*range(7, 39)], SKETCHES["rest"]),
            site=1,
            unsaid=0,
            said=said,
            state=said.to_bytes(3, "little"),
            labels=sketch([label * 5 for label in self.pairs], SKETCHES["pairs"]),
            pairs=sketch([*self.pairs.values()], SKETCHES["pairs"]),
            canonical=0,
            steps=self.steps,
            alone=False,
        )

    def is_told_from(self, other: Made) -> bool:
        """Return whether no two units fall on one bit of a sketch, which may hide a difference."""
        return all(
            len({unit % width for unit in apart}) == len(apart)
            for width, apart in (
                *((SORTS[sort], {*self.units[sort]} ^ {*other.units[sort]}) for sort in SORTS),
                (SKETCHES["pairs"], {*self.pairs.values()} ^ {*other.pairs.values()}),
            )
        )


@pytest.mark.parametrize("kin", [*Kinship])
def test_a_unit_or_a_name_more_that_differs_never_makes_a_copy(kin: Kinship) -> None:
    made = random.Random(kin.name)
    copies = 0
    for _ in range(400):
        one = Made(made)
        other = one.like()
        was_copy = True
        near = 0.0
        for _ in range(8):
            other.differ()
            near += made.random() / 6
            if one.is_told_from(other):
                is_copy = rule(one.facts(), other.facts(), kin, near).is_copy
                assert was_copy or not is_copy, (one.facts(), other.facts(), near)
                was_copy = is_copy
                copies += is_copy
    assert copies > 100


@pytest.mark.parametrize("kin", [*Kinship])
def test_equal_pages_are_copies(kin: Kinship) -> None:
    one = replace(Made(random.Random(1)).facts(), thin=False)
    assert rule(one, one, kin, 0).is_copy


BOAT = {
    "Length": "9.40 m",
    "Berths": "4",
    "Home port": "Ystad",
    "Sail": "white",
    "harbour": "Malmo",
    "year": "1987",
    "weekday": "Sunday",
    "not": "",
    "sail": "white",
    "more": "",
    "neighbour": "The Kittiwake",
}
OTHER_BOAT = {
    "Length": "8.20 m",
    "Berths": "6",
    "Home port": "Visby",
    "Sail": "brown",
    "harbour": "Kalmar",
    "year": "1991",
    "weekday": "Tuesday",
    "not": " never",
    "sail": "brown",
    "more": "A dinghy with a small engine hangs at the stern.",
    "neighbour": "The Fulmar",
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
    values = {name: OTHER_BOAT[name] if name in differences else BOAT[name] for name in BOAT}
    one, other = ADDRESSES[addresses]
    pages = (one.format(14), boat(BOAT, layout)), (other.format(15), boat(values, layout))
    return not judged(*pages).is_copy


def orders(seed: str) -> Iterator[list[str]]:
    made = random.Random(seed)
    for _ in range(12):
        yield made.sample([*BOAT], 5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("addresses", ADDRESSES)
def test_a_difference_more_on_a_page_never_makes_a_copy(layout: str, addresses: str) -> None:
    for names in orders(layout):
        kept = [
            is_kept(frozenset(names[:number]), layout, addresses)
            for number in range(len(names) + 1)
        ]
        assert kept == sorted(kept), names


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("addresses", ["path", "query"])
@pytest.mark.parametrize("difference", BOAT)
def test_each_difference_alone_keeps_a_page_on_its_site(
    difference: str, layout: str, addresses: str
) -> None:
    if difference == "neighbour":
        return  # a list of others may change by an entry
    assert is_kept(frozenset([difference]), layout, addresses)
