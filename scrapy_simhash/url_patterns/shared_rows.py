"""Crawlers share their counts in the cells of their index, and later runs begin with them."""

from collections.abc import Iterable, Iterator, Mapping

from scrapy_simhash.index.contract import Index, StoreUnavailable
from scrapy_simhash.url_patterns.rows import Row, Rows, from_cell, merged, to_cell

#: Hosts of one index; the counts of more hosts are not shared.
MOST_HOSTS = 2000
FAMILY = "patterns:"
# Rounds against other crawlers that change the same cell; two that meet need two.
_ROUNDS = 20


class SharedRows:
    """The rows of all hosts, as they were when the index was read last.

    Its methods raise :class:`.StoreUnavailable` while the store is away. Reading raises
    :class:`.StoreDamaged` if somebody else has written into the cells.
    """

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(FAMILY) for name in self._known)

    def rows(self, host: str) -> Rows:
        return from_cell(self._known.get(FAMILY + host))

    def read(self, index: Index) -> set[str]:
        """Read the index, and return the hosts whose rows have changed."""
        cells = index.cells(FAMILY)
        changed = {name for name, _ in cells.items() ^ self._known.items()}
        for name in changed:
            from_cell(cells.get(name))  # so that damage is met here, and not amid the crawl
        self._known = cells
        return {name.removeprefix(FAMILY) for name in changed}

    def add(
        self, index: Index, host: str, rows: Mapping[str, Row], forget: Iterable[str] = ()
    ) -> None:
        """Add rows to those of a host, and drop some."""
        name = FAMILY + host
        for _ in range(_ROUNDS):
            old = self._known.get(name)
            sums = merged(from_cell(old), rows)
            for signature in forget:
                sums.pop(signature, None)
            new = to_cell(sums) if sums else None
            if old is None and len(self._known) >= MOST_HOSTS:
                return
            if new == old or index.swap(name, old, new):
                self._known.pop(name, None)
                if new is not None:
                    self._known[name] = new
                return
            self.read(index)
        raise StoreUnavailable(f"other crawlers change the address patterns of {host} all the time")
