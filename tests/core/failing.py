"""An index whose store fails when a test says so."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreUnavailable
from scrapy_simhash.index.values import IndexSpec, Report


class FailingStore:
    """A store in a file that takes the place of one on the net.

    Its answer is what the next call comes to: up, refused, or lost when done. A call that is
    refused hangs, and raises the error.
    """

    def __init__(self, path: Path, spec: IndexSpec | None = None) -> None:
        self.url = f"sqlite:///{path}"
        self.spec = spec
        self.answer: Callable[[], str] = lambda: "up"
        self.error: Exception = StoreUnavailable("the store is away")
        self.hang = lambda: None
        self.now: float | None = None
        # How many pages claimed together, and what was reported.
        self.claims: list[int] = []
        self.reports: list[Report] = []

    def open(self, url: str = "", spec: IndexSpec | None = None) -> Index:
        self._refuse_unless(self.answer() == "up")
        index = open_index(self.url, spec or self.spec)
        if self.now is not None:
            index.now = lambda: self.now
        for name in ("claim_all", "report"):
            setattr(index, name, partial(self._call, name, getattr(index, name)))
        return index

    def _call(self, name: str, method: Any, news: Any) -> Any:
        if name == "report":
            self.reports.append(news)
        else:
            self.claims.append(len(news))
        answer = self.answer()
        self._refuse_unless(answer != "refused")
        done = method(news)
        self._refuse_unless(answer != "lost")
        return done

    def _refuse_unless(self, is_up: bool) -> None:
        if not is_up:
            self.hang()
            raise self.error

    def go(self, answer: str) -> None:
        self.answer = lambda: answer

    def go_away(self) -> None:
        self.go("refused")

    def come_back(self) -> None:
        self.go("up")

    def confirmed(self) -> list[str]:
        """Return the keys of the pages that were delivered."""
        with contextlib.closing(open_existing(self.url)) as index:
            return [entry.key for entry in index if not entry.provisional]
