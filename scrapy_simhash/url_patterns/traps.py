"""Traps: pages that say little new, and link nothing new but more of their kind.

A calendar without end is one: each month is near the others, and links the next.
"""

from collections.abc import Callable

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import REMEMBERED

#: Pages of a signature in a row that each brought a new link to another one, and nothing else.
PAGES_OF_TRAP = 50


class Traps:
    """Finds the signatures that are traps, each once."""

    def __init__(self) -> None:
        self._linked: LRUCache[int, None] = LRUCache(REMEMBERED)
        # Signatures of pages that may be part of a trap, by their addresses, and pages in a row.
        self._poor: LRUCache[str, str] = LRUCache(REMEMBERED)
        self._rows: LRUCache[str, int] = LRUCache(REMEMBERED)
        self._told: LRUCache[str, None] = LRUCache(REMEMBERED)

    def page(self, url: str, signature: str, *, is_poor: bool) -> None:
        """Note a page. A poor one is distinct, but near another one."""
        self._linked[_address_hash(url)] = None  # a page's links to itself are not new
        if is_poor:
            self._poor[url] = signature
        else:
            self._rows.pop(signature, None)

    def link(self, url: str, link: str, signature_of: Callable[[str], str]) -> str:
        """Note a link of a page; return its signature, once, if that is a trap, or else nothing.

        ``signature_of`` returns the signature of an address.
        """
        name = _address_hash(link)
        is_new = name not in self._linked
        self._linked[name] = None
        if not is_new or url not in self._poor:
            return ""
        signature = signature_of(link)
        if signature != self._poor[url]:
            self._rows.pop(self._poor.pop(url), None)
            return ""
        row = self._rows[signature] = self._rows.get(signature, 0) + 1
        if row < PAGES_OF_TRAP or signature in self._told:
            return ""
        self._told[signature] = None
        return signature

    def holds(self, signature: str) -> bool:
        """Tell whether a signature that was a trap is one still."""
        return self._rows.get(signature, 0) >= PAGES_OF_TRAP


def _address_hash(url: str) -> int:
    return hash(url.partition("#")[0])
