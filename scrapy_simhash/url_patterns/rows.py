"""The counts of signatures, and the cells of an index in which crawlers share them.

Each host has a cell. Crawlers add their counts to it, and later runs begin with it.
"""

import json
from collections.abc import Iterator, Mapping
from heapq import nlargest
from operator import add
from typing import NamedTuple

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreDamaged, StoreUnavailable

#: Rows of a host that are kept; those with the fewest copies go, then those with the
#: fewest pages.
MOST_ROWS = 200
#: Hosts of one index; the counts of more hosts are not shared.
MOST_HOSTS = 2000
FAMILY = "signatures:"


class Row(NamedTuple):
    """The pages of one signature, or an addition to them, whose numbers may be negative.

    Attributes:
        copies: pages that repeated another one.
        telling: copies that were evidence: each had a new value at every place of the
            signature.
        lesser: copies whose originals have the better address.
        distinct: pages that repeated no other page.
        shared: distinct pages that also came by an address of another signature.
        wrong: distinct pages whose addresses had been taken for addresses of copies.
        bytes: the size of the copies, decompressed.
        example: the address of a copy, a space, and the address of its original; or
            nothing.
    """

    copies: int = 0
    telling: int = 0
    lesser: int = 0
    distinct: int = 0
    shared: int = 0
    wrong: int = 0
    bytes: int = 0
    example: str = ""

    def plus(self, addend: "Row") -> "Row":
        sums = map(add, self[:-1], addend[:-1])
        return Row._make([*sums, addend.example or self.example])


NO_PAGES = Row()
Rows = dict[str, Row]  # by signature, without the host


def merged(rows: Mapping[str, Row], more: Mapping[str, Row]) -> Rows:
    """Return the sums of rows, within bounds."""
    sums = {**rows}
    for signature, row in more.items():
        sums[signature] = sums.get(signature, NO_PAGES).plus(row)
    if len(sums) <= MOST_ROWS:
        return sums
    return dict(
        nlargest(
            MOST_ROWS // 2,
            sums.items(),
            key=lambda item: (item[1].copies, item[1].distinct),
        )
    )


def to_cell(rows: Rows) -> bytes:
    short = {
        name: row._replace(example=row.example[:500]) for name, row in rows.items()
    }
    return json.dumps(short, separators=(",", ":")).encode()


def from_cell(cell: bytes | None) -> Rows:
    """Return the rows of a cell, which other writers of the store may have changed.

    Raises:
        StoreDamaged: it did not come from :func:`to_cell`.
    """
    if cell is None:
        return {}
    try:
        rows = {}
        for signature, values in json.loads(cell).items():
            rows[signature] = Row._make(values)
            if [*map(type, values)] != [*map(type, NO_PAGES)]:
                raise TypeError("a value is of the wrong type")
        return rows
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise StoreDamaged(f"address patterns are damaged: {error}") from None


class SharedRows:
    """The rows of all hosts, as they were when the index was read last.

    Its methods raise :class:`.StoreUnavailable` while the store is away. Reading raises
    :class:`.StoreDamaged` if somebody else has written into the cells.
    """

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def rows(self, host: str) -> Rows:
        return from_cell(self._known.get(host))

    def takes(self, host: str) -> bool:
        """Return whether the rows of a host are shared, or there is room for them."""
        return host in self._known or len(self._known) < MOST_HOSTS

    def read(self, index: Index) -> set[str]:
        """Read the index, and return the hosts whose rows have changed."""
        family = index.cells(FAMILY).items()
        cells = {name.removeprefix(FAMILY): cell for name, cell in family}
        changed = {host for host, _ in cells.items() ^ self._known.items()}
        for host in changed:
            # so that damage is met here, and not amid the crawl
            from_cell(cells.get(host))
        self._known = cells
        return changed

    def add(
        self,
        index: Index,
        host: str,
        rows: Mapping[str, Row],
    ) -> bool:
        """Add rows to the rows of a host; return whether it is shared."""
        # Other crawlers may change the same cell; two that meet need two rounds.
        for _ in range(20):
            old = self._known.get(host)
            new = to_cell(merged(from_cell(old), rows))
            if not self.takes(host):
                return False
            if new == old or index.swap(FAMILY + host, old, new):
                self._known[host] = new
                return True
            self.read(index)
        raise StoreUnavailable(
            f"other crawlers change the address patterns of {host} all the time"
        )
