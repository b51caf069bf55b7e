"""A crawl's pages and items on their way, until the spider middleware tells how each page fared."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple
from weakref import WeakValueDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.printable import logger_of

logger = logger_of(__name__)

# Seconds between two attempts to put a request into a queue that refuses it.
PAUSE = 5.0


class Delivery(NamedTuple):
    """The treatment of what a page's callback yields.

    Attributes:
        key: the page in progress, or None if nobody waits for its delivery.
        drops_items: whether its requests go on alone.
        unchanged: whether only what changed is wanted, and the page did not.
    """

    key: str | None = None
    drops_items: bool = False
    unchanged: bool = False


class Arrivals:
    """Pages on their way from the downloader to their callback."""

    def __init__(self) -> None:
        self._arriving: dict[Request, str] = {}

    def begin(self, key: str, request: Request) -> None:
        self._arriving[request] = key

    def arrived(self, key: str, request: Request) -> None:
        """Note that a page has passed the downloader middlewares."""
        if request not in self._arriving:
            # One of them has given it another request.
            request = next(
                (original for original, name in self._arriving.items() if name == key), request
            )
        self._arriving.pop(request, None)

    def take_lost(self, active: Collection[Request]) -> list[str]:
        """Return the keys of pages that a middleware turned down, or asked for again."""
        turned_down = [request for request in self._arriving if request not in active]
        return [self._arriving.pop(request) for request in turned_down]


class PassingItems:
    """Tells where an item comes from, and when all that passed our pipeline have ended.

    A later pipeline may make another object of an item, or none, so only the number of those that
    ended is sure.
    """

    def __init__(self) -> None:
        # By identity. The item goes out of it when it dies, so the next object in its place is
        # never taken for it.
        self._response_of: WeakValueDictionary[int, Response] = WeakValueDictionary()
        # The items of a response that have not ended, and those of them that our pipeline holds.
        self._numbers: Counter[Response] = Counter()
        self._held: Counter[Response] = Counter()

    def begin(self, item: object, response: Response) -> None:
        self._response_of[id(item)] = response
        self._numbers[response] += 1

    def enter(self, item: object) -> Response | None:
        """Note that an item enters our pipeline; return the response that it comes from."""
        response = self._response_of.pop(id(item), None)
        if response is not None:
            self._held[response] += 1
        return response

    def leave(self, response: Response | None) -> None:
        if response is not None:
            self._held[response] -= 1

    def end(self, item: object, response: object) -> None:
        """Note that an item of a response has ended."""
        # A pipeline before ours may have dropped it, and another item may get its identity.
        self._response_of.pop(id(item), None)
        if not isinstance(response, Response) or response not in self._numbers:
            return  # an item of a start method or an errback
        self._numbers[response] -= 1
        if not self._numbers[response]:
            del self._numbers[response], self._held[response]

    def all_have_ended(self, response: object) -> bool:
        """Return whether all items of a response that have passed our pipeline have ended."""
        if not isinstance(response, Response):
            return False
        return self._numbers[response] == self._held[response]


class Again:
    """Requests that are put into the queue once more.

    Args:
        patience: seconds for which the queue may refuse a request until the request is lost.
    """

    def __init__(self, crawler: Crawler, patience: float) -> None:
        self._crawler = crawler
        self._patience = patience
        # Requests that the queue refuses, and since when.
        self._refused: dict[Request, float] = {}
        self._tried = 0.0

    def __bool__(self) -> bool:
        return bool(self._refused)

    def retry(self) -> None:
        if time.monotonic() - self._tried >= min(PAUSE, self._patience / 3):
            self.put()

    def put(self, requests: Iterable[Request] = ()) -> None:
        """Put requests, and those that were refused before, into the queue."""
        assert self._crawler.engine is not None
        self._tried = now = time.monotonic()
        self._refused |= dict.fromkeys(requests, now)
        for request, since in [*self._refused.items()]:
            try:
                self._crawler.engine.crawl(request)
            except Exception as error:  # noqa: BLE001 - a queue elsewhere may be away
                is_lost = now - since > self._patience
                logger.log(
                    logging.WARNING if is_lost or since == now else logging.DEBUG,
                    "%s cannot be put into the queue%s: %r",
                    request.url,
                    ", and is lost" if is_lost else "",
                    error,
                )
                if not is_lost:
                    continue
            del self._refused[request]
