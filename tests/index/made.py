"""The index that stands before a store, as tests look into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.index.values import Arrival, Claim, Entry, Report, Unsettled


class Over(Breaker):
    """A Breaker that tests can look into: an operator's acts go to its store."""

    def claim(self, arrival: Arrival) -> Claim:
        (answer,) = self.claim_all([arrival])
        return answer

    def confirm(self, keys: Iterable[str]) -> None:
        self.report(Report(delivered=list(keys)))

    def release(self, keys: Iterable[str]) -> None:
        self.report(Report(failed=list(keys)))

    def renew(self, keys: Iterable[str]) -> None:
        self.report(Report(renewed=list(keys)))

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        return self.report(Report(entries=list(entries)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._opened(), name)

    def __len__(self) -> int:
        return len(self._opened())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._opened())
