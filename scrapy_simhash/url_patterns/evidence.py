"""How much a copy tells about the other addresses of its signature.

Thirty versions of one file are copies of each other, and tell nothing about another file. So a
copy counts as evidence only if it adds to the variety of its signature: the number of different
values that the copies had at the least varied of the starred places.
"""

from __future__ import annotations

from collections import OrderedDict
from zlib import crc32

# Bits for the values of a place; a place with 48 of them has any value.
BITS = 1024
VARIED = 48
# Different values after which a new one is no surprise.
FEW = 8
ORIGINALS = 4


class Evidence:
    """The copies of the signatures that were met last.

    Args:
        most: signatures that are kept.
    """

    def __init__(self, most: int = 4096) -> None:
        self._most = most
        self._places: OrderedDict[str, list[int]] = OrderedDict()
        self._originals: OrderedDict[str, list[int]] = OrderedDict()

    def is_telling(self, signature: str, starred: list[str]) -> bool:
        """Take note of a copy; return whether it is evidence.

        Args:
            signature: the copy's, with its host.
            starred: the copy's values at the starred places, always in the same order.
        """
        places = self._kept(self._places, signature) or [0] * len(starred)
        self._places[signature] = places
        if not starred or len(places) != len(starred):
            return True
        before = min(map(int.bit_count, places))
        for at, value in enumerate(starred):
            places[at] |= 1 << _hash(value) % BITS
        return before >= VARIED or min(map(int.bit_count, places)) > before

    def repeats(self, family: str, original: str) -> bool:
        """Take note of a copy's original; return whether other copies had it lately.

        Args:
            family: what addresses have in common whatever the values of their parameters.
            original: the key of the page that the copy repeats.
        """
        originals = self._kept(self._originals, family) or []
        name = _hash(original)
        repeats = name in originals
        if repeats:
            originals.remove(name)
        self._originals[family] = [*originals[1 - ORIGINALS :], name]
        return repeats

    def fits(self, signature: str, starred: list[str]) -> bool:
        """Tell whether an address is like the copies: each value was met, or anything is."""
        places = self._places.get(signature, [])
        return len(places) == len(starred) and all(
            place.bit_count() >= FEW or place >> _hash(value) % BITS & 1
            for place, value in zip(places, starred, strict=True)
        )

    def _kept(self, seen: OrderedDict[str, list[int]], name: str) -> list[int] | None:
        if name in seen:
            seen.move_to_end(name)
            return seen[name]
        if len(seen) >= self._most:
            seen.popitem(last=False)
        return None


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))
