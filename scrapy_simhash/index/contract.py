"""The contract of the index: every back end promises what stands here.

An index holds the fingerprints of *originals*. A page is admitted in the log alone; buckets only
find candidates. A claim is compared exactly with whatever was admitted since its crawler last
looked, so no race admits two near-duplicates, however stale a crawler's view is.

The life of an entry, each line one atomic act::

    claim ──▶ provisional (leased to its crawler) ── confirm ──▶ confirmed
                  ├── release ──▶ gone
                  └── lease runs out ──▶ a claim that repeats it takes its place,
                                         or a crawler of the same spider adopts it through
                                         orphans(): the page is crawled again

An entry is *expired* once its lease has run out. An entry that was never adopted is expired as
soon as its crawler is known to be dead, which only a store on this machine can know. An entry that
is confirmed, or provisional and not expired, is *living*.

A crawler that drops a copy of a provisional original keeps the copy's request itself, and asks
``unsettled`` how the original fared.
"""

import enum
import logging
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.rule.ruling import Judge, by_distance

logger = logging.getLogger(__name__)

DEFAULT_LEASE = 60.0
# Adoptions of one entry, after which it is deleted: its page has ended as many crawlers.
MAX_ADOPTIONS = 5
# Expired entries that are looked at in one call.
MAX_ORPHANS = 100
MAX_FACTS = 24
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


class Arrival(NamedTuple):
    """A page, named by its key, that claims its place.

    Attributes:
        scope: pages of different scopes never match.
        facts: at most 24 bytes, opaque to the store, for the judge.
        request: text that makes the page's request again; None if nobody can repeat it.
    """

    key: str
    fingerprint: Fingerprint
    scope: str = ""
    facts: bytes = b""
    request: str | None = None


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """The one value that opens an index.

    Attributes:
        recipe: identity of the recipe that makes the fingerprints and their blocks.
        bits: width of the fingerprints: 64, 128 or 256.
        distance: k, 0 <= k < bits; pages within k bits are near.
        blocks: block values of a page, 1 to 256.
        lease: seconds that a provisional entry belongs to its crawler, more than 0.
        spider: name of the spider whose orphans this crawler adopts.
        reach: the judge is asked about pages within so many bits, at least k; k by default.

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

    def __post_init__(self) -> None:
        if self.bits not in (64, 128, 256):
            raise ValueError(f"bits must be 64, 128 or 256, not {self.bits}")
        if self.distance not in range(self.bits):
            raise ValueError(f"the distance must be from 0 to {self.bits - 1}, not {self.distance}")
        if self.reach < 0:
            object.__setattr__(self, "reach", self.distance)
        if self.blocks not in range(1, 257):
            raise ValueError(f"a page has 1 to 256 blocks, not {self.blocks}")
        if not self.lease > 0:
            raise ValueError(f"a lease must be longer than 0 seconds, not {self.lease}")

    def check(self, pages: Iterable[Arrival]) -> None:
        """Raise ValueError if a page could not stand in the index."""
        for key, own, scope, facts, request in pages:
            (request or "").encode()  # a lone surrogate raises UnicodeEncodeError
            if max(len(key.encode()), len(scope.encode())) > MAX_TEXT:
                raise ValueError(f"key and scope have at most {MAX_TEXT} bytes: {key:.60}…")
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


class Match(NamedTuple):
    """An entry within reach of a page.

    Attributes:
        entry: its position in the log; never used again for another entry.
        distance: Hamming distance in bits.
        time: when it was admitted, in whole seconds since the Unix epoch.
        provisional: whether its page is still in progress.
        reason: the judge's; "key" for an entry of the page's own key; empty if it was not judged.
        facts: those of its arrival.
    """

    entry: int
    key: str
    distance: int
    time: float
    provisional: bool
    reason: str = ""
    facts: bytes = b""


class Claim(NamedTuple):
    """The answer to a claim.

    Attributes:
        matches: living entries that the page repeats, nearest first, then oldest; none for an
            original. A store that is asked over a network may leave out some once one is found. A
            revisit's own entry is among them.
        near: living entries within reach that were judged to be other pages, in that order.
    """

    outcome: Outcome
    matches: tuple[Match, ...] = ()
    near: tuple[Match, ...] = ()


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


class Census(NamedTuple):
    """Entries, those still in progress, and the bytes of each part, in Redis by a sample."""

    pages: int
    provisional: int
    sizes: dict[str, int]


class Index(Protocol):
    """Fingerprints of the pages crawled so far, shared by all crawlers of all spiders.

    It is synchronous and thread-safe. ``now`` arguments are seconds since the Unix epoch and
    default to the clock. Every method may raise :class:`StoreUnavailable`, as a closed index does,
    or :class:`StoreDamaged`. A page that :meth:`IndexSpec.check` refuses raises ValueError, and
    nothing is written.

    Attributes:
        spec: how it was opened.
        flooded: look-ups of this crawler that read only the newest entries of a bucket.
    """

    spec: IndexSpec
    flooded: int = 0

    def claim(self, arrival: Arrival, *, now: float | None = None) -> Claim:
        """Look for an entry that the page repeats; if there is none, the page becomes an original.

        An entry of the page's own key and scope within reach makes it a revisit, whatever
        the judge says; if that entry is provisional, it is leased to this crawler from now on, and
        carries the request given here. Otherwise everything within reach is judged. A living
        copy makes the page a duplicate. Else the page becomes a provisional original, leased to
        this crawler, in the place of expired entries that are judged to be copies.
        """
        (answer,) = self.claim_all([arrival], now=now)
        return answer

    def claim_all(self, arrivals: Sequence[Arrival], *, now: float | None = None) -> list[Claim]:
        """Claim for several pages, with the same answers as :meth:`claim` one after the other.

        In the log they may stand in another order. When the store fails, some of the pages may have
        become originals; they claim again, or their leases run out.
        """

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        """Return every entry within reach, nearest first, then oldest.

        It neither writes nor judges. Expired entries are among the answer.
        """

    def confirm(self, keys: Iterable[str]) -> None:
        """Make the entries final that this crawler claimed or adopted under these keys.

        An entry that another crawler has adopted since becomes final too: its page was delivered.
        """

    def release(self, keys: Iterable[str]) -> None:
        """Take back this crawler's provisional entries of these keys.

        Entries that are confirmed, unknown or leased by another crawler are left alone.
        """

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:
        """Start the leases of this crawler's provisional entries of these keys anew."""

    def orphans(self, *, now: float | None = None) -> list[Orphan]:
        """Adopt expired entries of this crawler's spider; the caller crawls their pages again.

        Each is leased anew to the caller. A second adoption comes only after the lease of the first
        has run out. After ``MAX_ADOPTIONS`` the entry is deleted with a warning, and at once if it
        has no request. At most ``MAX_ORPHANS`` are looked at; the next call may find more.
        """

    def unsettled(self, entries: Iterable[int], *, now: float | None = None) -> Unsettled:
        """Return how these entries fared; those that are in neither set are confirmed."""

    def put(self, entries: Iterable[Entry]) -> int:
        """Append entries of another index, confirmed, whatever is near; return how many are new.

        Key, fingerprint, blocks, scope and facts are kept as they are, the time in whole seconds.
        An entry with the key, scope and fingerprint of one that the index finds changes nothing.
        """

    def remove(self, keys: Iterable[str]) -> int:
        """Remove every entry of these keys; return how many there were.

        It reads the whole index, once.
        """

    def clear(self) -> None:
        """Remove all entries. Address patterns, which tell of sites and not of pages, stay."""

    def census(self) -> Census:
        """Count what is there; no call to the store is a large one."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries in the order of the log. The index may change meanwhile.

        Fingerprints may lack their block values, which are far apart in some stores.
        """

    def with_blocks(self) -> Iterator[Entry]:
        """Yield the entries as another index takes them."""
        return iter(self)

    def close(self) -> None:
        """Release the store's resources. Closing twice does no harm."""
