"""The places of one host's addresses: the segments of paths, the values of parameters.

A place that had many different values is starred, since its values are names or numbers of pages,
and addresses that differ in nothing else belong together. Any program that shows records needs
this: the topics of a board, the articles of a wiki.
"""

from zlib import crc32

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import MANY_VALUES, STAR, STARS, Address, shape

#: Places of a host that are kept; when there are more, all but those in its rows are forgotten.
MOST_PLACES = 1000
#: Bits for the values of a place, and the signatures whose values are kept: those met last.
BITS = 1024
MOST_SIGNATURES = 4096


class Places:
    """The places of one host, as its addresses and signatures have shown them.

    Attributes:
        starred_values: values at starred places of the address that was looked at last, but for
            tokens, which tell nothing.
        has_starred: whether earlier signatures may have another form now; the caller resets it.
    """

    def __init__(self) -> None:
        # Places are hashes of what leads to them and of their star, since names take more memory.
        self._values: dict[int, set[str]] = {}
        self._starred: set[int] = set()
        self.starred_values: list[str] = []
        self.has_starred = False

    def __len__(self) -> int:
        return len(self._values) + len(self._starred)

    def signature(self, address: Address, *, learn: bool = False) -> str:
        """Return the signature of an address, or the present one of an earlier signature.

        It has no host. With ``learn``, the values are remembered.
        """
        self.starred_values = []
        path = self._joined("", address.path, learn)
        if not address.parameters:
            return path
        # A name may stand for different things beside different names.
        place = f"{path}?{'&'.join(name for name, _ in address.parameters)}"
        pairs = {
            f"{name}={self._joined(f'{place}?{name}', values, learn)[1:]}"
            for name, values in address.parameters
        }
        return f"{path}?{'&'.join(sorted(pairs))}"

    def _joined(self, place: str, values: tuple[str, ...], learn: bool) -> str:
        """Return what stands for values, each of which leads to the place of the next."""
        begun = len(place)
        for value in values:
            place = f"{place}/{self._form(place, value, learn)}"
        return place[begun:]

    def _form(self, place: str, value: str, learn: bool) -> str:
        """Return a value as it stands in a signature: itself, or its star."""
        kind, star = shape(value)
        name = hash((place, star))
        if learn and kind == STAR:
            self._star(name)
        elif learn and kind in MANY_VALUES and name not in self._starred:
            values = self._values.setdefault(name, set())
            values.add(value)
            if len(values) > MANY_VALUES[kind]:
                self._star(name)
        if kind in MANY_VALUES and name not in self._starred:
            return value
        if kind not in ("token", STAR):
            self.starred_values.append(value)
        return star

    def _star(self, name: int) -> None:
        self.has_starred |= name not in self._starred
        self._starred.add(name)
        self._values.pop(name, None)


class Evidence:
    """The values that the copies of each signature had at its starred places.

    Thirty versions of one file in gitweb are copies of each other, and tell nothing about another
    file. So a copy is evidence only if it adds to the variety of its signature: the number of
    different values at the least varied of the starred places. Tokens, such as hashes and sessions,
    do not count, because they differ even where pages are the same.
    """

    def __init__(self) -> None:
        self._places: LRUCache[str, list[int]] = LRUCache(MOST_SIGNATURES)

    def is_telling(self, signature: str, starred: list[str]) -> bool:
        """Note a copy's values at the starred places; return whether it is evidence."""
        if not starred:
            return STARS["token"] not in signature
        places = self._places.get(signature, [0] * len(starred))
        before = min(map(int.bit_count, places))
        self._places[signature] = places = [
            seen | 1 << crc32(value.encode("utf-8", "replace")) % BITS
            for seen, value in zip(places, starred, strict=False)
        ]
        return min(map(int.bit_count, places)) > before
