"""The runs of an index, in one cell of JSON; the acts on them are pure functions of their rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from scrapy_simhash.index.errors import StoreDamaged
from scrapy_simhash.index.values import Run

# Each has number, spider, begun, ended, finished; "living": when each of its crawlers counts as
# dead, by name; "gone": it was forgotten, and stands here so that its number is not used again.
Rows = list[dict[str, Any]]


def read(cell: bytes | None) -> Rows:
    try:
        rows: Rows = json.loads(cell or b"[]")
        shown(rows, {})
        if not all(isinstance(row["living"], dict) for row in rows):
            raise ValueError("the crawlers of a run are no table")
        return rows
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreDamaged(f"the list of runs is damaged: {error}") from error


def packed(rows: Rows) -> bytes:
    return json.dumps(rows, separators=(",", ":")).encode()


def shown(rows: Rows, pages: Mapping[int, int]) -> list[Run]:
    """Return the runs that were not forgotten, given how many entries each has seen last."""
    return [
        Run(
            *(int(row["number"]), str(row["spider"]), float(row["begun"]), row["ended"]),
            *(bool(row["finished"]), pages.get(row["number"], 0)),
        )
        for row in rows
        if not row.get("gone")
    ]


def _others(row: dict[str, Any], crawler: str, now: float, lives: Callable[[str], bool]) -> bool:
    """Return whether another crawler of a run lives."""
    return any(
        ends > now and name != crawler and lives(name) for name, ends in row["living"].items()
    )


def begin(
    rows: Rows,
    spider: str,
    resumed: int | None,
    crawler: str,
    now: float,
    lease: float,
    lives: Callable[[str], bool],
    counted: Collection[int] = (),
) -> int:
    """Let a crawler take part in a run of its spider; return the run's number.

    A new one has a higher number than those of which entries are counted, in case that the list
    was lost.
    """
    of_spider = [row for row in rows if row["spider"] == spider and not row.get("gone")]
    joined = [row for row in of_spider if row["number"] == resumed and not row["finished"]]
    joined += [
        row for row in of_spider[-1:] if row["ended"] is None and _others(row, crawler, now, lives)
    ]
    if joined:
        run = joined[0]
    else:
        last = max((*counted, *(row["number"] for row in rows)), default=0)
        run = {"number": last + 1, "spider": spider}
        run |= {"begun": now, "finished": False, "living": {}}
        rows.append(run)
    for row in rows:  # a crawler takes part in one run at a time
        row["living"].pop(crawler, None)
    run["ended"] = None
    run["living"][crawler] = now + lease
    return int(run["number"])


def end(
    rows: Rows,
    number: int,
    crawler: str,
    now: float,
    finished: bool,
    lives: Callable[[str], bool],
) -> None:
    """Let a crawler leave a run, which ends if no other crawler of it lives."""
    for row in rows:
        if row["number"] == number:
            row["living"].pop(crawler, None)
            if not _others(row, crawler, now, lives):
                row |= {"ended": now, "finished": finished, "living": {}}


def renew(rows: Rows, number: int, crawler: str, ends: float) -> None:
    for row in rows:
        if row["number"] == number and crawler in row["living"]:
            row["living"][crawler] = ends


def forget(rows: Rows, numbers: Collection[int]) -> None:
    """Forget some runs; only the last number of all is kept."""
    for row in rows:
        row["gone"] = row.get("gone", False) or row["number"] in numbers
    last = max((row["number"] for row in rows), default=0)
    rows[:] = [row for row in rows if not row["gone"] or row["number"] == last]


def forget_all(rows: Rows) -> None:
    forget(rows, {row["number"] for row in rows})
