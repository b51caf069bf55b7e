"""The queue of a crawl, into which requests go back while the responses of their pages are kept."""

from time import monotonic

from cachetools import LRUCache
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl.requests import WAITED
from scrapy_simhash.printable import logger_of

# Bytes of all responses that are kept.
MOST_BYTES = 64 << 20

logger = logger_of(__name__)


class CrawlQueue:
    """Puts requests into the queue of a crawl, and keeps responses that need no second download.

    Args:
        lease: seconds after which a request that the queue refuses is lost.

    Attributes:
        refused: requests that the queue refuses, and since when.
        is_closed: True if the queue was closed; it would open its files again for a
            request.
    """

    def __init__(self, crawler: Crawler, lease: float) -> None:
        self.refused: dict[Request, float] = {}
        self.is_closed = False
        self._crawler = crawler
        self._lease = lease
        self._tried = 0.0
        # By the key of the page; the oldest give way.
        self._responses: LRUCache[str, Response] = LRUCache(
            MOST_BYTES, lambda page: len(page.body)
        )

    def keep(self, key: str, request: Request, response: Response) -> None:
        """Keep the response of a page until its request comes back, if there is room."""
        # The spider gets the page with this request, and not with the one that comes
        # back.
        response.request = request
        if len(response.body) <= MOST_BYTES:
            self._responses[key] = response

    def take_response(self, key: str) -> Response | None:
        """Return the response of a page, if it is kept, and keep it no longer."""
        return self._responses.pop(key, None)

    def put_waited(self, key: str, request: Request) -> None:
        """Put the request of a page that need not wait any longer."""
        self.put(request.replace(meta={**request.meta, WAITED: key}, dont_filter=True))

    def put(self, *requests: Request) -> None:
        """Put requests, and those that were refused before, into the queue."""
        if self.is_closed:
            return
        now = self._tried = monotonic()
        self.refused |= dict.fromkeys(requests, now)
        assert self._crawler.engine is not None
        for request, since in [*self.refused.items()]:
            try:
                self._crawler.engine.crawl(request)
            except Exception as error:  # noqa: BLE001 - a queue elsewhere may be away
                if not self._is_lost(request, now - since, error):
                    continue
            del self.refused[request]

    def retry(self) -> None:
        """Put requests that were refused, after a pause."""
        if monotonic() - self._tried >= min(5.0, self._lease / 3):
            self.put()

    def _is_lost(
        self,
        request: Request,
        seconds: float,
        error: Exception,
    ) -> bool:
        """Return whether a request is given up that the queue has refused for seconds."""
        is_lost = seconds > self._lease
        if is_lost or not seconds:
            logger.warning(
                "%s cannot be put into the queue%s: %r",
                request.url,
                ", and is lost" if is_lost else "",
                error,
            )
        return is_lost
