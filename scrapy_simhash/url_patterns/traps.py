"""Traps: pages that say nothing new, and link nothing new but more of their kind.

A calendar without end is one: each month is near the others, and links the next. The
pages of one kind may have several signatures, such as the folders, tabs and pictures of
a media manager.
"""

import re
from collections import Counter
from collections.abc import Callable

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.novelty import Novelty, Seen, values_of

#: Pages of a kind in a row that each brought a new link to another one, and nothing
#: else.
PAGES_OF_TRAP = 50

_VALUE = re.compile(r"(?<==)[^&]*")


class Kind:
    """Pages that link each other.

    Attributes:
        names: the path of each page with the names of its parameters.
        poor_pages: the number of pages in a row that said nothing new and each brought
            a new link, by whether their addresses have new values, or combine known
            ones. A page that has a new one may say something new, which proves nothing
            about combinations of known values.
    """

    def __init__(self, name: str) -> None:
        self.names = {name}
        self.poor_pages = Counter[bool]()


class Traps:
    """Finds the kinds of pages that are traps, each once."""

    def __init__(self) -> None:
        self._novelty = Novelty()
        # The addresses of pages and links, and the values in them.
        self._linked = Seen()
        # The pages that may be part of a trap, by their addresses, each with its group:
        # pages of a signature with new values in their addresses, or without.
        self._poor: LRUCache[str, tuple[str, bool]] = LRUCache(REMEMBERED)
        # The pages among these that have brought a new link.
        self._counted = Seen()
        # It says whether the last page of a group was poor; all signatures of a name
        # are one, too.
        self._is_poor: LRUCache[tuple[str, bool], bool] = LRUCache(REMEMBERED)
        self._kinds: LRUCache[str, Kind] = LRUCache(REMEMBERED)
        self._told = Seen()

    def page(
        self,
        url: str,
        signature: str,
        html: str = "",
        *,
        is_copy: bool = False,
    ) -> None:
        """Note a page.

        Args:
            url: its address.
            signature: the signature of the address.
            html: the page, if it is near another one, but no copy.
            is_copy: whether it repeats another one.
        """
        # Its links to itself are not new.
        self._linked.note([url.partition("#")[0], *values_of(url)])
        has_new_values = self._novelty.has_new_values(url)
        group = (signature, has_new_values)
        says_new = self._novelty.is_new(url, html) and not is_copy
        if not says_new:
            self._poor[url] = group
        elif self._is_poor.get(group):
            self._end(*group)
        for each in (signature, _without_values(signature)):
            self._is_poor[each, has_new_values] = not says_new

    def link(
        self,
        url: str,
        link: str,
        signature_of: Callable[[str], str],
    ) -> str:
        """Note a link of a page; return its signature, once, if that is a trap, or else nothing.

        ``signature_of`` returns the signature of an address.
        """
        if not self._linked.note([link.partition("#")[0]]):
            return ""
        has_new_values = self._linked.note(values_of(link))
        if url not in self._poor:
            return ""
        signature, is_of_new = self._poor[url]
        linked = signature_of(link)
        name = _without_values(signature)
        linked_name = _without_values(linked)
        # A combination of known values says nothing new until one of its group did.
        is_poor = self._is_poor.get((linked, has_new_values), not has_new_values)
        if not is_poor:
            if has_new_values or linked_name != name:
                del self._poor[url]
                self._end(signature, is_of_new)
            return ""
        kind = self._joined(name, linked_name)
        if self._counted.note([url]):
            kind.poor_pages[is_of_new] += 1
        is_told = any(name in self._told for name in kind.names)
        if is_told or kind.poor_pages.total() < PAGES_OF_TRAP:
            return ""
        self._told.note(kind.names)
        return linked

    def length(self, url: str, signature: str) -> int:
        """Return the number of pages that have made an address a trap; 0 for no trap."""
        name = _without_values(signature)
        kind = self._kinds.get(name)
        if kind is None:
            return 0
        if self._novelty.has_new_values(url):
            length = kind.poor_pages[True]
            is_poor = self._is_poor.get((signature, True), False)
        else:
            length = kind.poor_pages.total()
            # Pages of its group tell whether a combination of known values will say
            # nothing new; of the first one of a group, other pages of its name, or else
            # pages of the signature that have new values.
            groups = [(signature, False), (name, False), (signature, True)]
            told = (self._is_poor[each] for each in groups if each in self._is_poor)
            is_poor = next(told, True)
        return length if length >= PAGES_OF_TRAP and is_poor else 0

    def _joined(self, name: str, linked: str) -> Kind:
        kind = self._kinds.setdefault(name, Kind(name))
        linked_kind = self._kinds.setdefault(linked, Kind(linked))
        if linked_kind is not kind:
            kind.names |= linked_kind.names
            kind.poor_pages += linked_kind.poor_pages
            self._kinds.update(dict.fromkeys(linked_kind.names, kind))
        return kind

    def _end(self, signature: str, is_of_new: bool) -> None:
        """Take a kind apart, because a page of it says or links something new."""
        if kind := self._kinds.get(_without_values(signature)):
            del kind.poor_pages[True]
            if not is_of_new:
                for name in kind.names:
                    self._kinds.pop(name, None)


def _without_values(signature: str) -> str:
    """Return a signature without the values of its parameters."""
    return _VALUE.sub("", signature)
