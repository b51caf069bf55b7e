"""The pages of which a crawl has become the owner, until their delivery.

A page is *in progress* while its callback or one of its items is on its way. When the last of them
has ended, the page is settled: it was delivered, or it failed if one of them failed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from scrapy import Request


@dataclass(slots=True)
class _Parts:
    """How many callbacks and items of a key are on their way, and whether one failed."""

    number: int = 0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """Keys whose pages are settled.

    Attributes:
        failed: to be released.
        delivered: to be confirmed, after the others are released: a page may have failed with one
            text and then have come with another.
    """

    failed: list[str] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.failed or self.delivered)


class Progress:
    """Follows pages from the downloader to the last of their items.

    Args:
        items: whether items are asked for the page that they come from.
    """

    def __init__(self, *, items: bool) -> None:
        self._items = items
        self._parts: dict[str, _Parts] = {}
        self._arriving: dict[Request, str] = {}
        self._page_of_item: dict[int, str] = {}
        self._settled = Settled()

    def __contains__(self, key: str) -> bool:
        """Return whether a callback or an item of this key is on its way."""
        return key in self._parts

    def keys(self) -> list[str]:
        """Return the keys in progress."""
        return list(self._parts)

    def begin(self, key: str) -> None:
        """Note that a callback or an item of this key is on its way."""
        self._parts.setdefault(key, _Parts()).number += 1

    def begin_page(self, key: str, request: Request) -> None:
        """Note that a page is on its way from the downloader to its callback."""
        self.begin(key)
        self._arriving[request] = key

    def begin_item(self, key: str, item: object) -> None:
        """Note that an item of a page is on its way."""
        self.begin(key)
        if self._items:
            # By identity, which outlives neither the item nor, in here, the next one in its place.
            self._page_of_item[id(item)] = key

    def page_of(self, item: object) -> str | None:
        """Return the page in progress that an item comes from; to be asked once."""
        return self._page_of_item.pop(id(item), None)

    def arrived(self, request: Request) -> None:
        """Note that a page has passed the downloader middlewares."""
        self._arriving.pop(request, None)

    def end(self, key: str, *, failed: bool) -> None:
        """Note that a callback or an item has ended; with the last, the key is settled."""
        parts = self._parts.get(key)
        if parts is None:
            return
        parts.number -= 1
        parts.failed = parts.failed or failed
        if not parts.number:
            del self._parts[key]
            (self._settled.failed if parts.failed else self._settled.delivered).append(key)

    def abandon(self, key: str) -> None:
        """Note that nothing comes of a key of which this crawl is the owner."""
        self._settled.failed.append(key)

    def end_lost(self, active: Collection[Request]) -> None:
        """End the pages that a middleware after ours turned down, or asked for again.

        Args:
            active: the requests that the downloader is still busy with.
        """
        for request in [request for request in self._arriving if request not in active]:
            self.end(self._arriving.pop(request), failed=True)

    def end_all(self) -> None:
        """End everything that is still in progress: it failed."""
        self._settled.failed.extend(self._parts)
        self._parts.clear()
        self._arriving.clear()
        self._page_of_item.clear()

    @property
    def is_settled(self) -> bool:
        """True if nothing is in progress, and nothing is settled that was not taken."""
        return not self._parts and not self._settled

    def take_settled(self) -> Settled:
        """Return the keys that were settled since this was last called.

        A key that failed is among them though it is in progress again: the index may hold it with
        two texts, and confirming the one that failed would cost the copies that wait on it.
        """
        settled, self._settled = self._settled, Settled()
        return settled

    def put_back(self, settled: Settled) -> None:
        """Have keys returned once more, because the index did not take them."""
        self._settled.failed[:0] = settled.failed
        self._settled.delivered[:0] = settled.delivered
