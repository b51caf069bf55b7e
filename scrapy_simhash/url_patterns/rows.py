"""The counts of signatures, and the cells of an index that have them: one for each host."""

import json
from collections.abc import Mapping
from heapq import nlargest
from operator import add
from typing import NamedTuple

from scrapy_simhash.index.contract import StoreDamaged

#: Rows of a host that are kept; those with the fewest copies go, then those with the fewest pages.
MOST_ROWS = 200
_LONGEST_EXAMPLE = 500


class Counts(NamedTuple):
    """Numbers of the pages of one signature. Increments are counts too, and may be negative.

    Attributes:
        copies: pages that repeated another one.
        telling: those of them that were evidence, see :class:`.Evidence`.
        lesser: those of them whose address names the page less than that of the original.
        distinct: pages that repeated none.
        shared: those of them that came by an address of another signature, too.
        wrong: those of the distinct pages that had been taken for copies by their address.
        bytes: of the copies, decompressed.
    """

    copies: int = 0
    telling: int = 0
    lesser: int = 0
    distinct: int = 0
    shared: int = 0
    wrong: int = 0
    bytes: int = 0


class Row(NamedTuple):
    """The knowledge of one signature, or an addition to it.

    Attributes:
        mark: ``pinned`` makes it a pattern whatever the counts say, ``forbidden`` never.
        example: the address of a copy, a space, and that of its original; or nothing.
    """

    counts: Counts = Counts()
    mark: str = ""
    example: str = ""

    def plus(self, addend: "Row") -> "Row":
        counts = Counts._make(map(add, self.counts, addend.counts))
        return Row(counts, addend.mark or self.mark, addend.example or self.example)


NO_PAGES = Row()
Rows = dict[str, Row]  # by signature, without the host


def merged(rows: Mapping[str, Row], more: Mapping[str, Row]) -> Rows:
    """Return the sums of rows, within bounds."""
    sums = {**rows}
    for signature, row in more.items():
        sums[signature] = sums.get(signature, NO_PAGES).plus(row)
    return trimmed(sums)


def trimmed(rows: Rows) -> Rows:
    if len(rows) <= MOST_ROWS:
        return rows

    def worth(signature: str) -> tuple[bool, int, int]:
        counts, mark, _ = rows[signature]
        return bool(mark), counts.copies, counts.distinct

    return {signature: rows[signature] for signature in nlargest(MOST_ROWS // 2, rows, worth)}


def to_cell(rows: Rows) -> bytes:
    parts = {
        signature: [*counts, mark, example[:_LONGEST_EXAMPLE]]
        for signature, (counts, mark, example) in rows.items()
    }
    return json.dumps(parts, separators=(",", ":")).encode()


def from_cell(cell: bytes | None) -> Rows:
    """Return the rows of a cell, which anybody who can write into the store may have changed.

    Raises:
        StoreDamaged: it did not come from :func:`to_cell`.
    """
    if cell is None:
        return {}
    try:
        rows = {}
        for signature, (*counts, mark, example) in json.loads(cell).items():
            if not all(type(number) is int for number in counts):
                raise TypeError("a count must be a whole number")
            rows[signature] = Row(Counts._make(counts), str(mark), str(example))
        return rows
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise StoreDamaged(f"address patterns are damaged: {error}") from None
