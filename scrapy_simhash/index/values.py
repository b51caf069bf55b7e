"""An index takes these values and returns them; the contract says what it does with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from scrapy_simhash.fingerprint.recipe import reach_of
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.rule.ruling import Judge, by_distance
from scrapy_simhash.rule.state import is_same

DEFAULT_LEASE = 60.0
# Entries that are read of a bucket at most, the newest ones, and of the bucket of a
# key. In a flood of one template, thousands share a bucket, and each that is compared
# takes time. Deleted ones count, too: to tell them takes as long, and at worst a copy
# is kept.
BUCKET_LIMIT = 64
KEY_LIMIT = 512

#: The kind of an answer to a claim. An original is "unique".
Outcome = Literal["unique", "duplicate", "revisit"]
#: What became of an original since earlier runs.
Change = Literal["new", "same", "changed", "moved"]

# Facts of a page, facts of its entry, their distance in bits: whether the page stayed
# the same. It is pure, and true of equal facts at distance 0.
Sameness = Callable[[bytes, bytes, int], bool]


class Arrival(NamedTuple):
    """A page, named by its key, that claims its place.

    Attributes:
        scope: pages of different scopes never match.
        facts: at most 255 bytes, opaque to the store, for the judge.
        aliases: other keys of the page: of its redirects, of another scheme, or with
            another ``www``.
    """

    key: str
    fingerprint: Fingerprint
    scope: str = ""
    facts: bytes = b""
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
        spider: name of the spider to whose runs this crawler belongs.
        judge: tells whether a page repeats an entry.
        reach: the judge is asked about pages within this many bits, at least k; by
            default what :func:`.reach_of` says.
        same: tells whether a page that comes again within k bits of its entry of an
            earlier run is as that has it. Farther away, it is not.
        scoped: pages have many scopes, over which a store may spread a new index.

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
    reach: int = field(default=0, compare=False)
    same: Sameness = field(default=is_same, compare=False)
    scoped: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.bits not in (64, 128, 256):
            raise ValueError(f"bits must be 64, 128 or 256, not {self.bits}")
        if self.distance not in range(self.bits):
            raise ValueError(
                f"the distance must be from 0 to {self.bits - 1}, not {self.distance}"
            )
        if not self.reach:
            object.__setattr__(self, "reach", reach_of(self.bits, self.distance))
        if self.blocks not in range(1, 256):
            raise ValueError(f"a page has 1 to 255 blocks, not {self.blocks}")
        if not self.lease > 0:
            raise ValueError(f"a lease must be longer than 0 seconds, not {self.lease}")


class Run(NamedTuple):
    """The work of a spider's crawlers from start to finish.

    Attributes:
        number: from 1 on, never used again in its index.
        begun: seconds since the Unix epoch, as ``ended``.
        ended: None while it runs, and if its crawlers were killed.
        finished: False while it runs, and if it was stopped or killed.
        pages: entries that no later run has seen: their pages were last seen in it, or
            failed.
        seen: pages that it saw, up to its end.
        failed: pages of earlier runs that it asked for and did not get, because a
            server failed.
        missing: pages of earlier runs that it neither saw nor asked for in vain, at its
            end.
        counts: whether a page that it did not see comes closer to leaving the index. A
            run counts that is finished, unless more than a tenth of the known pages
            failed, or it saw less than a tenth of what the last run saw that counts,
            and of the known pages.
    """

    number: int
    spider: str
    begun: float
    ended: float | None = None
    finished: bool = False
    pages: int = 0
    seen: int = 0
    failed: int = 0
    missing: int = 0
    counts: bool = False


class Match(NamedTuple):
    """An entry within reach of a page, or of one of its keys.

    Attributes:
        entry: its position in the log; never used again for another entry.
        distance: Hamming distance in bits.
        time: when its text was admitted, in whole seconds since the Unix epoch.
        provisional: whether its page is still in progress.
        reason: the judge's; empty if it was not judged, such as the entry of the page's
            own key.
        facts: the facts of its arrival, as ``key``.
        run: number of the run in which its page was last seen, 0 if that was in none.
        expired: its lease has run out.
        delivered: it is confirmed, or was before this or another run has seen it again.
    """

    entry: int
    key: str
    distance: int
    time: float
    provisional: bool
    reason: str = ""
    facts: bytes = b""
    run: int = 0
    expired: bool = False
    delivered: bool = True


class Claim(NamedTuple):
    """The answer to a claim.

    Attributes:
        matches: living entries that the page repeats, nearest first, then oldest; an
            original has none, and the first one of a revisit is its own entry.
        near: living entries within reach that were judged to be other pages, in that
            order.
        change: of an original; None for the others.
        before: the entry of an earlier run that an original goes on with: its key's
            entry if it is the same or has changed, another key's entry if it has moved.
        unchanged: an earlier run has delivered the same text, at this address or
            another one.
    """

    outcome: Outcome
    matches: tuple[Match, ...] = ()
    near: tuple[Match, ...] = ()
    change: Change | None = None
    before: Match | None = None
    unchanged: bool = False


class Report(NamedTuple):
    """The news of a crawler and its questions, which it has for an index now and then.

    Attributes:
        failed: keys of pages to release.
        delivered: keys of pages to confirm.
        renewed: keys of pages in progress, whose leases are renewed; None leaves them.
        entries: originals that copies wait for.
    """

    failed: Sequence[str] = ()
    delivered: Sequence[str] = ()
    renewed: Sequence[str] | None = None
    entries: Sequence[int] = ()


class Entry(NamedTuple):
    """One original in the log; its fields are as in an arrival and in a match."""

    key: str
    fingerprint: Fingerprint
    scope: str = ""
    facts: bytes = b""
    time: float = 0.0
    provisional: bool = False
    run: int = 0
