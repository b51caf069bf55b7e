"""The index in Redis: many workers on many machines.

Decisions are made in one place, the *log slot*: a script compares a new fingerprint with what was
admitted since the worker last looked, and appends it if nothing is near. What was admitted before
is found through buckets, and told by records, which may be anywhere; so in a cluster all but the
log's tail and the pages in progress spread over the nodes, and the protocol is the same on one.

A claim is safe however old the worker's view of the log is. An admitted neighbour is, in that
view, either in the tail, which the worker compares in RAM, or before it, and then for good in its
buckets, which are read afterwards; or it was appended later, and then the script compares it, or
says that the view is too old. The script's answer brings the view up to date. So a page that is
near nothing costs one request, and one more for buckets in Redis. What is near it is looked at in
a request that follows the log, too; a duplicate of a confirmed entry needs no claim.

An entry found is provisional, with a lease in the log slot, or confirmed, with a record. Its record
is written before its lease ends, so an entry without a lease whose record is read *afterwards* and
is not there was deleted, for ever.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.base import Arrival, Claim, Match, Page, StoreUnavailable
from scrapy_simhash.index.redis_claims import Claimant
from scrapy_simhash.index.redis_client import parts, seconds
from scrapy_simhash.index.redis_log import AnotherLog
from scrapy_simhash.index.redis_records import Record
from scrapy_simhash.index.redis_store import RedisStore

logger = logging.getLogger(__name__)

# How often a claim begins anew because others were faster, before the store counts as unavailable.
_ATTEMPTS = 100
# What the script may compare in a first attempt, with fingerprints of many different bits.
_COMPARISONS = 512
# Orphans handed over by one script.
_AT_ONCE = 500


class RedisIndex(RedisStore):
    """An index in Redis, Sentinel or Cluster.

    Args:
        url: where it is; see :func:`scrapy_simhash.index.index_from_url`.
        recipe: identity of the recipe that makes the fingerprints.
        bits: width of the fingerprints.
        distance: k; pages within k bits match.
        expected_pages: what the layout of a new index is planned for.
        lease: seconds that a provisional entry or a hand-over belongs to its worker.
        layout: of a new index instead of the planned one; a stored one must be the same.
        spider: whose pages this worker crawls; only those are handed over to it.

    Raises:
        StoreMismatch: the index was made by another recipe, width, layout or version.
        StoreDamaged: what is there is no index of ours.
        StoreUnavailable: Redis is away, or refuses.
        ValueError: the URL is of no known form, or no layout can be planned.
    """

    # The contract.

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:  # noqa: D102
        with self._use():
            claimant = self._claimant(Arrival("", fingerprint, scope))
            self._log.is_behind = True
            self._find([claimant])
            provisional: dict[int, Match] = {}
            if unknown := claimant.unknown():
                leases = {lease.position: lease for lease in self._leases()}
                for position in unknown:
                    if (lease := leases.get(position)) is None:
                        # Confirmed meanwhile, or gone.
                        claimant.unleased.add(position)
                    elif lease.scope == scope:
                        distance = claimant.near[position]
                        provisional[position] = Match(lease.key, distance, lease.time, True)
                if claimant.unleased:
                    self._find([claimant])
            return list(claimant.matches(provisional))

    def claim_all(  # noqa: D102
        self, arrivals: Sequence[Arrival], *, now: float | None = None
    ) -> list[Claim]:
        now = self._client.time() if now is None else now
        with self._use():
            return [answer for some in parts(arrivals) for answer in self._claim(some, now)]

    def confirm(self, keys: Iterable[str]) -> None:  # noqa: D102
        with self._use():
            names = [self._name(key) for key in keys]
            for some in parts(self._worker.own(names)):
                # In this order: an entry without a lease has its record, or is gone.
                self._entries.confirm(
                    (position, entry.fingerprint, Record(name, entry.scope, entry.time))
                    for position, name, entry in some
                )
                self._client.run(
                    "settle",
                    len(some),
                    *(position for position, _, _ in some),
                    *(entry.fingerprint for _, _, entry in some),
                )
            self._worker.let_go(names)

    def release(self, keys: Iterable[str], *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = self._client.time() if now is None else now
        with self._use():
            names = [self._name(key) for key in keys]
            pages: list[Page] = []
            for some in parts(self._worker.own(names)):
                own = chain.from_iterable((p, own.fingerprint) for p, _, own in some)
                answer = self._client.run("release", self._worker.name, now, self.lease, *own)
                pages += self._worker.took(self._entries, *answer)
            self._worker.let_go(names)
        return pages

    def renew(self, keys: Iterable[str], *, now: float | None = None) -> None:  # noqa: D102
        now = self._client.time() if now is None else now
        with self._use():
            names = [self._name(key) for key in keys]
            for some in parts(self._worker.own(names)):
                own = chain.from_iterable((p, own.fingerprint) for p, _, own in some)
                self._client.run("renew", self._worker.name, now + self.lease, len(some), *own)
            for handed in parts([name for name in names if self._worker.was_handed(name)]):
                self._client.run("renew", self._worker.name, now + self.lease, 0, *handed)

    def orphans(self, *, now: float | None = None) -> list[Page]:  # noqa: D102
        now = self._client.time() if now is None else now
        pages: dict[str, Page] = {}
        with self._use():
            more = True
            while more:
                *handed, more = self._client.run(
                    "orphans", self._worker.name, now, self.lease, _AT_ONCE
                )
                pages.update((page.key, page) for page in self._worker.took(self._entries, *handed))
        return list(pages.values())

    def last_lease(self, *, now: float | None = None) -> float | None:  # noqa: D102
        now = self._client.time() if now is None else now
        with self._use():
            end, waits_on_a_stranger = self._client.run("last_lease", self._worker.name)
        if waits_on_a_stranger:
            return math.inf
        return None if end is None else max(seconds(end) - now, 0.0)

    def give_up(self, keys: Iterable[str]) -> None:  # noqa: D102
        with self._use():
            for some in parts([self._name(key) for key in keys]):
                self._client.run("give_up", self._worker.name, *some)

    def find_bodies(self, digests: Sequence[bytes]) -> list[Fingerprint | None]:  # noqa: D102
        with self._use():
            return self._bodies.find(digests)

    def note_bodies(self, bodies: Mapping[bytes, Fingerprint]) -> None:  # noqa: D102
        with self._use():
            self._bodies.note(bodies)

    # Claiming.

    def _claim(self, arrivals: Sequence[Arrival], now: float) -> list[Claim]:
        """Claim for as many pages as one script takes."""
        answers: dict[int, Claim] = {}
        everyone = list(map(self._claimant, arrivals))
        claimants = dict(enumerate(everyone))
        for attempt in range(_ATTEMPTS):
            self._find(list(claimants.values()))
            open_names: set[str] = set()
            for number, claimant in list(claimants.items()):
                # After a page of the same key that is not settled, it may be a revisit.
                if claimant.name not in open_names and (answer := claimant.settled()):
                    answers[number] = answer
                    del claimants[number]
                else:
                    open_names.add(claimant.name)
            if claimants:
                # The more it compares, the longer others wait; the less, the oftener it is behind.
                most = _COMPARISONS << min(attempt, 10)
                found = self._worker.submit(claimants, now, self._log, self._entries, most)
                answers.update(found)
                claimants = {n: c for n, c in claimants.items() if n not in found}
            if not claimants:
                self._keep_up(everyone, now)
                return [answers[number] for number in range(len(arrivals))]
        raise StoreUnavailable(f"the index at {self._client.shown} is too busy")

    def _claimant(self, arrival: Arrival) -> Claimant:
        own, name = arrival.fingerprint, self._name(arrival.key)
        # From a queue that is shared, another worker's hand-over may come.
        handed = arrival.again or self._worker.was_handed(name)
        if arrival.scope:
            own = Fingerprint(own.value ^ self._mask(arrival.scope), own.bits, own.margins)
        return Claimant(arrival, name, own, was_handed=handed)

    def _find(self, claimants: Sequence[Claimant]) -> None:
        """Find what is near the claimants."""
        log = self._log

        def find() -> None:
            if self._log is not log:
                for claimant in claimants:
                    claimant.unleased.clear()
            self._finder.find(claimants)

        self._on_its_log(find)

    def _keep_up(self, claimants: Iterable[Claimant], now: float) -> None:
        """Do what is not urgent; what fails is left to whoever claims next."""
        try:
            self._upkeep.refresh(claimants, self._worker.name, now + self.lease)
            self._upkeep.flush(self._worker.name)
        except StoreUnavailable as error:
            logger.debug("The log was not kept up: %s", error)
        except AnotherLog:
            self._open()
