"""Traps: pages that say nothing new, and link nothing new but more of their kind.

A calendar without end is one: each month is near the others, and links the next. The pages of one
kind may have several signatures, such as the folders, tabs and pictures of a media manager.
"""

import re
from collections.abc import Callable

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.novelty import Novelty, Seen, values_of

#: Pages of a kind in a row that each brought a new link to another one, and nothing else.
PAGES_OF_TRAP = 50

_VALUE = re.compile(r"(?<==)[^&]*")


class Kind:
    """Pages that link each other.

    Attributes:
        names: the path of each page with the names of its parameters.
        row: poor pages in a row that each brought a new link, whose addresses combine known values.
        row_of_new: those that had a new value in their address. A page that has one may say
            something new, which proves nothing about combinations of known values.
    """

    def __init__(self, name: str) -> None:
        self.names = {name}
        self.row = 0
        self.row_of_new = 0


class Traps:
    """Finds the kinds of pages that are traps, each once."""

    def __init__(self) -> None:
        self._novelty = Novelty()
        # The addresses of pages and links, and the values in them.
        self._linked = Seen()
        # The pages that may be part of a trap, by their addresses, each with its group: pages of a
        # signature with new values in their addresses, or without.
        self._poor: LRUCache[str, tuple[str, bool]] = LRUCache(REMEMBERED)
        # The pages among these that have brought a new link.
        self._counted: LRUCache[str, None] = LRUCache(REMEMBERED)
        # It says whether the last page of a group was poor; all signatures of a name are one, too.
        self._is_poor: LRUCache[tuple[str, bool], bool] = LRUCache(REMEMBERED)
        self._kinds: LRUCache[str, Kind] = LRUCache(REMEMBERED)
        self._told: LRUCache[str, None] = LRUCache(REMEMBERED)

    def page(self, url: str, signature: str, html: str = "", *, is_copy: bool = False) -> None:
        """Note a page.

        Args:
            url: its address.
            signature: the signature of the address.
            html: the page, if it is near another one, but no copy.
            is_copy: whether it repeats another one.
        """
        # Its links to itself are not new.
        self._linked.note([_plain(url), *values_of(url)])
        has_new_values = self._novelty.has_new_values(url)
        group = (signature, has_new_values)
        says_new = self._novelty.is_new(url, html) and not is_copy
        if not says_new:
            self._poor[url] = group
        elif self._is_poor.get(group):
            self._end(*group)
        for each in (signature, _without_values(signature)):
            self._is_poor[each, has_new_values] = not says_new

    def link(self, url: str, link: str, signature_of: Callable[[str], str]) -> str:
        """Note a link of a page; return its signature, once, if that is a trap, or else nothing.

        ``signature_of`` returns the signature of an address.
        """
        if not self._linked.note([_plain(link)]):
            return ""
        has_new_values = self._linked.note(values_of(link))
        if url not in self._poor:
            return ""
        signature, is_of_new = self._poor[url]
        linked = signature_of(link)
        name = _without_values(signature)
        linked_name = _without_values(linked)
        if not self._is_no_news(linked, has_new_values):
            if has_new_values or linked_name != name:
                del self._poor[url]
                self._end(signature, is_of_new)
            return ""
        kind = self._joined(name, linked_name)
        if url not in self._counted:
            self._counted[url] = None
            kind.row += not is_of_new
            kind.row_of_new += is_of_new
        is_told = not self._told.keys().isdisjoint(kind.names)
        if kind.row + kind.row_of_new < PAGES_OF_TRAP or is_told:
            return ""
        self._told.update(dict.fromkeys(kind.names))
        return linked

    def row(self, url: str, signature: str) -> int:
        """Return the number of pages that have made an address a trap; 0 for no trap."""
        name = _without_values(signature)
        if (kind := self._kinds.get(name)) is None:
            return 0
        has_new_values = self._novelty.has_new_values(url)
        row = kind.row_of_new + (0 if has_new_values else kind.row)
        # Other pages of its name tell whether the first page of a signature says something new,
        # or else those that have new values.
        is_poor_of_new = self._is_poor.get((signature, True), True)
        combines = self._is_poor.get((name, False), is_poor_of_new)
        is_poor = self._is_no_news(signature, has_new_values, combines=combines)
        return row if row >= PAGES_OF_TRAP and is_poor else 0

    def _is_no_news(self, signature: str, has_new_values: bool, *, combines: bool = True) -> bool:
        """Tell whether a page will say nothing new, as the last one of its group did.

        Of the first one, ``combines`` says whether it says nothing new if it combines known values.
        """
        return self._is_poor.get((signature, has_new_values), combines and not has_new_values)

    def _joined(self, name: str, linked: str) -> Kind:
        kind = self._kinds.setdefault(name, Kind(name))
        linked_kind = self._kinds.setdefault(linked, Kind(linked))
        if linked_kind is not kind:
            kind.names |= linked_kind.names
            kind.row += linked_kind.row
            kind.row_of_new += linked_kind.row_of_new
            self._kinds.update(dict.fromkeys(linked_kind.names, kind))
        return kind

    def _end(self, signature: str, is_of_new: bool) -> None:
        """Take a kind apart, because a page of it says or links something new."""
        if kind := self._kinds.get(_without_values(signature)):
            kind.row_of_new = 0
            if not is_of_new:
                for name in kind.names:
                    self._kinds.pop(name, None)


def _without_values(signature: str) -> str:
    """Return a signature without the values of its parameters."""
    return _VALUE.sub("", signature)


def _plain(url: str) -> str:
    return url.partition("#")[0]
