"""What becomes of the pages that the index holds for a crawl.

A page is *in progress* while its callback or one of its items is on its way. When the last of them
has ended, the page is settled: confirmed, or released if one of them failed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scrapy import Request

from scrapy_simhash.detector import Verdict
from scrapy_simhash.index import Index, Page


@dataclass(slots=True)
class _Progress:
    """How many callbacks and items of a key are on their way, and whether one failed."""

    parts: int = 0
    failed: bool = False


class Deliveries:
    """Follows pages from the downloader to the last of their items.

    It is for the event loop, but for :meth:`flush`, which is for the index thread.

    Args:
        index: where the pages are confirmed and released.
        items: whether items are asked for the page that they come from.
    """

    def __init__(self, index: Index, *, items: bool) -> None:
        self._index = index
        self._items = items
        self._progress: dict[str, _Progress] = {}
        self._arriving: dict[Request, str] = {}
        # Handed-over pages that are given up when the request arrives.
        self._unneeded: dict[Request, str] = {}
        self._page_of_item: dict[int, str] = {}
        # These four are shared with that thread: never replaced, only appended to, and cut at the
        # front by who has read them.
        self._delivered: list[str] = []
        self._failed: list[str] = []
        self._given_up: list[str] = []
        self._handed_back: list[Page] = []

    def begin(self, key: str) -> None:
        """Note that a callback or an item of this key is on its way."""
        self._progress.setdefault(key, _Progress()).parts += 1

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

    def in_progress(self, key: str) -> bool:
        """Return whether a callback or an item of this key is on its way."""
        return key in self._progress

    def keys(self) -> list[str]:
        """Return the keys in progress."""
        return list(self._progress)

    def arrived(self, request: Request) -> None:
        """Note that a page has passed the downloader middlewares."""
        self._arriving.pop(request, None)
        if key := self._unneeded.pop(request, None):
            self.give_up(key)

    def end(self, key: str, *, failed: bool) -> None:
        """Note that a callback or an item has ended; with the last, the key is settled."""
        progress = self._progress.get(key)
        if progress is None:
            return
        progress.parts -= 1
        progress.failed = progress.failed or failed
        if progress.parts == 0:
            del self._progress[key]
            (self._failed if progress.failed else self._delivered).append(key)

    def end_lost(self, active: Collection[Request]) -> None:
        """End the pages that a middleware after ours turned down, or asked for again.

        Args:
            active: the requests that the downloader is still busy with.
        """
        for request in [request for request in self._arriving if request not in active]:
            self.end(self._arriving.pop(request), failed=True)
        for request in [request for request in self._unneeded if request not in active]:
            del self._unneeded[request]

    def end_all(self) -> None:
        """End whatever is still in progress: it failed."""
        self._failed.extend(self._progress)
        self._progress.clear()

    def give_up(self, key: str, request: Request | None = None) -> None:
        """Note that a page that was handed over need not be crawled again.

        Args:
            key: of the page.
            request: if it arrives, and only then.
        """
        if request is None:
            self._given_up.append(key)
        else:
            self._unneeded[request] = key

    def to_flush(self) -> bool:
        """Return whether pages are settled that the index does not know of."""
        return bool(self._delivered or self._failed or self._given_up)

    def flush(self) -> None:
        """Confirm, release and give up what is settled; what fails stays for the next time.

        Raises:
            StoreError: the index fails.
        """
        # First, since a release may hand over a page of the same key anew.
        if given_up := self._given_up[:]:
            self._index.give_up(given_up)
            del self._given_up[: len(given_up)]
        # A key may have failed with one text and then come with another: confirming it first
        # would give up the pages that wait on what failed.
        if failed := self._failed[:]:
            self._handed_back.extend(self._index.release(failed))
            del self._failed[: len(failed)]
        if delivered := self._delivered[:]:
            self._index.confirm(delivered)
            del self._delivered[: len(delivered)]

    def withdraw(self, verdict: Verdict) -> None:
        """Take out again a page that has just become an original; for the index thread.

        What else is in progress of its key goes with it.
        """
        self._handed_back.extend(verdict.handed_back)
        self._handed_back.extend(self._index.release([verdict.key]))

    def take_handed_back(self) -> list[Page]:
        """Return the pages that releases have handed back, each once."""
        pages = self._handed_back[:]
        del self._handed_back[: len(pages)]
        return pages
