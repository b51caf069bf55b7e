"""The figures of a dedup log, however long it is, in bounded memory."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import ceil, inf
from zlib import crc32

from scrapy_simhash.report.changes import PageChange, logged_changes
from scrapy_simhash.report.clusters import Cluster, Extremes
from scrapy_simhash.report.dedup_log import CrawlStart, Line, LogLine, host_of_key
from scrapy_simhash.report.patterns import Pattern, add_to
from scrapy_simhash.report.records import Records
from scrapy_simhash.report.totals import Totals

#: The report shows so many of each.
CLUSTERS, WALLS, HOSTS, MIRRORS, PATTERNS, STARTS, STRETCHES = 20, 10, 100, 20, 20, 10, 24
SAMPLE, ROWS, CHANGED = 30, 5000, 30
# Columns of a line that shows what has changed.
COLUMNS = 120
#: Copies on its own host from which on an original is likely to be a wall, or a bare template.
WALL_COPIES = 10
#: Reasons of the rule to drop a page whose headings differ from those of its original.
OTHER_HEADINGS = ("long-text", "other-site")

_PARTS = {"unique": 0, "revisit": 0, "duplicate": 1, "skipped": 2}


@dataclass
class Figures:
    """Everything that the report says of a log; times are seconds since 1970.

    Attributes:
        starts: the crawls that began to write to it, the newest ones.
        counts: by verdict.
        hosts: for each host how many were judged, kept, repeated and skipped; the bytes of all and
            of those that were repeated, and the seconds of their downloads in the same way.
        originals: for each key the numbers of its copies, and of those on its own host.
        pairs: numbers of pages of the first host that repeat one of the second.
        copies_kept: how many pages were kept though they repeat one that was kept before.
        near: how many pages were kept though they are near another one.
        far: near-duplicates that are farthest from their originals.
        unlike: near-duplicates whose headings differ from those of their originals.
        doubtful: how many near-duplicates are far from their originals, or under other headings, or
            may be two records.
        records: those that may be two records.
        run: the last one.
        changes: how many of its pages are new, changed, moved or the same.
        changed: some of those that are new, changed or moved.
        sample: near-duplicates that were drawn at random.
        rows: near-duplicates without their texts, the farthest first.
        told_apart: pages that were kept though they are near another one, the nearest.
        stretches: numbers of kept, repeated and skipped, by the number of the ``stretch``.
        pages: those that others are compared with, by key.
    """

    starts: list[CrawlStart] = field(default_factory=list)
    unreadable: int = 0
    first: float = inf
    last: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    k: int = 0
    hosts: Totals[str] = field(default_factory=lambda: Totals(8))
    originals: Totals[str] = field(default_factory=lambda: Totals(2))
    pairs: Totals[tuple[str, str]] = field(default_factory=lambda: Totals(1))
    patterns: dict[str, Pattern] = field(default_factory=dict)
    near: int = 0
    copies_kept: int = 0
    far: Extremes = field(default_factory=Extremes)
    unlike: Extremes = field(default_factory=Extremes)
    doubtful: int = 0
    sample: Extremes = field(default_factory=lambda: Extremes(SAMPLE))
    rows: Extremes = field(default_factory=lambda: Extremes(ROWS))
    told_apart: Extremes = field(default_factory=Extremes)
    stretch: int = 1
    stretches: dict[int, list[int]] = field(default_factory=dict)
    clusters: list[Cluster] = field(default_factory=list)
    walls: list[Cluster] = field(default_factory=list)
    pages: dict[str, LogLine] = field(default_factory=dict)
    records: Records = field(default_factory=Records)
    run: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    changed: list[PageChange] = field(default_factory=list)

    def add(self, line: Line | None) -> None:
        """Count a line, or None for one that cannot be read."""
        if line is None:
            self.unreadable += 1
        elif isinstance(line, CrawlStart):
            self.starts = [*self.starts, line][-STARTS:]
        else:
            add_to(self.patterns, line)
            if isinstance(line, LogLine):
                self._add_judged(line)

    def _add_judged(self, line: LogLine) -> None:
        self.first, self.last = min(self.first, line.time), max(self.last, line.time)
        self.counts[line.verdict] += 1
        self.copies_kept += line.copies > 0
        self.k = line.k
        if (run := line.run or 0) >= self.run:
            self.changes = self.changes if run == self.run else Counter()
            self.run = run
            self.changes[line.change or ""] += 1
        kept, repeated, skipped = (_PARTS[line.verdict] == part for part in range(3))
        size, seconds = line.bytes or 0, line.seconds or 0
        numbers = size, size * repeated, seconds, seconds * repeated
        self.hosts.add(line.host, 1, kept, repeated, skipped, *numbers)
        if line.verdict == "skipped":
            self.reasons[str(line.reason)] += 1
        elif line.original is not None and line.distance is not None:
            self._add_duplicate(line, line.original, line.distance)
        elif line.near is not None and line.distance is not None:
            self.near += 1
            self.told_apart.add(line.near, -line.distance, line)

    def _add_duplicate(self, line: LogLine, original: str, distance: int) -> None:
        host = host_of_key(original)
        self.actions[line.action or "drop"] += 1
        self.originals.add(original, 1, line.host == host)
        self.pairs.add((line.host, host), 1)
        self.sample.add(line.url, crc32(line.url.encode("utf-8", "replace")), line)
        self.rows.add(line.url, distance, replace(line, text="", details=""))
        is_far, is_unlike = _doubts(line)
        if is_far:
            self.far.add(original, distance, line)
        if is_unlike:
            self.unlike.add(original, distance, line)

    def add_again(self, lines: Iterable[Line | None]) -> None:
        """Find, in the same lines once more, what only their end tells to look for."""
        largest = [key for key, _ in self.originals.largest(CLUSTERS)]
        most_on_own_host = self.originals.largest(WALLS, by=1)
        walls = [key for key, (_, own) in most_on_own_host if own >= WALL_COPIES]
        clusters = {key: Cluster(key) for key in (*largest, *walls)}
        extremes = (self.far, self.unlike, self.sample, self.told_apart)
        shown = clusters.keys() | {
            line.original or line.near for each in extremes for _, line in each.lines()
        }
        if self.judged:
            self.stretch = ceil((self.last - self.first + 1) / STRETCHES)
        for line in lines:
            if not isinstance(line, LogLine):
                continue
            number = int((line.time - self.first) // self.stretch)
            self.stretches.setdefault(number, [0, 0, 0])[_PARTS[line.verdict]] += 1
            if line.verdict == "duplicate":
                self.doubtful += self.records.add(line) or any(_doubts(line))
                if line.original in clusters:
                    clusters[line.original].add(line)
            elif line.text:
                if self.originals.of(line.key)[1]:
                    self.records.remember(line)
                if line.key in shown:
                    self.pages[line.key] = line
        for cluster in clusters.values():
            cluster.page = self.pages.get(cluster.key)
        self.clusters = [clusters[key] for key in largest]
        self.walls = [clusters[key] for key in walls]

    @property
    def judged(self) -> int:
        return self.counts.total()


def _doubts(line: LogLine) -> tuple[bool, bool]:
    """Return whether a drop is far from its original, and whether it has another heading."""
    return 3 * (line.distance or 0) > 2 * line.k, line.reason in OTHER_HEADINGS


def read_figures(read: Callable[[], Iterable[Line | None]]) -> Figures:
    """Return the figures of a log, whose lines are read twice."""
    figures = Figures()
    for line in read():
        figures.add(line)
    figures.add_again(read())
    if figures.changes["changed"] or figures.changes["moved"]:
        found = logged_changes(read, {figures.run}, COLUMNS, CHANGED)
        figures.changed = [*found.values()]
    return figures
