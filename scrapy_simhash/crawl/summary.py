"""What a crawl did with its pages: a line each in the dedup log, and a summary at the end."""

from __future__ import annotations

import shlex
import time
from collections import Counter

from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.detector import Verdict
from scrapy_simhash.report.dedup_log import DedupLog, LogLine, host_of
from scrapy_simhash.report.sums import Sums
from scrapy_simhash.settings import Action, FilterSettings

_HOSTS = 10
# What becomes of pages and items, in the words of the summary; all else are reasons to skip.
_OUTCOMES = {
    "unique": "kept",
    "revisit": "kept, seen before",
    "drop": "dropped",
    "follow": "followed, items dropped",
    "flag": "flagged, delivered",
}


class Account:
    """Notes each verdict.

    Args:
        settings: of the crawl.
    """

    def __init__(self, settings: FilterSettings) -> None:
        self._settings = settings
        self._log: DedupLog | None = None
        if settings.log_path is not None:
            self._log = DedupLog(settings.log_path, size=settings.log_size)
        self._hosts: Sums[str] = Sums(4)
        self._pages: Counter[str] = Counter()
        self._items: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def page(self, request: Request, response: Response, verdict: Verdict, action: Action) -> None:
        """Note the verdict on a page.

        Args:
            request: what was asked for.
            response: the page.
            verdict: on it.
            action: what is done if it is a near-duplicate.
        """
        size, outcome = len(response.body), _outcome(verdict, action)
        repeats = verdict.kind == "duplicate"
        self._pages[outcome] += 1
        self._bytes[outcome] += size
        # First of all its pages: by them the small hosts of very many are forgotten.
        skipped = verdict.kind == "skipped"
        self._hosts.add(host_of(response.url), 1, repeats, skipped, size if repeats else 0)
        if self._log is not None:
            meta = request.meta
            seconds = meta.get("download_latency")
            self._log.write(self._line("page", response.url, verdict, action, size, seconds))

    def item(self, verdict: Verdict) -> None:
        """Note the verdict on an item."""
        # An item that repeats another is dropped by either action that drops pages.
        action: Action = "flag" if self._settings.action == "flag" else "drop"
        self._items[_outcome(verdict, action)] += 1
        if self._log is not None:
            self._log.write(self._line("item", verdict.key, verdict, action, None, None))

    def _line(
        self,
        what: str,
        url: str,
        verdict: Verdict,
        action: Action,
        size: int | None,
        seconds: float | None,
    ) -> LogLine:
        return LogLine(
            time=round(time.time(), 3),
            what=what,
            url=url,
            key=verdict.key,
            host=host_of(url),
            verdict=verdict.kind,
            reason=verdict.reason,
            action=action if verdict.kind == "duplicate" else None,
            original=verdict.original,
            distance=verdict.distance,
            k=self._settings.recipe.distance,
            bytes=size,
            seconds=None if seconds is None else round(seconds, 4),
            text=verdict.excerpt,
        )

    def close(self) -> None:
        """Write the rest of the log."""
        if self._log is not None:
            self._log.close()

    def summary(self) -> str:
        """Return what became of the pages and items, and of those of the largest hosts."""
        lines = [f"Near-duplicates: {self._pages.total():,} pages judged"]
        lines += _counts(self._pages, self._bytes)
        if self._items:
            lines += [f"{self._items.total():,} items judged", *_counts(self._items, Counter())]
        if self._pages:
            lines += self._host_table()
        if self._log is not None:
            lines.append(
                f"What each repeats: scrapy simhash report {shlex.quote(str(self._log.path))}"
            )
        return "\n".join(lines)

    def _host_table(self) -> list[str]:
        rows = self._hosts.largest(_HOSTS, by=1)
        number, rest = self._hosts.rest(_HOSTS, by=1)
        if number:
            rows.append((f"{number:,} other hosts", rest))
        lines = [f"{'host':<40} {'pages':>9} {'kept':>9} {'repeated':>9} {'skipped':>9}   in bytes"]
        for host, (pages, repeated, skipped, size) in rows:
            kept = pages - repeated - skipped
            numbers = "".join(f" {n:>9,.0f}" for n in (pages, kept, repeated, skipped))
            # Of a long name the end says more.
            name = host if len(host) <= 40 else "…" + host[-39:]
            lines.append(f"{name:<40}{numbers} {_megabytes(size):>10}")
        return lines


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"


def _outcome(verdict: Verdict, action: Action) -> str:
    return action if verdict.kind == "duplicate" else verdict.reason or verdict.kind


def _counts(counts: Counter[str], sizes: Counter[str]) -> list[str]:
    lines = []
    for outcome, words in _OUTCOMES.items():
        if counts[outcome]:
            size = f", {_megabytes(sizes[outcome])}" if sizes[outcome] else ""
            lines.append(f"{counts[outcome]:>12,} {words}{size}")
    reasons = [(reason, n) for reason, n in counts.most_common() if reason not in _OUTCOMES]
    return lines + [f"{number:>12,} skipped: {reason}" for reason, number in reasons]
