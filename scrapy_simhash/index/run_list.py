"""The runs of an index, in one cell of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_type_hints

from scrapy_simhash.index.entry_states import failed_in
from scrapy_simhash.index.store import StoreDamaged
from scrapy_simhash.index.values import Run

#: A run counts if no more than this share of the known pages failed, and if it saw no less than
#: this share of the pages of the last run that counts.
LEAST_SHARE = 0.1


# The types of the fields of a run. Anybody who can write into the store may have changed them.
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
            if not isinstance(value, _TYPES[name]):
                raise TypeError(f"the {name} of a run is {value!r:.20}")
        return cls(run, {name: float(end) for name, end in living.items()})


def _counted(run: Run, by_run: Mapping[int, int]) -> Run:
    """Return a run with the entries that have its number; once it has ended, it saw what it saw."""
    seen = by_run.get(run.number, 0)
    failed = by_run.get(failed_in(run.number), 0)
    run = run._replace(pages=seen + failed)
    return run._replace(seen=seen, failed=failed) if run.ended is None else run


class RunList:
    """The runs, the oldest first.

    Attributes:
        last: the number of the last run that ever was.
    """

    def __init__(self, cell: bytes | None) -> None:
        try:
            content = json.loads(cell or b'{"last": 0, "rows": []}')
            self.last = int(content["last"])
            self.rows = [_Row.read(**values) for values in content["rows"]]
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
            OverflowError,
        ) as error:
            raise StoreDamaged(f"the list of runs is damaged: {error}") from error

    def packed(self) -> bytes:
        content = {
            "last": self.last,
            "rows": [row.run._asdict() | {"living": row.living} for row in self.rows],
        }
        return json.dumps(content, separators=(",", ":")).encode()

    def shown(self, by_run: Mapping[int, int]) -> list[Run]:
        """Return the runs, given how many entries have each number of a run."""
        return [_counted(row.run, by_run) for row in self.rows]

    def forget(self, numbers: Collection[int]) -> None:
        self.rows = [row for row in self.rows if row.run.number not in numbers]

    def end(self, row: _Row, now: float, by_run: Mapping[int, int], *, finished: bool) -> None:
        """End a run: note what it saw, and whether it counts."""
        run = _counted(row.run._replace(ended=None), by_run)
        others = (each.run for each in self.rows if each.run.spider == run.spider)
        earlier = [_counted(each, by_run) for each in others if each.number < run.number]
        missing = sum(each.pages for each in earlier)
        before = next((each.seen for each in reversed(earlier) if each.counts), 0)
        did_fail = run.failed > LEAST_SHARE * (run.pages + missing)
        counts = finished and not did_fail and run.seen >= LEAST_SHARE * before
        row.run = run._replace(ended=now, finished=finished, missing=missing, counts=counts)
        row.living = {}


class Member(NamedTuple):
    """A crawler's part in the runs of its spider.

    Attributes:
        name: the crawler's, in the leases.
        lives: tells whether a crawler that has a name may live.
    """

    name: str
    spider: str
    lives: Callable[[str], bool]

    def begin(
        self,
        runs: RunList,
        resumed: int | Literal["last"] | None,
        now: float,
        expires: float,
        last: int,
    ) -> int:
        """Join a run, or begin one with a number above ``last``; return its number."""
        rows = [row for row in runs.rows if row.run.spider == self.spider]
        named = rows[-1:] if resumed == "last" else [r for r in rows if r.run.number == resumed]
        joined = [row for row in named if not row.run.finished]
        joined += [row for row in rows[-1:] if row.run.ended is None and self._others(row, now)]
        if not joined:
            runs.last = max(runs.last, last) + 1
            joined = [_Row(Run(runs.last, self.spider, now), {})]
            runs.rows.append(joined[0])
        for row in runs.rows:  # a crawler takes part in one run at a time
            row.living.pop(self.name, None)
        row = joined[0]
        row.run = row.run._replace(ended=None)
        row.living[self.name] = expires
        return row.run.number

    def renew(self, runs: RunList, expires: float) -> None:
        for row in runs.rows:
            if self.name in row.living:
                row.living[self.name] = expires

    def leave(
        self, runs: RunList, number: int, now: float, by_run: Mapping[int, int], *, finished: bool
    ) -> None:
        """Leave a run, which ends with its last living crawler."""
        for row in runs.rows:
            if row.run.number == number:
                row.living.pop(self.name, None)
                if not self._others(row, now):
                    runs.end(row, now, by_run, finished=finished)

    def _others(self, row: _Row, now: float) -> bool:
        """Return whether another crawler of a run lives."""
        others = ((name, ends) for name, ends in row.living.items() if name != self.name)
        return any(ends > now and self.lives(name) for name, ends in others)
