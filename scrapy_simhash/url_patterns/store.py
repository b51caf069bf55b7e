"""Crawlers pool the counts of signatures in a store: its contract.

A store adds up what crawlers send and says what has changed. It knows nothing of addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import NamedTuple, Protocol

#: Rows that a store keeps; those that were changed longest ago go.
MOST_ROWS = 200_000
#: Rows of one batch.
BATCH = 500


class Counts(NamedTuple):
    """How the pages of one signature fared. Increments are counts too, and may be negative.

    Attributes:
        duplicates: pages that were copies.
        telling: those of the copies that were evidence, see :class:`.Evidence`.
        distinct: pages that were no copies.
        wrong: those of the distinct pages that had been taken for copies by their address.
        bytes: of the copies, decompressed.
    """

    duplicates: int = 0
    telling: int = 0
    distinct: int = 0
    wrong: int = 0
    bytes: int = 0

    def plus(self, other: Counts) -> Counts:
        return Counts._make(map(add, self, other))


NOTHING = Counts()


class Tally(NamedTuple):
    """The counts of one signature, or the counts that are added to it.

    Attributes:
        host: with the port, if the addresses name one.
        signature: without the host.
        mark: ``pinned`` for what is a pattern whatever the counts say, ``forbidden`` for what is
            none, or nothing.
        example: the address of a copy, a space, and the key of its original; or nothing.
    """

    host: str
    signature: str
    counts: Counts = NOTHING
    mark: str = ""
    example: str = ""


class PatternStore(Protocol):
    """Adds up the rows of all crawlers of one index, for one thread at a time.

    Every method raises the index's ``StoreUnavailable`` while the store is away.
    """

    def add(self, rows: Iterable[Tally]) -> None:
        """Add counts to rows; a mark or an example that is not empty replaces the earlier one.

        A batch is added as a whole or not at all.
        """

    def changes(self, since: int = 0) -> tuple[list[Tally], int]:
        """Return rows as they are, those changed after ``since``, in the order of the changes.

        ``since`` is what the last call returned as its second value, or 0 for all rows. There are
        ``BATCH`` of them, and fewer only at the end.
        """

    def remove(self, host: str, signature: str) -> bool:
        """Forget a row; return whether there was one."""

    def close(self) -> None:
        """Let go of the store."""
