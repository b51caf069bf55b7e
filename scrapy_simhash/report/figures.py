"""The figures of a dedup log, however long it is, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy_simhash.report.clusters import Cluster, Clusters
from scrapy_simhash.report.dedup_log import LogLine, host_of, log_files, read_file
from scrapy_simhash.report.tally import Tally
from scrapy_simhash.report.timeline import KEPT, REPEATED, SKIPPED, Timeline

#: How many of each are shown.
CLUSTERS, WALLS, HOSTS, PAIRS = 20, 10, 100, 20
#: Copies on its own host from which on an original is likely to be a wall or an error page.
WALL_COPIES = 10
# Above any fingerprint's width.
_FARTHEST = 1024

_PARTS = {"unique": KEPT, "revisit": KEPT, "duplicate": REPEATED, "skipped": SKIPPED}
_HOST_FIELDS = (
    "judged", "kept", "repeated", "skipped", "bytes", "bytes_repeated", "seconds",
    "seconds_repeated",
)  # fmt: skip


@dataclass
class Figures:
    """What a log says.

    Attributes:
        files: those that were read.
        unreadable: lines that could not be.
        first: when the first line was written, seconds since 1970.
        last: when the last was.
        counts: how many ``(what, verdict)``.
        actions: how many near-duplicates were dropped, followed or flagged.
        reasons: how many were skipped for which reason.
        distances: how many near-duplicates were how many bits from their original.
        k: how many were judged with which largest distance.
        hosts: of each host the numbers of judged, kept, repeated and skipped, all bytes, bytes of
            repeated, all seconds, seconds of repeated.
        originals: of each key the numbers of its copies, and of those on its own host.
        pairs: how many pages of the first host repeat one of the second.
        timeline: what was judged when.
        clusters: the largest, see :class:`Clusters`.
        walls: originals with many copies on their own host, likewise.
    """

    files: list[Path]
    unreadable: int = 0
    first: float | None = None
    last: float | None = None
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    reasons: Tally[str] = field(default_factory=lambda: Tally(1, names=100))
    distances: Counter[int] = field(default_factory=Counter)
    k: Counter[int] = field(default_factory=Counter)
    hosts: Tally[str] = field(default_factory=lambda: Tally(len(_HOST_FIELDS)))
    originals: Tally[str] = field(default_factory=lambda: Tally(2))
    pairs: Tally[tuple[str, str]] = field(default_factory=lambda: Tally(1))
    timeline: Timeline = field(default_factory=Timeline)
    clusters: list[Cluster] = field(default_factory=list)
    walls: list[Cluster] = field(default_factory=list)

    def add(self, line: LogLine) -> None:
        """Count a line."""
        part = _PARTS[line.verdict]
        self.first = line.time if self.first is None else min(self.first, line.time)
        self.last = line.time if self.last is None else max(self.last, line.time)
        self.counts[line.what, line.verdict] += 1
        self.k[min(line.k, _FARTHEST)] += 1
        self.timeline.add(line.time, part)
        repeated = part == REPEATED
        size, seconds = line.bytes or 0, line.seconds or 0
        self.hosts.add(
            line.host,
            *(1, part == KEPT, repeated, part == SKIPPED),
            *(size, size * repeated, seconds, seconds * repeated),
        )
        if line.verdict == "skipped":
            self.reasons.add(line.reason or "no reason given", 1)
        elif line.original is not None and line.distance is not None:
            host = original_host(line.original)
            self.actions[line.action if line.action in ("follow", "flag") else "drop"] += 1
            self.distances[min(line.distance, _FARTHEST)] += 1
            self.originals.add(line.original, 1, line.host == host)
            self.pairs.add((line.host, host), 1)

    def count(self, *verdicts: str, what: str | None = None) -> int:
        """Return how many were judged so: pages, items or both."""
        return sum(
            number
            for (of_what, verdict), number in self.counts.items()
            if verdict in verdicts and what in (None, of_what)
        )

    @property
    def judged(self) -> int:
        """All pages and items."""
        return self.counts.total()


def original_host(key: str) -> str:
    """Return the host of a page's key; empty if it names none."""
    # A key that is not that of a GET request has the method and a digest before the URL.
    return host_of(key.rpartition(" ")[2])


def read_figures(
    paths: Iterable[str | Path], progress: Callable[[int, int], object] | None = None
) -> Figures:
    """Read logs, with the rotated files beside them, twice, and return what they say.

    Args:
        paths: of the logs.
        progress: called with how many files were read, of how many.

    Raises:
        OSError: a log is not there or cannot be read.
    """
    files = log_files(paths)
    figures = Figures(files)

    def unreadable(_: Path) -> None:
        figures.unreadable += 1

    for number, path in enumerate(files):
        if progress is not None:
            progress(number, 2 * len(files))
        for line in read_file(path, unreadable):
            figures.add(line)
    largest = [key for key, _ in figures.originals.largest(CLUSTERS)]
    walls = [key for key, (_, own) in figures.originals.largest(WALLS, by=1) if own >= WALL_COPIES]
    # Which pages belong to the largest clusters is known only at the end of the log.
    clusters = Clusters({*largest, *walls})
    for number, path in enumerate(files if largest else [], len(files)):
        if progress is not None:
            progress(number, 2 * len(files))
        for line in read_file(path):
            clusters.add(line)
    figures.clusters = [clusters.of(key) for key in largest]
    figures.walls = [clusters.of(key) for key in walls]
    return figures


def plain(figures: Figures) -> dict[str, Any]:
    """Return the figures as JSON has them."""
    hosts = figures.hosts.largest(HOSTS, by=2)
    number, rest = figures.hosts.rest(HOSTS, by=2)
    return {
        "files": [str(path) for path in figures.files],
        "unreadable_lines": figures.unreadable,
        "first": figures.first,
        "last": figures.last,
        "judged": figures.judged,
        **{
            f"{what}s": {v: n for (of, v), n in sorted(figures.counts.items()) if of == what}
            for what in ("page", "item")
        },
        "actions": dict(figures.actions),
        "skipped": {name: int(row[0]) for name, row in figures.reasons.largest(100)},
        "k": sorted(figures.k),
        "distances": {str(d): n for d, n in sorted(figures.distances.items())},
        "hosts": [{"host": host, **_row(row)} for host, row in hosts],
        "other_hosts": {"hosts": number, **_row(rest)},
        "pairs": [
            {"host": copy, "repeats": original, "pages": int(row[0])}
            for (copy, original), row in figures.pairs.largest(PAIRS)
        ],
        "clusters": [cluster.plain() for cluster in figures.clusters],
        "walls": [cluster.plain() for cluster in figures.walls],
        "timeline": [
            {"start": run.start, "seconds": run.width, "kept_repeated_skipped": run.bars}
            for run in figures.timeline.runs()
        ],
    }


def _row(row: list[float]) -> dict[str, float]:
    return {
        name: round(number, 3) if name.startswith("seconds") else int(number)
        for name, number in zip(_HOST_FIELDS, row, strict=True)
    }
