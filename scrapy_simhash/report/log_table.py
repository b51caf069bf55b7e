"""A dedup log as a table, of which a report asks its questions in SQL.

SQLite keeps what does not fit into its memory in a temporary file, and deletes that at
the end.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, NamedTuple

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.difference import Difference, differences
from scrapy_simhash.report.signatures import signature_of

CHANGES = ("new", "changed", "moved", "missing", "failed")

_COLUMNS = [each.name for each in fields(LogLine)]
_VALUES = attrgetter(*_COLUMNS)
# The page with which another one is compared, as the crawl last saw it.
_ORIGINAL = """
    SELECT * FROM pages WHERE key = ? AND verdict IN ('unique', 'revisit') AND rowid < ?
    ORDER BY text != '' DESC, rowid DESC LIMIT 1
"""
_DROPS_QUERY = """
    SELECT * FROM (
        SELECT *, rowid AS number, count(*) OVER of_original AS copies,
            max(doubtful) OVER of_original AS doubt,
            row_number() OVER (of_original ORDER BY doubtful DESC, distance DESC, rowid) AS place
        FROM pages WHERE crawl = ? AND verdict = 'duplicate'
        WINDOW of_original AS (PARTITION BY original)
    ) WHERE place <= ? ORDER BY copies >= ? DESC, doubt DESC, copies DESC, original, place LIMIT ?
"""
# A page as the last run up to some run has seen it.
_AS_SEEN = """
    SELECT * FROM pages WHERE key = ? AND verdict = 'unique' AND run <= ?
    ORDER BY rowid DESC LIMIT 1
"""
# A page that has changed since it was new is new.
_CHANGED = """
    SELECT *, min(rowid) FROM pages WHERE run IN ({}) AND change IN ('new', 'changed', 'moved')
    GROUP BY key HAVING change = ? ORDER BY url LIMIT ?
"""


class Crawl(NamedTuple):
    """A crawl in a log: its name, the times of its first and last page, and how many it has."""

    name: str
    first: float
    last: float
    pages: int


class Drop(NamedTuple):
    """A near-duplicate, the page that it repeats if the log has it, and all copies of that page."""

    line: LogLine
    original: LogLine | None
    copies: int


@dataclass(slots=True)
class PageChange:
    """A page that is not as it was.

    Attributes:
        last_seen: in seconds since the Unix epoch.
        differs: what differs, as far as the log has both texts.
    """

    change: str
    key: str
    url: str
    moved_from: str | None = None
    distance: int | None = None
    last_seen: float | None = None
    differs: Sequence[Difference] = ()


class LogTable:
    """The pages and items of logs, in the order in which they were judged.

    Attributes:
        unreadable: the number of lines that could not be read.
    """

    def __init__(self, lines: Iterable[LogLine | None]) -> None:
        self.unreadable = 0
        self._db = sqlite3.connect("")
        names = ", ".join(f'"{name}"' for name in _COLUMNS)
        self._db.execute(f"CREATE TABLE pages ({names})")
        insertion = f"INSERT INTO pages VALUES ({_marks(_COLUMNS)})"  # noqa: S608
        for line in lines:
            self.unreadable += line is None
            if line and line.what != "spared":
                # A lone surrogate cannot be stored.
                values = [
                    value.encode("utf-8", "replace").decode()
                    if isinstance(value, str)
                    else value
                    for value in _VALUES(line)
                ]
                self._db.execute(insertion, values)
        self._db.execute("CREATE INDEX by_key ON pages (key)")

    def crawls(self) -> list[Crawl]:
        """Return the crawls of the logs, that with the newest page last."""
        rows = self._db.execute(
            "SELECT crawl, min(time), max(time), count(*) FROM pages GROUP BY crawl ORDER BY 3"
        )
        return [Crawl(*row) for row in rows]

    def runs(self) -> set[int]:
        return {run for (run,) in self._db.execute("SELECT DISTINCT run FROM pages")}

    def counts(
        self,
        crawl: str,
        column: str,
        verdict: str = "%",
        most: int = -1,
    ) -> dict[Any, int]:
        """Return how many pages have each value of a column but null, the most frequent first.

        At most ``most`` values are returned; -1 is no bound.
        """
        query = (
            f'SELECT "{column}", count(*) FROM pages WHERE crawl = ? AND "{column}" NOT NULL'  # noqa: S608
            " AND verdict LIKE ? GROUP BY 1 ORDER BY 2 DESC LIMIT ?"
        )
        return dict(self._db.execute(query, (crawl, verdict, most)).fetchall())

    def drops(
        self,
        crawl: str,
        many: float,
        most: int,
    ) -> Iterator[Drop]:
        """Yield the near-duplicates of a crawl by their originals.

        Originals with ``many`` copies or more come first, then those with doubtful
        ones. At most ``most`` are yielded, and a quarter of that of an original.
        """
        bounds = most // 4, many, most
        rows = self._db.execute(_DROPS_QUERY, (crawl, *bounds)).fetchall()
        originals: dict[str | None, LogLine | None] = {}
        for *values, number, copies, _, _ in rows:
            line = _line_of_row(values)
            if line.original not in originals:
                originals[line.original] = self._first(_ORIGINAL, line.original, number)
            yield Drop(line, originals[line.original], copies)

    def signatures(self, crawl: str) -> Counter[str]:
        """Return how many drops of a crawl have each signature."""
        query = "SELECT url FROM pages WHERE crawl = ? AND verdict = 'duplicate'"
        urls = self._db.execute(query, (crawl,))
        return Counter(signature_of(url).text for (url,) in urls)

    def changes(self, runs: Collection[int], most: int = -1) -> dict[str, PageChange]:
        """Return the pages that are new, changed or moved in some runs, by their keys.

        ``most`` bounds the pages of each kind; -1 is no bound.
        """
        query = _CHANGED.format(_marks(runs))
        changes = {}
        for kind in CHANGES[:3]:
            for *values, _ in self._db.execute(query, (*runs, kind, most)):
                line = _line_of_row(values)
                change = PageChange(kind, line.key, line.url, line.moved_from)
                if kind != "new":
                    change.distance = line.distance
                    self._compare(change, runs)
                changes[line.key] = change
        return changes

    def _compare(self, change: PageChange, runs: Collection[int]) -> None:
        """Add what differs in a page before some runs, and after them."""
        old_key = change.moved_from or change.key
        before = self._first(_AS_SEEN, old_key, min(runs) - 1)
        after = self._first(_AS_SEEN, change.key, max(runs))
        if before and after:
            change.last_seen = before.time
            if before.text and after.text:
                change.differs = differences(before.shown, after.shown)

    def _first(self, query: str, *values: Any) -> LogLine | None:
        row = self._db.execute(query, values).fetchone()
        return _line_of_row(row) if row else None


def _marks(values: Collection[Any]) -> str:
    return ", ".join("?" * len(values))


def _line_of_row(row: Collection[Any]) -> LogLine:
    return LogLine(**dict(zip(_COLUMNS, row, strict=True)))
