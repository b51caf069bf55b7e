"""What an operator needs of an index, beside what a crawl does: look at it, fill it, empty it."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from scrapy_simhash.index.base import Entry, Index

# A key of an index that holds digests instead of the keys of the pages.
DIGEST_KEY = re.compile("#[0-9a-f]{16}")
# Digests in a set, of some 60 bytes each, before they are sorted in among the others.
_UNSORTED = 1 << 16


@dataclass(frozen=True, slots=True)
class Census:
    """What an index holds.

    Attributes:
        pages: originals.
        provisional: those of them whose callback has not finished.
        waiting: pages that wait on one of those, or are handed over.
        bodies: bodies that are remembered.
        sizes: bytes of each of its parts; of a large index in Redis, from a sample of its keys.
        crowded: entries that found their bucket full; None where buckets have no limit.
    """

    pages: int
    provisional: int
    waiting: int
    bodies: int
    sizes: dict[str, int]
    crowded: int | None = None


class StoredIndex(Index):
    """An index that can be looked into, and changed otherwise than by claims.

    Attributes:
        recipe: identity of the recipe that made the fingerprints.
        options: how it is kept, by the names of the URL's options.
    """

    recipe: str
    options: dict[str, str]
    _known: _Digests | None = None

    def restore(self, entries: Sequence[Entry]) -> int:
        """Append entries of another index, confirmed; return how many were not there yet.

        Key, fingerprint, scope and the whole seconds of the time are kept. An entry with the same
        three as a confirmed one changes nothing; other entries are added whatever is near. The
        first call reads the whole index; 8 bytes for each of its entries stay in RAM.
        """
        if self._known is None:
            self._known = _Digests(self._confirmed())
        named = (replace(entry, key=self.stored_key(entry.key)) for entry in entries)
        new = [entry for entry in named if self._known.add(entry)]
        try:
            self._append(new)
        except BaseException:
            self._known = None
            raise
        return len(new)

    @abstractmethod
    def _append(self, entries: Sequence[Entry]) -> None:
        """Append confirmed entries."""

    def _confirmed(self) -> Iterator[Entry]:
        return (entry for entry in self if not entry.provisional)

    @abstractmethod
    def remove_where(self, condition: Callable[[Entry], bool]) -> int:
        """Remove every entry of which a condition holds; return how many there were.

        It is one pass over the index. Pages waiting on them are for whoever asks for orphans.
        """

    def find(self, keys: Collection[str]) -> list[Entry]:
        """Return the entries of these keys, in the order of the log. It reads the whole index."""
        names = {self.stored_key(key) for key in keys}
        return [entry for entry in self if entry.key in names]

    def stored_key(self, key: str) -> str:
        """Return the key that the entry of a page has."""
        return key

    @abstractmethod
    def sample(self, count: int) -> list[Entry]:
        """Return about so many entries from all of the log, the first and the last among them."""

    @abstractmethod
    def census(self) -> Census:
        """Count what is there; no call to the store is a large one."""


class _Digests:
    """Which entries there are: 8 bytes for each."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._sorted = np.empty(0, np.uint64)
        self._new: set[int] = set()
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> bool:
        """Add an entry; return whether it was not there."""
        text = f"{entry.fingerprint}{len(entry.scope)}:{entry.scope}{entry.key}"
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        if number in self._new:
            return False
        at = int(self._sorted.searchsorted(np.uint64(number)))
        if at < len(self._sorted) and int(self._sorted[at]) == number:
            return False
        self._new.add(number)
        if len(self._new) >= _UNSORTED:
            new = np.fromiter(self._new, np.uint64, len(self._new))
            self._sorted = np.sort(np.concatenate((self._sorted, new)), kind="stable")
            self._new.clear()
        return True
