"""An index that goes on without its store: what is let through meanwhile is reconciled afterwards.

While the store (the *primary*) is away, pages claim in a *standby* on this machine, which knows
the pages of this worker that came since. When the primary is back, every confirmed page of the
standby claims there and is confirmed there, and only then leaves the standby: whenever the
process dies in between, the next one does it again, and finds the page's own key.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.base import (
    Arrival,
    Claim,
    Entry,
    Index,
    Match,
    Outcome,
    Page,
    StoreUnavailable,
)
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.index.primary import NotAsked, Primary
from scrapy_simhash.index.sqlite import SqliteIndex

# Entries that are reconciled in one step: pages of the crawl come between two of them.
BATCH = 64


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """What :meth:`StandbyIndex.catch_up` did, and what happened since it was last called.

    Attributes:
        pages: to be crawled again by the caller.
        let_through: pages that the standby let through.
        reconciled: pages of the standby that the primary has or does not need any more.
        duplicates: those of them that repeat an older page of the primary.
        more: another step would find more to do.
    """

    pages: tuple[Page, ...] = ()
    let_through: int = 0
    reconciled: int = 0
    duplicates: int = 0
    more: bool = False


class StandbyIndex(Index):
    """The index of a store that may be away, see the contract for its methods.

    Args:
        open_primary: opens the store; called again while it raises StoreUnavailable.
        path: the standby's SQLite file, made when it is needed; None for memory.
        pages: from how many pages on the standby takes no more, and claims raise
            StoreUnavailable.
        recipe: identity of the recipe that makes the fingerprints.
        bits: width of the fingerprints.
        distance: k; pages within k bits match.
        lease: seconds that a provisional entry or a hand-over belongs to its worker.
        spider: whose pages this worker crawls.
        start_without: whether the index starts with the standby alone if the primary is away.

    Raises:
        StoreError: the primary or the standby file cannot be used.
        ValueError: the primary cannot be described.
    """

    def __init__(
        self,
        open_primary: Callable[[], Index],
        path: Path | None,
        *,
        pages: int,
        recipe: str,
        bits: int,
        distance: int,
        lease: float,
        spider: str = "",
        start_without: bool = True,
    ) -> None:
        self.distance, self.lease = distance, lease
        self._path, self._pages = path, pages
        self._arguments: dict[str, Any] = {
            "recipe": recipe,
            "bits": bits,
            "distance": distance,
            "expected_pages": max(pages, 1),
            "lease": lease,
            "spider": spider,
        }
        self._lock = threading.RLock()
        self._primary = Primary(open_primary, start_without=start_without)
        self._standby: Index | None = None
        # The keys in progress at either; one whose claim was not answered may be there.
        self._here: set[str] = set()
        self._there: set[str] = set()
        # Keys that the standby has handed back, and that claim there again.
        self._handed: set[str] = set()
        # Whether the standby may have confirmed entries, and the walk over them.
        self._spooled = False
        self._walk: Iterator[Entry] | None = None
        self._handed_back: list[Page] = []
        self._let_through = self._reconciled = self._duplicates = 0
        if path is not None and path.exists():
            self._spooled = len(self._spare()) > 0
        index = self._spare() if self._primary.index is None else self._primary.index
        self.layout = index.layout

    @property
    def away(self) -> bool:
        """Whether the primary failed when it was last asked."""
        return self._primary.away

    @property
    def refused(self) -> Exception | None:
        """Why the primary, once it could be reached, cannot be used at all; None if it can."""
        return self._primary.refused

    def __len__(self) -> int:
        """Return the number of entries of the primary and of the standby."""
        return self._primary.ask(len) + (len(self._standby) if self._standby is not None else 0)

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries of the primary, then those of the standby."""
        return chain(self._primary.ask(iter), () if self._standby is None else self._standby)

    # The contract.

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:  # noqa: D102
        with self._lock:
            matches = (
                self._standby.query(fingerprint, scope=scope) if self._standby is not None else []
            )
            far = self._primary.read(lambda primary: primary.query(fingerprint, scope=scope))
            matches += far or []
            return sorted(matches, key=lambda match: (match.distance, match.time))

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        with self._lock:
            far = [arrival for arrival in arrivals if not self._belongs_here(arrival)]
            unsure: list[str] = []
            answers: list[Claim] = []
            if far:
                try:
                    answers = self._primary.ask(
                        lambda primary: primary.claim_all(far, now=now), proves=_was_written
                    )
                    self._there |= {
                        arrival.key
                        for arrival, claim in zip(far, answers, strict=True)
                        if claim.outcome is not Outcome.DUPLICATE
                    }
                except NotAsked:
                    far = []
                except StoreUnavailable:
                    # They may be originals over there, although nobody said so.
                    unsure, far = [a.key for a in far if a.key not in self._there], []
            try:
                return self._with_standby(arrivals, far, answers, now)
            finally:
                self._there |= self._here.intersection(unsure)
                self._primary.owe((key for key in unsure if key not in self._here), failed=True)

    def _with_standby(
        self,
        arrivals: Sequence[Arrival],
        far: list[Arrival],
        answers: list[Claim],
        now: float | None,
    ) -> list[Claim]:
        """Return the answers in the order of the arrivals; the standby answers what is left."""
        answered = {id(arrival): claim for arrival, claim in zip(far, answers, strict=True)}
        rest = [arrival for arrival in arrivals if id(arrival) not in answered]
        if not rest:
            return answers
        standby = self._spare()
        if len(standby) >= self._pages and not all(map(self._belongs_here, rest)):
            raise StoreUnavailable(f"the standby is full with {self._pages} pages")
        for arrival, claim in zip(rest, standby.claim_all(rest, now=now), strict=True):
            answered[id(arrival)] = claim
            self._handed.discard(arrival.key)
            self._handed |= {page.key for page in claim.handed_back}
            if claim.outcome is not Outcome.DUPLICATE:
                self._here.add(arrival.key)
                self._let_through += 1
        return [answered[id(arrival)] for arrival in arrivals]

    def _belongs_here(self, arrival: Arrival) -> bool:
        """Return whether the standby knows a page that the primary may not know yet."""
        return self._standby is not None and (
            arrival.key in self._handed
            or bool(self._standby.query(arrival.fingerprint, scope=arrival.scope))
        )

    def has_here(self, key: str) -> bool:
        """Return whether a page in progress is in the standby."""
        return key in self._here

    def confirm(self, keys: Iterable[str]) -> None:  # noqa: D102
        with self._lock:
            keys = list(keys)
            if here := self._here.intersection(keys):
                self._spare().confirm(here)
                self._spooled = True
            self._settled(keys, here, failed=False)

    def release(self, keys: Iterable[str], *, now: float | None = None) -> list[Page]:  # noqa: D102
        with self._lock:
            keys, pages = list(keys), []
            if here := self._here.intersection(keys):
                pages = self._spare().release(here, now=now)
                self._handed |= {page.key for page in pages}
            self._settled(keys, here, failed=True)
            return pages + self._take_pages()

    def _settled(self, keys: list[str], here: set[str], *, failed: bool) -> None:
        """Tell the primary about keys, unless they are the standby's alone; or owe it that."""
        there = [key for key in keys if key not in here or key in self._there]
        self._primary.owe(there, failed=failed)
        self._here -= here
        self._there.difference_update(keys)
        if there:
            self._primary.read(lambda _: None)

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        with self._lock:
            keys = list(keys)
            if here := (self._here | self._handed).intersection(keys):
                self._spare().renew(here, now=now)
            there = [key for key in keys if key not in here or key in self._there]
            if there:
                self._primary.read(lambda primary: primary.renew(there, now=now))

    def orphans(self, *, now: float | None = None) -> list[Page]:  # noqa: D102
        with self._lock:
            pages = self._standby.orphans(now=now) if self._standby is not None else []
            self._handed |= {page.key for page in pages}
            pages += self._primary.read(lambda primary: primary.orphans(now=now)) or []
            return pages + self._take_pages()

    def last_lease(self, *, now: float | None = None) -> float | None:  # noqa: D102
        with self._lock:
            leases = [self._primary.read(lambda primary: primary.last_lease(now=now))]
            if self._standby is not None:
                leases.append(self._standby.last_lease(now=now))
            return max((lease for lease in leases if lease is not None), default=None)

    def give_up(self, keys: Iterable[str]) -> None:  # noqa: D102
        with self._lock:
            keys = list(keys)
            self._handed.difference_update(keys)
            if self._standby is not None:
                self._standby.give_up(keys)
            # One that is away hands them over again, after their lease.
            self._primary.read(lambda primary: primary.give_up(keys))

    def find_bodies(self, digests: Sequence[bytes]) -> list[Fingerprint | None]:
        """Return what the primary remembers of bodies; nothing while it is away."""
        with self._lock:
            found = self._primary.read(lambda primary: primary.find_bodies(digests))
            return [None] * len(digests) if found is None else found

    def note_bodies(self, bodies: Mapping[bytes, Fingerprint]) -> None:
        """Have the primary remember bodies, unless it is away.

        A store that cannot do that, being full, may still answer claims, and does not count as
        away because of it.
        """
        with self._lock:
            if not self.away and self._primary.index is not None:
                self._primary.index.note_bodies(bodies)

    def remove(self, key: str) -> int:  # noqa: D102
        with self._lock:
            here = self._standby.remove(key) if self._standby is not None else 0
            return here + self._primary.ask(lambda primary: primary.remove(key))

    def clear(self) -> None:  # noqa: D102
        with self._lock:
            if self._standby is not None:
                self._standby.clear()
            self._primary.ask(lambda primary: primary.clear())

    def close(self) -> None:  # noqa: D102
        with self._lock:
            if self._standby is not None:
                self._walk = None
                self._standby.close()
            self._primary.close()

    # The standby.

    def _spare(self) -> Index:
        """Return the standby; make it if there is none."""
        if self._standby is None:
            if self._path is None:
                self._standby = _MemorySpool(**self._arguments)
            else:
                self._standby = _Spool(self._path, **self._arguments)
        return self._standby

    def left(self) -> int:
        """Return how many pages the standby holds."""
        with self._lock:
            return len(self._standby) if self._standby is not None else 0

    def catch_up(self, *, at_once: bool = False) -> CaughtUp:
        """Tell the primary, if it is back, a little of what happened in its absence.

        Args:
            at_once: try even if it failed just now.
        """
        with self._lock:
            if at_once:
                self._primary.retry()
            more = self._reconcile() if self._primary.is_due else False
            done = CaughtUp(
                tuple(self._take_pages()),
                self._let_through,
                self._reconciled,
                self._duplicates,
                more,
            )
            self._let_through = self._reconciled = self._duplicates = 0
            return done

    def _take_pages(self) -> list[Page]:
        pages, self._handed_back = self._handed_back, []
        return pages + self._primary.take_handed_back()

    def _reconcile(self) -> bool:
        """Move a batch of confirmed entries to the primary; return whether there may be more."""
        spooled = self._spooled or self._walk is not None
        batch = self._next_batch()
        if batch:
            if self._primary.attempt(lambda primary: self._move(batch, primary)) is None:
                self._walk, self._spooled = None, spooled
                return False
        elif self.away and not self._here:
            # Nothing to write: at least it answers.
            self._primary.attempt(lambda primary: primary.last_lease())
        return len(batch) == BATCH

    def _move(self, batch: list[Entry], primary: Index) -> int:
        """Move entries to the primary; return how many it has or does not need."""
        claims = primary.claim_all([Arrival(e.key, e.fingerprint, e.scope) for e in batch])
        confirmed, moved, kept = [], set(), set()
        for entry, claim in zip(batch, claims, strict=True):
            self._handed_back += claim.handed_back
            if claim.outcome is not Outcome.DUPLICATE:
                confirmed.append(entry.key)
                moved.add(entry.key)
            elif all(match.provisional for match in claim.matches):
                # What it repeats may fail yet, and then the primary needs this one.
                kept.add(entry.key)
            else:
                moved.add(entry.key)
                self._duplicates += 1
        primary.confirm(confirmed)
        for key in moved - kept:
            self._spare().remove(key)
        self._reconciled += len(moved - kept)
        self._spooled = self._spooled or bool(kept)
        return len(moved - kept)

    def _next_batch(self) -> list[Entry]:
        """Return the next confirmed entries of the standby, of keys that are not in progress."""
        if self._walk is None:
            if not self._spooled:
                return []
            self._walk, self._spooled = iter(self._spare()), False
        confirmed = (entry for entry in self._walk if not entry.provisional)
        batch: list[Entry] = []
        for entry in confirmed:
            if entry.key in self._here or entry.key in self._there:
                self._spooled = True
                continue
            batch.append(entry)
            if len(batch) == BATCH:
                return batch
        self._walk = None
        return batch


def _was_written(claims: list[Claim]) -> bool:
    """Return whether these answers took a store that can be written."""
    return any(claim.outcome is Outcome.ORIGINAL for claim in claims)


class _Spool(SqliteIndex):
    """An index from which every entry is removed sooner or later, by its key."""

    def _write_ahead(self) -> None:
        super()._write_ahead()
        self._run("CREATE INDEX IF NOT EXISTS entries_by_key ON entries (key)")


class _MemorySpool(_Spool, MemoryIndex):
    """The same in RAM."""
