"""A crawl reports on its pages.

It writes a line for each in the dedup log, a line each minute in the crawl's log, and a summary at
the end.
"""

from __future__ import annotations

import logging
import shlex
import time
from collections import Counter
from dataclasses import replace
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.detector import Verdict
from scrapy_simhash.index.contract import StoreError
from scrapy_simhash.index.outage import Outage
from scrapy_simhash.report.dedup_log import CrawlStart, DedupLog, LogLine, SparedLine, host_of
from scrapy_simhash.report.sums import Sums
from scrapy_simhash.report.words import count, size
from scrapy_simhash.settings import Action, FilterSettings

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 60.0

_HOSTS = 10
# The outcomes of pages and items in the words of the summary; all else are reasons to skip.
_OUTCOMES = {
    "unique": "kept",
    "revisit": "kept, seen before",
    "drop": "dropped",
    "follow": "followed, items dropped",
    "flag": "flagged, delivered",
}
_DUPLICATES = ("drop", "follow", "flag")


class Summary:
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
        self._near_kept = 0
        self._said = time.monotonic()
        self._pages_said = 0

    def begin(self, spider: str) -> None:
        """Note that a spider begins."""
        if self._log is None:
            return
        recipe = self._settings.recipe
        settings: dict[str, str | int | float | None] = {
            "SIMHASH_RECIPE": recipe.name,
            "SIMHASH_DISTANCE": recipe.distance,
            "SIMHASH_EXTRACTOR": recipe.extractor,
            "SIMHASH_MIN_LENGTH": recipe.min_length,
            "SIMHASH_ACTION": self._settings.action,
            "SIMHASH_SCOPE": self._settings.scope,
        }
        self._log.write(CrawlStart(round(time.time(), 3), spider, settings))

    def page(
        self,
        request: Request,
        response: Response,
        verdict: Verdict,
        action: Action,
        pattern: str | None = None,
    ) -> None:
        """Note the verdict on a page.

        Args:
            request: what was asked for.
            response: the page.
            verdict: on it.
            action: what is done if it is a near-duplicate.
            pattern: the address pattern that the request fitted, if it fitted one.
        """
        length, outcome, host = len(response.body), _outcome(verdict, action), host_of(response.url)
        is_copy = verdict.kind == "duplicate"
        self._pages[outcome] += 1
        self._bytes[outcome] += length
        self._near_kept += verdict.kind == "unique" and bool(verdict.near)
        # First of all its pages: by them the small hosts of very many are forgotten.
        is_skipped = verdict.kind == "skipped"
        self._hosts.add(host, 1, is_copy, is_skipped, length if is_copy else 0)
        if self._log is not None:
            seconds = request.meta.get("download_latency")
            line = self._line("page", response.url, host, verdict, action, length, seconds)
            self._log.write(replace(line, pattern=pattern))

    def spared(self, url: str, host: str, signature: str) -> None:
        """Note a request that was not sent."""
        if self._log is not None:
            self._log.write(SparedLine(round(time.time(), 3), url, host, signature))

    def item(self, verdict: Verdict) -> None:
        """Note the verdict on an item."""
        # An item that repeats another is dropped by either action that drops pages.
        action: Action = "flag" if self._settings.action == "flag" else "drop"
        self._items[_outcome(verdict, action)] += 1
        if self._log is not None:
            host = host_of(verdict.key)
            self._log.write(self._line("item", verdict.key, host, verdict, action, None, None))

    def _line(
        self,
        what: str,
        url: str,
        host: str,
        verdict: Verdict,
        action: Action,
        length: int | None,
        seconds: float | None,
    ) -> LogLine:
        is_kept = verdict.kind in ("unique", "revisit")
        near = verdict.near[0] if is_kept and verdict.near else None
        return LogLine(
            time=round(time.time(), 3),
            what=what,
            url=url,
            key=verdict.key,
            host=host,
            verdict=verdict.kind,
            reason=near.reason if near else verdict.reason,
            action=action if verdict.kind == "duplicate" else None,
            original=verdict.original,
            near=near.key if near else None,
            distance=near.distance if near else verdict.distance,
            k=self._settings.recipe.distance,
            bytes=length,
            seconds=None if seconds is None else round(seconds, 4),
            text=verdict.excerpt,
        )

    def close(self) -> None:
        """Write the rest of the log."""
        if self._log is not None:
            self._log.close()

    def is_due(self) -> bool:
        """Return whether a minute has passed since this was last true."""
        now = time.monotonic()
        if now - self._said < SECONDS_BETWEEN_LINES:
            return False
        self._said = now
        return True

    def say_progress(self, index: Outage) -> None:
        """Write the line of a minute; where the index is asked."""
        pages = self._pages.total()
        dropped = sum(self._pages[outcome] for outcome in _DUPLICATES)
        kept = self._pages["unique"] + self._pages["revisit"]
        logger.info(
            "Near-duplicates: %s (%s a minute), %s kept, %s repeated, %s near but kept; %s",
            count(pages, "page"),
            count(pages - self._pages_said),
            count(kept),
            count(dropped),
            count(self._near_kept),
            self._state_of(index),
        )
        self._pages_said = pages

    def _state_of(self, index: Outage) -> str:
        scheme = urlsplit(self._settings.index_url).scheme
        if index.away:
            return f"the index ({scheme}) is away, {count(index.left, 'page')} wait for it"
        try:
            return f"{count(len(index), 'page')} in the index ({scheme})"
        except StoreError as error:
            return f"the index ({scheme}) does not answer: {error}"

    def text(self) -> str:
        """Return what became of the pages and items, and of those of the largest hosts."""
        lines = [f"Near-duplicates: {count(self._pages.total(), 'page')} judged"]
        lines += _counts(self._pages, self._bytes)
        if self._near_kept:
            lines.append(f"{self._near_kept:>12,} of them kept though near another, by the rule")
        if self._items:
            lines.append(f"{count(self._items.total(), 'item')} judged")
            lines += _counts(self._items, Counter())
        if self._pages:
            lines += self._host_table()
        if self._log is not None:
            lines.append(
                f"What each repeats: scrapy simhash report {shlex.quote(str(self._log.path))}"
            )
        return "\n".join(lines)

    def _host_table(self) -> list[str]:
        rows = self._hosts.largest(_HOSTS)
        number, rest = self._hosts.rest(_HOSTS)
        if number:
            rows.append((count(number, "other host"), rest))
        lines = [f"{'host':<40} {'pages':>9} {'kept':>9} {'repeated':>9} {'skipped':>9}   in bytes"]
        for host, (pages, repeated, skipped, length) in rows:
            kept = pages - repeated - skipped
            numbers = "".join(f" {n:>9,.0f}" for n in (pages, kept, repeated, skipped))
            # The end of a long name says more.
            name = host if len(host) <= 40 else "…" + host[-39:]
            lines.append(f"{name:<40}{numbers} {size(length):>10}")
        return lines


def _outcome(verdict: Verdict, action: Action) -> str:
    return action if verdict.kind == "duplicate" else verdict.reason or verdict.kind


def _counts(counts: Counter[str], sizes: Counter[str]) -> list[str]:
    lines = []
    for outcome, words in _OUTCOMES.items():
        if counts[outcome]:
            length = f", {size(sizes[outcome])}" if sizes[outcome] else ""
            lines.append(f"{counts[outcome]:>12,} {words}{length}")
    reasons = [(reason, n) for reason, n in counts.most_common() if reason not in _OUTCOMES]
    return lines + [f"{number:>12,} skipped: {reason}" for reason, number in reasons]
