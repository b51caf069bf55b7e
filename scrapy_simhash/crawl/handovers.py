"""Pages that the index hands over to a crawl, to be crawled again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_simhash.crawl.progress import Deliveries
from scrapy_simhash.crawl.requests import request_from_json, request_key
from scrapy_simhash.index import Page
from scrapy_simhash.index.stored import DIGEST_KEY

logger = logging.getLogger(__name__)

# Crawlers that may die with a request before it is not made any more.
MAX_DEATHS = 5


class HandOvers:
    """Makes the requests of handed-over pages again, and follows them until they are answered.

    Args:
        crawler: the crawl, in whose queue they are put.
        deliveries: told of pages that cannot be crawled again.
        lease: seconds after which the index hands over a page that has not come.
        count: adds one to a stat of the filter.

    Attributes:
        queued: keys of the pages that lie in the queue.
    """

    def __init__(
        self, crawler: Crawler, deliveries: Deliveries, lease: float, count: Callable[[str], None]
    ) -> None:
        self._crawler = crawler
        self._deliveries = deliveries
        self._lease = lease
        self._count = count
        self.queued: set[str] = set()

    def crawl_again(self, pages: Iterable[Page], *, died: bool = False) -> None:
        """Schedule pages that were handed back.

        Args:
            pages: what the index gave.
            died: because a crawler died, which one of them may be to blame for.
        """
        assert self._crawler.spider is not None
        for page in pages:
            if page.request is None:
                continue
            try:
                request = request_from_json(page.request, self._crawler.spider)
            except ValueError as error:
                logger.warning("%s cannot be crawled again: %s", page.key, error)
                self._deliveries.give_up(page.key)
                continue
            before = request.meta.get("simhash_again")
            # What a store holds may be anything.
            deaths = (before if isinstance(before, int) else 0) + died
            if deaths >= MAX_DEATHS:
                logger.warning(
                    "%s is not crawled any more: %d crawlers died with it", page.key, deaths
                )
                self._deliveries.give_up(page.key)
                continue
            # The index stores it with the request.
            request.meta["simhash_again"] = deaths
            key = page.key
            if DIGEST_KEY.fullmatch(key):
                # So that it is the same as that of the response.
                key = request_key(request, request.url)
            request.meta["simhash_handed_over"] = key
            if self._schedule(request):
                self.queued.add(key)
                self._count("crawled_again")

    def _schedule(self, request: Request) -> bool:
        assert self._crawler.engine is not None
        logger.debug("Crawling %s again: its original was not delivered", request.url)
        try:
            self._crawler.engine.crawl(request)
        except Exception as error:  # noqa: BLE001 - a queue elsewhere may be away
            logger.warning(
                "%s cannot be put into the queue to be crawled again, which is tried once more "
                "after %g seconds: %r",
                request.url,
                self._lease,
                error,
            )
            return False
        return True

    def came(self, request: Request) -> str | None:
        """Note that a request was answered; return the key under which it was handed over."""
        key = request.meta.pop("simhash_handed_over", None)
        if not isinstance(key, str):
            return None
        self.queued.discard(key)
        return key
