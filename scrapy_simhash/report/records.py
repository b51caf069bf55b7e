"""Drops that may be wrong, because each page has something of its own, as two records have."""

from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlsplit

from scrapy_simhash.report.dedup_log import LogLine, host_of_key
from scrapy_simhash.report.difference import own_lines

# Originals whose lines are remembered, patterns, and pairs that are shown of each.
_PAGES, _PATTERNS, _SHOWN = 10_000, 1000, 3
_LINES = 400

#: A line of the log, and that of the page that it is compared with.
Pair: TypeAlias = tuple[LogLine, LogLine]


@dataclass
class Group:
    """The drops of one address pattern, and a few of their pairs."""

    drops: int = 0
    pairs: list[Pair] = field(default_factory=list)


class Records:
    """Finds such drops among the lines of a log, in bounded memory."""

    def __init__(self) -> None:
        self._originals: dict[str, LogLine] = {}
        self.groups: dict[str, Group] = {}

    def remember(self, line: LogLine) -> None:
        """Note a page that others on its host repeat."""
        if line.key in self._originals or len(self._originals) < _PAGES:
            self._originals[line.key] = line

    def add(self, line: LogLine) -> bool:
        """Count a drop; return whether it may be another record than its original."""
        original = self._originals.get(line.original or "")
        if original is None or line.key == original.key or line.host != host_of_key(original.key):
            return False
        pages = original.details.split("\n"), line.details.split("\n")
        if not any(map(all, own_lines(*pages, most=_LINES))):
            return False
        name = pattern_of(original.url, line.url)
        if name not in self.groups and len(self.groups) >= _PATTERNS:
            name = "other addresses"
        group = self.groups.setdefault(name, Group())
        group.drops += 1
        group.pairs += [(line, original)] * (len(group.pairs) < _SHOWN)
        return True

    @property
    def drops(self) -> int:
        return sum(group.drops for group in self.groups.values())

    def largest(self, number: int) -> list[tuple[str, Group]]:
        """Return the address patterns with most such drops."""
        return sorted(self.groups.items(), key=lambda item: -item[1].drops)[:number]


def pattern_of(one: str, other: str) -> str:
    """Return the address pattern of two pages of a host: a star stands where they differ."""
    urls = [urlsplit(url) for url in (one, other)]
    paths = [url.path.split("/")[1:] for url in urls]
    parts = [
        {name: value for name, _, value in (part.partition("=") for part in url.query.split("&"))}
        for url in urls
    ]
    alike = len(paths[0]) == len(paths[1])
    path = "/".join(a if a == b else "*" for a, b in zip(*paths, strict=True)) if alike else "**"
    query = "&".join(
        f"{name}={parts[0][name] if parts[0].get(name) == parts[1].get(name) else '*'}"
        for name in sorted(parts[0] | parts[1])
        if name
    )
    return f"{urls[1].netloc}/{path}" + f"?{query}" * bool(query)
