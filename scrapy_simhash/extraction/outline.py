"""The elements around the lines of a page, and what they have in common."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from scrapy_simhash.extraction.page import Page
from scrapy_simhash.extraction.roles import (
    AGAINST,
    COMMENT,
    FLOW_TAGS,
    FOOTER,
    HEADER,
    INLINE_TAGS,
    ITEM,
    NAMED_FOOTER,
    OF_ITSELF,
    OUTER,
    SECTION,
    Element,
    role_and_class,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_INLINE = frozenset(("a", *INLINE_TAGS))


class Outline:
    """The elements around some lines or images of a page, numbered as they are met.

    The search for them never recurses, so depth does it no harm.

    Args:
        page: to take the elements from.
        holders: elements in its body.

    Attributes:
        places: for each of the holders the number of the block that it is or stands in.
        parents: the number of each element's parent, which is lower than its own; the first is
            the body, which has itself.
        roles: the roles of each and of all around it, as bits; those ``OF_ITSELF`` are its own.
        manners: for each a number that those share which are made alike: they and their parents
            have the same tag and the same first class.
        around: for each the nearest that does not only shape running text: it or one around it.
    """

    def __init__(self, page: Page, holders: Iterable[Element]) -> None:
        headings = page.heading_elements[:3]
        around_heading = {el for each in headings for el in (each, *each.iterancestors())}
        numbers: dict[Element, int] = {page.body: 0}
        known_manners: dict[object, int] = {}
        places, parents, roles, manners, around, made = [], [0], [0], [0], [0], [("body", "")]
        for el in holders:
            path: list[Element] = []
            while el not in numbers and el.tag in _INLINE:
                el = el.getparent()
            while (place := numbers.get(el)) is None:
                path.append(el)
                el = el.getparent()
            for el in reversed(path):
                parent, place = place, len(parents)
                numbers[el] = place
                tag = el.tag
                role, name = role_and_class(tag, el.items())
                # Names such as "with-sidebar" stand on wrappers of all that there is.
                if role & (AGAINST | COMMENT) and el in around_heading:
                    role &= ~(AGAINST | NAMED_FOOTER | COMMENT)
                elif role & (HEADER | FOOTER) and not roles[parent] & SECTION:
                    role |= OUTER
                shapes = tag in FLOW_TAGS or (tag == "div" and name.startswith("sect"))
                make = tag, name
                parents.append(parent)
                made.append(make)
                roles.append(roles[parent] & ~OF_ITSELF | role)
                manners.append(known_manners.setdefault((made[parent], make), place))
                around.append(around[parent] if shapes else place)
            places.append(place)
        # np.array would look at every number to find a type for them.
        self.places: Ints = np.fromiter(places, np.intp)
        self.parents = parents
        self.roles: Ints = np.fromiter(roles, np.intp)
        self.manners: Ints = np.fromiter(manners, np.intp)
        self.around: Ints = np.fromiter(around, np.intp)

    def groups(self, places: Ints) -> Ints:
        """Return for the place of each line the element that it stands in together with others.

        Paragraphs, lists and tables only shape running text; many manuals have no tag for sections.
        """
        parents = np.fromiter(self.parents, np.intp)
        lone = (np.bincount(places, minlength=len(parents)) == 1) & (self.roles & ITEM == 0)
        return self.around[np.where(lone[places], parents[places], places)]

    def sums(self, values: Floats) -> Floats:
        """Return for each element the sum of the values of it and of all elements in it."""
        sums: list[float] = values.tolist()
        parents = self.parents
        for place in range(len(sums) - 1, 0, -1):
            if value := sums[place]:
                sums[parents[place]] += value
        return np.fromiter(sums, np.float64)

    def way(self, place: int) -> list[int]:
        """Return the numbers of an element and of all around it; the body is the last."""
        way = [place]
        while place:
            place = self.parents[place]
            way.append(place)
        return way

    def distances(self, area: int) -> Ints:
        """Return how many levels above an area the nearest element is that holds both.

        It is 0 for what lies in the area.
        """
        levels = {place: level for level, place in enumerate(self.way(area))}
        distances: list[int] = []
        for place, parent in enumerate(self.parents):
            distances.append(levels[place] if place in levels else distances[parent])
        return np.fromiter(distances, np.intp)

    def branches(self, area: int) -> Ints:
        """Return in which part of the page each element lies: parts that lie around an area.

        What lies in the area has its number. Anything else has that of the largest element which
        holds it and nothing of the area, and elements around the area have their own.
        """
        way = {*self.way(area)}
        branches: list[int] = []
        for place, parent in enumerate(self.parents):
            is_part = place in way or (parent in way and parent != area)
            branches.append(place if is_part else branches[parent])
        return np.fromiter(branches, np.intp)
