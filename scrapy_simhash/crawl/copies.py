"""Dropped copies of pages that are not delivered yet: crawled again if their original fails."""

from collections.abc import Iterable
from itertools import islice

from scrapy import Request

from scrapy_simhash.crawl.requests import OF_ONE_ATTEMPT
from scrapy_simhash.index.contract import Unsettled

# Copies that wait on one original. When it fails, one delivered copy is enough.
COPIES_OF_ONE = 100
# Originals that the index is asked about together.
ASKED_AT_ONCE = 256


class Copies:
    """The requests of dropped copies, each by the entry of its original in the index."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[Request]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def wait(self, request: Request, entry: int) -> None:
        """Keep a copy until its original is confirmed or gone."""
        copies = self._waiting.setdefault(entry, [])
        if len(copies) < COPIES_OF_ONE:
            copies.append(request)

    def entries(self) -> list[int]:
        """Return originals that the index is to be asked about, those first that waited longest."""
        return [*islice(self._waiting, ASKED_AT_ONCE)]

    def settle(self, entries: Iterable[int], unsettled: Unsettled) -> list[Request]:
        """Forget the copies of confirmed originals; return those to be crawled again."""
        again: list[Request] = []
        for entry in entries:
            copies = self._waiting.pop(entry, [])
            if entry in unsettled.provisional:
                self._waiting[entry] = copies  # at the end, after those that were not asked about
            elif entry in unsettled.gone:
                again += map(_once_more, copies)
        return again

    def take_all(self) -> list[Request]:
        """Return every copy that waits; none is left."""
        waiting, self._waiting = self._waiting, {}
        return [_once_more(request) for copies in waiting.values() for request in copies]


def _once_more(request: Request) -> Request:
    """Return a request that passes the dupefilter, and may be retried as if it were the first."""
    kept = {name: value for name, value in request.meta.items() if name not in OF_ONE_ATTEMPT}
    return request.replace(meta=kept, dont_filter=True)
