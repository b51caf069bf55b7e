"""The verbs of a store, which does not know what leases and runs mean, and knows no rule.

A store keeps entries at positions, which grow and are never used twice, and finds the
entries that may be near a page by its *values*: one for each block, and last the key's.
Every act of the index reads, decides, and commits, which a store does only if what the
decision rests on is unchanged. A project may bring another store; the tests in
``tests/index`` prove one.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from scrapy_simhash.index.lookups import Lookups, Near

#: Entries that are read at a time.
ROWS_AT_ONCE = 1 << 13

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items, a bounded number at a time."""
    rest = iter(items)
    while batch := [*islice(rest, size)]:
        yield batch


class StoreError(Exception):
    """The index cannot do what was asked; the message says what to do."""


class StoreMismatch(StoreError):
    """The stored index was made by another recipe, width, number of blocks or format."""


class StoreDamaged(StoreError):
    """The store holds no index of this package, or a damaged one."""


class StoreMissing(StoreError):
    """There is no index where one was expected."""


class StoreRefused(StoreError):
    """The place or the credentials in the URL are wrong, so waiting does not help."""


class StoreUnavailable(StoreError):
    """The store is away, full, locked or read-only; the same call may work later."""


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Raise StoreDamaged, with the name of what is read, if it cannot be read."""
    try:
        yield
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OverflowError,
        RecursionError,
        struct.error,
    ) as error:
        # It may quote what it met.
        raise StoreDamaged(f"{name} is damaged: {error!s:.300}") from error


#: The part of an entry that changes, which a commit compares: the run in which it was
#: last seen, less than 2**32, for which a store counts it, and its lease, empty if it
#: is confirmed.
PackedState = tuple[int, bytes]


class Stored(NamedTuple):
    """An entry as a store has it.

    Attributes:
        body: the other parts that never change, without the fingerprint.
        content: the fingerprint in its scope, and maybe the block values behind it.
    """

    state: PackedState
    body: bytes
    content: bytes


class Part(NamedTuple):
    """Changes that are written together, or not at all.

    Attributes:
        members: numbers of its pages. Entries near one of them, or of its key, that
            came at or after ``since`` stand against the part.
        checks: states of entries, by position; another state, or no entry, stands
            against it, too.
        new: state and body of the entries that its pages become, by the page's number.
        writes: new states of checked entries, by position; None deletes.
        since: a position.
    """

    members: Sequence[int] = ()
    checks: Mapping[int, PackedState] = {}
    new: Mapping[int, tuple[PackedState, bytes]] = {}
    writes: Mapping[int, PackedState | None] = {}
    since: int = 0


class Answer(NamedTuple):
    """The outcome of a commit, or of a look.

    Attributes:
        near: for the number of each page that was looked at, after a commit those of
            refused parts: distance and position of the entries within reach that share
            a block value with it, and of those at any distance that share the value of
            one of its keys; sorted.
        entries: these entries, and those that refused parts check.
        ends: for the number of each of these pages, the position up to which this is
            all.
        written: for each part the positions of its new entries, or None if it was
            refused.
    """

    near: dict[int, Near]
    entries: dict[int, Stored]
    ends: dict[int, int]
    written: Sequence[Sequence[int] | None] = ()


class Counts(NamedTuple):
    """Numbers of entries by the run in which they were last seen, and of those in progress."""

    by_run: dict[int, int]
    provisional: int


class Store(Protocol):
    """The verbs. One thread at a time calls them.

    All may raise :class:`.StoreUnavailable` or :class:`.StoreDamaged`. A commit that
    raises may have written some of its parts.

    Attributes:
        is_here: only processes of this machine can reach it, and a look costs little.
    """

    is_here: bool

    def commit(self, parts: Sequence[Part], lookups: Lookups | None = None) -> Answer:
        """Write each part that nothing stands against. Parts of one call share no entry."""

    def find(self, lookups: Lookups) -> Answer:
        """Return what is near each page.

        What has one of the keys of a page is among it, whatever its scope. Ends are
        told by a store that is here.
        """

    def read(self, positions: Collection[int]) -> dict[int, Stored]:
        """Return the entries at these positions, if they are there, with their fingerprints."""

    def scan(
        self, after: int = 0, *, blocks: bool = False
    ) -> Iterator[tuple[int, Stored]]:
        """Yield the entries behind a position; others may change the store meanwhile.

        They have their fingerprints, and their block values, if these are asked for; a
        store that ends with its process may leave these out.
        """

    def cells(self, family: str) -> dict[str, bytes]:
        """Return the small values of a family by their names; clearing does not touch them.

        A family ends with a colon, and names begin with their family.
        """

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        """Set a cell, if it has the old value; None is one that is not there."""

    def counts(self) -> Counts: ...

    def check(self) -> list[str]:
        """Return a sentence for each damage that it knows of beside its entries."""

    def time(self) -> float:
        """Return the time that all its crawlers share, in seconds since the Unix epoch."""

    def clear(self) -> None:
        """Delete all entries."""

    def close(self) -> None: ...
