"""The index that stands before a store, as the contract's tests look into it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.values import Report, Unsettled


class Over(Breaker, Index):
    """A Breaker that the contract's tests can look into: an operator's acts go to its store."""

    def query(self, *args: Any, **kwargs: Any) -> Any:
        found = self._opened().query(*args, **kwargs)
        self.flooded = self._opened().flooded
        return found

    def confirm(self, keys: Iterable[str]) -> None:
        self.report(Report(delivered=list(keys)))

    def release(self, keys: Iterable[str]) -> None:
        self.report(Report(failed=list(keys)))

    def renew(self, keys: Iterable[str]) -> None:
        self.report(Report(renewed=list(keys)))

    orphans = withdraw = None  # type: ignore[assignment]

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        return self.report(Report(entries=list(entries)))

    def __len__(self) -> int:
        return len(self._opened())

    def check(self) -> Any:
        return self._opened().check()

    def put(self, entries: Any) -> int:
        return self._opened().put(entries)

    def gone(self, keys: Any) -> int:
        return self._opened().gone(keys)

    def entries_of(self, keys: Any) -> Any:
        return self._opened().entries_of(keys)

    def begin_run(self, resumed: int | None = None) -> Any:
        return self._opened().begin_run(resumed)

    def end_run(self, *, finished: bool) -> None:
        self._opened().end_run(finished=finished)

    def runs(self) -> Any:
        return self._opened().runs()

    def expire(self, keep: int, most: int) -> int:
        return self._opened().expire(keep, most)

    def clear(self) -> None:
        self._opened().clear()

    def census(self) -> Any:
        return self._opened().census()

    def __iter__(self) -> Any:
        return iter(self._opened())
