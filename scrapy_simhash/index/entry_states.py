"""The life of an entry: its parts that change, its parts that stay, and the acts that change it.

Each act of the index is a pure function of states. A store compares and writes them
packed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from scrapy_simhash.index.crawler_names import is_dead
from scrapy_simhash.index.store import PackedState, Stored, StoreUnavailable
from scrapy_simhash.index.values import Match

_LEASE = struct.Struct(">dI")  # its end, run to go back to + 1
_BODY = struct.Struct(">IHHB")  # time, sizes of key, scope and facts
# Set in the number of a run: the page failed in that run: it was asked for, and it is
# unknown whether the page is still there.
_FAILED = 1 << 31


def failed_in(run: int) -> int:
    """Return the number of a run that an entry has whose page failed in it."""
    return run | _FAILED


def run_of(number: int) -> int:
    """Return the run in which the page of an entry was last seen, or failed."""
    return number & ~_FAILED


class State(NamedTuple):
    """The part of an entry that changes.

    Attributes:
        run: the run in which its page was last seen, less than 2**31; 0 for no run. If
            the page has failed since, it is :func:`failed_in` that run.
        owner: name of the crawler that has it in progress; None once it is confirmed.
        expires: when its lease runs out, in seconds since the Unix epoch.
        back: for an entry in progress that was confirmed before, the run in which it
            was seen then.
    """

    run: int = 0
    owner: str | None = None
    expires: float = 0.0
    back: int | None = None

    @property
    def delivered(self) -> bool:
        return self.owner is None or self.back is not None

    def is_expired(self, now: float) -> bool:
        """Return whether its lease has run out, or its crawler is dead."""
        if self.owner is None:
            return False
        return self.expires <= now or is_dead(self.owner)

    def pack(self) -> PackedState:
        if self.owner is None:
            return self.run, b""
        back = 0 if self.back is None else self.back + 1
        return self.run, _LEASE.pack(self.expires, back) + self.owner.encode()

    @classmethod
    def unpack(cls, packed: PackedState) -> State:
        """Read a state, or raise ValueError or struct.error."""
        run, lease = packed
        if not lease:
            return cls(run)
        expires, back = _LEASE.unpack_from(lease)
        return cls(
            run, lease[_LEASE.size :].decode(), expires, back - 1 if back else None
        )


#: An act makes another state of one: None deletes the entry, the same state leaves it
#: alone.
Act = Callable[[State], State | None]


def attempts() -> Iterator[int]:
    """Yield the numbers of the attempts of an act, while others change what it rests on.

    Raises:
        StoreUnavailable: there were too many.
    """
    yield from range(100)
    raise StoreUnavailable("others are always faster than this crawler")


def confirmed(state: State) -> State:
    return state if state.owner is None else State(state.run)


def released(state: State) -> State | None:
    """Take back what is in progress."""
    if state.owner is None:
        return state
    return None if state.back is None else State(state.back)


def deleted(_: State) -> None:
    """Delete an entry, whoever has it."""


def failed_by(
    crawler: str, run: int, past: Collection[int], state: State
) -> State | None:
    """Take back what a crawler has in progress; a page of a past run has failed in this one.

    ``past`` has the numbers of entries that earlier runs of the spider saw, and this
    one did not.
    """
    left = released(state) if state.owner == crawler else state
    if left is None or left.owner is not None or left.run not in past:
        return left
    return State(failed_in(run))


def renewed(crawler: str, expires: float, state: State) -> State:
    """Let the lease of a crawler end at a later time."""
    return state._replace(expires=expires) if state.owner == crawler else state


def expired(old: Collection[int], ended: float, state: State) -> State | None:
    """Let an abandoned entry, or one of an old run, expire.

    Args:
        old: runs whose entries go.
        ended: the time before which the lease of an abandoned entry has ended.
        state: the entry's.
    """
    is_abandoned = state.owner is not None and state.expires < ended
    left = released(state) if is_abandoned else state
    is_old = left is not None and left.owner is None and run_of(left.run) in old
    return None if is_old else left


class Record(NamedTuple):
    """An entry.

    Attributes:
        position: its place in the log.
        time: when its text was admitted, in whole seconds since the Unix epoch.
        content: its fingerprint, as a store has it.
    """

    position: int
    key: str
    scope: str
    facts: bytes
    time: int
    state: State
    content: bytes = b""

    def match(self, distance: int, *, expired: bool = False) -> Match:
        """Return the entry as one at a distance from a page."""
        state = self.state
        return Match(
            self.position,
            self.key,
            distance,
            self.time,
            provisional=state.owner is not None,
            facts=self.facts,
            run=state.run,
            expired=expired,
            delivered=state.delivered,
        )

    def pack(self) -> bytes:
        """Return all but position, state and fingerprint."""
        key = self.key.encode()
        scope = self.scope.encode()
        head = _BODY.pack(self.time, len(key), len(scope), len(self.facts))
        return head + key + scope + self.facts

    @classmethod
    def unpack(cls, position: int, stored: Stored) -> Record:
        """Read an entry.

        Raises:
            ValueError: it cannot be read.
        """
        try:
            time, *sizes = _BODY.unpack_from(stored.body)
            parts = "{}s{}s{}s".format(*sizes)
            key, scope, facts = struct.unpack(parts, stored.body[_BODY.size :])
            state = State.unpack(stored.state)
        except struct.error as error:
            raise ValueError("it is cut off") from error
        return cls(
            position, key.decode(), scope.decode(), facts, time, state, stored.content
        )
