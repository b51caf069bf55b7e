"""The fixtures with which the contract's tests open a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.registry import store_of
from tests.index.promises.made import spec


class Store:
    """An empty store, which a test opens as often as it wants crawlers.

    Attributes:
        shared: several crawlers can open it, and a later run finds it again.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.shared = store_of(url).lasting
        self._opened: list[Index] = []

    def open(self, **changed: Any) -> Index:
        """Open it with a spec of 64 bits and distance 3, but for what is changed."""
        index = self.opened(**changed)
        self._opened.append(index)
        return index

    def opened(self, **changed: Any) -> Index:
        """Return the index that :meth:`open` has closed in the end."""
        return open_index(self.url, spec(**changed))

    def close(self) -> None:
        for index in self._opened:
            index.close()


NewStore = Callable[[], Store]


class OverStore:
    """Tests that need an empty store; a subclass has the fixture ``new_url``."""

    @pytest.fixture
    def new_url(self) -> Callable[[], str]:
        """Return what makes the URL of an empty store, another one at each call."""
        raise NotImplementedError("the subclass has a fixture new_url, which makes URLs of stores")

    @pytest.fixture
    def new_store(self, new_url: Callable[[], str]) -> Iterator[NewStore]:
        """Make as many empty stores as a test asks for, and close them in the end."""
        made: list[Store] = []

        def make() -> Store:
            made.append(Store(new_url()))
            return made[-1]

        yield make
        for store in made:
            store.close()

    @pytest.fixture
    def store(self, new_store: NewStore) -> Store:
        return new_store()

    @pytest.fixture
    def shared_store(self, store: Store) -> Store:
        """Return an empty store for several crawlers, or skip the test."""
        if not store.shared:
            pytest.skip("one crawler has this store for itself")
        return store

    @pytest.fixture
    def run_store(self, shared_store: Store) -> Store:
        """Return an empty store that a later run finds again, or skip the test."""
        return shared_store
