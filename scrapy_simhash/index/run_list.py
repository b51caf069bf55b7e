"""The runs of an index, in one cell of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from scrapy_simhash.index.store import StoreDamaged
from scrapy_simhash.index.values import Run


class RunList:
    """The runs, the oldest first.

    Attributes:
        last: the number of the last run that ever was.
        rows: each has number, spider, begun, ended, finished; "living": when each of its crawlers
            counts as dead, by name.
    """

    def __init__(self, cell: bytes | None) -> None:
        try:
            content = json.loads(cell or b'{"last": 0, "rows": []}')
            self.last, self.rows = int(content["last"]), list[dict[str, Any]](content["rows"])
            self.shown({})
            if not all(isinstance(row["living"], dict) for row in self.rows):
                raise ValueError("the crawlers of a run are no table")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreDamaged(f"the list of runs is damaged: {error}") from error

    def packed(self) -> bytes:
        return json.dumps({"last": self.last, "rows": self.rows}, separators=(",", ":")).encode()

    def shown(self, pages: dict[int, int]) -> list[Run]:
        """Return the runs, given how many entries each has seen last."""
        return [
            Run(
                *(int(row["number"]), str(row["spider"]), float(row["begun"]), row["ended"]),
                *(bool(row["finished"]), pages.get(row["number"], 0)),
            )
            for row in self.rows
        ]

    def forget(self, numbers: Collection[int]) -> None:
        self.rows = [row for row in self.rows if row["number"] not in numbers]


class Member:
    """A crawler's part in the runs of its spider.

    Args:
        lives: tells whether a crawler that has a name may live.
    """

    def __init__(self, name: str, spider: str, lives: Callable[[str], bool]) -> None:
        self._name, self._spider, self._lives = name, spider, lives

    def begin(
        self, runs: RunList, resumed: int | None, now: float, expires: float, last: int
    ) -> int:
        """Join a run, or begin one with a number above ``last``; return its number."""
        rows = [row for row in runs.rows if row["spider"] == self._spider]
        joined = [row for row in rows if row["number"] == resumed and not row["finished"]]
        joined += [row for row in rows[-1:] if row["ended"] is None and self._others(row, now)]
        if not joined:
            runs.last = max(runs.last, last) + 1
            joined = [{"number": runs.last, "spider": self._spider, "begun": now}]
            joined[0] |= {"ended": None, "finished": False, "living": {}}
            runs.rows.append(joined[0])
        for row in runs.rows:  # a crawler takes part in one run at a time
            row["living"].pop(self._name, None)
        joined[0]["ended"] = None
        joined[0]["living"][self._name] = expires
        return int(joined[0]["number"])

    def renew(self, runs: RunList, expires: float) -> None:
        for row in runs.rows:
            if self._name in row["living"]:
                row["living"][self._name] = expires

    def leave(self, runs: RunList, number: int, now: float, *, finished: bool) -> None:
        for row in runs.rows:
            if row["number"] == number:
                row["living"].pop(self._name, None)
                if not self._others(row, now):
                    row |= {"ended": now, "finished": finished, "living": {}}

    def _others(self, row: dict[str, Any], now: float) -> bool:
        """Return whether another crawler of a run lives."""
        others = ((name, ends) for name, ends in row["living"].items() if name != self._name)
        return any(ends > now and self._lives(name) for name, ends in others)
