"""The pages of the largest clusters: an original, and those that repeat it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.sums import Sums

_SHOWN = 3
#: Lines that :class:`Extremes` keeps.
EXTREMES = 12


class Extremes:
    """Keeps the few lines that score highest, one for each name."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[float, LogLine]] = {}

    def add(self, name: str, score: float, line: LogLine) -> None:
        """Keep a line if it scores higher than others, and than the one with the same name."""
        if name in self._lines and self._lines[name][0] >= score:
            return
        self._lines[name] = (score, line)
        if len(self._lines) > 20 * EXTREMES:
            self._lines = dict(self._highest())

    def lines(self) -> list[tuple[str, LogLine]]:
        """Return names and lines, the highest score first."""
        return [(name, line) for name, (_, line) in self._highest()]

    def _highest(self) -> list[tuple[str, tuple[float, LogLine]]]:
        return heapq.nlargest(EXTREMES, self._lines.items(), key=lambda entry: entry[1][0])


@dataclass
class Cluster:
    """An original and the pages that repeat it.

    Attributes:
        key: the original's.
        copies: the number of lines that name it as their original.
        identical: the number of copies at distance 0.
        farthest: the largest distance of a copy, in bits.
        hosts: the number of copies on each host.
        original: its own line, if it is in the log.
    """

    key: str
    copies: int = 0
    identical: int = 0
    farthest: int = 0
    hosts: Sums[str] = field(default_factory=lambda: Sums(1, names=1000))
    original: LogLine | None = None
    _by_text: Extremes = field(default_factory=Extremes)

    def add(self, line: LogLine) -> None:
        """Add a copy."""
        assert line.distance is not None
        self.farthest = max(self.farthest, line.distance)
        self.copies += 1
        self.identical += line.distance == 0
        self.hosts.add(line.host, 1)
        self._by_text.add(line.text, line.distance, line)

    def shown(self) -> list[LogLine]:
        """Return the few copies that are farthest from the original, one for each text."""
        known = ("", self.original.text if self.original else "")
        return [line for text, line in self._by_text.lines() if text not in known][:_SHOWN]
