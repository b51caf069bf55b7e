"""A worker: what it claimed, what was handed over to it, and how it claims."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scrapy_simhash.index import base
from scrapy_simhash.index.base import Claim, Match, Outcome, Page
from scrapy_simhash.index.redis_claims import Claimant
from scrapy_simhash.index.redis_client import Client, text
from scrapy_simhash.index.redis_entries import Entries
from scrapy_simhash.index.redis_log import LogView

logger = logging.getLogger(__name__)


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

    Attributes:
        name: by which it is known in the index.
    """

    def __init__(self, client: Client, distance: int, lease: float) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
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

    def expect(self, names: Iterable[str]) -> None:
        """Note pages that the index expects from this worker."""
        self._handed.update(names)

    def dismiss(self, names: Iterable[str]) -> None:
        """Forget pages that the index does not expect any more."""
        self._handed.difference_update(names)

    def was_handed(self, name: str) -> bool:
        """Return whether a page was handed over and has not claimed."""
        return name in self._handed

    def submit(
        self, claimants: Mapping[int, Claimant], now: float, log: LogView, entries: Entries
    ) -> dict[int, Claim]:
        """Let the script decide; return the answers of those that need not claim again."""
        values = [claimant.fingerprint.value for claimant in claimants.values()]
        time = repr(now)
        pages: list[Any] = []
        for claimant in claimants.values():
            own = claimant.fingerprint
            near = sum((own.value ^ v).bit_count() <= self._distance for v in values) > 1
            pages += (
                self._entry(claimant, time),
                "b" * near + "c" * bool(claimant.records) + "o" * claimant.is_own(),
                b"".join(
                    position.to_bytes(4, "big") + claimant.near[position].to_bytes(2, "big")
                    for position in claimant.unknown()
                ),
            )
        head = (*log.mark(), self._distance, time, self._lease, repr(now + self._lease), self.name)
        answer = self._client.run("claim", *head, *pages)
        if not answer:
            log.is_behind = True
            return {}
        end, given_up, deleted, results = answer
        admitted = b"".join(
            claimant.fingerprint.to_bytes()
            for claimant, result in zip(claimants.values(), results, strict=True)
            if isinstance(result, int) or result[0] == b"original"
        )
        if log.end + len(admitted) // log.width == end:
            log.extend(admitted)
        else:
            log.is_behind = True
        self.took(entries, given_up, deleted, [])
        answers: dict[int, Claim] = {}
        for (number, claimant), result in zip(claimants.items(), results, strict=True):
            if isinstance(result, int):
                result = (b"original", result, 0, (), ())
            outcome, *details = result
            if outcome == b"again":
                claimant.unleased.update(details[::2])
                log.is_behind = True
            else:
                answers[number] = self._answer(claimant, outcome.decode(), now, *details)
        return answers

    def _entry(self, claimant: Claimant, time: str) -> bytes:
        """Return the entry that a page would become, as a lease holds it."""
        request = claimant.arrival.request
        parts = (
            self.name.encode(),
            claimant.name.encode(),
            claimant.arrival.scope.encode(),
            b"" if request is None else b"=" + request.encode(),
        )
        sizes = " ".join([time, *(str(len(part)) for part in parts)])
        return sizes.encode() + b":" + b"".join(parts) + claimant.fingerprint.to_bytes()

    def _answer(
        self,
        claimant: Claimant,
        outcome: str,
        now: float,
        position: int,
        waiting: int,
        handed: Sequence[bytes],
        matches: Sequence[Any],
    ) -> Claim:
        self._handed.discard(claimant.name)
        scope = claimant.arrival.scope
        own = self._own.setdefault(claimant.name, {}) if outcome != "duplicate" else {}
        if outcome == "original":
            own[position] = Own(claimant.fingerprint.to_bytes(), scope, now)
            return Claim(Outcome.ORIGINAL, handed_back=tuple(self._take(handed)))
        provisional: dict[int, Match] = {}
        for place, distance, key, entered, value in matches:
            provisional[place] = Match(text(key), distance, float(entered), True)
            if text(key) == claimant.name:
                own[place] = Own(value, scope, float(entered))
        return Claim(Outcome(outcome), claimant.matches(provisional), bool(waiting))

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
            Page(text(key), text(request)[1:] if request else None)
            for key, request in zip(handed[::2], handed[1::2], strict=True)
        ]
        self._handed.update(page.key for page in pages)
        return pages
