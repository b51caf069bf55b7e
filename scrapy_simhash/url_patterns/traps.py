"""Traps: pages that say little of their own and bring no new link but to more of their kind.

A calendar without end is one: each month is near the others, and links the next.
"""

import re

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import STARS, plain, read_signature, shape

#: Pages of a signature in a row that each brought a new link to another one, and nothing else.
PAGES = 50
#: Addresses that were linked, and pages and signatures that are kept: those that were met last.
MOST = 100_000


class Traps:
    """Finds the signatures that are traps, each once."""

    def __init__(self) -> None:
        self._linked: LRUCache[int, None] = LRUCache(MOST)
        # Signatures of pages that may be part of a trap, by their addresses, and pages in a row.
        self._poor: LRUCache[str, str] = LRUCache(MOST)
        self._rows: LRUCache[str, int] = LRUCache(MOST)
        self._told: LRUCache[str, None] = LRUCache(MOST)

    def page(self, url: str, signature: str, *, is_poor: bool) -> None:
        """Take note of a page; a poor one is near another one, and distinct all the same."""
        self._linked[_name(url)] = None  # a page's links to itself are not new
        if is_poor:
            self._poor[url] = signature
        else:
            self._rows.pop(signature, None)

    def may_be_part(self, url: str, link: str) -> bool:
        """Take note of a link; return whether it is new and stands on a poor page."""
        name = _name(link)
        is_new = name not in self._linked
        self._linked[name] = None
        return is_new and url in self._poor

    def link(self, url: str, signature: str) -> bool:
        """Take note of the signature of a new link on a poor page; return whether that is a trap.

        It is True once for a signature.
        """
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
        return bool(self._told and self._rows.get(signature, 0) >= PAGES)


def _name(url: str) -> int:
    return hash(url.partition("#")[0])


def deny_expression(url: str, signature: str) -> str:
    """Return a regular expression for an address and the others of its signature.

    The signature is without the host.
    """
    place, _, query = url.partition("#")[0].partition("?")
    parts = read_signature(signature)
    literals = {*parts.path, *(part for _, values in parts.parameters for part in values)}

    def form(text: str, any_value: str) -> str:
        if text in literals:
            return re.escape(text)
        star = shape(plain(text)).star
        before, after = next(star.split(each, 1) for each in STARS.values() if each in star)
        is_plain = text.startswith(before) and text.endswith(after) and len(text) >= len(star) - 1
        return re.escape(before) + any_value + re.escape(after) if is_plain else any_value

    segments = place.partition("://")[2].split("/")[1:]
    expression = "".join("/" + form(segment, "[^/?#]*") for segment in segments) + "(?=[?#]|$)"
    # Parameters stand in any order, and each of them counts: the others are those of other pages.
    for piece in filter(None, re.split("[&;]", query)):
        name, sign, value = piece.partition("=")
        values = "/".join(form(part, "[^/&;#]*") for part in value.split("/"))
        expression += rf"(?=.*[?&;]{re.escape(name)}{sign}{values}(?:[&;#]|$))"
    return expression
