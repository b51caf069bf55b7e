"""A dedup log as a table, of which a report asks its questions in SQL.

SQLite keeps what does not fit into its memory in a temporary file, and deletes that at the end.
"""

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from scrapy_simhash.report.dedup_log import CrawlStart, Line, LogLine, SparedLine
from scrapy_simhash.report.difference import NOTHING, Shown, difference_lines

CHANGES = ("new", "changed", "moved", "missing")

_NAMES = [each.name for each in fields(LogLine)]
_VALUES = attrgetter(*_NAMES)
# The page with which another one is compared, as the crawl last saw it.
_ORIGINAL = """
    SELECT * FROM pages WHERE key = ? AND verdict IN ('unique', 'revisit') AND rowid < ?
    ORDER BY text != '' DESC, rowid DESC LIMIT 1
"""


class Crawl(NamedTuple):
    """A crawl in a log: its name, the times of its first and last page, and how many it has."""

    name: str
    first: float
    last: float
    pages: int


class Pattern(NamedTuple):
    """Requests with like addresses: those that were spared, and what came of those that were not.

    ``example`` is the address of a page that was kept.
    """

    name: str
    spared: int
    copies: int
    kept: int
    example: str | None


class Drop(NamedTuple):
    """A near-duplicate, and the page that it repeats if the log has it."""

    line: LogLine
    original: LogLine | None


@dataclass(slots=True)
class PageChange:
    """A page that is not as it was; ``last_seen`` is in seconds since the Unix epoch."""

    change: str
    key: str
    url: str
    moved_from: str | None = None
    distance: int | None = None
    last_seen: float | None = None
    before: Shown = NOTHING
    after: Shown = NOTHING

    def differs(self, columns: int = 120) -> list[str]:
        """Return a few lines, of so many columns, that show what differs; none without a log."""
        is_known = self.before.text and self.after.text
        pair = self.before, self.after
        return difference_lines(*pair, columns, 3, colour=False) if is_known else []


class LogTable:
    """The pages and items of logs, in the order in which they were judged.

    Attributes:
        starts: the last beginning of each crawl, by the crawl's name.
        unreadable: the number of lines that could not be read.
    """

    def __init__(self, lines: Iterable[Line | None]) -> None:
        self.starts: dict[str, CrawlStart] = {}
        self.unreadable = 0
        self._db = sqlite3.connect("")
        names = ", ".join(f'"{name}"' for name in _NAMES)
        self._db.execute(f"CREATE TABLE pages ({names})")
        self._db.execute("CREATE TABLE spared (crawl, pattern)")
        for line in lines:
            if line is None:
                self.unreadable += 1
            elif isinstance(line, CrawlStart):
                self.starts[line.crawl] = line
            elif isinstance(line, SparedLine):
                self._insert("spared", (line.crawl, line.host + line.signature))
            else:
                self._insert("pages", _VALUES(line))
        self._db.execute("CREATE INDEX by_key ON pages (key)")

    def crawls(self) -> list[Crawl]:
        """Return the crawls of the logs, that with the newest page last."""
        rows = self._db.execute(
            "SELECT crawl, min(time), max(time), count(*) FROM pages GROUP BY crawl ORDER BY 3"
        )
        return [Crawl(*row) for row in rows]

    def runs(self) -> set[int]:
        return {run for (run,) in self._db.execute("SELECT DISTINCT run FROM pages")}

    def counts(self, crawl: str, column: str) -> dict[Any, int]:
        """Return how many pages have each value of a column but null, the most frequent first."""
        return dict(
            self._db.execute(
                f'SELECT "{column}", count(*) FROM pages WHERE crawl = ? AND "{column}" NOT NULL'  # noqa: S608
                " GROUP BY 1 ORDER BY 2 DESC",
                (crawl,),
            ).fetchall()
        )

    def drops(self, crawl: str, most: int = -1, *, doubtful: bool = False) -> list[Drop]:
        """Return near-duplicates of a crawl, the farthest from their originals first.

        ``most`` bounds their number; -1 is no bound.
        """
        rows = self._db.execute(
            "SELECT *, rowid FROM pages WHERE crawl = ? AND verdict = 'duplicate'"
            " AND doubtful >= ? ORDER BY distance DESC, rowid LIMIT ?",
            (crawl, doubtful, most),
        )
        drops = []
        for *values, number in rows:
            line = LogLine(*values)
            line = replace(line, doubtful=bool(line.doubtful))
            row = self._db.execute(_ORIGINAL, (line.original, number)).fetchone()
            drops.append(Drop(line, row and LogLine(*row)))
        return drops

    def patterns(self, crawl: str, most: int) -> list[Pattern]:
        """Return the address patterns to look at first: those whose pages were kept."""
        rows = self._db.execute(
            """
            SELECT pattern, sum(spared), sum(copies), sum(kept), max(example) FROM (
                SELECT pattern, 1 spared, 0 copies, 0 kept, NULL example FROM spared
                WHERE crawl = :crawl
                UNION ALL
                SELECT pattern, 0, verdict != 'unique', verdict = 'unique',
                    iif(verdict = 'unique', url, NULL) FROM pages
                WHERE crawl = :crawl AND pattern NOT NULL AND verdict != 'skipped'
            ) GROUP BY pattern ORDER BY 4 DESC, 2 DESC LIMIT :most
            """,
            {"crawl": crawl, "most": most},
        )
        return [Pattern(*row) for row in rows]

    def changes(self, runs: Collection[int], most: int = -1) -> dict[str, PageChange]:
        """Return the pages that are new, changed or moved in some runs, by their keys.

        A page that has changed since it was new is new. ``most`` bounds the pages of each kind; -1
        is no bound.
        """
        marks = ", ".join("?" for _ in runs)
        changes = {}
        for kind in CHANGES[:3]:
            rows = self._db.execute(
                f"SELECT *, min(rowid) FROM pages WHERE run IN ({marks}) AND change IN"  # noqa: S608
                " ('new', 'changed', 'moved') GROUP BY key HAVING change = ? ORDER BY url LIMIT ?",
                (*runs, kind, most),
            )
            for *values, _ in rows:
                line = LogLine(*values)
                change = PageChange(kind, line.key, line.url, line.moved_from)
                if kind != "new":
                    change.distance = line.distance
                    self._add_sides(change, runs)
                changes[line.key] = change
        return changes

    def _add_sides(self, change: PageChange, runs: Collection[int]) -> None:
        """Add what the log has of a page before some runs, and after them."""
        last = "SELECT * FROM pages WHERE key = ? AND verdict = 'unique' AND run"
        before, after = (
            self._db.execute(f"{last} {when} ? ORDER BY rowid DESC LIMIT 1", values).fetchone()
            for when, values in (
                ("<", (change.moved_from or change.key, min(runs))),
                ("<=", (change.key, max(runs))),
            )
        )
        if before:
            change.last_seen = LogLine(*before).time
            change.before, change.after = (LogLine(*row).shown for row in (before, after))

    def _insert(self, table: str, values: tuple[Any, ...]) -> None:
        marks = ", ".join("?" for _ in values)
        try:
            self._db.execute(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608
        except UnicodeEncodeError:  # a lone surrogate
            self._insert(table, tuple(map(_writable, values)))


def _writable(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
