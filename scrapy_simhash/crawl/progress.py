"""What a callback yields, and its items on their way, until it is known how their page fared."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple
from weakref import WeakValueDictionary

from scrapy.http import Response


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
