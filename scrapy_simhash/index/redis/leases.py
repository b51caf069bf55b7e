"""The entries that one crawler has in progress in an index in Redis, in steps; see ``steps.py``."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scrapy_simhash.index.contract import MAX_ADOPTIONS, MAX_ORPHANS, warn_of
from scrapy_simhash.index.redis.claims import packed_entry
from scrapy_simhash.index.redis.session import Session
from scrapy_simhash.index.redis.steps import Steps
from scrapy_simhash.index.values import Orphan, Unsettled

# Entries of one call of a script: it holds Redis for some 2 ms.
ENTRIES = 128


class Leases:
    """Acts on an entry between its claim and its end, as the contract has them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def _act(
        self, script: str, keys: Iterable[str], *head: Any, settles: bool = True
    ) -> Steps[None]:
        """Run a script on this crawler's entries of these keys."""
        wanted, own = list(dict.fromkeys(keys)), self._session.own
        with self._session.use():
            owned = [(p, key) for key in wanted for p in sorted(own.get(key, ()))]
            for start in range(0, len(owned), ENTRIES):
                some = owned[start : start + ENTRIES]
                parts = (part for entry in some for part in entry)
                yield from self._session.asked(script, *head, *parts)
            for key in wanted if settles else ():
                own.pop(key, None)
                self._session.adopted.discard(key)

    def confirming(self, keys: Iterable[str]) -> Steps[None]:
        return self._act("confirm", keys)

    def releasing(self, keys: Iterable[str]) -> Steps[None]:
        return self._act("release", keys, self._session.name)

    def renewing(self, keys: Iterable[str], *, lives: bool = True) -> Steps[None]:
        """Renew in steps; unless ``lives``, the crawler lives on in its run in another shard."""
        _, ends, head = self._session.leases()
        given = (self._session.name, ends, head[:8], self._session.era.run)
        keys = list(keys)
        # From the first step to the last, because steps of other shards hold theirs meanwhile.
        with self._session.use():
            if lives and not any(map(self.has_in_progress, keys)):
                yield from self._session.asked("renew", *given)
            yield from self._act("renew", keys, *given, settles=False)

    def has_in_progress(self, key: str) -> bool:
        """Return whether this crawler has claimed or adopted an entry of a key."""
        return key in self._session.own

    @property
    def has_adopted(self) -> bool:
        """True if an entry that this crawler adopted is in progress."""
        return bool(self._session.adopted)

    def adopting(
        self, settled: Iterable[str] = (), *, again: bool = True, living: bytes = b""
    ) -> Steps[list[Orphan]]:
        """Adopt in steps.

        Args:
            settled: keys that are settled by the time of the last step.
            again: whether entries may come that were adopted before.
            living: the crawlers of this run, if another shard knows them.
        """
        at, ends, head = self._session.leases()
        run = self._session.era.run
        asked = (repr(at), ends, head, MAX_ORPHANS, MAX_ADOPTIONS, int(again), run)
        with self._session.use():
            if self._session.adopted.difference(settled):
                return []
            begun = time.monotonic()
            answer = yield from self._session.asked("orphans", *asked, living)
            adopted, given_up, clock = answer
            self._session.set_clock(begun, *clock)
            for key in given_up:
                warn_of(key.decode())
            for position, key, _ in adopted:
                self._session.own[key.decode()].add(position)
                self._session.adopted.add(key.decode())
            return [Orphan(key.decode(), request.decode()) for _, key, request in adopted]

    def fate(self, entries: Iterable[int]) -> Steps[Unsettled]:
        """Tell in steps how entries fared."""
        asked, fared = list(entries), list[bytes | int]()
        at, _, _ = self._session.leases()
        with self._session.use():
            for packed in self._packed(asked):
                fared += yield from self._session.asked("unsettled", repr(at), packed)
        # A page that was taken back is as an earlier run has left it.
        gone = {b"g", *self._session.era.earlier}
        known = list(zip(asked, fared, strict=True))
        return Unsettled(
            frozenset(entry for entry, state in known if state == b"p"),
            frozenset(entry for entry, state in known if state in gone),
        )

    def withdrawing(self, entries: Iterable[int]) -> Steps[None]:
        with self._session.use():
            for packed in self._packed(list(entries)):
                yield from self._session.asked("withdraw", self._session.name, packed)

    def _packed(self, entries: Sequence[int]) -> Iterator[bytes]:
        """Yield entries as scripts take them, some at a time."""
        generation = self._session.generation
        for start in range(0, len(entries), ENTRIES):
            some = entries[start : start + ENTRIES]
            yield b"".join(packed_entry(entry, generation) for entry in some)
