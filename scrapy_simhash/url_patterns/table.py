"""The rows of all hosts that a crawler knows, within bounds."""

from collections import OrderedDict
from collections.abc import Callable, Iterator

from scrapy_simhash.url_patterns.address import read_signature
from scrapy_simhash.url_patterns.places import MOST_PLACES, Places
from scrapy_simhash.url_patterns.rows import NO_PAGES, Row, Rows, merged, trimmed

#: Rows and places of all hosts that are kept; the host that was used longest ago goes.
MOST_KEPT = 30_000


class HostTable:
    """The signatures of one host.

    Rows have the form that their places give them now, so that two crawlers with the same rows see
    the same patterns, whatever the order in which they met the addresses.
    """

    def __init__(self) -> None:
        self.places = Places()
        self._most_places = MOST_PLACES
        self._pooled: Rows = {}
        # Counts of this crawler: those on their way to the others, and those that are not yet.
        self._sent: Rows = {}
        self._fresh: Rows = {}

    def __len__(self) -> int:
        return len(self._pooled) + len(self._fresh) + len(self.places)

    def rows(self) -> Rows:
        self._fold()
        return merged(merged(self._pooled, self._sent), self._fresh)

    def row(self, signature: str) -> Row:
        """Return what is known of a signature in its present form."""
        self._fold()
        row = self._pooled.get(signature, NO_PAGES)
        for rows in (self._sent, self._fresh):
            if signature in rows:
                row = row.plus(rows[signature])
        return row

    def add(self, signature: str, row: Row) -> None:
        self._fresh[signature] = self._fresh.get(signature, NO_PAGES).plus(row)
        self._fresh = trimmed(self._fresh)
        if len(self.places) > self._most_places:
            self.places = Places()
            self._refold()
            self._most_places = len(self.places) + MOST_PLACES

    def take_fresh(self) -> Rows:
        """Return what others have to know; :meth:`settle` has to follow.

        A signature without copies is no pattern, whatever others count.
        """
        self._fold()
        self._sent = {
            signature: row
            for signature, row in self._fresh.items()
            if self.row(signature)[0].copies
        }
        self._fresh = {s: row for s, row in self._fresh.items() if s not in self._sent}
        return self._sent

    def settle(self, *, is_sent: bool) -> None:
        """Forget what was sent, as :meth:`read` brings it back, or keep it for the next time."""
        self._fresh, self._sent = merged({} if is_sent else self._sent, self._fresh), {}

    def read(self, pooled: Rows) -> None:
        """Take over what all crawlers have learned."""
        self._pooled = pooled
        self._refold()

    def _refold(self) -> None:
        self.places.has_starred = True
        self._fold()

    def _fold(self) -> None:
        """Bring rows into their present form, and take note of the places in them."""
        while self.places.has_starred:
            self.places.has_starred = False
            self._pooled = self._present(self._pooled)
            self._sent = self._present(self._sent)
            self._fresh = self._present(self._fresh)

    def _present(self, rows: Rows) -> Rows:
        forms: Rows = {}
        for signature, row in rows.items():
            form = self.places.signature(read_signature(signature), learn=True)
            forms[form] = forms[form].plus(row) if form in forms else row
        return forms


class PatternTable:
    """The rows of many hosts, within bounds.

    Args:
        pooled: returns what all crawlers know of a host that this one meets.
    """

    def __init__(self, pooled: Callable[[str], Rows] = lambda _: {}, most: int = MOST_KEPT) -> None:
        self._pooled, self._most = pooled, most
        self._hosts: OrderedDict[str, HostTable] = OrderedDict()
        self._new = 0  # hosts since it was looked how many rows there are

    def __iter__(self) -> Iterator[tuple[str, HostTable]]:
        return iter([*self._hosts.items()])

    def of(self, host: str) -> HostTable:
        """Return the rows of a host, which counts as used."""
        if host in self._hosts:
            self._hosts.move_to_end(host)
            return self._hosts[host]
        self._hosts[host] = table = HostTable()
        table.read(self._pooled(host))
        self._new += 1
        if 10 * self._new > len(self._hosts):  # to add it all up takes long
            self._new = 0
            length = sum(len(each) + 1 for each in self._hosts.values())
            while length > self._most and len(self._hosts) > 1:
                length -= len(self._hosts.popitem(last=False)[1]) + 1
        return table
