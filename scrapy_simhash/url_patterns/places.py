"""The places of one host's addresses: the segments of paths, the values of parameters.

A place that had many different values is starred, since its values are names or numbers of pages,
and addresses that differ in nothing else belong together. A value that stands in a good part of
the place's addresses keeps its name there, in brackets: ``Special:UserLogin`` between the titles
of a wiki, ``category`` between the articles of a blog.
"""

from __future__ import annotations

from scrapy_simhash.url_patterns.address import (
    ANYTHING,
    FIXED,
    MANY_VALUES,
    STAR,
    Address,
    in_brackets,
    shape,
)

#: A value of a starred place keeps its name from 30 addresses and 1/25 of the place's on.
FREQUENT = 30
FREQUENT_SHARE = 0.04
# Values of a starred place that are counted at a time, by Space-Saving (Metwally, Agrawal,
# El Abbadi 2005): a value with a greater share than 1/32 is always among them.
COUNTED = 32


class Starred:
    """A starred place: its frequent values, and the counters that find them."""

    __slots__ = ("counters", "frequent", "total")

    def __init__(self) -> None:
        self.frequent: frozenset[str] = frozenset()
        self.counters: dict[str, int] = {}
        self.total = 0

    def count(self, value: str) -> None:
        """Count a value, which becomes a frequent one when it is time."""
        self.total += 1
        counters = self.counters
        if value in counters:
            counters[value] += 1
        elif len(counters) < COUNTED:
            counters[value] = 1
        else:
            least = min(counters, key=counters.__getitem__)
            counters[value] = counters.pop(least) + 1
        if counters[value] >= max(FREQUENT, FREQUENT_SHARE * self.total):
            self.frequent |= {value}


class Places:
    """The places of one host, as its addresses and signatures have shown them."""

    def __init__(self) -> None:
        # By the hash of what leads to the place and of its star, since names take more memory. The
        # values of a place that is not starred stand between line ends.
        self._places: dict[int, str | Starred] = {}
        self._learning = False
        self.starred_values: list[str] = []
        self.newly_starred = False

    def __len__(self) -> int:
        return len(self._places)

    def signature(self, address: Address) -> str:
        """Return the signature of an address, or the present one of an earlier signature.

        The host stands before it where signatures of several hosts meet.
        """
        self.starred_values = []
        path = ""
        for segment in address.path:
            path = f"{path}/{self._stand(path, segment)}"
        if not address.parameters:
            return path
        found = []
        for name, values in address.parameters:
            place = f"{path}?{name}"
            pair = f"{name}={self._stand(place, values[0])}"
            for value in values[1:]:
                pair = f"{pair}/{self._stand(place + pair, value)}"
            found.append(pair)
        if len(found) > 1:
            found = sorted(set(found))
        return f"{path}?{'&'.join(found)}"

    def learn(self, address: Address) -> str:
        """Take note of an address's values, and return its signature.

        Afterwards ``starred_values`` has the address's values at starred places, and
        ``newly_starred`` is set if earlier signatures have changed.
        """
        self._learning = True
        try:
            return self.signature(address)
        finally:
            self._learning = False

    def _stand(self, place: str, value: str) -> str:
        """Return what stands for a value at a place."""
        kind, star = shape(value)
        if kind == FIXED:
            if self._learning and value[0] == "[":
                self._star(hash((place, shape(value[1:-1]).star))).frequent |= {value[1:-1]}
            return value
        if kind == STAR:
            if self._learning:
                self._star(hash((place, star)))
            return value
        if kind == ANYTHING:
            self.starred_values.append(value)
            return star
        name = hash((place, star))
        known: str | Starred | None
        if self._learning:
            known = self._learn_value(name, value, MANY_VALUES[kind])
        else:
            known = self._places.get(name)
        if not isinstance(known, Starred):
            return value
        if value in known.frequent:
            return in_brackets(value)
        self.starred_values.append(value)
        return star

    def _learn_value(self, name: int, value: str, many: int) -> str | Starred:
        known = self._places.get(name, "\n")
        if isinstance(known, Starred):
            known.count(value)
        elif f"\n{value}\n" not in known:
            if known.count("\n") > many:
                return self._star(name)
            known = self._places[name] = f"{known}{value}\n"
        return known

    def _star(self, name: int) -> Starred:
        known = self._places.get(name)
        if not isinstance(known, Starred):
            known = self._places[name] = Starred()
            self.newly_starred = True
        return known
