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


class Row(NamedTuple):
    """The pages of one signature, or an addition to them, whose numbers may be negative.

    Attributes:
        copies: pages that repeated another one.
        telling: copies that were evidence, see :class:`.Evidence`.
        lesser: copies whose originals have the better address.
        distinct: pages that repeated no other page.
        shared: distinct pages that also came by an address of another signature.
        wrong: distinct pages whose addresses had been taken for those of copies.
        bytes: the size of the copies, decompressed.
        mark: ``pinned`` makes it a pattern whatever the counts say, ``forbidden`` never.
        example: the address of a copy, a space, and that of its original; or nothing.
    """

    copies: int = 0
    telling: int = 0
    lesser: int = 0
    distinct: int = 0
    shared: int = 0
    wrong: int = 0
    bytes: int = 0
    mark: str = ""
    example: str = ""

    def plus(self, addend: "Row") -> "Row":
        sums = map(add, self[:7], addend[:7])
        return Row._make([*sums, addend.mark or self.mark, addend.example or self.example])


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
    worth = {signature: (row.mark, row.copies, row.distinct) for signature, row in rows.items()}
    best = nlargest(MOST_ROWS // 2, rows, key=worth.__getitem__)
    return {signature: rows[signature] for signature in best}


def to_cell(rows: Rows) -> bytes:
    parts = {s: row._replace(example=row.example[:_LONGEST_EXAMPLE]) for s, row in rows.items()}
    return json.dumps(parts, separators=(",", ":")).encode()


def from_cell(cell: bytes | None) -> Rows:
    """Return the rows of a cell, which anybody who can write into the store may have changed.

    Raises:
        StoreDamaged: it did not come from :func:`to_cell`.
    """
    if cell is None:
        return {}
    try:
        rows = {signature: Row._make(values) for signature, values in json.loads(cell).items()}
        kinds = [*map(type, NO_PAGES)]
        if not all([*map(type, row)] == kinds for row in rows.values()):
            raise TypeError("a value is of the wrong type")
        return rows
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise StoreDamaged(f"address patterns are damaged: {error}") from None
