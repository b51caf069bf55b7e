"""Tells whether a page says something that no earlier page of its kind has said.

In a REPL::

    novelty = Novelty()
    novelty.is_new("http://cal.test/?month=1", "<h1>Month 1</h1>")  # True
    novelty.is_new("http://cal.test/?month=2", "<h1>Month 2</h1>")  # False
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote

from cachetools import LRUCache

from scrapy_simhash.keys import host_of
from scrapy_simhash.url_patterns.address import REMEMBERED, read_address

#: Characters of a page, and texts between its tags that differ. A page with more always
#: says something new, because the event loop waits meanwhile.
LONGEST_PAGE = 200_000
MOST_LINES = 2000

_words_in = re.compile(r"[^\W_]+").findall
_UNSAID = ("style", "!")
_Line = tuple[str, ...]  # its words
_QUERY = re.compile(r"\?[^\s\"']*")


class Seen:
    """Remembers facts by their hashes, the newest ones."""

    def __init__(self) -> None:
        self._known: LRUCache[int, None] = LRUCache(REMEMBERED)

    def __contains__(self, fact: object) -> bool:
        return hash(fact) in self._known

    def note(self, facts: Iterable[object]) -> bool:
        """Remember facts; return whether any of them is new."""
        names = dict.fromkeys(map(hash, facts))
        is_new = any(name not in self._known for name in names)
        self._known.update(names)
        return is_new


class Novelty:
    """Remembers the lines and the addresses of pages.

    A line is a text between two tags, or a picture. It is new if no page had it, with
    or without the words of the page's own address. A page says something new if one of
    its lines is new, or if it says a name that no address had: a program counts without
    end, but somebody has thought of each name. It also does if no page had just these
    lines and the address has a new value: the items of a catalogue may have nothing but
    values that others have, too.
    """

    def __init__(self) -> None:
        self._said = Seen()
        self._names = Seen()
        self._values = Seen()

    def is_new(self, url: str, html: str) -> bool:
        """Note a page; return whether it says something new.

        Args:
            url: its address.
            html: the page; empty if it is known to say something new.
        """
        has_new_values = self._values.note(values_of(url))
        host = host_of(url)
        own_words = frozenset(_words_in(unquote(url).lower()))
        new_names = self._new_names(host, own_words)
        lines = _lines_by_words(html, own_words)
        if not lines:
            return True
        has_new_line = self._has_new_line(host, lines)
        self._said.note((host, words) for words in [*lines, *lines.values()])
        is_new_whole = self._said.note([(host, frozenset(lines.values()))])
        says_new_name = any(not new_names.isdisjoint(words) for words in lines)
        return has_new_line or says_new_name or (has_new_values and is_new_whole)

    def _new_names(self, host: str, words: Iterable[str]) -> set[str]:
        """Remember the names among the words of an address; return those that are new."""
        names = filter(str.isalpha, words)
        return {name for name in names if self._names.note([(host, name)])}

    def _has_new_line(self, host: str, lines: dict[_Line, _Line]) -> bool:
        return any(
            rest and (host, line) not in self._said and (host, rest) not in self._said
            for line, rest in lines.items()
        )

    def has_new_values(self, url: str) -> bool:
        """Return whether an address has a value that no page had in its address."""
        return any(value not in self._values for value in values_of(url))


def values_of(url: str) -> list[tuple[str, object]]:
    """Return the segments of a path and the parameters, each with its place and the host."""
    address = read_address(url)
    if address is None:
        return [("", url)]
    values = [*enumerate(address.path), *address.parameters]
    return [(address.host, value) for value in values]


def _lines_by_words(html: str, own_words: frozenset[str]) -> dict[_Line, _Line]:
    """Return each line of a page, with the same line without the words of the page's address.

    Of no page, and of one that is too long, there are no lines.
    """
    texts = _texts_of(html) if 0 < len(html) <= LONGEST_PAGE else ()
    if len(texts) > MOST_LINES:
        return {}
    lines = {}
    for text in texts:
        words = tuple(_words_in(text))
        lines[words] = tuple(word for word in words if word not in own_words)
    return lines


def _texts_of(page: str) -> set[str]:
    """Return the texts between the tags of a page in lower case, its pictures and its scripts.

    The texts of links name other pages, and are left out. A text without tags is
    returned whole, and a picture without the query of its address, in which counters of
    visits have the time.
    """
    texts = set[str]()
    for piece in set(page.lower().split("<")):
        tag, end, text = piece.partition(">")
        is_link = tag.startswith("a ") and "href" in tag
        if tag.startswith("img "):
            texts.add(_QUERY.sub("", tag))
        if not (is_link or tag.startswith(_UNSAID)):
            texts.add(text if end else tag)
    return texts
