"""The runs of an index, in one cell of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from scrapy_simhash.index.values import Run
from scrapy_simhash.index.verbs import StoreDamaged


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

    def begin(
        self, spider: str, crawler: str, resumed: int | None, now: float, lease: float, last: int
    ) -> int:
        """Let a crawler join a run, or begin one above ``last``; return the run's number."""
        for row in self.rows:  # a crawler takes part in one run at a time
            row["living"].pop(crawler, None)
        rows = [row for row in self.rows if row["spider"] == spider]
        joined = [row for row in rows if row["number"] == resumed and not row["finished"]]
        joined += [row for row in rows[-1:] if row["ended"] is None and _is_living(row, now)]
        if not joined:
            self.last = max(self.last, last) + 1
            joined = [{"number": self.last, "spider": spider, "begun": now}]
            joined[0] |= {"ended": None, "finished": False, "living": {}}
            self.rows.append(joined[0])
        joined[0]["ended"] = None
        joined[0]["living"][crawler] = now + lease
        return int(joined[0]["number"])

    def renew(self, crawler: str, expires: float) -> None:
        for row in self.rows:
            if crawler in row["living"]:
                row["living"][crawler] = expires

    def leave(self, number: int, crawler: str, now: float, *, finished: bool) -> None:
        for row in self.rows:
            if row["number"] == number:
                row["living"].pop(crawler, None)
                if not _is_living(row, now):
                    row |= {"ended": now, "finished": finished, "living": {}}


def _is_living(row: dict[str, Any], now: float) -> bool:
    return any(expires > now for expires in row["living"].values())
