"""A crawl reports on its pages.

It writes a line for each in the dedup log, a line each minute in the crawl's log, and a
summary at the end.
"""

import re
import shlex
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.crawl.alarms import Alarms
from scrapy_simhash.crawl.requests import is_start
from scrapy_simhash.index.values import Run
from scrapy_simhash.printable import logger_of, printable, without_userinfo
from scrapy_simhash.report.dedup_log import DedupLog, line_of, line_of_spared
from scrapy_simhash.report.words import count, moment
from scrapy_simhash.setting_values import Action
from scrapy_simhash.settings import FilterSettings

logger = logger_of(__name__)

SECONDS_BETWEEN_LINES = 60.0

_DONE: dict[Action, str] = {"drop": "dropped", "follow": "followed", "flag": "flagged"}
# Stats in the words of the summary. Each page and item is in one of them.
_FATES = {
    "unique": "kept",
    "revisit": "kept, crawled before",
    "dropped": "dropped",
    "dropped_for_others": "of these for pages of other spiders: {spider} in SIMHASH_NAMESPACE or "
    "SIMHASH_INDEX_URL gives each spider an index of its own",
    "followed": "followed: requests sent, items dropped",
    "flagged": "flagged and delivered",
    "doubtful": "of these doubtful: other numbers in the same text, or next to no text",
    "skipped": "not compared",
    "unmatched/content": "left to the extraction: SIMHASH_CONTENT matches nothing on them",
    "unmatched/ignore": "where SIMHASH_IGNORE matches nothing",
    "items_kept": "items kept",
    "items_dropped": "items dropped",
    "items_unchanged": "items withheld, because an earlier run delivered them",
    "items_flagged": "items flagged and delivered",
    "items_skipped": "items not compared",
}


@dataclass(slots=True)
class Judged:
    """A page and its verdict, of which every listener is told.

    Attributes:
        times_dropped: how often in a row the page was dropped before, and asked for
            again.
        action: what becomes of a duplicate; None for another page.
        is_withheld: whether the page did not change, and only changed pages are wanted.
    """

    request: Request
    response: Response
    verdict: Verdict
    times_dropped: int = 0
    action: Action | None = None
    is_withheld: bool = False


class Summary:
    """Counts and notes each verdict; ``counts`` are the stats of the filter, by name."""

    def __init__(
        self,
        settings: FilterSettings,
        counts: Counter[str],
        spider: str,
    ) -> None:
        self._k = settings.recipe.distance
        self._spider = spider
        self._counts = counts
        self._log = DedupLog(settings.log, settings.log_bytes) if settings.log else None
        self._alarms = Alarms(spider)
        self._said = time.monotonic()
        self._pages_said = 0
        self._run: int | None = None
        self._crawl = ""

    def begin(self, run: Run | None) -> None:
        """Name the crawl after the run that it takes part in; None if the index is away."""
        self._run = run.number if run else None
        name = f"{self._spider}, run {run.number}" if run else self._spider
        self._crawl = f"{name}, {moment(run.begun if run else time.time())}"

    def judged(self, judged: Judged) -> None:
        verdict = judged.verdict
        response = judged.response
        counts = self._counts
        if verdict.reason == "no_callback":
            counts["no_page"] += 1  # whatever a component fetches for itself
            return
        counts["responses"] += 1
        counts[verdict.kind] += 1
        counts["doubtful"] += verdict.doubtful
        if verdict.reason is not None:
            counts[f"{verdict.kind}/{verdict.reason}"] += 1
        elif verdict.kind == "unique" and verdict.near:
            counts[f"near_kept/{verdict.near[0].reason}"] += 1
        if verdict.change is not None:
            counts[verdict.change] += 1
        if judged.action is not None:
            counts[_DONE[judged.action]] += 1
            counts["better"] += bool(verdict.better)
            url = without_userinfo(response.url)
            self._alarms.hidden(verdict.matches[0].key, url, counts["responses"])
            if judged.action == "drop":
                counts["bytes_dropped"] += len(response.body)
                # Such a page may link a whole site.
                counts["dropped_starts"] += is_start(judged.request)
        self._write(
            "page",
            response.url,
            verdict,
            action="follow" if judged.is_withheld else judged.action,
            bytes=len(response.body),
        )

    def item(self, verdict: Verdict, action: Action | None) -> None:
        self._write("item", verdict.key, verdict, action=action)

    def _write(self, what: str, url: str, verdict: Verdict, **fields: Any) -> None:
        if self._log is not None:
            fields |= {"k": self._k, "run": self._run, "crawl": self._crawl}
            self._log.write(line_of(what, url, verdict, **fields))

    def spared(self, url: str, signature: str) -> None:
        if self._log is not None:
            self._log.write(line_of_spared(url, signature, self._crawl))

    def say_progress(self, index: Breaker) -> None:
        """Say how the crawl goes, once a minute."""
        if time.monotonic() - self._said < SECONDS_BETWEEN_LINES:
            return
        self._said = time.monotonic()
        # It does not tell how many pages the index has: a large file takes seconds to
        # count them.
        counts = self._counts
        pages = counts["responses"]
        let_through = count(index.let_through, "page")
        logger.info(
            "Near-duplicates of %s: %s (%s a minute), %s kept, %s repeated, %s spared%s",
            self._spider,
            count(pages, "page"),
            count(pages - self._pages_said),
            count(counts["unique"] + counts["revisit"]),
            count(counts["duplicate"]),
            count(counts["spared/skipped"]),
            f"; the index is away, {let_through} let through" if index.away else "",
        )
        self._pages_said = pages

    def text(self, sparing: str = "") -> str:
        """Return a few lines on the fate of pages and items, and on the next step.

        ``sparing`` is the line on requests that were not sent.
        """
        counts = self._counts
        lines = [
            f"LOOK AT {printable(hiding.original)} FIRST: {count(hiding.pages, 'page')} are taken "
            f"for copies of it, such as {printable(hiding.examples[-1])}"
            for hiding in self._alarms.worst()
        ]
        lines += [
            f"Near-duplicates of {self._spider}: {count(counts['responses'], 'page')} judged"
        ]
        for name, said in _FATES.items():
            if not counts[name]:
                continue
            if counts[name] == 1:
                said = re.sub("^items", "item", said)
            # The most frequent reason comes first.
            reasons = [
                f"{number:,} {reason.removeprefix(f'{name}/')}"
                for reason, number in counts.most_common()
                if number and name.endswith("skipped") and reason.startswith(f"{name}/")
            ]
            said = f"{said}: {', '.join(reasons)}" if reasons else said
            lines.append(f"{counts[name]:>12,} {said}")
        lines += [self._since_earlier_runs(), printable(sparing), self._next_step()]
        return "\n".join(filter(None, lines))

    def _since_earlier_runs(self) -> str:
        """Return a line on the changes since earlier runs; nothing in a first run."""
        names = ("new", "changed", "moved", "same", "missing", "failed")
        if not any(self._counts[name] for name in names[1:]):
            return ""
        said = [
            f"{self._counts[name]:,} {name}" for name in names if name in self._counts
        ]
        return f"Since earlier runs: {', '.join(said)}"

    def _next_step(self) -> str:
        if not self._counts["duplicate"]:
            return ""
        if self._log is None:
            return "To see what each repeats, crawl with -s SIMHASH_LOG=dedup.jsonl"
        said = (
            "Look at the doubtful drops"
            if self._counts["doubtful"]
            else "What each repeats"
        )
        return f"{said}: scrapy simhash report {shlex.quote(str(self._log.path))}"
