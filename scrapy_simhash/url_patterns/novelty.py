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

_WORD = re.compile(r"[^\W_]+")
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
        has_new_values = self._note(_values(url))
        host = host_of(url)
        own_words = frozenset(_words(unquote(url).lower()))
        new_names = {word for word in own_words if word.isalpha() and self._note([(host, word)])}
        if not html or len(html) > LONGEST_PAGE:
            return True
        said = {tuple(_words(text)) for text in _texts(html)}
        has_new_names = any(not new_names.isdisjoint(words) for words in said)
        lines = {_without(own_words, words) for words in said} - {()}
        has_new_lines = self._note((host, line) for line in lines)
        is_new_whole = self._note([(host, frozenset(lines))])
        return has_new_names or has_new_lines or (has_new_values and is_new_whole)

    def has_new_values(self, url: str) -> bool:
        """Return whether an address has a value that no page had in its address."""
        return any(hash(value) not in self._known for value in _values(url))

    def _note(self, facts: Iterable[object]) -> bool:
        """Remember facts; return whether any of them is new."""
        names = {hash(fact) for fact in facts}
        is_new = any(name not in self._known for name in names)
        self._known.update(dict.fromkeys(names))
        return is_new


def _values(url: str) -> list[object]:
    """Return the segments of a path and the parameters, each with its place and the host."""
    if (address := read_address(url)) is None:
        return [url]
    return [(address.host, value) for value in (*enumerate(address.path), *address.parameters)]


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _without(own_words: frozenset[str], words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in own_words)


def _texts(page: str) -> Iterator[str]:
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
