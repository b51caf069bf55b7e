"""A replay tells which pages SIMHASH_SPARE "skip" would have spared in a crawl that fetched all.

Skipping changes the order of a crawl: requests whose like were copies go behind all
others. So the pages are learned from anew in that order. Of several addresses of one
page, the first one in that order is the page, and the others are copies.
"""

from collections import deque

from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.learner import LAST, Forecast, Learner, Visit


class Replay:
    """The first 50,000 pages of a crawl, in the order in which they came.

    Attributes:
        is_whole: whether these are all of its pages.
        pages: that would have been spared.
        bytes: of these pages.
        losses: how many pages would have been lost.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self.pages = 0
        self.bytes = 0
        self.losses = 0
        self._visits: list[tuple[str, Visit]] = []
        # The keys of pages that this crawl met first, and of the first visit to each
        # page.
        self._own_pages: set[str] = set()
        self._fetched: dict[str, str] = {}

    def note(self, url: str, visit: Visit) -> None:
        """Note a page, with the address that was asked for."""
        self.is_whole = len(self._visits) < REMEMBERED
        if self.is_whole:
            self._visits.append((url, visit))

    def run(self, learner: Learner) -> None:
        """Let a learner meet the pages in the order of a crawl that skips; it may take seconds."""
        self._own_pages = {visit.key for _, visit in self._visits if not visit.original}
        spared: list[Visit] = []
        queues = [deque(self._visits), *(deque() for _ in range(LAST))]
        for place, queue in enumerate(queues):
            while queue:
                url, visit = queue.popleft()
                forecast = learner.forecast(url) if visit.is_optional else Forecast(url)
                behind = forecast.place_behind(place)
                if behind > place:
                    queues[behind].append((url, visit))
                elif forecast.spared:
                    spared.append(visit)
                else:
                    learner.record(forecast, self._in_this_order(visit))
        self.pages = len(spared)
        self.bytes = sum(visit.size for visit in spared)
        self.losses = len(
            {visit.original or visit.key for visit in spared}
            & (self._own_pages - self._fetched.keys())
        )

    def _in_this_order(self, visit: Visit) -> Visit:
        """Return a visit with the original that it has if pages come in this order."""
        page = visit.original or visit.key
        if page not in self._own_pages:  # the original is of another crawl
            return visit
        original = self._fetched.get(page, "")
        self._fetched.setdefault(page, visit.key)
        is_canonical = visit.is_canonical and original == visit.original
        return visit._replace(original=original, is_canonical=is_canonical)
