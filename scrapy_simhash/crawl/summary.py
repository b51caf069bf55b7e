"""A crawl reports on its pages.

It writes a line for each in the dedup log, a line each minute in the crawl's log, and a summary at
the end.
"""

import re
import shlex
import time
from collections import Counter
from dataclasses import dataclass, replace

from scrapy import Request
from scrapy.http import HtmlResponse, Response, XmlResponse

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.printable import logger_of
from scrapy_simhash.readers import kind_of
from scrapy_simhash.report.dedup_log import CrawlStart, DedupLog, SparedLine, host_of, line_of
from scrapy_simhash.report.totals import Totals
from scrapy_simhash.report.words import count, size
from scrapy_simhash.settings import Action, FilterSettings

logger = logger_of(__name__)

SECONDS_BETWEEN_LINES = 60.0

_HOSTS = 10
_MIDDLEWARE = "scrapy_simhash.downloadermiddlewares.NearDuplicateDownloaderMiddleware"
# Content types that are named; a server may write anything.
_KIND = re.compile(r"[\w+.-]{1,60}/[\w+.-]{1,60}", re.ASCII)
_SHOWN = 6
# Stats of pages and of items in the words of the summary.
_PAGES = {
    "unique": "kept",
    "revisit": "kept, seen before",
    "dropped": "dropped",
    "followed": "followed, items dropped",
    "flagged": "flagged and delivered, would have been dropped",
}
_ITEMS = {
    "items_kept": "kept",
    "items_dropped": "dropped",
    "items_flagged": "flagged and delivered, would have been dropped",
    "items_skipped": "not compared",
}


@dataclass(slots=True)
class Judged:
    """A page and its verdict, of which every listener is told.

    Attributes:
        action: what becomes of the page if it is a duplicate.
        pattern: the address pattern that it fitted; sparing, which is told first, says it.
    """

    request: Request
    response: Response
    verdict: Verdict
    action: Action
    pattern: str | None = None


class Summary:
    """Notes each verdict; ``counts`` are the stats of the filter, by name."""

    def __init__(self, settings: FilterSettings, counts: Counter[str]) -> None:
        self._settings = settings
        self._counts = counts
        self._log: DedupLog | None = None
        if settings.log is not None:
            self._log = DedupLog(settings.log, size=settings.log_size)
        self._hosts: Totals[str] = Totals(4)
        # Content types that nothing reads.
        self._passed: Totals[str] = Totals(1, names=100)
        self._said = time.monotonic()
        self._pages_said = 0
        self._spider = ""
        #: The number of the run, for the dedup log.
        self.run: int | None = None

    def begin(self, spider: str) -> None:
        self._spider = spider
        if self._log is None:
            return
        recipe = self._settings.recipe
        settings: dict[str, str | int | float | None] = {
            "SIMHASH_RECIPE": recipe.name,
            "SIMHASH_DISTANCE": recipe.distance,
            "SIMHASH_EXTRACTOR": recipe.extractor,
            "SIMHASH_ACTION": str(self._settings.action),
            "SIMHASH_SCOPE": self._settings.scope,
        }
        self._log.write(CrawlStart(round(time.time(), 3), spider, settings))

    def judged(self, judged: Judged) -> None:
        verdict, response = judged.verdict, judged.response
        if verdict.reason == "no_callback":
            return  # whatever a component fetches for itself is no page
        if self._settings.has_items and not self._hosts.largest(1):
            logger.info(
                "Pages of %s are compared as well as items: a page that is dropped yields none. "
                "For items only, set DOWNLOADER_MIDDLEWARES = {'%s': None}",
                self._spider,
                _MIDDLEWARE,
            )
        if verdict.reason == "other_type":
            kind = kind_of(content_type(response))
            self._passed.add(kind if _KIND.fullmatch(kind) else "of no type that has a name", 1)
        length, is_copy = len(response.body), verdict.kind == "duplicate"
        # The number of pages stands first, because of very many hosts those with the fewest pages
        # are forgotten.
        copied = length if is_copy else 0
        self._hosts.add(host_of(response.url), 1, is_copy, verdict.kind == "skipped", copied)
        if self._log is not None:
            seconds = judged.request.meta.get("download_latency")
            k = self._settings.recipe.distance
            line = line_of("page", response.url, verdict, judged.action, k)
            seconds = None if seconds is None else round(seconds, 4)
            line = replace(line, bytes=length, seconds=seconds, pattern=judged.pattern)
            self._log.write(replace(line, run=self.run))

    def item(self, verdict: Verdict) -> None:
        # An item that repeats another is dropped by either action that drops pages.
        action: Action = "flag" if self._settings.action.of(verdict.key) == "flag" else "drop"
        if self._log is not None:
            k = self._settings.recipe.distance
            self._log.write(replace(line_of("item", verdict.key, verdict, action, k), run=self.run))

    def spared(self, url: str, host: str, signature: str) -> None:
        if self._log is not None:
            self._log.write(SparedLine(round(time.time(), 3), url, host, signature))

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def is_due(self) -> bool:
        """Return whether a minute has passed since this was last true."""
        is_due = time.monotonic() - self._said >= SECONDS_BETWEEN_LINES
        if is_due:
            self._said = time.monotonic()
        return is_due

    def say_progress(self, dedup: Dedup) -> None:
        # It does not tell how many pages the index has: a large file takes seconds to count them.
        pages, counts = self._counts["responses"], self._counts
        logger.info(
            "Near-duplicates of %s: %s (%s a minute), %s kept, %s repeated, %s near but kept, "
            "%s spared%s",
            self._spider,
            count(pages, "page"),
            count(pages - self._pages_said),
            count(counts["unique"] + counts["revisit"]),
            count(counts["duplicate"]),
            count(self._near_kept),
            count(counts["spared/skipped"]),
            f"; the index is away, {count(dedup.left, 'page')} wait for it" if dedup.away else "",
        )
        self._pages_said = pages

    @property
    def _near_kept(self) -> int:
        return sum(n for name, n in [*self._counts.items()] if name.startswith("near_kept/"))

    def text(self) -> str:
        """Return what became of the pages and items, and of those of the largest hosts."""
        judged = self._counts["responses"]
        lines = [f"Near-duplicates of {self._spider}: {count(judged, 'page')} judged"]
        for name, words in _PAGES.items():
            if name == "dropped":
                # A crawl that ends early looks like one that is done.
                words += f", {size(self._counts['bytes_dropped'])}; their links were not followed"
            lines += _counted(self._counts[name], words)
            if name == "unique":
                lines += _counted(self._near_kept, "of those: near another, told apart by the rule")
                lines += _counted(self._counts["copies_kept"], "of those: copies (SIMHASH_COPIES)")
            elif name == "dropped":
                lines += _counted(self._counts["dropped_starts"], "of those: start requests")
        if self._settings.survives:
            lines += self._changes()
        lines += _counted(self._counts["better"], "of the copies: with the better address")
        for name, number in self._counts.most_common():
            kind, _, reason = name.partition("/")
            if kind == "skipped" and reason not in ("", "no_callback"):
                lines += _counted(number, f"skipped: {reason}")
            if name == "skipped/other_type":
                for passed, (times,) in self._passed.largest(_SHOWN):
                    lines += _counted(int(times), f"of those: {passed}")
        lines += _counted(
            self._counts["spared/skipped"], "more not sent, spared by their addresses"
        )
        if self._settings.has_items and (items := self._of_items()):
            lines += ["Items", *items]
        if judged:
            lines += self._host_table()
        if self._log is not None:
            lines.append(
                f"What each repeats: scrapy simhash report {shlex.quote(str(self._log.path))}"
            )
        elif self._counts["duplicate"]:
            lines.append("For a list of what each repeats, crawl with -s SIMHASH_LOG=dedup.jsonl")
        return "\n".join(lines)

    def _changes(self) -> list[str]:
        """Return what became of pages since earlier runs; an unfinished run misses none."""
        names = ("new", "changed", "moved", "same", "missing")
        told = [f"{self._counts[name]:,} {name}" for name in names if name in self._counts]
        return [f"Since earlier runs: {', '.join(told)}"] if told else []

    def _of_items(self) -> list[str]:
        settings = self._settings
        texts = filter(None, (settings.item_text_field, settings.item_html_field))
        words = {
            **_ITEMS,
            "items_skipped/no_key": f"of those: no key in the field {settings.item_key_field!r}",
            "items_skipped/no_text": "of those: no text in the field "
            + " or ".join(map(repr, texts)),
        }
        return [line for name in words for line in _counted(self._counts[name], words[name])]

    def _host_table(self) -> list[str]:
        rows = self._hosts.largest(_HOSTS)
        number, rest = self._hosts.rest(_HOSTS)
        if number:
            rows.append((count(number, "other host"), rest))
        lines = [f"{'host':<40} {'pages':>9} {'kept':>9} {'skipped':>9} {'repeated':>9}   in bytes"]
        for host, (pages, repeated, skipped, length) in rows:
            kept = pages - repeated - skipped
            numbers = "".join(f" {n:>9,.0f}" for n in (pages, kept, skipped, repeated))
            # The end of a long name says more.
            name = host if len(host) <= 40 else "…" + host[-39:]
            lines.append(f"{name:<40}{numbers} {size(length):>10}")
        return lines


def _counted(number: int, words: str) -> list[str]:
    return [f"{number:>12,} {words}"] if number else []


def content_type(response: Response) -> str:
    """Return the content type of a response, which is HTML where Scrapy takes it for that."""
    given = (response.headers.get("Content-Type") or b"").decode("latin-1")
    if isinstance(response, HtmlResponse):
        return f"text/html;{given.partition(';')[2]}"
    return given or ("application/xml" if isinstance(response, XmlResponse) else "")
