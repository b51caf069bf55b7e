"""Requests that fitted an address pattern: those that were spared, and what the others found."""

import heapq
from dataclasses import dataclass

from scrapy_simhash.report.dedup_log import LogLine, SparedLine


@dataclass
class Pattern:
    """The requests of one pattern: those that were spared, and those that were sent all the same.

    Attributes:
        copies: those that were sent, and whose pages were copies, of ``copies_bytes`` together.
        kept: those that were sent, and whose pages were kept.
        example: the first address that was spared, or whose page was a copy.
        kept_example: the first address whose page was kept.
    """

    spared: int = 0
    copies: int = 0
    copies_bytes: int = 0
    kept: int = 0
    example: str = ""
    kept_example: str = ""

    def spared_bytes(self, mean: float) -> float:
        """Estimate the bytes that were spared, by the copies' mean or else by another one."""
        return self.spared * (self.copies_bytes / self.copies if self.copies else mean)


def add_to(patterns: dict[str, Pattern], line: LogLine | SparedLine) -> None:
    """Count a request that was not sent, or a page whose request fitted a pattern."""
    name = line.host + line.signature if isinstance(line, SparedLine) else line.pattern
    if name is None:
        return
    pattern = patterns.setdefault(name, Pattern())
    if isinstance(line, SparedLine):
        pattern.spared += 1
        pattern.example = pattern.example or line.url
    elif line.verdict == "unique":
        pattern.kept += 1
        pattern.kept_example = pattern.kept_example or line.url
    elif line.verdict != "skipped":
        pattern.copies += 1
        pattern.copies_bytes += line.bytes or 0
        pattern.example = pattern.example or line.url


def first_of(patterns: dict[str, Pattern], number: int) -> list[tuple[str, Pattern]]:
    """Return the patterns to look at first: those whose pages were kept, then the largest."""
    return heapq.nlargest(
        number, patterns.items(), key=lambda item: (item[1].kept, item[1].spared + item[1].copies)
    )
