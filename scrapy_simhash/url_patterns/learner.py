"""Learns from the pages of a crawl which addresses lead to copies.

In a REPL::

    learner = Learner()
    forecast = learner.forecast("http://wiki.test/index.php?title=Bread&oldid=12")
    forecast.spared  # False: nothing is known yet
    learner.record(forecast, Visit(forecast.url, "http://wiki.test/Bread", 14_000))
"""

from typing import NamedTuple

import xxhash
from cachetools import LRUCache

from scrapy_simhash.better import better
from scrapy_simhash.printable import without_userinfo
from scrapy_simhash.url_patterns.address import REMEMBERED, STARS
from scrapy_simhash.url_patterns.estimate import Estimate, lower_bound
from scrapy_simhash.url_patterns.novelty import Seen
from scrapy_simhash.url_patterns.rows import Row
from scrapy_simhash.url_patterns.table import PatternTable, PlacedAddress
from scrapy_simhash.url_patterns.traps import Traps

#: The lower bound of the share of copies that makes a pattern: 6 copies of 6 pages.
BOUND = 0.6
#: The same for signatures without parameters, because a path names a page until much
#: speaks against it: 73 copies of 73 pages.
BOUND_OF_PATHS = 0.95
#: The share of the addresses of a pattern that are fetched anyway.
SHARE = 0.05
#: The number of places by which a request may be put behind others. A request that is
#: to be spared waits for the sample of its pattern, which may show that the pattern is
#: wrong.
LAST = 2
# A shorter path alone says nothing of whether an address names a page.
_LESSER_BY = ("marker", "parameters", "https")


class Forecast(NamedTuple):
    """The knowledge that an address gives before its download.

    Attributes:
        host: of the address; empty where nothing can be learned from it.
        signature: of the address, without the host.
        bound: lower bound of the share of copies, 0.0 if that makes no pattern.
        chance: that the address is fetched; 1.0 without a pattern.
        spared: whether it need not be fetched.
        may_wait: whether others should be fetched first, because similar ones led to
            copies, which make no pattern.
    """

    url: str
    host: str = ""
    signature: str = ""
    bound: float = 0.0
    chance: float = 1.0
    spared: bool = False
    may_wait: bool = False

    @property
    def name(self) -> str:
        return self.host + self.signature

    def place_behind(self, place: int) -> int:
        """Return the place behind others for a request that has waited in a place."""
        return min(place + 1, LAST) if self.spared else int(self.may_wait)


class Visit(NamedTuple):
    """A page that was fetched.

    Attributes:
        key: of the page.
        original: the key of the page that it repeats; empty if it repeats none, or was
            not compared.
        size: in bytes.
        is_canonical: whether the original declares the address of this page canonical.
        is_sure: whether all pages near it were compared with it. If not, it was chance
            to find the original, and tells nothing of other pages.
        is_optional: whether its request might have been spared.
    """

    key: str
    original: str = ""
    size: int = 0
    is_canonical: bool = False
    is_sure: bool = True
    is_optional: bool = True


class Learner:
    """Learns signatures, and tells which addresses will be copies.

    Args:
        table: the counts; without it, none are known.
        traps: whose signatures count as patterns; none without it.

    Attributes:
        table: the counts of all signatures.
        estimate: the number of spared requests, and of pages that this lost.
        first: by the keys of pages, the addresses by which they came first.
    """

    def __init__(
        self, table: PatternTable | None = None, traps: Traps | None = None
    ) -> None:
        self.table = table or PatternTable()
        self._traps = traps or Traps()
        self.estimate = Estimate()
        self.first: LRUCache[str, str] = LRUCache(REMEMBERED)
        # Signatures with the keys of originals, and with the values of copies.
        self._pairs = Seen()
        # Forecasts of distinct pages whose addresses fitted a pattern, by the pages'
        # keys.
        self._wrong: LRUCache[str, Forecast] = LRUCache(REMEMBERED)

    def forecast(self, url: str) -> Forecast:
        """Return the forecast of an address, without learning from it."""
        place = self.table.place(url)
        if place is None:
            return Forecast(url)
        row = place.row
        bound = self.bound(place.name, row)
        # The less is known, the more is fetched.
        chance = max(SHARE, (1 - bound) / 2)
        if not bound:
            length = self._traps.length(url, place.name)
            bound = lower_bound(length, length)
            # Each page of a trap may link hundreds: a constant share of them has no
            # end.
            chance = (1 - bound) / 2
        forecast = Forecast(url, place.host, place.signature)
        if not bound:
            is_copied = 0 < row.copies >= _needed(row)
            return forecast._replace(may_wait=is_copied and not self._names_pages(row))
        page = url.partition("#")[0]
        drawn = xxhash.xxh64_intdigest(page.encode("utf-8", "replace"))
        return forecast._replace(
            bound=bound, chance=chance, spared=drawn >= chance * 2**64
        )

    def bound(self, name: str, row: Row) -> float:
        """Return the lower bound of a signature's share of copies, or 0.0 if it is no pattern.

        ``name`` is host and signature.
        """
        # A wrong forecast represents the pages that were spared meanwhile.
        distinct = _needed(row) + row.wrong * (1 / SHARE - 1)
        # Up to 5% of the pages of a pattern may be distinct.
        is_mixed = distinct > 0.05 * (row.copies + distinct)
        if is_mixed or self._names_pages(row):
            return 0.0
        bound = lower_bound(row.telling, row.telling + distinct)
        least = BOUND if "?" in name else BOUND_OF_PATHS
        return bound if bound >= least else 0.0

    def spare(self, forecast: Forecast) -> None:
        """Count an address that is not fetched, or would not be."""
        row = self.table.of(forecast.host).row(forecast.signature)
        self.estimate.spare(forecast.name, row.bytes // max(1, row.copies))

    def _names_pages(self, row: Row) -> bool:
        """Tell whether a signature names pages, though they came by lesser addresses first.

        The lists of a board link the last post of each topic, and the topic itself:
        what comes second is a copy.
        """
        if _is_lesser(row) or not row.example:
            return False
        _, _, original = row.example.partition(" ")
        first = self.table.place(original)
        return first is not None and _is_lesser(first.row)

    def record(self, forecast: Forecast, visit: Visit) -> None:
        """Learn from a fetched page, and from its forecast."""
        place = self.table.place(forecast.url, learn=True)
        if place is None:
            return
        wrong = self._wrong.get(visit.original)
        if wrong is not None and not forecast.bound:
            # It is taken back: its page has another address, fetched in any case.
            del self._wrong[visit.original]
            self.estimate.add_wrong(wrong.name, wrong.chance, -1)
            if wrong_place := self.table.place(wrong.url):
                wrong_place.add(Row(wrong=-1))
        if forecast.bound:
            self.estimate.explore(forecast.chance)
            if not visit.original:
                self._wrong[visit.key] = forecast
                self.estimate.add_wrong(forecast.name, forecast.chance)
                place.add(Row(wrong=1))
        if visit.original:
            self._count_copy(place, forecast.url, visit)
        else:
            self.first[visit.key] = forecast.url
            place.add(Row(distinct=1))

    def _count_copy(
        self,
        place: PlacedAddress,
        url: str,
        visit: Visit,
    ) -> None:
        original = visit.original
        first = self.first.get(original, original)
        source = self.table.place(first)
        if source is not None:
            self._pairs.note([(original, source.name)])
        is_second = not self._pairs.note([(original, place.name)])
        is_lesser = is_second or better(first, url) in _LESSER_BY
        is_telling = visit.is_sure and self._is_telling(place)
        example = without_userinfo(f"{url} {first}")
        place.add(Row(1, is_telling, is_lesser, bytes=visit.size, example=example))
        if source is None or source.name == place.name:
            return
        has_better = visit.is_canonical or not _is_lesser(place.row)
        if has_better and self._pairs.note([(original, "")]):
            source.add(Row(lesser=visit.is_canonical, shared=1))

    def _is_telling(self, place: PlacedAddress) -> bool:
        """Note the values of a copy; return whether it is evidence of other addresses.

        Thirty versions of one file in gitweb are copies of each other, and tell nothing
        about another file. So each of the values has to be new.
        """
        if not place.values:
            return STARS["token"] not in place.signature
        pairs = [(place.name, pair) for pair in enumerate(place.values)]
        known = [pair for pair in pairs if pair in self._pairs]
        # The new values of a copy that is no evidence are not noted, so the next copy
        # with them is evidence. Known values that come again are remembered longer.
        self._pairs.note(known or pairs)
        return not known


def _is_lesser(row: Row) -> bool:
    """Tell whether a signature does not name pages, because a fifth has better addresses."""
    return row.lesser > 0 and row.lesser >= 0.2 * row.distinct


def _needed(row: Row) -> int:
    """Return the number of distinct pages that came by no better address."""
    return max(0, row.distinct - (row.shared if _is_lesser(row) else 0))
