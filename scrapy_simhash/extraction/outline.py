"""The elements around the lines of a page, and what they have in common."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

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

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_INLINE = frozenset(("a", *INLINE_TAGS))
#: Roles that are not said of an element around the heading, and those that an element
#: hands on to all that stands in it.
_REFUTED, _INHERITED = AGAINST | COMMENT, ~OF_ITSELF


class Outline:
    """The elements around the lines of a page, numbered in the order of the page.

    So the elements inside another one have the numbers that follow its own, up to its
    end. The search for them never recurses, and depth does it no harm.

    Args:
        body: of a page.
        holders: elements in it, in document order.
        headings: its elements ``h1``.

    Attributes:
        elements: all of them; the first is the body.
        numbers: theirs.
        ends: for each element the number after the last one inside it.
        places: for each of the holders the number of the block that it is or stands in.
        parents: the number of each element's parent; the body has itself.
        roles: the roles of each and of all around it, as bits; those ``OF_ITSELF`` are
            its own.
        manners: for each a number that those share which are made alike: they and their
            parents have the same tag and the same first class.
        around: for each the nearest that does not only shape running text: it or one
            around it.
    """

    def __init__(
        self,
        body: Element,
        holders: Iterable[Element],
        headings: Iterable[Element],
    ) -> None:
        around_heading = {
            el for each in headings for el in (each, *each.iterancestors())
        }
        numbers: dict[Element, int] = {body: 0}
        kinds = [("", "")]  # tags and first classes
        known = dict[tuple[tuple[str, str], ...], int]()
        places, parents, roles, manners, around = [], [0], [0], [0], [0]
        for holder in holders:
            el = holder
            path: list[Element] = []
            while el not in numbers:
                if path or el.tag not in _INLINE:
                    path.append(el)
                el = el.getparent()
            place = numbers[el]
            for el in reversed(path):
                parent, place = place, len(parents)
                numbers[el] = place
                tag = el.tag
                role, name = role_and_class(tag, el.items())
                # Names such as "with-sidebar" stand on wrappers of all that there is.
                if role & _REFUTED and el in around_heading:
                    role &= ~(_REFUTED | NAMED_FOOTER)
                elif role & (HEADER | FOOTER) and not roles[parent] & SECTION:
                    role |= OUTER
                parents.append(parent)
                roles.append(roles[parent] & _INHERITED | role)
                kinds.append((tag, name))
                manners.append(known.setdefault((kinds[parent], kinds[place]), place))
                around.append(around[parent] if tag in FLOW_TAGS else place)
            places.append(place)
        ends = [*range(1, len(parents) + 1)]
        for place in range(len(parents) - 1, 0, -1):
            parent = parents[place]
            if ends[parent] < ends[place]:
                ends[parent] = ends[place]
        self.elements = [*numbers]
        # np.array would look at every number to find a type for them.
        self.numbers: Ints = np.arange(len(parents))
        self.ends: Ints = np.fromiter(ends, np.intp)
        self.places: Ints = np.fromiter(places, np.intp)
        self.parents: Ints = np.fromiter(parents, np.intp)
        self.roles: Ints = np.fromiter(roles, np.intp)
        self.manners: Ints = np.fromiter(manners, np.intp)
        self.around: Ints = np.fromiter(around, np.intp)

    def groups(self, places: Ints) -> Ints:
        """Return for the place of each line the element that it stands in together with others.

        Paragraphs, lists and tables only shape running text; many manuals have no tag
        for sections.
        """
        lone = (np.bincount(places, minlength=len(self.parents)) == 1) & (
            self.roles & ITEM == 0
        )
        return self.around[np.where(lone[places], self.parents[places], places)]

    def sums(self, values: Floats | Ints) -> Floats:
        """Return for each element the sum of the values of it and of all elements in it."""
        upto: Floats = np.append(0, values.cumsum())
        return upto[self.ends] - upto[:-1]

    def holds(self, first: int, last: int) -> Flags:
        """Return of each element whether it is or holds both of two, which are in order."""
        return (self.numbers <= first) & (last < self.ends)

    def distances(self, area: int) -> Ints:
        """Return how many levels above an area the nearest element is that holds both.

        It is 0 for what lies in the area.
        """
        way = np.flatnonzero(self.holds(area, area))
        before = len(way) - np.searchsorted(way, self.numbers, "right")
        return before + np.searchsorted(self.ends[way][::-1], self.numbers, "right")

    def branches(self, area: int) -> Ints:
        """Return in which part of the page each element lies: parts that lie around an area.

        What lies in the area has its number. Anything else has that of the largest
        element which holds it and nothing of the area, and elements around the area
        have their own.
        """
        around = self.holds(area, area)
        is_part = around | (around[self.parents] & (self.parents != area))
        return np.maximum.accumulate(np.where(is_part, self.numbers, 0))
