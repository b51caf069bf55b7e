"""Learns from the pages of a crawl which addresses lead to copies.

In a REPL::

    learner = Learner()
    forecast = learner.forecast("http://wiki.test/index.php?title=Bread&oldid=12")
    forecast.spared  # False: nothing is known yet
    learner.record(forecast, key=forecast.url, original="http://wiki.test/Bread", size=14_000)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import xxhash

from scrapy_simhash.url_patterns.address import Address, read_address
from scrapy_simhash.url_patterns.counts import NOTHING, Counts, lower_bound
from scrapy_simhash.url_patterns.estimate import Estimate
from scrapy_simhash.url_patterns.evidence import Evidence
from scrapy_simhash.url_patterns.mirrors import BETWEEN, is_mirror, pairs, prefixes
from scrapy_simhash.url_patterns.store import Row
from scrapy_simhash.url_patterns.table import HostTable, PatternTable

T = TypeVar("T")

# Keys that are remembered of each kind.
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """When a signature is a pattern.

    Attributes:
        share: of the addresses that fit a pattern, those that are fetched all the same.
        bound: the share of copies must be at least this, by its lower bound: 6 copies of 6 pages.
        bound_of_paths: the same for mirrors, and for a signature that has no parameters and whose
            copies each have an original of their own: what a path names is a page until much
            speaks against it. 73 copies of 73 pages.
        most_distinct: the share of distinct pages up to which a signature is a pattern at all.
    """

    share: float = 0.05
    bound: float = 0.6
    bound_of_paths: float = 0.95
    most_distinct: float = 0.05


class Forecast(NamedTuple):
    """The forecast for an address.

    Attributes:
        url: the address.
        host: of the address; empty where nothing can be learned from it.
        signature: of the address, or the pair of prefixes that decided; without the host.
        bound: lower bound of the share of copies, 0.0 if that makes no pattern.
        chance: that the address is fetched; 1.0 without a pattern.
        spared: whether it need not be fetched.
    """

    url: str
    host: str = ""
    signature: str = ""
    bound: float = 0.0
    chance: float = 1.0
    spared: bool = False


class _Page(NamedTuple):
    """A page as its address has shown it."""

    url: str
    address: Address
    table: HostTable
    signature: str
    starred: list[str]


class Learner:
    """Learns signatures and mirrors, and tells which addresses will be copies.

    Args:
        limits: when a signature is a pattern.
        table: the counts, if they are to have other bounds.

    Attributes:
        table: the counts of all signatures.
        estimate: what was spared, and what that lost.
        lost: distinct pages that sparing would have lost, where all pages are fetched to watch.
    """

    def __init__(self, limits: Limits | None = None, table: PatternTable | None = None) -> None:
        self.limits = limits or Limits()
        self.table = table or PatternTable()
        self.estimate = Estimate()
        self.lost = 0
        self._evidence = Evidence()
        # The simplest address that was met of a page, by the key of its original.
        self._simplest: OrderedDict[str, str] = OrderedDict()
        # Keys of distinct pages whose addresses had fitted a pattern: those that were drawn to be
        # fetched all the same, with their forecasts, and those that were fetched only to watch.
        self._wrong: OrderedDict[str, Forecast] = OrderedDict()
        self._watched: OrderedDict[str, None] = OrderedDict()
        # Keys of pages that have copies.
        self._copied: OrderedDict[str, None] = OrderedDict()
        self._withheld: dict[tuple[str, str], Counts] = {}

    def forecast(self, url: str) -> Forecast:
        """Return what an address tells, without learning from it."""
        address = read_address(url)
        if address is None:
            return Forecast(url)
        table = self.table.get(address.host)
        if table is None:
            return Forecast(url, address.host)
        signature = table.places.signature(address)
        bound = self._bound_of_address(address, table, signature)
        if not bound:
            for pair in _pairs_of(address, table):
                if bound := self.bound(address.host, pair, table.counts(pair)):
                    signature = pair
                    break
        if not bound:
            return Forecast(url, address.host, signature)
        # The less is known, the more is fetched; a host whose patterns held is trusted sooner.
        doubt = min((1 - bound) / 2, 1 - lower_bound(table.right, table.tried))
        chance = max(self.limits.share, doubt)
        draw = xxhash.xxh64_intdigest(url.encode("utf-8", "replace")) / 2**64
        return Forecast(url, address.host, signature, bound, chance, draw >= chance)

    def bound(
        self, host: str, signature: str, counts: Counts, evidence: int | None = None
    ) -> float:
        """Return the lower bound of a row's share of copies, or 0.0 if that makes no pattern.

        Args:
            host: of the row.
            signature: of the row.
            counts: of the row.
            evidence: copies that count; by default those that are telling for any address.
        """
        mark = self.table.marks.get((host, signature))
        if mark:
            return float(mark == "pinned")
        limits = self.limits
        evidence = counts.telling if evidence is None else evidence
        is_wall = counts.repeats >= 0.8 * counts.duplicates > 0
        # A wrong forecast stands for the pages that were spared meanwhile; and the page that all
        # others of a wall repeat is the one that is kept.
        distinct = max(0, counts.distinct - is_wall) + counts.wrong * (1 / limits.share - 1)
        if distinct > limits.most_distinct * (evidence + distinct):
            return 0.0
        bound = lower_bound(evidence, evidence + distinct)
        names_pages = is_mirror(signature) or not ("?" in signature or is_wall)
        return bound if bound >= (limits.bound_of_paths if names_pages else limits.bound) else 0.0

    def _bound_of_address(self, address: Address, table: HostTable, signature: str) -> float:
        starred = table.places.starred_values
        counts = table.counts(signature)
        bound = self.bound(address.host, signature, counts)
        if bound or counts.telling == counts.duplicates:
            return bound
        if not self._evidence.fits(address.host + signature, starred):
            return 0.0
        return self.bound(address.host, signature, counts, counts.duplicates)

    def spare(self, forecast: Forecast) -> None:
        """Count an address that is not fetched, or would not be."""
        self.estimate.spared += 1
        counts = self.table.of(forecast.host).counts(forecast.signature)
        self.estimate.bytes += counts.bytes // max(1, counts.duplicates)

    def record(
        self, forecast: Forecast, *, key: str, original: str | None = None, size: int = 0
    ) -> None:
        """Learn from a fetched page.

        A page whose address was to be spared, and that was fetched only to watch, tells nothing
        before :meth:`close`: watching must not know more than sparing would.

        Args:
            forecast: that its address had before the download.
            key: of the page.
            original: the key of the page that it repeats; None for a page that repeats none, or
                that was not compared.
            size: of the page, in bytes.
        """
        if original is not None and original in self._watched:
            # Its original would not have been fetched, so this page would have been the first.
            del self._watched[original]
            self.lost -= 1
            original = None
        if forecast.spared:
            self._watch(forecast, key, original, size)
            return
        page = self._page(forecast.url)
        if page is None:
            return
        if forecast.bound:
            self._explored(forecast, page.table, key, wrong=original is None)
        elif original is not None:
            self._take_back(original)
        source = None
        if original is not None:
            source = self._page(self._simplest.get(original, original))
        if original is None:
            self._count_distinct(page, 1)
        elif source is None or not self._comes_first(page, source, original):
            self._count_copy(page, source, original, size)
        else:
            # It must not matter which of two addresses of a page comes first, and what is kept
            # has to be the same one always, or each could be spared because of the other.
            _remember(self._simplest, original, page.url)
            self._count_distinct(source, -1)
            self._count_copy(source, page, original, size)
            self._count_distinct(page, 1)

    def _comes_first(self, page: _Page, source: _Page, original: str) -> bool:
        """Tell whether a copy's address is simpler than that of the page that it repeats."""
        is_first_copy = original not in self._copied
        _remember(self._copied, original, None)
        if page.signature == source.signature and page.address.host == source.address.host:
            return False
        mine, theirs = _order(page.address), _order(source.address)
        if mine != theirs:
            return mine < theirs
        # Two values of one parameter: the smaller is kept. Behind a wall any address is as good.
        return is_first_copy and _is_smaller_sibling(page.address, source.address)

    def close(self) -> None:
        """Learn what was withheld; the forecasts of this crawl end here."""
        for (host, signature), counts in self._withheld.items():
            self._add(host, signature, counts)
        self._withheld.clear()

    def _page(self, url: str) -> _Page | None:
        address = read_address(url)
        if address is None:
            return None
        table = self.table.of(address.host)
        signature = table.places.learn(address)
        return _Page(url, address, table, signature, table.places.starred_values)

    def _watch(self, forecast: Forecast, key: str, original: str | None, size: int) -> None:
        if original is None:
            _remember(self._watched, key, None)
            self.lost += 1
        counts = Counts(1, 1, bytes=size) if original else Counts(distinct=1)
        name = forecast.host, forecast.signature
        self._withheld[name] = self._withheld.get(name, NOTHING).plus(counts)

    def _explored(self, forecast: Forecast, table: HostTable, key: str, *, wrong: bool) -> None:
        self.estimate.explore(forecast.chance, wrong=wrong)
        table.tried += 1
        table.right += not wrong
        if wrong:
            _remember(self._wrong, key, forecast)
            self._add(forecast.host, forecast.signature, Counts(wrong=1))

    def _take_back(self, original: str) -> None:
        """Forgive a wrong forecast: the page has another address, which was fetched."""
        forecast = self._wrong.pop(original, None)
        if forecast is not None:
            self.estimate.take_back(forecast.chance)
            self._add(forecast.host, forecast.signature, Counts(wrong=-1))

    def _count_distinct(self, page: _Page, number: int) -> None:
        host = page.address.host
        self._add(host, page.signature, Counts(distinct=number))
        for pair in _pairs_of(page.address, page.table):
            self._add(host, pair, Counts(distinct=number))

    def _count_copy(self, page: _Page, source: _Page | None, original: str, size: int) -> None:
        host = page.address.host
        telling = self._evidence.is_telling(host + page.signature, page.starred)
        names = "&".join(name for name, _ in page.address.parameters)
        family = f"{host}{page.signature.partition('?')[0]}?{names}"
        repeats = self._evidence.repeats(family, original)
        copy = Counts(1, int(telling), int(repeats), bytes=size)
        example = f"{page.url} {original}"
        self.table.add(Row(host, page.signature, copy, example=example))
        for pair in pairs(page.address, source.address) if source else ():
            known = pair in page.table
            before = 0 if known else page.table.distinct_below(pair.partition(BETWEEN)[0])
            # A prefix tells about the segments that have stood after it, if they were many.
            after = page.address.path[pair.partition(BETWEEN)[0].count("/") - 1]
            telling = self._evidence.is_telling(host + pair, [after])
            self._add(host, pair, Counts(1, int(telling), distinct=before, bytes=size))

    def _add(self, host: str, signature: str, counts: Counts) -> None:
        self.table.add(Row(host, signature, counts))


def _pairs_of(address: Address, table: HostTable) -> Iterator[str]:
    """Yield the pairs that an address may belong to, the deepest first."""
    for prefix in prefixes(address) if table.mirrors else ():
        yield from table.mirrors.get(prefix, ())


def _order(address: Address) -> tuple[int, int, int, str]:
    """Return what puts the addresses of one page in order: the simplest is the one to keep."""
    return len(address.parameters), len(address.path), len(address.host), address.host


def _is_smaller_sibling(one: Address, other: Address) -> bool:
    """Tell whether two addresses differ in the value of one parameter, and the first is smaller."""
    pairs_ = zip(one.parameters, other.parameters, strict=True)
    differ = [(mine, theirs) for mine, theirs in pairs_ if mine != theirs]
    if one.path != other.path or len(differ) != 1:
        return False
    ((name, mine), (other_name, theirs)) = differ[0]
    return name == other_name and (len(mine[-1]), mine) < (len(theirs[-1]), theirs)


def _remember(names: OrderedDict[str, T], name: str, value: T) -> None:
    names[name] = value
    if len(names) > REMEMBERED:
        names.popitem(last=False)
