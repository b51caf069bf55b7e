"""The pages of the largest clusters: an original, and those that repeat it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.sums import Sums

_SHOWN = 3
# The copies farthest from the original, of which those with another text are shown.
_CANDIDATES = 12


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
    _candidates: list[tuple[int, int, LogLine]] = field(default_factory=list)

    def add(self, line: LogLine) -> None:
        """Add a copy."""
        assert line.distance is not None
        self.farthest = max(self.farthest, line.distance)
        self.copies += 1
        self.identical += line.distance == 0
        self.hosts.add(line.host, 1)
        # A page that was crawled again is there once. Among equals, the first.
        if all(line.key != other.key for _, _, other in self._candidates):
            heapq.heappush(self._candidates, (line.distance, -self.copies, line))
            if len(self._candidates) > _CANDIDATES:
                heapq.heappop(self._candidates)

    def on(self, host: str) -> int:
        """Return how many copies are on a host."""
        return int(self.hosts.of(host)[0])

    def shown(self) -> list[LogLine]:
        """Return the few copies that are farthest from the original, one for each text."""
        text = self.original.text if self.original else ""
        farthest = sorted(self._candidates, key=lambda entry: entry[:2], reverse=True)
        by_text = {line.text: line for _, _, line in reversed(farthest)}
        unlike = [line for _, _, line in farthest if by_text[line.text] is line]
        return [line for line in unlike if line.text not in ("", text)][:_SHOWN]
