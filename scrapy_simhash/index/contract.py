"""The contract of the index: every back end promises what stands here.

An index holds the fingerprints of *originals*. A page is admitted in the log alone; buckets only
find candidates. A claim is compared exactly with whatever was admitted since its crawler last
looked, so no race admits two near-duplicates, however stale a crawler's view is.

The life of an entry, each line one atomic act::

    claim ──▶ provisional (leased to its crawler) ── confirm ──▶ confirmed ── superseded, or gone()
                  ├── release ──▶ gone, or confirmed as an earlier run left it
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
``unsettled`` how the original fared.
"""

import enum
import logging
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.rule.ruling import Judge, by_distance

logger = logging.getLogger(__name__)

DEFAULT_LEASE = 60.0
# Adoptions of one entry, after which it is deleted: its page has ended as many crawlers.
MAX_ADOPTIONS = 5
# Expired entries that are looked at in one call.
MAX_ORPHANS = 100
MAX_FACTS = 72
# Other keys of one page.
MAX_ALIASES = 8
# Bytes of a key, and of a scope: 64 rows of Redis are read together.
MAX_TEXT = (1 << 16) - 1
# Entries that are read of a bucket at most, the newest ones.
BUCKET_LIMIT = 512


def spider_mark(spider: str) -> int:
    """Return the number of 32 bits that marks a spider's crawlers in a store."""
    return zlib.crc32(spider.encode("utf-8", "surrogatepass"))


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


# Facts of a page, facts of its entry, their distance in bits: whether the page stayed the same. It
# is pure, and true of equal facts at distance 0.
Sameness = Callable[[bytes, bytes, int], bool]


def same_text(_: bytes, __: bytes, distance: int) -> bool:
    """Take a page for the same as long as its fingerprint is."""
    return distance == 0


class Arrival(NamedTuple):
    """A page, named by its key, that claims its place.

    Attributes:
        scope: pages of different scopes never match.
        facts: at most 72 bytes, opaque to the store, for the judge.
        request: text that makes the page's request again; None if nobody can repeat it.
        aliases: at most 8 other keys of the page: those of its redirects, of another scheme or
            with another ``www``.
    """

    key: str
    fingerprint: Fingerprint
    scope: str = ""
    facts: bytes = b""
    request: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """The one value that opens an index.

    Attributes:
        recipe: identity of the recipe that makes the fingerprints and their blocks.
        bits: width of the fingerprints: 64, 128 or 256.
        distance: k, 0 <= k < bits; pages within k bits are near.
        blocks: block values of a page, 1 to 255.
        lease: seconds that a provisional entry belongs to its crawler, more than 0.
        spider: name of the spider whose orphans this crawler adopts.
        judge: tells whether a page repeats an entry.
        reach: the judge is asked about pages within so many bits, at least k; k by default.
        same: tells whether a page that comes again is as its entry of an earlier run has it.
        clock: seconds since the Unix epoch. A store that crawlers of many machines share has the
            time of its server in place of :func:`time.time`.

    Raises:
        ValueError: a value is out of its range.
    """

    recipe: str
    bits: int
    distance: int
    blocks: int
    lease: float = DEFAULT_LEASE
    spider: str = ""
    judge: Judge = field(default=by_distance, compare=False)
    reach: int = field(default=-1, compare=False)
    same: Sameness = field(default=same_text, compare=False)
    clock: Callable[[], float] = field(default=time.time, compare=False)

    def __post_init__(self) -> None:
        if self.bits not in (64, 128, 256):
            raise ValueError(f"bits must be 64, 128 or 256, not {self.bits}")
        if self.distance not in range(self.bits):
            raise ValueError(f"the distance must be from 0 to {self.bits - 1}, not {self.distance}")
        if self.reach < 0:
            object.__setattr__(self, "reach", self.distance)
        if self.blocks not in range(1, 256):
            raise ValueError(f"a page has 1 to 255 blocks, not {self.blocks}")
        if not self.lease > 0:
            raise ValueError(f"a lease must be longer than 0 seconds, not {self.lease}")

    def check(self, pages: Iterable[Arrival]) -> None:
        """Raise ValueError if a page could not stand in the index."""
        for key, own, scope, facts, request, aliases in pages:
            (request or "").encode()  # a lone surrogate raises UnicodeEncodeError
            if max(len(key.encode()), len(scope.encode())) > MAX_TEXT:
                raise ValueError(f"key and scope have at most {MAX_TEXT} bytes: {key:.60}…")
            if aliases and max(len(alias.encode()) for alias in aliases) > MAX_TEXT:
                raise ValueError(f"an alias has at most {MAX_TEXT} bytes: {aliases[0]:.60}…")
            if len(aliases) > MAX_ALIASES:
                raise ValueError(f"a page has at most {MAX_ALIASES} aliases, not {len(aliases)}")
            if own.bits != self.bits:
                raise ValueError(f"the index holds {self.bits} bits a page, not {own.bits}")
            if len(own.blocks) != 4 * self.blocks:
                raise ValueError(
                    f"the fingerprint has {len(own.blocks) / 4:g} block values, and the index "
                    f"finds pages by {self.blocks}: blocks come with the fingerprint from the "
                    "text, and cannot be made of the fingerprint alone"
                )
            if len(facts) > MAX_FACTS:
                raise ValueError(f"facts have at most {MAX_FACTS} bytes, not {len(facts)}")


class Outcome(enum.Enum):
    """The outcome of a claim."""

    ORIGINAL = "original"
    DUPLICATE = "duplicate"
    REVISIT = "revisit"


class Change(enum.Enum):
    """The fate of an original since earlier runs."""

    NEW = "new"
    SAME = "same"
    CHANGED = "changed"
    MOVED = "moved"


class Run(NamedTuple):
    """The work of a spider's crawlers from start to finish.

    Attributes:
        number: from 1 on, never used again in its index.
        begun: seconds since the Unix epoch, as ``ended``.
        ended: None while it runs, and if its crawlers were killed.
        finished: False while it runs, and if it was stopped or killed.
        pages: entries that were last seen in it.
    """

    number: int
    spider: str
    begun: float
    ended: float | None = None
    finished: bool = False
    pages: int = 0


class Match(NamedTuple):
    """An entry within reach of a page.

    Attributes:
        entry: its position in the log; never used again for another entry.
        distance: Hamming distance in bits.
        time: when it was admitted, in whole seconds since the Unix epoch.
        provisional: whether its page is still in progress.
        reason: the judge's; "key" for an entry of the page's own key; empty if it was not judged.
        facts: those of its arrival.
        run: number of the run in which its page was last seen, 0 if that was in none.
    """

    entry: int
    key: str
    distance: int
    time: float
    provisional: bool
    reason: str = ""
    facts: bytes = b""
    run: int = 0


class Claim(NamedTuple):
    """The answer to a claim.

    Attributes:
        matches: living entries that the page repeats, nearest first, then oldest; none for an
            original. A store that is asked over a network may leave out some once one is found. A
            revisit's own entry is among them.
        near: living entries within reach that were judged to be other pages, in that order.
        change: of an original; None for the others.
        before: the entry of an earlier run that an original goes on with: that of its own key if it
            is the same or has changed, that of another key if it has moved.
    """

    outcome: Outcome
    matches: tuple[Match, ...] = ()
    near: tuple[Match, ...] = ()
    change: Change | None = None
    before: Match | None = None


class Orphan(NamedTuple):
    """A page that the caller has adopted, and crawls again by the request given with its claim."""

    key: str
    request: str


class Unsettled(NamedTuple):
    """Entries that live and are not confirmed, and entries that are expired or no longer there."""

    provisional: frozenset[int]
    gone: frozenset[int]


class Entry(NamedTuple):
    """One original in the log; its fields are as in an arrival and in a match."""

    key: str
    fingerprint: Fingerprint
    scope: str = ""
    facts: bytes = b""
    time: float = 0.0
    provisional: bool = False
    run: int = 0


class Census(NamedTuple):
    """Entries, those still in progress, and the bytes of each part, in Redis by a sample."""

    pages: int
    provisional: int
    sizes: dict[str, int]


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
                'crawled again; "scrapy simhash check" tells how many there are',
                what,
            )

    def claim(self, arrival: Arrival) -> Claim:
        """Look for an entry that the page repeats; if there is none, the page becomes an original.

        An index that takes part in no run takes every entry for one that was seen in its run. The
        first of these sentences that fits decides:

        1. The page's own entry, of its key and scope at any distance, was seen in this run:
           revisit. If the entry is provisional, it is leased to this crawler from now on, and
           carries the request given here. If its text is beyond reach by now, and repeats no other
           living entry, a provisional entry with its new text supersedes the own one.
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

        They are deleted, or confirmed as an earlier run has left them. Entries that are confirmed,
        unknown or leased by another crawler are left alone.
        """

    @abstractmethod
    def renew(self, keys: Iterable[str]) -> None:
        """Start the leases of this crawler's provisional entries of these keys anew."""

    @abstractmethod
    def orphans(self) -> list[Orphan]:
        """Adopt expired entries of this crawler's spider; the caller crawls their pages again.

        Those that this crawler itself has in progress are none, whatever its clock says. Each is
        leased anew to the caller. A second adoption comes only after the lease of the first has run
        out. After ``MAX_ADOPTIONS`` the entry is taken back, as :meth:`release` does, with a
        warning, and at once if it has no request. At most ``MAX_ORPHANS`` are looked at; the next
        call may find more.
        """

    @abstractmethod
    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        """Return how these entries fared; those that are in neither set are confirmed.

        An entry that this run has seen again and that was taken back is gone for this run.
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
        """Return the entries of these keys, in any scope, in the order of the log.

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
        """Yield the entries in the order of the log. The index may change meanwhile.

        Fingerprints may lack their block values, which are far apart in some stores.
        """

    def with_blocks(self) -> Iterator[Entry]:
        """Yield the entries as another index takes them."""
        return iter(self)

    @abstractmethod
    def close(self) -> None:
        """Release the store's resources. Closing twice does no harm."""
