"""The contract of the index: what every back end promises.

An index holds the fingerprints of *originals*. The log, the ordered list of admitted
fingerprints, is the only place where a page is admitted; buckets are derived from it and only
find candidates. So however stale a worker's view is, no race admits two near-duplicates.

The life of an entry, each line one atomic act::

    claim ──▶ provisional (leased to its worker) ── confirm ──▶ confirmed
                  │   ▲ claims that match a provisional entry wait on it
                  ├── release ──▶ gone; the pages waiting on it are handed back
                  └── lease runs out ──▶ orphan: a later claim replaces it, or a living worker
                                         takes it and its waiting pages through orphans()

A page that is *handed back* must be crawled again by the worker that got it. Until that page
claims, its hand-over stays in the index under a lease of its own, so a worker that dies with
handed pages loses none; after ``MAX_HANDOVERS`` hand-overs without a claim it is given up.

Only the spider that asked for a page can make its request again. So a page is handed to workers of
its own spider; where another one's worker meets it, it is left for theirs, also if it claims a page
of the same key.
"""

from __future__ import annotations

import enum
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.fingerprint.simhash import Fingerprint

DEFAULT_LEASE = 60.0
MAX_HANDOVERS = 3
# Bodies that an index remembers at most: the newest of them, whatever the number of its pages.
BODIES = 100_000


def mark_of(spider: str) -> int:
    """Return the number that marks the requests of a spider, and its workers, in a store."""
    return zlib.crc32(spider.encode("utf-8", "surrogatepass"))


class StoreError(Exception):
    """The index cannot do what was asked; the message says what to do."""


class StoreMismatch(StoreError):
    """The stored index was made by another recipe, width, layout or format."""


class StoreDamaged(StoreError):
    """What is stored is not an index of ours, or is damaged."""


class StoreMissing(StoreError):
    """There is no index where one was expected."""


class StoreUnavailable(StoreError):
    """The store is away, full, locked or read-only; the same call may work later."""


class Outcome(enum.Enum):
    """What a claim came to."""

    ORIGINAL = "original"
    DUPLICATE = "duplicate"
    REVISIT = "revisit"


@dataclass(frozen=True, slots=True)
class Match:
    """An admitted page within the distance asked for.

    Attributes:
        key: the key of the original.
        distance: Hamming distance in bits.
        time: when it was admitted, in seconds since the Unix epoch.
        provisional: whether its callback has not finished yet.
    """

    key: str
    distance: int
    time: float
    provisional: bool


@dataclass(frozen=True, slots=True)
class Arrival:
    """A page that claims its place.

    Attributes:
        key: what names it.
        fingerprint: of its content.
        scope: pages of different scopes never match.
        request: what it takes to crawl it again; None if it never will be.
        again: it was handed over before, be it to another worker.
    """

    key: str
    fingerprint: Fingerprint
    scope: str = ""
    request: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page to be crawled again.

    Attributes:
        key: its key in the index.
        request: what the caller gave to ``claim`` to make the request again; None when nothing
            was given.
    """

    key: str
    request: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim.

    Attributes:
        outcome: original, duplicate or revisit.
        matches: every living match, nearest first, then oldest; for a revisit the own entry is
            among them; empty for an original.
        waiting: the page was noted as waiting on ``matches[0]``, which is provisional.
        handed_back: pages that had waited on an expired original that this one replaced; the
            caller crawls them again.
    """

    outcome: Outcome
    matches: tuple[Match, ...] = ()
    waiting: bool = False
    handed_back: tuple[Page, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One original, as it stands in the log."""

    key: str
    fingerprint: Fingerprint
    scope: str
    time: float
    provisional: bool


class Index(ABC):
    """Fingerprints of the pages crawled so far, shared by all workers of all spiders.

    One synchronous, thread-safe API; callers on an event loop run it in a thread. A scope is a
    name that separates pages: pages of different scopes never match. ``now`` arguments are
    seconds since the Unix epoch and default to the clock.

    Attributes:
        layout: how the fingerprints are cut into blocks and probed.
        distance: k, 0 <= k < bits; pages within k bits match.
        lease: seconds that a provisional entry or a hand-over belongs to its worker.

    Every method may raise :class:`StoreUnavailable` or :class:`StoreDamaged`.
    """

    layout: Layout
    distance: int
    lease: float

    @abstractmethod
    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        """Return every entry within the distance, nearest first, then oldest. Never writes."""

    def claim(
        self,
        key: str,
        fingerprint: Fingerprint,
        *,
        scope: str = "",
        request: str | None = None,
        now: float | None = None,
    ) -> Claim:
        """Look for a near-duplicate; if there is none, this page becomes the original.

        An own entry among the matches makes it a revisit; if that entry is provisional, this
        worker takes over its lease. Else a living match (confirmed, or provisional within its
        lease) makes it a duplicate; if every living match is provisional and ``request`` is
        given, the page is noted as waiting on the nearest. Else it becomes a provisional
        original: expired provisional entries in its way go; their own pages, which are near this
        one, wait on it, and the pages that waited on them, which may not be, are handed back.
        """
        (claim,) = self.claim_all([Arrival(key, fingerprint, scope, request)], now=now)
        return claim

    @abstractmethod
    def claim_all(self, arrivals: Sequence[Arrival], *, now: float | None = None) -> list[Claim]:
        """Claim for several pages, with the same answers as :meth:`claim` one after the other.

        Only, beside a confirmed match those are not always listed that came in the same batch. The
        store is asked once for all of them. When it fails, some of the pages may have become
        originals; they claim again, or their leases run out.
        """

    @abstractmethod
    def confirm(self, keys: Iterable[str]) -> None:
        """Make the provisional entries of these keys final; their waiting pages go.

        These are the entries that this worker claimed, also if another has taken them over since.
        """

    @abstractmethod
    def release(self, keys: Iterable[str], *, now: float | None = None) -> list[Page]:
        """Take back this worker's provisional entries; return the pages that waited on them.

        The released pages themselves are not among them. Keys that are confirmed, unknown or
        leased by another worker are left alone.
        """

    @abstractmethod
    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:
        """Start the leases anew: of this worker's provisional entries, and of hand-overs to it."""

    @abstractmethod
    def orphans(self, *, now: float | None = None) -> list[Page]:
        """Take over the pages whose worker died; the caller crawls them again.

        These are the pages of provisional entries whose lease ran out, the pages waiting on
        them, and hand-overs whose lease ran out; those of this worker's spider.
        """

    @abstractmethod
    def last_lease(self, *, now: float | None = None) -> float | None:
        """Return the seconds until the last lease runs out that may leave this worker a page.

        These are the leases of other workers' entries, and of hand-overs of its spider, also those
        to itself; None if there is none. A worker with nothing left to do stays that long: what is
        handed over to it by then was not crawled, and a dead worker's pages are for the living.
        Infinity while a page of its spider waits on an entry of another spider's living worker,
        who would not crawl it.
        """

    @abstractmethod
    def give_up(self, keys: Iterable[str]) -> None:
        """End hand-overs of this worker's spider: these pages need not be crawled again."""

    @abstractmethod
    def find_bodies(self, digests: Sequence[bytes]) -> list[Fingerprint | None]:
        """Return, without margins, the fingerprints that were noted of bodies; None of others.

        A page with such a body was an original once, or exactly like one. That may be gone.

        Args:
            digests: 8 bytes each; see :func:`scrapy_simhash.crawl.bodies.body_digest`.
        """

    @abstractmethod
    def note_bodies(self, bodies: Mapping[bytes, Fingerprint]) -> None:
        """Remember, for all workers, the fingerprints of bodies, given by their digests.

        Of more than ``BODIES`` the oldest are forgotten; that at least half as many stay is likely,
        not certain.
        """

    @abstractmethod
    def remove(self, key: str) -> int:
        """Remove every entry of a key; return how many there were."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything but the header."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries in the order of the log."""

    @abstractmethod
    def close(self) -> None:
        """Release the store's resources. Closing twice does no harm."""
