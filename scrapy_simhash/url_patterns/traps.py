"""Traps: pages that say nothing new, and link nothing new but more of their kind.

A calendar without end is one: each month is near the others, and links the next. The pages of one
kind may have several signatures, such as the folders, tabs and pictures of a media manager.
"""

import re
from collections.abc import Callable

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.novelty import Novelty

#: Pages of a kind in a row that each brought a new link to another one, and nothing else.
PAGES_OF_TRAP = 50

_VALUE = re.compile(r"(?<==)[^&]*")


class Kind:
    """Pages that link each other.

    Attributes:
        names: the path of each page with the names of its parameters.
        row: poor pages in a row that each brought a new link.
        is_told: whether somebody was told that this is a trap.
    """

    def __init__(self, name: str) -> None:
        self.names = {name}
        self.row = 0
        self.is_told = False


class Traps:
    """Finds the kinds of pages that are traps, each once."""

    def __init__(self) -> None:
        self._novelty = Novelty()
        self._linked: LRUCache[int, None] = LRUCache(REMEMBERED)
        # Signatures of pages that may be part of a trap, by their addresses, and those pages that
        # have brought a new link; whether the last page of a signature was poor.
        self._poor: LRUCache[str, str] = LRUCache(REMEMBERED)
        self._counted: LRUCache[str, None] = LRUCache(REMEMBERED)
        self._is_poor: LRUCache[str, bool] = LRUCache(REMEMBERED)
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
        self._linked[_address_hash(url)] = None  # a page's links to itself are not new
        says_new = self._novelty.is_new(url, html) and not is_copy
        if not says_new:
            self._poor[url] = signature
        elif self._is_poor.get(signature):
            self._end(signature)
        self._is_poor[signature] = not says_new

    def link(self, url: str, link: str, signature_of: Callable[[str], str]) -> str:
        """Note a link of a page; return its signature, once, if that is a trap, or else nothing.

        ``signature_of`` returns the signature of an address.
        """
        name = _address_hash(link)
        is_new = name not in self._linked
        self._linked[name] = None
        signature = self._poor.get(url)
        if not is_new or signature is None:
            return ""
        linked = signature_of(link)
        if not self._is_no_news(link, linked):
            if _without_values(linked) != _without_values(
                signature
            ) or self._novelty.has_new_values(link):
                del self._poor[url]
                self._end(signature)
            return ""
        kind = self._joined(_without_values(signature), _without_values(linked))
        if url not in self._counted:
            self._counted[url] = None
            kind.row += 1
        is_told = kind.is_told or not self._told.keys().isdisjoint(kind.names)
        if kind.row < PAGES_OF_TRAP or is_told:
            return ""
        kind.is_told = True
        self._told.update(dict.fromkeys(kind.names))
        return linked

    def row(self, url: str, signature: str) -> int:
        """Return the number of pages that have made an address a trap; 0 for no trap."""
        kind = self._kinds.get(_without_values(signature))
        is_trap = kind is not None and kind.row >= PAGES_OF_TRAP
        return kind.row if kind and is_trap and self._is_no_news(url, signature) else 0

    def _is_no_news(self, url: str, signature: str) -> bool:
        """Tell whether the signature's last page, or else the address, says nothing new."""
        is_poor = self._is_poor.get(signature)
        return not self._novelty.has_new_values(url) if is_poor is None else is_poor

    def _joined(self, name: str, linked: str) -> Kind:
        kind = self._kinds.setdefault(name, Kind(name))
        other = self._kinds.setdefault(linked, Kind(linked))
        if other is not kind:
            kind.names |= other.names
            kind.row += other.row
            kind.is_told |= other.is_told
            self._kinds.update(dict.fromkeys(other.names, kind))
        return kind

    def _end(self, signature: str) -> None:
        """Take a kind apart, because a page of it says or links something new."""
        if kind := self._kinds.get(_without_values(signature)):
            for name in kind.names:
                self._kinds.pop(name, None)


def _without_values(signature: str) -> str:
    """Return a signature without the values of its parameters."""
    return _VALUE.sub("", signature)


def _address_hash(url: str) -> int:
    return hash(url.partition("#")[0])
