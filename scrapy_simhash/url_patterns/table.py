"""The counts of all signatures that a crawler knows, within bounds.

Rows are kept as the store has them. A signature whose places have been starred since is folded
into its present form, so that two crawlers with the same rows see the same patterns, whatever the
order in which they met the addresses.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from heapq import nlargest
from struct import Struct

from scrapy_simhash.url_patterns.address import read_signature
from scrapy_simhash.url_patterns.places import Places, may_pass
from scrapy_simhash.url_patterns.store import NOTHING, Counts, Tally

# Counts are kept as bytes, since a tuple of five numbers takes three times the memory.
_PACKED = Struct("<4iq")
_NO_PAGES = _PACKED.pack(*NOTHING)


class HostTable:
    """The signatures of one host.

    Args:
        most: rows and places that are kept; those with the fewest pages go.

    Attributes:
        places: of the host's addresses.
        tried: addresses that fitted a pattern and were fetched all the same.
        right: those of them that were copies.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.places = Places()
        self.tried = self.right = 0
        self._rows: dict[str, bytes] = {}
        # The present forms of rows, as the places were known at the last fold.
        self._presents: dict[str, str] = {}
        self._folded: dict[str, Counts] = {}
        self._stale = False

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[str, Counts]]:
        self._fold()
        for signature in self._rows | self._folded:
            if self.present(signature) == signature:
                yield signature, self.counts(signature)

    def counts(self, signature: str) -> Counts:
        """Return the counts of a present signature."""
        if self._stale or self.places.newly_starred:
            self._fold()
        folded = self._folded.get(signature)
        if signature not in self._rows:
            return folded or NOTHING
        counts = self._stored(signature)
        return counts.plus(folded) if folded else counts

    def present(self, row: str) -> str:
        """Return the present form of a signature, as its places are known now."""
        return self.places.signature(read_signature(row))

    def add(self, signature: str, increment: Counts) -> None:
        self._put(signature, self._stored(signature).plus(increment))

    def read(self, signature: str, counts: Counts) -> None:
        """Replace a row by what the store says, and take note of the places in it."""
        self._stale |= self.places.signature(read_signature(signature), learn=True) != signature
        self._put(signature, counts)

    def _stored(self, row: str) -> Counts:
        return Counts._make(_PACKED.unpack(self._rows.get(row, _NO_PAGES)))

    def _put(self, signature: str, counts: Counts) -> None:
        self._rows[signature] = _PACKED.pack(*counts)
        if len(self._rows) > self._most:
            self._trim()

    def _fold(self) -> None:
        starred, self.places.newly_starred = self.places.newly_starred, set()
        self._stale, self._folded = False, {}
        for row in self._rows:
            present = self._presents.get(row)
            # To take all rows apart for each place would cost milliseconds a page.
            if present is None or any(may_pass(present, place) for place in starred):
                present = self._presents[row] = self.present(row)
            if present != row:
                folded = self._folded.get(present, NOTHING)
                self._folded[present] = folded.plus(self._stored(row))

    def _trim(self) -> None:
        rows = {row: self._stored(row) for row in self._rows}
        pages = {row: counts.duplicates + counts.distinct for row, counts in rows.items()}
        self._rows, self._presents, self._stale = {}, {}, True
        if len(self.places) > self._most:
            self.places = Places()
        for row in nlargest(self._most * 3 // 4, rows, pages.__getitem__):
            self.read(row, rows[row])


class PatternTable:
    """The rows of many hosts, within bounds; the host that was used longest ago goes.

    Attributes:
        marks: of rows that have one, by host and signature.
    """

    def __init__(
        self, *, most_hosts: int = 2000, most_of_host: int = 1000, most: int = 100_000
    ) -> None:
        self._most_hosts, self._most_of_host, self._most = most_hosts, most_of_host, most
        self._hosts: OrderedDict[str, HostTable] = OrderedDict()
        self._rows = 0
        self._unsent: dict[tuple[str, str], Tally] = {}
        self.marks: dict[tuple[str, str], str] = {}

    def __iter__(self) -> Iterator[Tally]:
        for host, table in list(self._hosts.items()):
            for signature, counts in table:
                yield Tally(host, signature, counts, self.marks.get((host, signature), ""))

    def get(self, host: str) -> HostTable | None:
        return self._hosts.get(host)

    def of(self, host: str) -> HostTable:
        """Return the rows of a host, which counts as used."""
        table = self._hosts.get(host)
        if table is None:
            table = self._hosts[host] = HostTable(self._most_of_host)
            if len(self._hosts) > self._most_hosts:
                self._forget_a_host()
        else:
            self._hosts.move_to_end(host)
        return table

    def add(self, row: Tally) -> None:
        table = self.of(row.host)
        before = len(table)
        table.add(row.signature, row.counts)
        self._count_rows(len(table) - before)
        self.put_back([row])

    def _count_rows(self, more: int) -> None:
        self._rows += more
        while self._rows > self._most:
            self._forget_a_host()

    def _forget_a_host(self) -> None:
        _, table = self._hosts.popitem(last=False)
        self._rows -= len(table)

    def take_increments(self) -> list[Tally]:
        """Return what was added since the last call."""
        taken, self._unsent = list(self._unsent.values()), {}
        return taken

    def put_back(self, rows: Iterable[Tally]) -> None:
        """Keep increments that could not be sent for the next call."""
        for row in rows:
            name = row.host, row.signature
            if earlier := self._unsent.get(name):
                counts, example = earlier.counts.plus(row.counts), earlier.example or row.example
                self._unsent[name] = Tally(*name, counts, row.mark, example)
            elif len(self._unsent) < self._most:
                self._unsent[name] = row

    def read(self, rows: Iterable[Tally]) -> None:
        """Take over rows of the store, which have all that was ever sent."""
        for row in rows:
            name = row.host, row.signature
            unsent = self._unsent.get(name)
            counts = row.counts.plus(unsent.counts) if unsent else row.counts
            table = self.of(row.host)
            before = len(table)
            table.read(row.signature, counts)
            self._count_rows(len(table) - before)
            self.marks.pop(name, None)
            if row.mark:
                self.marks[name] = row.mark
