"""Items on their way through the pipelines, each with the response that it comes from."""

from collections import Counter
from weakref import WeakValueDictionary

from scrapy.http import Response


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
