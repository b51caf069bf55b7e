"""The runs of an index, in one cell of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from scrapy_simhash.index.entry_states import failed_in
from scrapy_simhash.index.store import StoreDamaged
from scrapy_simhash.index.values import Run

#: A run counts if no more than this share of the known pages failed, and if it saw no less than
#: this share of the pages of the last run that counts.
LEAST_SHARE = 0.1


@dataclass
class _Row:
    """A run as the cell has it.

    Attributes:
        living: when each of its crawlers counts as dead, by name; seconds since the Unix epoch.
    """

    number: int
    spider: str
    begun: float
    ended: float | None = None
    finished: bool = False
    seen: int = 0
    failed: int = 0
    missing: int = 0
    counts: bool = False
    living: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, values: dict[str, Any]) -> _Row:
        """Check what anybody who can write into the store may have changed."""
        ended = values["ended"]
        return cls(
            number=int(values["number"]),
            spider=str(values["spider"]),
            begun=float(values["begun"]),
            ended=None if ended is None else float(ended),
            finished=bool(values["finished"]),
            seen=int(values["seen"]),
            failed=int(values["failed"]),
            missing=int(values["missing"]),
            counts=bool(values["counts"]),
            living={str(name): float(end) for name, end in values["living"].items()},
        )


class RunList:
    """The runs, the oldest first.

    Attributes:
        last: the number of the last run that ever was.
    """

    def __init__(self, cell: bytes | None) -> None:
        try:
            content = json.loads(cell or b'{"last": 0, "rows": []}')
            self.last = int(content["last"])
            self.rows = [_Row.read(values) for values in content["rows"]]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreDamaged(f"the list of runs is damaged: {error}") from error

    def packed(self) -> bytes:
        content = {"last": self.last, "rows": [asdict(row) for row in self.rows]}
        return json.dumps(content, separators=(",", ":")).encode()

    def shown(self, by_run: Mapping[int, int]) -> list[Run]:
        """Return the runs, given how many entries have each number of a run."""
        return [
            Run(
                number=row.number,
                spider=row.spider,
                begun=row.begun,
                ended=row.ended,
                finished=row.finished,
                pages=by_run.get(row.number, 0) + by_run.get(failed_in(row.number), 0),
                seen=by_run.get(row.number, 0) if row.ended is None else row.seen,
                failed=by_run.get(failed_in(row.number), 0) if row.ended is None else row.failed,
                missing=row.missing,
                counts=row.counts,
            )
            for row in self.rows
        ]

    def forget(self, numbers: Collection[int]) -> None:
        self.rows = [row for row in self.rows if row.number not in numbers]

    def add_up(self, row: _Row, by_run: Mapping[int, int]) -> None:
        """Note what a run that has ended saw, and whether it counts."""
        earlier = [
            each for each in self.rows if each.spider == row.spider and each.number < row.number
        ]
        row.seen = by_run.get(row.number, 0)
        row.failed = by_run.get(failed_in(row.number), 0)
        row.missing = sum(
            by_run.get(number, 0)
            for each in earlier
            for number in (each.number, failed_in(each.number))
        )
        known = row.seen + row.failed + row.missing
        before = next((each.seen for each in reversed(earlier) if each.counts), 0)
        row.counts = (
            row.finished and row.failed <= LEAST_SHARE * known and row.seen >= LEAST_SHARE * before
        )


class Member:
    """A crawler's part in the runs of its spider.

    Args:
        lives: tells whether a crawler that has a name may live.
    """

    def __init__(self, name: str, spider: str, lives: Callable[[str], bool]) -> None:
        self._name = name
        self._spider = spider
        self._lives = lives

    def begin(
        self, runs: RunList, resumed: int | None, now: float, expires: float, last: int
    ) -> int:
        """Join a run, or begin one with a number above ``last``; return its number."""
        rows = [row for row in runs.rows if row.spider == self._spider]
        joined = [row for row in rows if row.number == resumed and not row.finished]
        joined += [row for row in rows[-1:] if row.ended is None and self._others(row, now)]
        if not joined:
            runs.last = max(runs.last, last) + 1
            joined = [_Row(runs.last, self._spider, now)]
            runs.rows.append(joined[0])
        for row in runs.rows:  # a crawler takes part in one run at a time
            row.living.pop(self._name, None)
        joined[0].ended = None
        joined[0].living[self._name] = expires
        return joined[0].number

    def renew(self, runs: RunList, expires: float) -> None:
        for row in runs.rows:
            if self._name in row.living:
                row.living[self._name] = expires

    def leave(
        self, runs: RunList, number: int, now: float, by_run: Mapping[int, int], *, finished: bool
    ) -> None:
        """Leave a run, which ends with its last living crawler."""
        for row in runs.rows:
            if row.number == number:
                row.living.pop(self._name, None)
                if not self._others(row, now):
                    row.ended = now
                    row.finished = finished
                    row.living = {}
                    runs.add_up(row, by_run)

    def _others(self, row: _Row, now: float) -> bool:
        """Return whether another crawler of a run lives."""
        others = ((name, ends) for name, ends in row.living.items() if name != self._name)
        return any(ends > now and self._lives(name) for name, ends in others)
