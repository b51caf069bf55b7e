"""The contract of the index: every back end promises what stands here.

An index holds the fingerprints of *originals*. A page is admitted in the log alone; buckets only
find candidates. A claim is compared exactly with whatever was admitted since its crawler last
looked, so no race admits two near-duplicates, however stale a crawler's view is.

The life of an entry, each line one atomic act::

    claim ──▶ provisional (leased to its crawler) ── confirm ──▶ confirmed ── superseded, or gone()
                  ├── release ──▶ gone, or confirmed as an earlier run left it, or the copy's
                  └── lease runs out ──▶ a claim that repeats it takes its place,
                                         or a crawler of the same spider adopts it through
                                         orphans(): the page is crawled again

An entry is *expired* once its lease has run out. An entry that was never adopted is expired as
soon as its crawler is known to be dead, which only a store on this machine can know. An entry that
is confirmed, or provisional and not expired, is *living*.

Entries live in time. A *run* is what a spider's crawlers do from start to finish, and an entry
knows the run in which its page was last *seen*. A key has one entry that counts in its scope: when
its page comes with another text, the old entry is *superseded*, which is to say deleted, in the
same act that admits the new one.

A crawler that drops a copy of a provisional original keeps the copy's request itself, and asks
``unsettled`` how the original fared. The request of one copy stands beside the original's lease,
too, for the case that this crawler dies: when the original is taken back, its entry becomes *the
copy's*, which is to say that it is expired, has the copy's request, and its owner is the crawler
that dropped the copy. While that crawler lives in its run, it is no orphan.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.values import (
    Arrival,
    Census,
    Claim,
    Entry,
    IndexSpec,
    Match,
    Orphan,
    Report,
    Run,
    Unsettled,
)
from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Adoptions of one entry, after which it is deleted: its page has ended as many crawlers.
MAX_ADOPTIONS = 5
# Expired entries that are looked at in one call.
MAX_ORPHANS = 100


def warn_of(key: str) -> None:
    """Say that an entry is deleted because it was adopted ``MAX_ADOPTIONS`` times."""
    crawlers = MAX_ADOPTIONS + 1
    logger.warning("%s is given up: %d crawlers that had it in progress have ended", key, crawlers)


class StoreError(Exception):
    """The index cannot do what was asked; the message says what to do."""


class StoreMismatch(StoreError):
    """The stored index was made by another recipe, width, number of blocks or format."""


class StoreDamaged(StoreError):
    """The store holds no index of this package, or a damaged one."""


class StoreMissing(StoreError):
    """There is no index where one was expected."""


class StoreUnavailable(StoreError):
    """The store is away, full, locked or read-only; the same call may work later."""


class Index(ABC):
    """Fingerprints of the pages crawled so far, shared by all crawlers of all spiders.

    It is synchronous and thread-safe. Every method may raise :class:`StoreUnavailable`, as a closed
    index does, or :class:`StoreDamaged`. A page that :meth:`IndexSpec.check` refuses raises
    ValueError, and nothing is written.

    Attributes:
        spec: how it was opened.
        flooded: look-ups of this crawler that read only the newest entries of a bucket.
        unjudged: near entries of this crawler's pages that were too many to be judged.
        damaged: how often this crawler met an entry that cannot be read, and passed it over.
    """

    spec: IndexSpec
    flooded: int = 0
    unjudged: int = 0
    damaged: int = 0

    def pass_over(self, what: str) -> None:
        """Note an entry that cannot be read: the page near it is compared with the others only."""
        self.damaged += 1
        if self.damaged == 1:
            logger.error(
                "The index is damaged: %s; such entries are passed over, and their copies may be "
                'crawled again; "scrapy simhash stats --check" tells how many there are',
                what,
            )

    def claim(self, arrival: Arrival) -> Claim:
        """Look for an entry that the page repeats; if there is none, the page becomes an original.

        An index that takes part in no run takes every entry for one that was seen in its run. The
        first of these sentences that fits decides:

        1. The page's own entry, of its key and scope at any distance, was seen in this run:
           revisit. If the entry is provisional, it is leased to this crawler from now on, and
           carries the request given here. If its text is beyond reach by now, and repeats no other
           living entry, a provisional entry with its new text supersedes the own one. It is
           ``SAME`` if an earlier run has delivered its text, by whole seconds.
        2. The own entry was seen in an earlier run, and the page is the same: original, ``SAME``.
           The entry is seen in this run, and is provisional until it is confirmed. When it is
           released, or given up, it is again what it was.
        3. The page repeats, as the judge says, a living entry that was seen in this run or is of
           another spider: duplicate. Its own entry is deleted.
        4. The own entry has another text: original, ``CHANGED``.
        5. An alias has an entry that this spider saw in an earlier run, at any distance: original,
           ``MOVED`` from there.
        6. The page repeats entries that this spider saw in earlier runs: original, ``MOVED`` from
           the nearest.
        7. Original, ``NEW``.

        The request of a duplicate whose matches are all provisional is kept beside the lease of the
        nearest one, if none is there yet, and it has at most ``MAX_WAITING`` bytes. The
        oldest provisional page whose place is taken by another has its request beside the lease of
        that one; if it has none, the request that stands beside its own lease goes there.

        From 4 on, the page becomes a provisional original, leased to this crawler. It supersedes
        its own entry, and the one from which it has moved, and takes the place of expired entries
        that are judged to be copies. An own entry that never was confirmed makes no page ``SAME``
        or ``CHANGED`` but ``NEW``, because nobody has got that page.
        """
        (answer,) = self.claim_all([arrival])
        return answer

    @abstractmethod
    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        """Claim for several pages, with the same answers as :meth:`claim` one after the other.

        In the log they may stand in another order. When the store fails, some of the pages may have
        become originals; they claim again, or their leases run out.
        """

    @abstractmethod
    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        """Return every entry within reach, nearest first, then oldest.

        It neither writes nor judges. Expired entries are among the answer.
        """

    @abstractmethod
    def confirm(self, keys: Iterable[str]) -> None:
        """Make the entries final that this crawler claimed or adopted under these keys.

        An entry that another crawler has adopted since becomes final too: its page was delivered.
        """

    @abstractmethod
    def release(self, keys: Iterable[str]) -> None:
        """Take back this crawler's provisional entries of these keys.

        They are the copy's, if one waits beside them; else they are deleted, or confirmed as an
        earlier run has left them. Entries that are confirmed, unknown or leased by another crawler
        are left alone.
        """

    @abstractmethod
    def renew(self, keys: Iterable[str]) -> None:
        """Start the leases of this crawler's provisional entries of these keys anew."""

    @abstractmethod
    def orphans(self) -> list[Orphan]:
        """Adopt expired entries of this crawler's spider; the caller crawls their pages again.

        An entry that this crawler itself has in progress is none, whatever its clock says. Each is
        leased anew to the caller. A second adoption comes only after the lease of the first has run
        out. One page may have ended the crawler that had all of them in progress, so the next come
        only once the caller has confirmed or released these, and one that was adopted before comes
        alone. After ``MAX_ADOPTIONS`` the entry is taken back, as :meth:`release` does, with a
        warning, and at once if it has no request. At most ``MAX_ORPHANS`` are looked at; the next
        call may find more.
        """

    @abstractmethod
    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        """Return how these entries fared; those that are in neither set are confirmed.

        An entry that this run has seen again and that was taken back is gone for this run.
        """

    def report(self, news: Report) -> Unsettled:
        """Release, confirm, renew and answer, in this order; in one call where that is far.

        When it fails, a part of it may be done. To do it again does no harm.
        """
        if news.failed:
            self.release(news.failed)
        if news.delivered:
            self.confirm(news.delivered)
        if news.renewed is not None:
            self.renew(news.renewed)
        return self.unsettled(news.entries)

    @abstractmethod
    def withdraw(self, entries: Iterable[int]) -> None:
        """Take away this crawler's copies that wait on these entries, because it ends with them.

        Entries that are theirs by now go as :meth:`release` has them go.
        """

    # Runs.

    @abstractmethod
    def begin_run(self, resumed: int | None = None) -> Run:
        """Take part in a run of this crawler's spider; every later claim belongs to it.

        It is the one whose number is given, if that is an unfinished run of the spider; else the
        last run of the spider, if it is unfinished and a crawler of it lives, which is to say has
        renewed a lease, or begun, within a lease's time; else a new run.
        """

    @abstractmethod
    def end_run(self, *, finished: bool) -> None:
        """Leave the run. It ends with its last living crawler, whose word counts."""

    @abstractmethod
    def runs(self) -> list[Run]:
        """Return the runs, the oldest first; those without entries go, see :meth:`expire`."""

    def missing(self, run: int) -> Iterator[Entry]:
        """Yield the entries of a spider's earlier runs whose pages were not seen in a run or since.

        It may read the whole log. A number that is none of a run has nothing missing.
        """
        earlier = {one.number for one in self._earlier(run)}
        return (entry for entry in self if entry.run in earlier) if earlier else iter(())

    def missing_count(self, run: int) -> int:
        """Return how many entries :meth:`missing` yields, those in progress included."""
        return sum(one.pages for one in self._earlier(run))

    def _earlier(self, run: int) -> list[Run]:
        runs = self.runs()
        spiders = {one.spider for one in runs if one.number == run}
        return [one for one in runs if one.number < run and one.spider in spiders]

    def old_runs(self, keep: int) -> list[Run]:
        """Return this spider's runs that are older than its last ``keep`` finished ones."""
        own = [run for run in self.runs() if run.spider == self.spec.spider]
        kept = [run.number for run in own if run.finished][-keep:] if keep > 0 else []
        return [run for run in own if kept and run.number < kept[0] and len(kept) == keep]

    @abstractmethod
    def expire(self, keep: int, most: int) -> int:
        """Delete entries of this spider's runs before its last ``keep`` finished ones, keep > 0.

        At most ``most`` entries go, and a bounded part of the log is looked at; the next call goes
        on behind it. A run without entries is forgotten. Return how many entries were deleted.
        """

    # By keys.

    @abstractmethod
    def entries_of(self, keys: Iterable[str]) -> list[Entry]:
        """Return the entries of these keys, in any scope, each scope's in the order of the log.

        It reads no more than that. Fingerprints may lack their block values.
        """

    @abstractmethod
    def gone(self, keys: Iterable[str]) -> int:
        """Delete the entries of these keys, in any scope, whoever has them; return how many."""

    # Acts of an operator.

    @abstractmethod
    def put(self, entries: Iterable[Entry]) -> int:
        """Append entries of another index, confirmed, whatever is near; return how many are new.

        Key, fingerprint, blocks, scope and facts are kept as they are, the time in whole seconds.
        They belong to no run. An entry whose key has a confirmed one in its scope changes nothing.
        """

    @abstractmethod
    def clear(self) -> None:
        """Remove all entries. Address patterns, which tell of sites and not of pages, stay."""

    @abstractmethod
    def check(self) -> list[str]:
        """Return what is missing or cannot be read, a sentence each. It reads the whole index."""

    @abstractmethod
    def census(self) -> Census:
        """Count what is there; no call to the store is a large one."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries, each scope's in the order of the log. The index may change meanwhile.

        Fingerprints may lack their block values, which are far apart in some stores.
        """

    def with_blocks(self) -> Iterator[Entry]:
        """Yield the entries as another index takes them."""
        return iter(self)

    @abstractmethod
    def close(self) -> None:
        """Release the store's resources. Closing twice does no harm."""
