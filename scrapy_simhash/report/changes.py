"""The pages that are not as they were in earlier runs, from a dedup log."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from scrapy_simhash.report.dedup_log import Line, LogLine
from scrapy_simhash.report.difference import Shown, difference_lines

CHANGES = ("new", "changed", "moved", "missing")
# Lines of each kind that show what differs, of each page.
_LINES = 3


@dataclass(slots=True)
class PageChange:
    """A page that is not as it was; ``last_seen`` is in seconds since the Unix epoch."""

    change: str
    key: str
    url: str
    moved_from: str | None = None
    distance: int | None = None
    last_seen: float | None = None
    differs: list[str] = field(default_factory=list)


def logged_changes(
    read: Callable[[], Iterable[Line | None]],
    runs: set[int],
    columns: int,
    most: int | None = None,
) -> dict[str, PageChange]:
    """Return the pages that are new, changed or moved in some runs, by their keys.

    Args:
        read: gives the lines of a log, the oldest first; called twice.
        runs: the numbers of the runs.
        columns: of a line that shows what differs.
        most: pages of each kind at most; the others are left out.
    """
    found: dict[str, PageChange] = {}
    now: dict[str, Shown] = {}
    of_kind: Counter[str] = Counter()
    for line in _pages(read()):
        if line.run not in runs or line.change not in CHANGES:
            continue
        earlier = found.get(line.key)
        if earlier is None and (most is None or of_kind[line.change] < most):
            of_kind[line.change] += 1
            distance = None if line.change == "new" else line.distance
            change = PageChange(line.change, line.key, line.url, line.moved_from, distance)
            found[line.key] = change
        if line.key in found and (earlier is None or earlier.change != "moved"):
            now[line.key] = line.shown  # a new page that has changed is new
    known_as = {one.moved_from or key: one for key, one in found.items() if one.change != "new"}
    before: dict[str, Shown] = {}
    for line in _pages(read()):
        if line.key in known_as and line.verdict == "unique" and (line.run or 0) < min(runs):
            before[line.key], known_as[line.key].last_seen = line.shown, line.time
    for key, one in known_as.items():
        if key in before and before[key].text and now[one.key].text:
            one.differs = difference_lines(before[key], now[one.key], columns, _LINES, colour=False)
    return found


def _pages(lines: Iterable[Line | None]) -> Iterable[LogLine]:
    return (line for line in lines if isinstance(line, LogLine))
