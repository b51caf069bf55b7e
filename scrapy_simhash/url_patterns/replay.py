"""Tells what SIMHASH_SPARE "skip" would have done in a crawl that fetched everything.

Skipping changes the order of a crawl: requests whose like were copies go behind all others. So the
pages are learned from anew in that order. The address of a page that comes first in it is the
page's, and the others are those of copies.
"""

from collections import deque
from typing import NamedTuple

from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.learner import LAST, Forecast, Learner, Visit


class Spared(NamedTuple):
    """The pages that would have been spared, their bytes, and how many would have been lost."""

    pages: int = 0
    bytes: int = 0
    lost: int = 0


class Replay:
    """The first 50,000 pages of a crawl, in the order in which they came."""

    def __init__(self) -> None:
        self._visits: list[tuple[str, Visit]] = []
        self.is_whole = True

    def note(self, url: str, visit: Visit) -> None:
        """Note a page, with the address that was asked for."""
        self.is_whole = len(self._visits) < REMEMBERED
        if self.is_whole:
            self._visits.append((url, visit))

    def run(self, learner: Learner) -> Spared:
        """Let a learner meet the pages in the order of a crawl that skips; return what it spares.

        It may take seconds.
        """
        own_pages = {visit.key for _, visit in self._visits if not visit.original}
        fetched: dict[str, str] = {}  # the key of the first visit to each page
        spared: list[Visit] = []
        queues = [deque(self._visits), *(deque[tuple[str, Visit]]() for _ in range(LAST))]
        for level, queue in enumerate(queues):
            while queue:
                url, visit = queue.popleft()
                forecast = learner.forecast(url) if visit.is_optional else Forecast(url)
                behind = forecast.place_behind(level)
                if behind > level:
                    queues[behind].append((url, visit))
                elif forecast.spared:
                    spared.append(visit)
                else:
                    page = visit.original or visit.key
                    # A page of another crawl stays the original of its copies.
                    original = fetched.get(page, "") if page in own_pages else visit.original
                    is_canonical = visit.is_canonical and original == visit.original
                    fetched.setdefault(page, visit.key)
                    told = visit._replace(original=original, is_canonical=is_canonical)
                    learner.record(forecast, told)
        lost = {visit.original or visit.key for visit in spared} & own_pages - fetched.keys()
        return Spared(len(spared), sum(visit.size for visit in spared), len(lost))
