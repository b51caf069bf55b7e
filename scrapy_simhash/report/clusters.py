"""The pages of the largest clusters: an original, and those that repeat it."""

import heapq
from dataclasses import dataclass, field

from scrapy_simhash.report.dedup_log import LogLine

_SHOWN = 3


class Extremes:
    """Keeps the ``most`` lines that score highest, one for each name."""

    def __init__(self, most: int = 12) -> None:
        self._most = most
        self._lines: dict[str, tuple[float, LogLine]] = {}

    def add(self, name: str, score: float, line: LogLine) -> None:
        if name in self._lines and self._lines[name][0] >= score:
            return
        self._lines[name] = (score, line)
        if len(self._lines) >= 2 * self._most + 200:
            self._lines = dict(self._highest())

    def lines(self) -> list[tuple[str, LogLine]]:
        return [(name, line) for name, (_, line) in self._highest()]

    def _highest(self) -> list[tuple[str, tuple[float, LogLine]]]:
        return heapq.nlargest(self._most, self._lines.items(), key=lambda entry: entry[1][0])


@dataclass
class Cluster:
    """An original, by its key and line, and the pages that repeat it.

    Attributes:
        identical: the number of copies at distance 0.
        farthest: the largest distance of a copy, in bits.
        hosts: of the copies.
    """

    key: str
    copies: int = 0
    identical: int = 0
    farthest: int = 0
    hosts: set[str] = field(default_factory=set)
    page: LogLine | None = None
    _by_text: Extremes = field(default_factory=Extremes)

    def add(self, line: LogLine) -> None:
        distance = line.distance or 0
        self.copies += 1
        self.identical += distance == 0
        self.farthest = max(self.farthest, distance)
        self.hosts.add(line.host)
        self._by_text.add(line.text + line.details, distance, line)

    @property
    def text(self) -> str:
        """The original's text, as far as the log has it."""
        return self.page.text if self.page else ""

    @property
    def is_wall(self) -> bool:
        """True if one text stands at most of the addresses, and not one template."""
        return 2 * self.identical >= self.copies

    def shown(self) -> list[LogLine]:
        """Return the few copies that are farthest from the original, one for each text."""
        text = self.text
        return [line for _, line in self._by_text.lines() if line.text not in ("", text)][:_SHOWN]
