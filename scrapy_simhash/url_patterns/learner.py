"""Learns from the pages of a crawl which addresses lead to copies.

In a REPL::

    learner = Learner()
    forecast = learner.forecast("http://wiki.test/index.php?title=Bread&oldid=12")
    forecast.spared  # False: nothing is known yet
    learner.record(forecast, key=forecast.url, original="http://wiki.test/Bread", size=14_000)
"""

from collections import OrderedDict
from typing import NamedTuple

from cachetools import LRUCache

from scrapy_simhash.rule.better import better
from scrapy_simhash.url_patterns.address import digest, read_address
from scrapy_simhash.url_patterns.clusters import AddressedPage, Cluster, pair_of, parameter_names
from scrapy_simhash.url_patterns.estimate import Estimate, lower_bound
from scrapy_simhash.url_patterns.evidence import Evidence
from scrapy_simhash.url_patterns.store import Counts, Tally
from scrapy_simhash.url_patterns.table import PatternTable
from scrapy_simhash.url_patterns.traps import Traps

#: The share of copies that makes a pattern, by its lower bound: 6 copies of 6 pages.
BOUND = 0.6
#: The same for signatures without parameters, because a path names a page until much speaks against
#: it: 73 copies of 73 pages.
BOUND_OF_PATHS = 0.95
#: The share of distinct pages up to which a signature is a pattern at all.
MOST_DISTINCT = 0.05
REMEMBERED = 10_000  # keys of pages
#: Pages of signatures that yield, until the first of them counts as distinct: the other address of
#: a page lies in the queue behind the one that came.
AWAITED = 32


class Forecast(NamedTuple):
    """The knowledge that an address gives before its download.

    Attributes:
        host: of the address; empty where nothing can be learned from it.
        signature: of the address, without the host.
        bound: lower bound of the share of copies, 0.0 if that makes no pattern.
        chance: that the address is fetched; 1.0 without a pattern.
        spared: whether it need not be fetched.
        digest: of the address, the same for all ways of writing it; it draws those to be fetched.
    """

    url: str
    host: str = ""
    signature: str = ""
    bound: float = 0.0
    chance: float = 1.0
    spared: bool = False
    digest: int = 0


class Learner:
    """Learns signatures, and tells which addresses will be copies.

    Args:
        share: of the addresses that fit a pattern, those that are fetched all the same; above 0.
        table: the counts, if they are to have other bounds.
        traps: whose signatures count as patterns; none without it.

    Attributes:
        table: the counts of all signatures.
        estimate: what was spared, and what that lost.
        lost: distinct pages that sparing would have lost, where all pages are fetched to watch.
    """

    def __init__(
        self, share: float = 0.05, table: PatternTable | None = None, traps: Traps | None = None
    ) -> None:
        self._share = share
        self._traps = traps or Traps()
        self.table = table or PatternTable()
        self.estimate = Estimate()
        self.lost = 0
        self._evidence = Evidence()
        # Forecasts of distinct pages whose addresses fitted a pattern, by the pages' keys.
        self._wrong: LRUCache[str, Forecast] = LRUCache(REMEMBERED)
        # The addresses of pages by the keys of their originals, where there are several.
        self._clusters: LRUCache[str, Cluster] = LRUCache(REMEMBERED)
        # Pairs of signatures: the first has several addresses of one page, the second names it.
        self._yielding: LRUCache[tuple[str, str], None] = LRUCache(REMEMBERED)
        self._yields: LRUCache[str, None] = LRUCache(REMEMBERED)  # the first ones, with their hosts
        # Pages with such signatures by their keys: another address may come to stand for them.
        self._awaiting: OrderedDict[str, AddressedPage] = OrderedDict()
        # By the keys of the pages.
        self._withheld: LRUCache[str, Tally] = LRUCache(REMEMBERED)

    def forecast(self, url: str) -> Forecast:
        """Return what an address tells, without learning from it."""
        address = read_address(url)
        if address is None:
            return Forecast(url)
        table = self.table.get(address.host)
        if table is None:
            return Forecast(url, address.host)
        signature = table.places.signature(address)
        bound = self.bound(address.host, signature, table.counts(signature))
        if not bound:
            return Forecast(url, address.host, signature)
        # The less is known, the more is fetched; a host whose patterns held is trusted sooner.
        doubt = min((1 - bound) / 2, 1 - lower_bound(table.right, table.tried))
        chance = max(self._share, doubt)
        drawn = digest(url)
        is_spared = drawn / 2**64 >= chance
        return Forecast(url, address.host, signature, bound, chance, is_spared, drawn)

    def bound(self, host: str, row: str, counts: Counts) -> float:
        """Return the lower bound of a row's share of copies, or 0.0 if that makes no pattern."""
        if self.table.marks and (mark := self.table.marks.get((host, row))):
            return float(mark == "pinned")
        if self._traps.holds(host + row):
            return BOUND
        # A wrong forecast stands for the pages that were spared meanwhile.
        distinct = max(0, counts.distinct) + counts.wrong * (1 / self._share - 1)
        pages = counts.telling + distinct
        if distinct > MOST_DISTINCT * pages:
            return 0.0
        bound = lower_bound(counts.telling, pages)
        if BOUND <= bound < BOUND_OF_PATHS and "?" not in row:
            return 0.0  # it names pages
        return bound if bound >= BOUND else 0.0

    def holds(self, forecast: Forecast) -> bool:
        """Tell whether the row that decided a forecast is a pattern now."""
        if (table := self.table.get(forecast.host)) is None:
            return False
        row = table.present(forecast.signature)
        return self.bound(forecast.host, row, table.counts(row)) > 0

    def spare(self, forecast: Forecast) -> int:
        """Count an address that is not fetched, or would not be; return the bytes that spares."""
        counts = self.table.of(forecast.host).counts(forecast.signature)
        length = counts.bytes // max(1, counts.duplicates)
        self.estimate.spared += 1
        self.estimate.bytes += length
        return length

    def record(
        self,
        forecast: Forecast,
        *,
        key: str,
        original: str | None = None,
        size: int = 0,
        is_canonical: bool = False,
        is_sure: bool = True,
    ) -> str:
        """Learn from a fetched page, and return its signature.

        A page whose address was to be spared, and that was fetched only to watch, tells nothing
        before :meth:`close`: watching must not know more than sparing would.

        Args:
            forecast: that its address had before the download.
            key: of the page.
            original: the key of the page that it repeats; None for a page that repeats none, or
                that was not compared.
            size: in bytes.
            is_canonical: whether that page declares the address of this one canonical.
            is_sure: whether all pages near it were compared with it. If not, it is by chance that
                the original was among those that were, and tells nothing of other pages.
        """
        if (page := self._page(forecast.url)) is None:
            return ""
        original = self._settle_wrong(forecast, original)
        wrong = original is None
        if forecast.bound and wrong:
            self._wrong[key] = forecast
        if forecast.spared:
            self.lost += wrong
            counts = Counts(distinct=1) if wrong else Counts(1, 1, bytes=size)
            self._withheld[key] = Tally(forecast.host, forecast.signature, counts)
            return page.signature
        if forecast.bound:
            self.estimate.explore(forecast.chance, wrong=wrong)
            page.table.tried += 1
            page.table.right += not wrong
            if wrong:
                self._add(forecast.host, forecast.signature, Counts(wrong=1))
        if original is None:
            if page.name in self._yields:
                self._await_another(key, page)
            else:
                self._count_distinct(page, 1)
            if forecast.url != key:
                self._clusters[key] = Cluster(forecast.url)
        else:
            self._count_copy(page, original, size, is_canonical=is_canonical, is_sure=is_sure)
        return page.signature

    def close(self) -> None:
        """Learn what was withheld; the forecasts of this crawl end here."""
        while self._awaiting:
            self._count_distinct(self._awaiting.popitem()[1], 1)
        while self._withheld:
            self.table.add(self._withheld.popitem()[1])

    def _page(self, url: str) -> AddressedPage | None:
        address = read_address(url)
        if address is None:
            return None
        table = self.table.of(address.host)
        signature = table.places.signature(address, learn=True)
        return AddressedPage(url, address, table, signature, table.places.starred_values)

    def _settle_wrong(self, forecast: Forecast, original: str | None) -> str | None:
        """Return the original that a page repeats, if sparing would have fetched that."""
        wrong = self._wrong.get(original) if original else None
        if original is None or wrong is None or (forecast.bound and not wrong.spared):
            return original
        del self._wrong[original]
        if wrong.spared:
            # Its original would not have been fetched, so this page would have been the first.
            self.lost -= 1
            if row := self._withheld.get(original):
                self._withheld[original] = row._replace(counts=Counts(1, 1))
            self._clusters[original] = Cluster(forecast.url)
            return None
        # The original has another address, which was fetched in any case.
        self.estimate.take_back(wrong.chance)
        self._add(wrong.host, wrong.signature, Counts(wrong=-1))
        return original

    def _count_copy(
        self,
        page: AddressedPage,
        original: str,
        size: int,
        *,
        is_canonical: bool,
        is_sure: bool,
    ) -> None:
        cluster = self._clusters.get(original) or Cluster(original)
        source = self._page(cluster.standing)
        if source is not None and self._stands(page, source, is_canonical):
            self._clusters[original] = Cluster(page.url)
            self._uncount(original, source)
            self._count_distinct(page, 1)
            page, source = source, page
        counts = self._copy(page, size) if is_sure else Counts(1, bytes=size)
        example = f"{page.url} {source.url if source else original}"
        self.table.add(Tally(page.address.host, page.signature, counts, example=example))
        if source is not None:
            self._compare_signatures(page, source, original, counts)

    def _copy(self, page: AddressedPage, size: int) -> Counts:
        telling = self._evidence.is_telling(page.name, page.starred)
        return Counts(1, int(telling), bytes=size)

    def _stands(self, copy: AddressedPage, original: AddressedPage, is_canonical: bool) -> bool:
        """Tell whether the address of a copy has to stand for its cluster from now on.

        The same one of two hosts has to be kept always, or each could be spared because of the
        other. Another address stands if it is better, but only if pages with addresses like the
        earlier one have been copies: where each page came by such an address first, links lead to
        it, and perhaps to nothing else.
        """
        mine, theirs = copy.address, original.address
        if mine.host != theirs.host and mine[1:] == theirs[1:]:
            return (len(mine.host), mine.host) < (len(theirs.host), theirs.host)
        if copy.name == original.name:
            return False
        if pair_of(original, copy) in self._yielding:
            return not better(original.url, copy.url)
        if not original.table.counts(original.signature).duplicates:
            return False
        return is_canonical or bool(better(copy.url, original.url))

    def _compare_signatures(
        self, page: AddressedPage, source: AddressedPage, original: str, counts: Counts
    ) -> None:
        """Learn from a copy which of the signatures of a cluster names pages.

        A signature that has several addresses of one page names none, so it yields to another one
        that has a single address of the page. That holds for all clusters, also for earlier ones.
        """
        cluster = self._clusters.get(original) or Cluster(original)
        if page.name == source.name:
            cluster = cluster._replace(repeats=True)
        elif cluster.other_name != page.name and (
            not cluster.other or better(page.url, cluster.other)
        ):
            names = parameter_names(source, page)
            cluster = Cluster(
                cluster.standing, page.url, page.name, counts, names, repeats=cluster.repeats
            )
        self._clusters[original] = cluster
        if not cluster.repeats or (other := self._page(cluster.other)) is None:
            return
        pair = pair_of(source, other)
        if pair in self._yielding or pair_of(other, source) in self._yielding:
            return
        if other.address.names >= source.address.names or better(source.url, other.url):
            return
        self._yielding[pair] = self._yields[source.name] = None
        names = parameter_names(source, other)
        # To take the addresses of all clusters apart would hold the event loop for 0.3 seconds.
        for key, one in [*self._clusters.items()]:
            if one.names == names:
                self._yield(key, one, pair)

    def _yield(self, key: str, cluster: Cluster, pair: tuple[str, str]) -> None:
        """Let the other address of a cluster stand for it."""
        source, other = self._page(cluster.standing), self._page(cluster.other)
        if source is None or other is None or pair_of(source, other) != pair:
            return
        self._clusters[key] = Cluster(other.url)
        was = cluster.counts
        self._count_distinct(other, 1)
        self._add(
            other.address.host,
            other.signature,
            Counts(-was.duplicates, -was.telling, bytes=-was.bytes),
        )
        self._uncount(key, source)
        example = f"{source.url} {other.url}"
        copy = self._copy(source, was.bytes)
        self.table.add(Tally(source.address.host, source.signature, copy, example=example))

    def _await_another(self, key: str, page: AddressedPage) -> None:
        self._awaiting[key] = page
        if len(self._awaiting) > AWAITED:
            self._count_distinct(self._awaiting.popitem(last=False)[1], 1)

    def _uncount(self, key: str, page: AddressedPage) -> None:
        """Uncount a page: another address stands for it from now on."""
        if self._awaiting.pop(key, None) is None:
            self._count_distinct(page, -1)

    def _count_distinct(self, page: AddressedPage, number: int) -> None:
        self._add(page.address.host, page.signature, Counts(distinct=number))

    def _add(self, host: str, signature: str, counts: Counts) -> None:
        self.table.add(Tally(host, signature, counts))
