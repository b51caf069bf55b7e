"""Pages of which this crawler is the owner, until their delivery, and the copies that wait on one.

A page is *in progress* while a part of it (its callback, one of its items) is on its way. When the
last part has ended, the page is settled: it was delivered, or it failed if one of them failed.
"""

from collections.abc import Callable, Iterable
from itertools import islice

from scrapy_simhash.index.values import Unsettled

# Copies that wait on one original. When it fails, one delivered copy is enough.
COPIES_OF_ONE = 100
# Originals that the index is asked about together.
ASKED_AT_ONCE = 256


class Progress:
    def __init__(self) -> None:
        # How many parts of a key are on their way, and the keys of which one failed.
        self._parts: dict[str, int] = {}
        self._failing: set[str] = set()
        self._failed: list[str] = []
        self._delivered: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._parts

    @property
    def is_settled(self) -> bool:
        """True if nothing is in progress, and nothing that has ended is left to be told."""
        return not (self._parts or self._failed or self._delivered)

    def keys(self) -> list[str]:
        return list(self._parts)

    def begin(self, key: str) -> None:
        self._parts[key] = self._parts.get(key, 0) + 1

    def end(self, key: str, *, failed: bool) -> None:
        """Note that a part has ended; with the last, the key is settled."""
        if key not in self._parts:
            return
        if failed:
            self._failing.add(key)
        self._parts[key] -= 1
        if not self._parts[key]:
            del self._parts[key]
            (self._failed if key in self._failing else self._delivered).append(key)
            self._failing.discard(key)

    def end_all(self) -> None:
        """End everything that is still in progress: it failed."""
        self._failed.extend(self._parts)
        self._parts.clear()
        self._failing.clear()

    def take_settled(self) -> tuple[list[str], list[str]]:
        """Return the keys that failed, and those that were delivered, since the last call.

        Release the failed keys before you confirm the others, because a page may have failed with
        one text and then have come with another. A failed key is returned even while it is in
        progress again. A delivered one is returned once no part of it is in progress, because the
        copies that wait would be lost if its new text were confirmed and then failed.
        """
        again = [key for key in dict.fromkeys(self._delivered) if key in self._parts]
        settled = self._failed, [key for key in self._delivered if key not in self._parts]
        self._failed, self._delivered = [], again
        return settled


class Copies:
    """Who waits for the fate of an original, by its entry in the index.

    Each is called once: with True if the original was delivered, with False if it was not.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, list[Callable[[bool], None]]] = {}
        # The keys of these originals.
        self._keys: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def wait(self, entry: int, key: str, told: Callable[[bool], None]) -> bool:
        """Keep a copy until its original is settled; return False if enough wait already."""
        self._keys[entry] = key
        copies = self._waiting.setdefault(entry, [])
        if len(copies) >= COPIES_OF_ONE:
            return False
        copies.append(told)
        return True

    def entries(self, most: int | None = ASKED_AT_ONCE) -> list[int]:
        """Return the originals to ask the index about, the one that waits longest first."""
        return [*islice(self._waiting, most)]

    def entries_of(self, keys: Iterable[str]) -> frozenset[int]:
        """Return the originals of some keys."""
        wanted = frozenset(keys)
        return frozenset(entry for entry, key in self._keys.items() if wanted and key in wanted)

    def settle(self, entries: Iterable[int], unsettled: Unsettled) -> bool:
        """Tell the copies of settled originals; return whether an original was lost."""
        is_lost = False
        for entry in entries:
            copies = self._waiting.pop(entry, [])
            if entry in unsettled.provisional:
                self._waiting[entry] = copies  # at the end, after those that were not asked about
                continue
            self._keys.pop(entry, None)
            is_lost = is_lost or (entry in unsettled.gone and bool(copies))
            for told in copies:
                told(entry not in unsettled.gone)
        return is_lost

    def end_all(self) -> None:
        """Tell every copy that its original was not delivered, because nobody will know."""
        waiting, self._waiting, self._keys = self._waiting, {}, {}
        for told in [told for copies in waiting.values() for told in copies]:
            told(False)
