"""The figures of a dedup log, however long it is, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scrapy_simhash.report.charts import KEPT, REPEATED, SKIPPED, Timeline
from scrapy_simhash.report.clusters import Cluster, Extremes
from scrapy_simhash.report.dedup_log import CrawlStart, LogLine, host_of, log_files, read_log
from scrapy_simhash.report.patterns import Patterns
from scrapy_simhash.report.sums import Sums

#: The report shows so many of each.
CLUSTERS, WALLS, HOSTS, MIRRORS, PATTERNS, STARTS = 20, 10, 100, 20, 20, 10
#: Copies on its own host from which on an original is likely to be a wall, or a bare template.
WALL_COPIES = 10
#: Reasons of the rule to drop a page whose headings differ from those of its original.
OTHER_HEADINGS = ("long-text", "other-site")
# Above any fingerprint's width.
_FARTHEST = 1024

_PARTS = {"unique": KEPT, "revisit": KEPT, "duplicate": REPEATED, "skipped": SKIPPED}
_HOST_FIELDS = (
    "judged", "kept", "repeated", "skipped", "bytes", "bytes_repeated", "seconds",
    "seconds_repeated",
)  # fmt: skip


@dataclass
class Figures:
    """Everything that the report says of a log.

    Attributes:
        files: those that were read.
        starts: the crawls that began to write to it, the newest ones.
        unreadable: the number of lines that could not be read.
        first: when the first line was written, in seconds since 1970.
        last: when the last was.
        counts: numbers by ``(what, verdict)``.
        actions: numbers of near-duplicates that were dropped, followed or flagged.
        reasons: numbers of skipped ones by their reason.
        distances: numbers of near-duplicates by the bits to their original.
        k: the distance up to which pages were near, in the last line.
        hosts: for each host the numbers of judged, kept, repeated and skipped, all bytes, bytes of
            repeated, all seconds, seconds of repeated.
        originals: for each key the numbers of its copies, and of those on its own host.
        pairs: numbers of pages of the first host that repeat one of the second.
        patterns: what was spared by its address.
        near: how many pages were kept though they are near another one.
        far: near-duplicates that are farthest from their originals.
        unlike: near-duplicates whose headings differ from those of their originals.
        told_apart: pages that were kept though they are near another one, the nearest.
        timeline: numbers by time.
        clusters: the largest.
        walls: originals with many copies on their own host, likewise.
        texts: of the pages that others are compared with, by key.
    """

    files: list[Path]
    starts: list[CrawlStart] = field(default_factory=list)
    unreadable: int = 0
    first: float | None = None
    last: float | None = None
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    reasons: Sums[str] = field(default_factory=lambda: Sums(1, names=100))
    distances: Counter[int] = field(default_factory=Counter)
    k: int = 0
    hosts: Sums[str] = field(default_factory=lambda: Sums(len(_HOST_FIELDS)))
    originals: Sums[str] = field(default_factory=lambda: Sums(2))
    pairs: Sums[tuple[str, str]] = field(default_factory=lambda: Sums(1))
    patterns: Patterns = field(default_factory=Patterns)
    near: int = 0
    far: Extremes = field(default_factory=Extremes)
    unlike: Extremes = field(default_factory=Extremes)
    told_apart: Extremes = field(default_factory=Extremes)
    timeline: Timeline = field(default_factory=Timeline)
    clusters: list[Cluster] = field(default_factory=list)
    walls: list[Cluster] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, line: LogLine) -> None:
        """Count a line."""
        part = _PARTS[line.verdict]
        self.first = line.time if self.first is None else min(self.first, line.time)
        self.last = line.time if self.last is None else max(self.last, line.time)
        self.counts[line.what, line.verdict] += 1
        self.k = min(line.k, _FARTHEST)
        self.timeline.add(line.time, part)
        repeated = part == REPEATED
        size, seconds = line.bytes or 0, line.seconds or 0
        self.hosts.add(
            line.host,
            *(1, part == KEPT, repeated, part == SKIPPED),
            *(size, size * repeated, seconds, seconds * repeated),
        )
        self.patterns.add_page(line)
        if line.verdict == "skipped":
            self.reasons.add(line.reason or "no reason given", 1)
        elif line.original is not None and line.distance is not None:
            self._add_duplicate(line, line.original, line.distance)
        elif line.near is not None and line.distance is not None:
            self.near += 1
            self.told_apart.add(line.near, -line.distance, line)

    def _add_duplicate(self, line: LogLine, original: str, distance: int) -> None:
        host = original_host(original)
        self.actions[line.action if line.action in ("follow", "flag") else "drop"] += 1
        self.distances[min(distance, _FARTHEST)] += 1
        self.originals.add(original, 1, line.host == host)
        self.pairs.add((line.host, host), 1)
        if 3 * distance > 2 * line.k:
            self.far.add(original, distance, line)
        if line.reason in OTHER_HEADINGS:
            self.unlike.add(original, distance, line)

    def count(self, *verdicts: str) -> int:
        """Return how many pages and items were judged so."""
        return sum(n for (_, verdict), n in self.counts.items() if verdict in verdicts)

    @property
    def judged(self) -> int:
        """All pages and items."""
        return self.counts.total()


def original_host(key: str) -> str:
    """Return the host of a page's key; empty if it names none."""
    # A key that is not that of a GET request has the method and a digest before the URL.
    return host_of(key.rpartition(" ")[2])


def read_figures(
    paths: Iterable[str | Path], passed: Callable[[int], object] = lambda _: None
) -> Figures:
    """Read logs, with the rotated files beside them, twice, and return their figures.

    Args:
        paths: of the logs.
        passed: called with the bytes of each line that was read.

    Raises:
        OSError: a log is not there or cannot be read.
    """
    paths = list(paths)
    figures = Figures(log_files(paths))

    def unreadable(_: Path) -> None:
        figures.unreadable += 1

    def start(begun: CrawlStart) -> None:
        figures.starts = [*figures.starts, begun][-STARTS:]

    for line in read_log(paths, unreadable, start, figures.patterns.add_spared, passed):
        figures.add(line)
    # The largest clusters, and the pages beside them, are known only at the end of the log.
    gather(figures, lambda: read_log(paths, passed=passed))
    return figures


def gather(figures: Figures, lines: Callable[[], Iterable[LogLine]]) -> None:
    """Find the texts and copies of the pages that are shown, by reading the log again.

    Args:
        figures: of the same log; its clusters, walls and texts are filled in.
        lines: begins to read the log.
    """
    largest = [key for key, _ in figures.originals.largest(CLUSTERS)]
    most_on_own_host = figures.originals.largest(WALLS, by=1)
    walls = [key for key, (_, own) in most_on_own_host if own >= WALL_COPIES]
    shown = (figures.far, figures.unlike, figures.told_apart)
    compared = {other for extremes in shown for other, _ in extremes.lines()}
    if not largest and not compared:
        return
    clusters = {key: Cluster(key) for key in (*largest, *walls)}
    for line in lines():
        if line.verdict == "duplicate":
            if line.original in clusters:
                clusters[line.original].add(line)
            continue
        if line.key in clusters and (line.text or not clusters[line.key].original):
            clusters[line.key].original = line
        if line.key in compared and line.text:
            figures.texts[line.key] = line.text
    figures.clusters = [clusters[key] for key in largest]
    figures.walls = [clusters[key] for key in walls]


def plain(figures: Figures) -> dict[str, Any]:
    """Return the figures for programs, as JSON has them; sizes in bytes."""
    hosts = figures.hosts.largest(HOSTS, by=2)
    pairs = figures.pairs.largest(MIRRORS)
    return {
        "judged": figures.judged,
        "unreadable_lines": figures.unreadable,
        "pages": {verdict: n for (what, verdict), n in figures.counts.items() if what == "page"},
        "items": {verdict: n for (what, verdict), n in figures.counts.items() if what == "item"},
        "near_and_kept": figures.near,
        "actions": dict(figures.actions),
        "skipped": {name: int(row[0]) for name, row in figures.reasons.largest(100)},
        "distances": {str(d): n for d, n in sorted(figures.distances.items())},
        "hosts": [
            {"host": host} | dict(zip(_HOST_FIELDS, map(round, row), strict=True))
            for host, row in hosts
        ],
        "pairs": [
            {"host": copy, "repeats": original, "pages": int(row[0])}
            for (copy, original), row in pairs
        ],
        "patterns": {name: asdict(pattern) for name, pattern in figures.patterns.first(PATTERNS)},
        "clusters": {cluster.key: cluster.copies for cluster in figures.clusters},
        "walls": {wall.key: wall.copies for wall in figures.walls},
    }
