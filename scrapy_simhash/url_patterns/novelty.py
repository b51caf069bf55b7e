"""Tells whether a page says something that no earlier page of its kind has said.

In a REPL::

    novelty = Novelty()
    novelty.is_new("http://cal.test/?month=1", "<h1>Month 1</h1>")  # True
    novelty.is_new("http://cal.test/?month=2", "<h1>Month 2</h1>")  # False: its address says "2"
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from cachetools import LRUCache

from scrapy_simhash.keys import host_of
from scrapy_simhash.url_patterns.address import REMEMBERED, read_address

#: Characters of a page; a longer one always says something new.
LONGEST_PAGE = 200_000

_words_in = re.compile(r"[^\W_]+").findall
_UNSAID = ("style", "!")
_QUERY = re.compile(r"\?[^\s\"']*")


class Novelty:
    """Remembers the lines and the addresses of pages.

    A line is a text between two tags, or a picture, without the words of the address. What a page
    says is new if one of its lines is, or if it says a name that no address had: a program counts
    without end, but somebody has thought of each name. It is also new if no page had just these
    lines and the address has a new value: the items of a catalogue may have nothing but values that
    others have, too.
    """

    def __init__(self) -> None:
        self._known: LRUCache[int, None] = LRUCache(REMEMBERED)

    def is_new(self, url: str, html: str) -> bool:
        """Note a page; return whether it says something new.

        Args:
            url: its address.
            html: the page; empty if it is known to say something new.
        """
        has_new_values = self._note(_values_of(url))
        host = host_of(url)
        own_words = frozenset(_words_in(unquote(url).lower()))
        new_names = {word for word in own_words if word.isalpha() and self._note([(host, word)])}
        if not html or len(html) > LONGEST_PAGE:
            return True
        said = {tuple(words) for words in map(_words_in, _texts_of(html))}
        lines = frozenset(_without(own_words, words) for words in said) - {()}
        is_new_whole = self._note([(host, lines)])
        return (
            self._note((host, words) for words in lines)
            or any(not new_names.isdisjoint(words) for words in said)
            or (has_new_values and is_new_whole)
        )

    def has_new_values(self, url: str) -> bool:
        """Return whether an address has a value that no page had in its address."""
        return any(hash(value) not in self._known for value in _values_of(url))

    def _note(self, facts: Iterable[object]) -> bool:
        """Remember facts; return whether any of them is new."""
        names = {hash(fact) for fact in facts}
        is_new = any(name not in self._known for name in names)
        self._known.update(dict.fromkeys(names))
        return is_new


def _values_of(url: str) -> list[object]:
    """Return the segments of a path and the parameters, each with its place and the host."""
    if (address := read_address(url)) is None:
        return [url]
    return [(address.host, value) for value in (*enumerate(address.path), *address.parameters)]


def _without(own_words: frozenset[str], words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in own_words)


def _texts_of(page: str) -> Iterator[str]:
    """Yield the texts between the tags of a page in lower case, its pictures and its scripts.

    The texts of links name other pages, and are left out. A text without tags is yielded whole, and
    a picture without the query of its address, in which counters of visits have the time.
    """
    for piece in page.lower().split("<"):
        tag, end, text = piece.partition(">")
        is_link = tag.startswith("a ") and "href" in tag
        if tag.startswith("img "):
            yield _QUERY.sub("", tag)
        if not (is_link or tag.startswith(_UNSAID)):
            yield text if end else tag
