"""The runs of an index, in one cell of JSON that its crawlers change in turn."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from scrapy_simhash.index.crawler_names import is_dead
from scrapy_simhash.index.entry_states import attempts, failed_in, run_of
from scrapy_simhash.index.store import Store, StoreDamaged, readable
from scrapy_simhash.index.values import Run

#: A run counts if no more than this share of the known pages failed, and if it saw no
#: less than this share of the pages of the last run that counts, or of the known ones.
LEAST_SHARE = 0.1
_CELL = "index:runs"
# The types of the fields of a run. Anybody who can write into the store may have
# changed them.
_TYPES = get_type_hints(Run)


@dataclass
class _Row:
    """A run, and when each of its crawlers counts as dead, by name, in seconds since 1970."""

    run: Run
    living: dict[str, float]

    @classmethod
    def read(cls, living: dict[str, float], **fields: Any) -> _Row:
        run = Run(**fields)
        for name, value in run._asdict().items():
            if not isinstance(value, _TYPES[name]) or not _is_small(value):
                raise TypeError(f"the {name} of a run is {value!r:.20}")
        return cls(run, {name: float(end) for name, end in living.items()})


def _is_small(value: object) -> bool:
    """Return whether a value, if it is a number, has no more bits than the times of entries."""
    return not isinstance(value, (int, float)) or 0 <= value < 1 << 32


def _counted(run: Run, by_run: Mapping[int, int]) -> Run:
    """Return a run with the entries that have its number; once it has ended, it saw what it saw."""
    seen = by_run.get(run.number, 0)
    failed = by_run.get(failed_in(run.number), 0)
    run = run._replace(pages=seen + failed)
    return run._replace(seen=seen, failed=failed) if run.ended is None else run


class _Cell:
    """The content of the cell.

    Attributes:
        last: the number of the last run that ever was.
        rows: the oldest first.
    """

    def __init__(self, packed: bytes | None) -> None:
        with readable("the list of runs"):
            content = json.loads(packed or b'{"last": 0, "rows": []}')
            self.last = int(content["last"])
            self.rows = [_Row.read(**values) for values in content["rows"]]
            if max([self.last, *(row.run.number for row in self.rows)]) >= failed_in(0):
                raise ValueError("the number of a run is too large")

    def rows_of(self, spider: str) -> list[_Row]:
        return [row for row in self.rows if row.run.spider == spider]

    def packed(self) -> bytes:
        content = {
            "last": self.last,
            "rows": [row.run._asdict() | {"living": row.living} for row in self.rows],
        }
        return json.dumps(content, separators=(",", ":")).encode()


class RunList:
    """The runs of an index, as one of its crawlers sees and changes them.

    Args:
        store: has the cell.
        crawler: the name of the crawler, in the leases.
        spider: the name of its spider.
    """

    def __init__(self, store: Store, crawler: str, spider: str) -> None:
        self._store = store
        self._crawler = crawler
        self._spider = spider

    def runs(self) -> list[Run]:
        """Return the runs, the oldest first, with the entries that they have now."""
        by_run = self._store.counts().by_run
        return [_counted(row.run, by_run) for row in _Cell(self._packed()).rows]

    def before(self, keep: int, now: float) -> set[int]:
        """Return the numbers of the spider's runs before its last ``keep`` that count.

        A run in which a crawler lives is not among them.
        """
        rows = _Cell(self._packed()).rows_of(self._spider)
        counting = [row.run.number for row in rows if row.run.counts]
        first = counting[-keep] if 0 < keep <= len(counting) else 0
        return {
            row.run.number
            for row in rows
            if row.run.number < first and not self._lives(row, now)
        }

    def begin(
        self, resumed: int | Literal["last"] | None, now: float, expires: float
    ) -> Run:
        """Join a run, or begin one; return it without its entries."""
        # Entries may be counted of a higher run, if the list was lost.
        highest = max(map(run_of, self._store.counts().by_run), default=0)
        for cell in self._attempts():
            for each in cell.rows:  # a crawler takes part in one run at a time
                each.living.pop(self._crawler, None)
            row = self._joined(cell, resumed, now)
            if row is None:
                cell.last = max(cell.last, highest) + 1
                row = _Row(Run(cell.last, self._spider, now), {})
                cell.rows.append(row)
            row.run = row.run._replace(ended=None)
            row.living[self._crawler] = expires
            run = row.run
        return run

    def renew(self, expires: float) -> None:
        """Let the crawler count as dead at a later time."""
        for cell in self._attempts():
            for row in cell.rows:
                if self._crawler in row.living:
                    row.living[self._crawler] = expires

    def leave(self, number: int, now: float, *, finished: bool) -> None:
        """Leave a run, which ends with its last living crawler."""
        for cell in self._attempts():
            for row in cell.rows:
                if row.run.number == number:
                    row.living.pop(self._crawler, None)
                    if not self._lives(row, now):
                        self._end(row, cell, now, finished=finished)

    def forget(self, numbers: Collection[int]) -> None:
        """Delete the runs that have these numbers."""
        for cell in self._attempts():
            cell.rows = [row for row in cell.rows if row.run.number not in numbers]

    def clear(self) -> None:
        """Delete all runs, of a damaged list, too."""
        try:
            for cell in self._attempts():
                cell.rows = []
        except StoreDamaged:
            self._store.swap(_CELL, self._packed(), None)

    def _packed(self) -> bytes | None:
        return self._store.cells("index:").get(_CELL)

    def _attempts(self) -> Iterator[_Cell]:
        """Yield the cell, to be changed, again and again until the store takes the change."""
        for _ in attempts():
            old = self._packed()
            cell = _Cell(old)
            yield cell
            new = cell.packed()
            if new == old or self._store.swap(_CELL, old, new):
                return

    def _joined(
        self, cell: _Cell, resumed: int | Literal["last"] | None, now: float
    ) -> _Row | None:
        """Return the run that the crawler joins; None if it begins one."""
        rows = cell.rows_of(self._spider)
        for row in rows:
            is_last = resumed == "last" and row is rows[-1]
            if (is_last or row.run.number == resumed) and not row.run.finished:
                return row
        return rows[-1] if rows and self._lives(rows[-1], now) else None

    def _lives(self, row: _Row, now: float) -> bool:
        """Return whether one of the crawlers of a run may live."""
        return any(
            ends > now and not is_dead(name) for name, ends in row.living.items()
        )

    def _end(self, row: _Row, cell: _Cell, now: float, *, finished: bool) -> None:
        """End a run: note what it saw, and whether it counts."""
        by_run = self._store.counts().by_run
        run = _counted(row.run._replace(ended=None), by_run)
        earlier = [
            _counted(each.run, by_run)
            for each in cell.rows_of(run.spider)
            if each.run.number < run.number
        ]
        missing = sum(each.pages for each in earlier)
        before = next((each.seen for each in reversed(earlier) if each.counts), 0)
        known = run.pages + missing
        # Pages that the index was told to forget are not expected.
        expected = LEAST_SHARE * min(before, known)
        counts = finished and run.failed <= LEAST_SHARE * known and run.seen >= expected
        row.run = run._replace(
            ended=now, finished=finished, missing=missing, counts=counts
        )
        row.living = {}
