"""The deliveries of a crawl: the output of the callback of each page, and its fate.

The downloader middleware says which page is on its way, and the spider middleware when
it arrives and what its callback yields. Scrapy's signals say how each item ends.
"""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.core.upkeep import Upkeep
from scrapy_simhash.crawl.requests import request_key
from scrapy_simhash.crawl.summary import Judged
from scrapy_simhash.keys import key_of
from scrapy_simhash.settings import FilterSettings


@dataclass(eq=False, slots=True)
class _Claim:
    """An item that became an original, and the key that it had then."""

    key: str
    item: Any


@dataclass(eq=False)
class Delivery:
    """The delivery of one page to the spider.

    The callback and each item are parts of the page. An item that became an original is
    delivered or fails with its own key as well.

    Attributes:
        upkeep: is told how the page and its items fare.
        key: the page in progress; None if its delivery does not count.
        request: the request of a page, until the spider gets it.
        drops_items: whether the spider's requests go on without its items.
        unchanged: whether the page did not change, and only changed pages are wanted.
        items_on_the_way: a later pipeline may make another object of an item, or none,
            so only numbers are sure.
    """

    upkeep: Upkeep
    key: str | None = None
    request: Request | None = None
    drops_items: bool = False
    unchanged: bool = False
    items_on_the_way: float = 0
    _items_in_pipeline: int = 0
    _callback_has_ended: bool = False
    # Claims of items that are in the pipelines after ours.
    _claims: list[_Claim] = field(default_factory=list)

    @property
    def page_in_progress(self) -> str | None:
        """The key of the page while it is in progress, else None."""
        return self.key if self.key and self.upkeep.in_progress(self.key) else None

    def callback_ended(self, *, failed: bool) -> None:
        """Note that the callback has ended; only the first time counts."""
        # A callback that fails half-way ends as output and as exception.
        if self.key is not None and not self._callback_has_ended:
            self._callback_has_ended = True
            self.upkeep.ended(self.key, failed=failed)

    def item_sent(self) -> None:
        """Note an item on its way to the pipelines."""
        self.items_on_the_way += 1
        if key := self.page_in_progress:
            self.upkeep.hold(key)

    @contextmanager
    def item_in_pipeline(self) -> Iterator[None]:
        """Note that our pipeline has an item until the end of the block."""
        self._items_in_pipeline += 1
        self._end_last_claims()
        try:
            yield
        finally:
            self._items_in_pipeline -= 1

    def item_claimed(self, key: str, item: Any) -> None:
        """Note that an item became an original."""
        self._claims.append(_Claim(key, item))

    def item_ended(
        self,
        item: Any,
        key: str | None,
        *,
        failed: bool,
    ) -> None:
        """Note that an item, whose key is ``key`` by now, was delivered or dropped, or failed."""
        self.items_on_the_way -= 1
        if self.key is not None:
            self.upkeep.ended(self.key, failed=failed)
        # A pipeline may have changed its key, or made another item with the same key.
        claims = [claim for claim in self._claims if claim.item is item] or [
            claim for claim in self._claims if claim.key == key
        ]
        if claims:
            self._end_claims(claims[:1], failed=failed)
        elif failed:  # it may be any of them
            self._end_claims(self._claims, failed=True)
        self._end_last_claims()

    def _end_last_claims(self) -> None:
        """End the claims of which another item, or None, was made, once all items have ended."""
        if self.items_on_the_way == self._items_in_pipeline:
            self._end_claims(self._claims, failed=False)

    def _end_claims(self, claims: Sequence[_Claim], *, failed: bool) -> None:
        for claim in [*claims]:
            self._claims.remove(claim)
            self.upkeep.ended(claim.key, failed=failed)


class Deliveries:
    """The deliveries of a crawl, by response and by item."""

    def __init__(
        self, crawler: Crawler, settings: FilterSettings, upkeep: Upkeep
    ) -> None:
        self._settings = settings
        self._compares_items = settings.has_items
        self._upkeep = upkeep
        # Start methods and errbacks have no response, so nothing counts their items,
        # and the claim of each ends with it.
        self._outside = Delivery(upkeep, items_on_the_way=inf)
        # Pages on their way to the spider, by their keys.
        self._expected: dict[str, list[Delivery]] = {}
        # A response's meta does not have them, because a spider may change it.
        self._of_response: WeakKeyDictionary[Response, Delivery] = WeakKeyDictionary()
        # Deliveries of items on their way to our pipeline, with the item, by its
        # identity.
        self._of_item: dict[int, tuple[Any, Delivery]] = {}
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_ended, signal=signal)

    def judged(self, judged: Judged) -> None:
        """Note a page on its way to the spider; a copy comes only to be followed."""
        verdict = judged.verdict
        if not verdict.owned and judged.action != "follow":
            return
        delivery = Delivery(
            self._upkeep,
            verdict.key if verdict.owned else None,
            request=judged.request,
            # An item that is compared may have changed although its page did not.
            drops_items=not verdict.owned
            or (judged.is_withheld and not self._compares_items),
            unchanged=judged.is_withheld,
        )
        self._expected.setdefault(verdict.key, []).append(delivery)

    def arrived(self, response: Response) -> None:
        """Note that the spider gets a response."""
        request = response.request
        # Other middlewares may have made another response, and given it another
        # request.
        key = request_key(request, response.url) if request is not None else ""
        if expected := self._expected.get(key):
            delivery = self._of_response[response] = expected.pop(0)
            # Its meta may lead back to the response, which would never go then.
            delivery.request = None

    def fail_lost(self, on_the_way: Container[Request]) -> None:
        """Fail pages that another middleware has turned down, or asked for again."""
        for key, expected in [*self._expected.items()]:
            for page in [*expected]:
                if page.request not in on_the_way:
                    page.callback_ended(failed=True)
                    expected.remove(page)
            if not expected:
                del self._expected[key]

    def of(self, response: Response) -> Delivery:
        """Return the delivery of a response."""
        return self._of_response.setdefault(response, Delivery(self._upkeep))

    def item_sent(self, response: Response, item: Any) -> None:
        """Note an item that a callback has yielded."""
        delivery = self.of(response)
        delivery.item_sent()
        if self._compares_items:
            self._of_item[id(item)] = item, delivery

    def take_item(self, item: Any) -> Delivery:
        """Return the delivery of an item that has come to our pipeline."""
        _, delivery = self._of_item.pop(id(item), (item, self._outside))
        return delivery

    def _item_ended(self, item: Any, response: object, signal: object) -> None:
        # A pipeline before ours may have dropped it.
        self._of_item.pop(id(item), None)
        delivery = (
            self.of(response) if isinstance(response, Response) else self._outside
        )
        key = self.key_of_item(item) if self._compares_items else None
        delivery.item_ended(item, key, failed=signal is signals.item_error)

    def key_of_item(self, item: Any) -> str | None:
        """Return the key of an item, which a field of it has; None if it has no key."""
        if not ItemAdapter.is_item(item):
            return None
        value = ItemAdapter(item).get(self._settings.item_key_field)
        try:
            return key_of(str(value)) if value else None
        except ValueError:  # no address at all, such as http://[
            return None
