"""The elements around the lines of a page, and what they have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scrapy_simhash.extraction.page import Page
from scrapy_simhash.extraction.roles import AGAINST, FLOW_TAGS, INLINE_TAGS, Element, role_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_INLINE = frozenset(("a", *INLINE_TAGS))


class Outline:
    """The elements around the lines of a page, numbered in document order.

    The search for them never recurses, so depth does it no harm.

    Attributes:
        parents: the number of each one's parent; the first is the body, which has itself.
        made: the tag of each one and its first class.
        roles: the roles of each and of all around it, as bits.
        manners: for each a number that those share which are made alike: they and their parents
            have the same tag and the same first class.
    """

    def __init__(self, page: Page) -> None:
        self.parents = [0]
        self.roles = [0]
        self.manners = [0]
        self.made = [("body", "")]
        self._known_manners: dict[object, int] = {}
        self._places: dict[Element, int] = {page.body: 0}
        self._around_heading: set[Element] = set()
        for el in page.heading_elements[:3]:
            while el is not None and el not in self._around_heading:
                self._around_heading.add(el)
                el = el.getparent()

    def place(self, el: Element) -> int:
        """Return the number of the block that a line's element is or stands in."""
        places = self._places
        while el not in places and el.tag in _INLINE:
            el = el.getparent()
        path = []
        while el not in places:
            path.append(el)
            el = el.getparent()
        place = places[el]
        for el in reversed(path):
            place = self._add(el, place)
        return place

    def _add(self, el: Element, parent: int) -> int:
        tag, attributes = el.tag, el.items()
        role = role_of(tag, attributes)
        # Names such as "with-sidebar" stand on wrappers of all that there is.
        if role & AGAINST and el in self._around_heading:
            role &= ~AGAINST
        name = ""
        for key, value in attributes:
            if key == "class":
                name = value.lstrip().partition(" ")[0]
        place = len(self.parents)
        manner = self.made[parent], (tag, name)
        self.made.append((tag, name))
        self.manners.append(self._known_manners.setdefault(manner, place))
        self.parents.append(parent)
        self.roles.append(self.roles[parent] | role)
        self._places[el] = place
        return place

    def groups(self, places: Ints) -> Ints:
        """Return for each element the one that its lines stand in together with others.

        Paragraphs, lists and tables only shape running text; many manuals have no tag for sections.
        """
        lines = np.bincount(places, minlength=len(self.parents))
        around, groups = [0], [0]
        for place in range(1, len(self.parents)):
            parent = self.parents[place]
            tag, name = self.made[place]
            shapes = tag in FLOW_TAGS or (tag == "div" and name.startswith("sect"))
            around.append(around[parent] if shapes else place)
            groups.append(around[parent if lines[place] == 1 and tag != "li" else place])
        return np.array(groups)

    def sums(self, values: npt.NDArray[Any]) -> Floats:
        """Return for each element the sum of the values of it and of all elements in it."""
        sums: list[float] = values.tolist()
        for place in range(len(sums) - 1, 0, -1):
            sums[self.parents[place]] += sums[place]
        return np.array(sums)

    def levels(self, area: int) -> tuple[Ints, Ints]:
        """Return for each element the nearest one around it that holds an area, and its distance.

        The distance is in levels above the area; in the area it is 0.
        """
        ways = {area: (area, 0)}
        way = area
        while way:
            way = self.parents[way]
            ways[way] = way, len(ways)
        found = [ways[0]]
        for place in range(1, len(self.parents)):
            found.append(ways.get(place) or found[self.parents[place]])
        holders, distances = zip(*found, strict=True)
        return np.array(holders), np.array(distances)
