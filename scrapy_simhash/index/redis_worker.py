"""A worker: what it claimed, what was handed over to it, and how it claims."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import base
from scrapy_simhash.index.base import Claim, Match, Outcome, Page
from scrapy_simhash.index.redis_claims import Claimant
from scrapy_simhash.index.redis_client import Client, seconds, text
from scrapy_simhash.index.redis_entries import Entries
from scrapy_simhash.index.redis_log import LogView
from scrapy_simhash.index.redis_pages import as_words, distances_between

logger = logging.getLogger(__name__)

_ORIGINAL = Claim(Outcome.ORIGINAL)


class Own(NamedTuple):
    """An entry that this worker claimed and has not settled."""

    fingerprint: bytes
    scope: str
    time: float


class Worker:
    """One of the workers of an index.

    Args:
        client: where the index is.
        distance: k.
        lease: seconds that what it claims belongs to it.
        spider: whose pages it crawls.

    Attributes:
        name: by which it is known in the index.
    """

    def __init__(self, client: Client, distance: int, lease: float, spider: str) -> None:
        mark = base.mark_of(spider)
        self.name = f"{mark}@{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        # What stands before a request as it is stored.
        self._mark = b"%d=" % mark
        self._packed = self.name.encode()
        self._client = client
        self._distance = distance
        self._lease = lease
        self._own: dict[str, dict[int, Own]] = {}
        # Pages that were handed over, until they claim.
        self._handed: set[str] = set()

    def own(self, names: Iterable[str]) -> list[tuple[int, str, Own]]:
        """Return the entries of keys that this worker claimed: position, key and entry."""
        return [(p, name, own) for name in names for p, own in self._own.get(name, {}).items()]

    def let_go(self, names: Iterable[str]) -> None:
        """Forget the entries of keys, which are settled."""
        for name in names:
            self._own.pop(name, None)

    def was_handed(self, name: str) -> bool:
        """Return whether a page was handed over and has not claimed."""
        return name in self._handed

    def submit(
        self,
        claimants: Mapping[int, Claimant],
        now: float,
        log: LogView,
        entries: Entries,
        most: int,
    ) -> dict[int, Claim]:
        """Let the script decide; return the answers of those that need not claim again.

        Args:
            claimants: what they know is as of the end of the log as it was seen.
            now: the time, in seconds since the Unix epoch.
            log: learns what else was admitted.
            entries: told of what is deleted.
            most: comparisons of the script.
        """
        times = b"%r %r" % (now + self._lease, now)
        fingerprints = [claimant.fingerprint for claimant in claimants.values()]
        together = _near_each_other(fingerprints, self._distance)
        pages: list[bytes] = []
        for claimant, is_near in zip(claimants.values(), together, strict=True):
            pages += self._lease_of(claimant, times), _told(claimant, is_near)
        head = (*log.mark(), self._distance, repr(now), self._lease, self.name, most)
        answer = self._client.run("claim", *head, *pages)
        if not answer:
            log.is_behind = True
            return {}
        given_up, deleted, news, results = answer
        admitted = [
            claimant.fingerprint.to_bytes()
            for claimant, result in zip(claimants.values(), results, strict=True)
            if isinstance(result, int) or result[0] == b"original"
        ]
        log.extend(news + b"".join(admitted))
        self.took(entries, given_up, deleted, [])
        answers: dict[int, Claim] = {}
        for (number, claimant), result in zip(claimants.items(), results, strict=True):
            if isinstance(result, int):
                answers[number] = self._admit(claimant, now, result)
            elif result[0] == b"again":
                claimant.unleased.update(result[1::2])
            else:
                answers[number] = self._answer(claimant, now, *result)
        return answers

    def _lease_of(self, claimant: Claimant, times: bytes) -> bytes:
        """Return the lease that a page would get; see ``lua/life.lua``."""
        request = claimant.arrival.request
        worker, key, scope = self._packed, claimant.name.encode(), claimant.arrival.scope.encode()
        wanted = b"" if request is None else self._mark + request.encode()
        sizes = len(worker), len(key), len(scope), len(wanted)
        entry = worker, key, scope, wanted, claimant.fingerprint.to_bytes()
        return b"%b %d %d %d %d:%b%b%b%b%b" % (times, *sizes, *entry)

    def _admit(self, claimant: Claimant, now: float, position: int) -> Claim:
        self._handed.discard(claimant.name)
        own = Own(claimant.fingerprint.to_bytes(), claimant.arrival.scope, now)
        self._own.setdefault(claimant.name, {})[position] = own
        return _ORIGINAL

    def _answer(
        self,
        claimant: Claimant,
        now: float,
        outcome: bytes,
        position: int,
        waiting: int,
        handed: Sequence[bytes],
        matches: Sequence[Any],
    ) -> Claim:
        if outcome == b"original":
            self._admit(claimant, now, position)
            return Claim(Outcome.ORIGINAL, handed_back=tuple(self._take(handed)))
        self._handed.discard(claimant.name)
        provisional: dict[int, Match] = {}
        for place, distance, key, entered, value in matches:
            provisional[place] = match = Match(text(key), distance, seconds(entered), True)
            if match.key == claimant.name:
                own = self._own.setdefault(claimant.name, {})
                own[place] = Own(value, claimant.arrival.scope, match.time)
        return Claim(Outcome(text(outcome)), claimant.matches(provisional), bool(waiting))

    def took(
        self,
        entries: Entries,
        given_up: Sequence[bytes],
        deleted: Sequence[Any],
        handed: Sequence[bytes],
    ) -> list[Page]:
        """Note what a script did; return the pages that it handed over."""
        for key in given_up:
            logger.warning(
                "%s was handed over %d times and never claimed: given up",
                text(key),
                base.MAX_HANDOVERS,
            )
        # This spares others the search for their leases.
        entries.bury(list(zip(deleted[::2], deleted[1::2], strict=True)))
        return self._take(handed)

    def _take(self, handed: Sequence[bytes]) -> list[Page]:
        pages = [
            Page(text(key), text(request).partition("=")[2] if request else None)
            for key, request in zip(handed[::2], handed[1::2], strict=True)
        ]
        self._handed.update(page.key for page in pages)
        return pages


def _told(claimant: Claimant, is_near_another: bool) -> bytes:
    """Return what ``lua/claim.lua`` is told of what is near a page."""
    if not claimant.near and not is_near_another:
        return b""
    flags = (claimant.records, b"c"), (claimant.is_own(), b"o"), (is_near_another, b"b")
    return b"".join(flag if holds else b"-" for holds, flag in flags) + b"".join(
        position.to_bytes(4, "big") + claimant.near[position].to_bytes(2, "big")
        for position in claimant.unknown()
    )


def _near_each_other(fingerprints: Sequence[Fingerprint], distance: int) -> list[bool]:
    """Return which of some fingerprints are near another of them."""
    if len(fingerprints) == 1:
        return [False]
    width = fingerprints[0].bits // 8
    words = as_words(b"".join(fingerprint.to_bytes() for fingerprint in fingerprints), width)
    near: list[bool] = ((distances_between(words, words) <= distance).sum(axis=1) > 1).tolist()
    return near
