"""A crawl of pages whose keys tell what they repeat, over an index whose store may fail."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.upkeep import Upkeep
from scrapy_simhash.index.values import Arrival
from tests.core.failing import FailingStore
from tests.index.promises.made import DUPLICATE, fp

CENTRES = [0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x00FF00FF00FF00FF, 0xA5A5A5A55A5A5A5A]


def page(key: str, **given: Any) -> Arrival:
    """A page whose key tells the number of its cluster, and that of the copy."""
    cluster, copy = map(int, key.split("-"))
    return Arrival(key, fp(CENTRES[cluster] ^ 1 << copy), **given)


class Crawl:
    """Crawls pages, some of which fail, over an index whose store is away at times."""

    def __init__(self, store: FailingStore, bad: Collection[str] = ()) -> None:
        self.store = store
        self.store.now = 1e9
        self.bad = bad
        self.arrived: set[str] = set()
        self.delivered: set[str] = set()
        self.failed: list[str] = []
        self.waiting: set[str] = set()
        self.index = Breaker(self.store.open, self.store.spec)
        self.upkeep = Upkeep(self.index, self, self.store.spec.lease)  # type: ignore[arg-type]
        # Whether the thread that asks the index lets the crawl wait.
        self.is_late = False
        self._owed: list[tuple[Future[Any], Callable[[], Any]]] = []

    def run(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        future = Future[Any]()
        self._owed.append((future, partial(work, *args)))
        if not self.is_late:
            self.catch_up()
        return future

    def catch_up(self) -> None:
        owed, self._owed = self._owed, []
        for future, work in owed:
            try:
                future.set_result(work())
            except RuntimeError as error:
                future.set_exception(error)

    def arrive(self, keys: Iterable[str]) -> None:
        keys = [key for key in dict.fromkeys(keys) if not self.upkeep.in_progress(key)]
        self.arrived.update(keys)
        for key, claim in zip(keys, self.index.claim_all([*map(page, keys)]), strict=True):
            if claim.outcome != DUPLICATE:
                self.upkeep.hold(key)
            elif all(match.provisional for match in claim.matches):
                self.waiting.add(key)
                self.upkeep.follow(claim, partial(self.told, key))  # type: ignore[arg-type]

    def told(self, key: str, is_delivered: bool) -> None:
        self.waiting.discard(key)
        if not is_delivered:
            self.failed.append(key)

    def settle(self, keys: Iterable[str]) -> None:
        for key in dict.fromkeys(keys):
            if self.upkeep.in_progress(key):
                if key not in self.bad:
                    self.delivered.add(key)
                self.upkeep.ended(key, failed=key in self.bad)

    def round(self, keys: Iterable[str] = ()) -> None:
        self.index.retry()
        asyncio.run(self.upkeep._round())
        copies, self.failed = self.failed, []
        self.arrive(key for key in copies if key not in self.waiting)

    def finish(self) -> None:
        self.store.come_back()
        for _ in range(12):
            self.settle(list(self.upkeep._parts))
            self.round()
            # Leases run out of which this crawler does not know.
            self.store.now += self.store.spec.lease + 1
        self.index.close()
