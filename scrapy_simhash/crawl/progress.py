"""The pages of which a crawl has become the owner, until their delivery.

A page is *in progress* while its callback or one of its items is on its way. When the last of them
has ended, the page is settled: it was delivered, or it failed if one of them failed.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple
from weakref import WeakValueDictionary

from scrapy import Request
from scrapy.http import Response


class Delivery(NamedTuple):
    """How the output of a page's callback is to be taken.

    Attributes:
        key: the page in progress, or None if nobody waits for its delivery.
        drops_items: whether its requests go on alone.
    """

    key: str | None = None
    drops_items: bool = False


class Progress:
    """Follows pages to the last of their items."""

    def __init__(self) -> None:
        # How many callbacks and items of a key are on their way, and the keys of which one failed.
        self._parts: dict[str, int] = {}
        self._failing: set[str] = set()
        self._arriving: dict[Request, str] = {}
        self._failed: list[str] = []
        self._delivered: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._parts

    def keys(self) -> list[str]:
        """Return the keys in progress."""
        return list(self._parts)

    def begin(self, key: str) -> None:
        """Note that a callback or an item of this key is on its way."""
        self._parts[key] = self._parts.get(key, 0) + 1

    def begin_page(self, key: str, request: Request) -> None:
        """Note that a page is on its way from the downloader to its callback."""
        self.begin(key)
        self._arriving[request] = key

    def arrived(self, key: str, request: Request) -> None:
        """Note that a page has passed the downloader middlewares."""
        if request not in self._arriving:
            # One of them has given it another request.
            request = next((own for own, other in self._arriving.items() if other == key), request)
        self._arriving.pop(request, None)

    def end(self, key: str, *, failed: bool) -> None:
        """Note that a callback or an item has ended; with the last, the key is settled."""
        if key not in self._parts:
            return
        if failed:
            self._failing.add(key)
        self._parts[key] -= 1
        if not self._parts[key]:
            del self._parts[key]
            (self._failed if key in self._failing else self._delivered).append(key)
            self._failing.discard(key)

    def abandon(self, key: str) -> None:
        """Note that nothing comes of a key of which this crawl is the owner."""
        self._failed.append(key)

    def end_lost(self, active: Collection[Request]) -> None:
        """End the pages that a middleware after ours turned down, or asked for again."""
        for request in [request for request in self._arriving if request not in active]:
            self.end(self._arriving.pop(request), failed=True)

    def end_all(self) -> None:
        """End everything that is still in progress: it failed."""
        self._failed.extend(self._parts)
        self._parts.clear()
        self._failing.clear()
        self._arriving.clear()

    def take_settled(self) -> tuple[list[str], list[str]]:
        """Return the keys that failed, and those that were delivered, since the last call.

        The first are to be released before the others are confirmed, because a page may have failed
        with one text and then have come with another. Confirming a text that fails would cost the
        copies that wait on it, so a key that failed is told though it is in progress again, and one
        that was delivered once nothing of it is in progress.
        """
        again = [key for key in dict.fromkeys(self._delivered) if key in self._parts]
        settled = self._failed, [key for key in self._delivered if key not in self._parts]
        self._failed, self._delivered = [], again
        return settled


class PassingItems:
    """Tells where an item comes from, and when all that passed our pipeline have ended.

    A later pipeline may make another object of an item, or none, so only the number of those that
    ended is sure.
    """

    def __init__(self) -> None:
        # By identity, which outlives neither the item nor, in here, the next one in its place.
        self._response_of: WeakValueDictionary[int, Response] = WeakValueDictionary()
        # How many items of a response have not ended, and how many of them our pipeline holds.
        self._numbers: Counter[Response] = Counter()
        self._held: Counter[Response] = Counter()

    def begin(self, item: object, response: Response) -> None:
        """Note that a callback has yielded an item."""
        self._response_of[id(item)] = response
        self._numbers[response] += 1

    def enter(self, item: object) -> Response | None:
        """Note that an item enters our pipeline; return the response that it comes from."""
        response = self._response_of.pop(id(item), None)
        if response is not None:
            self._held[response] += 1
        return response

    def leave(self, response: Response | None) -> None:
        """Note that an item leaves our pipeline."""
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
