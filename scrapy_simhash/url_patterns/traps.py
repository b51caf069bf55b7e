"""Traps: pages that say little new, and link nothing new but more of their kind.

A calendar without end is one: each month is near the others, and links the next.
"""

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import REMEMBERED

#: Pages of a signature in a row that each brought a new link to another one, and nothing else.
PAGES = 50


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
        self._linked[_name(url)] = None  # a page's links to itself are not new
        if is_poor:
            self._poor[url] = signature
        else:
            self._rows.pop(signature, None)

    def may_be_part(self, url: str, link: str) -> bool:
        """Note a link; return whether it is new and stands on a poor page."""
        name = _name(link)
        is_new = name not in self._linked
        self._linked[name] = None
        return is_new and url in self._poor

    def link(self, url: str, signature: str) -> bool:
        """Note the signature of a new link on a poor page; return True once if it is a trap."""
        if signature != self._poor[url]:
            self._rows.pop(self._poor.pop(url), None)
            return False
        row = self._rows[signature] = self._rows.get(signature, 0) + 1
        if row < PAGES or signature in self._told:
            return False
        self._told[signature] = None
        return True

    def holds(self, signature: str) -> bool:
        """Tell whether a signature that was a trap is one still."""
        return self._rows.get(signature, 0) >= PAGES


def _name(url: str) -> int:
    return hash(url.partition("#")[0])
