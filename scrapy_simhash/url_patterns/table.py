"""The signatures of addresses, and their counts on all hosts that a crawler knows, within bounds.

The places of a host are the segments of its paths and the values of its parameters. A
place that had many different values is starred, since its values are names or numbers
of pages, and addresses that differ in nothing else belong together. Any program that
shows records needs this: the topics of a board, the articles of a wiki.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cachetools import LRUCache

from scrapy_simhash.url_patterns.address import (
    MANY_VALUES,
    REMEMBERED,
    Address,
    read_address,
    read_signature,
    shape,
)
from scrapy_simhash.url_patterns.rows import NO_PAGES, Row, Rows, merged

#: Places of a host that are kept; when there are more, all but those in its rows are
#: forgotten.
MOST_PLACES = 1000


class Places:
    """The places of one host, as its addresses and signatures have shown them.

    Attributes:
        has_starred: whether earlier signatures may have another form now; the caller
            resets it.
    """

    def __init__(self) -> None:
        # Places are hashes of the way to them and of their star, since names take more
        # memory.
        self._values: dict[int, set[str]] = {}
        self._starred: set[int] = set()
        self.has_starred = False

    def __len__(self) -> int:
        return len(self._values) + len(self._starred)

    def signature(
        self, address: Address, *, learn: bool = False
    ) -> tuple[str, list[str]]:
        """Return the signature of an address, or the present one of an earlier signature.

        It has no host. The values at starred places are returned beside it, without
        tokens, which differ even where pages are the same. With ``learn``, values are
        remembered.
        """
        path, starred = self._joined("", address.path, learn)
        if not address.parameters:
            return path, starred
        # A name may mean different things beside different names.
        place = f"{path}?{'&'.join(name for name, _ in address.parameters)}"
        pairs: set[str] = set()
        for name, values in address.parameters:
            joined, more = self._joined(f"{place}?{name}", values, learn)
            pairs.add(f"{name}={joined[1:]}")
            starred += more
        return f"{path}?{'&'.join(sorted(pairs))}", starred

    def _joined(
        self,
        place: str,
        values: Sequence[str],
        learn: bool,
    ) -> tuple[str, list[str]]:
        """Return the forms of values that follow a place, and the values that are starred."""
        starred: list[str] = []
        path = ""
        for value in values:
            form = self._form(place + path, value, learn)
            if form != value and shape(value).kind != "token":
                starred.append(value)
            path += f"/{form}"
        return path, starred

    def _form(
        self,
        place: str,
        value: str,
        learn: bool,
    ) -> str:
        """Return the value itself, or the star that replaces it in a signature."""
        kind, star = shape(value)
        name = hash((place, star))
        if learn and kind in MANY_VALUES and name not in self._starred:
            values = self._values.setdefault(name, set())
            values.add(value)
            if len(values) > MANY_VALUES[kind]:
                del self._values[name]
                self._starred.add(name)
                self.has_starred = True
        return value if kind in MANY_VALUES and name not in self._starred else star


class HostTable:
    """The signatures of one host, and which of their pages the other crawlers do not know yet.

    Rows have the form that their places give them now, so that two crawlers with the
    same rows see the same patterns, whatever the order in which they met the addresses.
    """

    def __init__(self, shared: Rows) -> None:
        self.places = Places()
        self._most_places = MOST_PLACES
        self._rows = Rows()
        self._fresh = Rows()
        self.read(shared)

    def __len__(self) -> int:
        return len(self._rows) + len(self._fresh) + len(self.places)

    def rows(self) -> Rows:
        """Return the rows of all signatures in their present form."""
        while self.places.has_starred:
            self.places.has_starred = False
            self._rows = self._present(self._rows)
            self._fresh = self._present(self._fresh)
        return self._rows

    def row(self, signature: str) -> Row:
        return self.rows().get(signature, NO_PAGES)

    def add(self, signature: str, row: Row) -> None:
        self._rows = merged(self._rows, {signature: row})
        self._fresh = merged(self._fresh, {signature: row})
        if len(self.places) > self._most_places:
            self.places = Places()
            self._note_places()
            self._most_places = len(self.places) + MOST_PLACES

    def take(self) -> Rows:
        """Return the rows that are new to the other crawlers, and count them as sent.

        A signature without copies is no pattern, whatever others count.
        """
        self.rows()
        names = [name for name in self._fresh if self.row(name).copies]
        return {name: self._fresh.pop(name) for name in names}

    def read(self, shared: Rows, unsent: Rows | None = None) -> None:
        """Take over the rows of all crawlers, and take back the rows that could not be sent."""
        self._fresh = merged(unsent or {}, self._fresh)
        self._rows = merged(shared, self._fresh)
        self._note_places()

    def _note_places(self) -> None:
        """Note the places in all rows."""
        self.places.has_starred = True
        self.rows()

    def _present(self, rows: Rows) -> Rows:
        forms: Rows = {}
        for signature, row in rows.items():
            form, _ = self.places.signature(read_signature(signature), learn=True)
            forms[form] = forms.get(form, NO_PAGES).plus(row)
        return forms


class PlacedAddress(NamedTuple):
    """The place of an address: its host, signature, and the values at starred places."""

    host: str
    table: HostTable
    signature: str
    values: list[str]

    @property
    def name(self) -> str:
        return self.host + self.signature

    @property
    def row(self) -> Row:
        return self.table.row(self.signature)

    def add(self, row: Row) -> None:
        self.table.add(self.signature, row)


class PatternTable:
    """The rows of many hosts; the host that was used longest ago goes.

    Args:
        shared: returns the rows of all crawlers for a host that this one meets.
    """

    def __init__(self, shared: Callable[[str], Rows] = lambda _: {}) -> None:
        self._shared = shared
        self._hosts: LRUCache[str, HostTable] = LRUCache(
            REMEMBERED, lambda host: 1 + len(host)
        )

    def __iter__(self) -> Iterator[tuple[str, HostTable]]:
        return iter([*self._hosts.items()])

    def of(self, host: str) -> HostTable:
        """Return the rows of a host, which counts as used."""
        table = self._hosts.pop(host, None)
        if table is None:
            table = HostTable(self._shared(host))
        # A host is measured when it is put in.
        self._hosts[host] = table
        return table

    def place(self, url: str, *, learn: bool = False) -> PlacedAddress | None:
        """Return the place of an address, None if nothing can be learned from it."""
        address = read_address(url)
        if address is None:
            return None
        table = self.of(address.host)
        signature, values = table.places.signature(address, learn=learn)
        return PlacedAddress(address.host, table, signature, values)
