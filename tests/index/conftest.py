"""The back ends that the contract runs over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index import Index, index_from_url


class Store:
    """An empty store that can be opened by several workers, or by one where it is not shared."""

    def __init__(self, url: str, shared: bool) -> None:
        self.url = url
        self.shared = shared
        self._opened: list[Index] = []

    def open(self, **changed: Any) -> Index:
        arguments: dict[str, Any] = {"recipe": "test", "bits": 64, "distance": 3, **changed}
        index = index_from_url(self.url, **arguments)
        self._opened.append(index)
        return index

    def close(self) -> None:
        for index in self._opened:
            index.close()


# How each back end makes the URL of a new, empty store, and whether workers can share it.
BACKENDS: dict[str, tuple[Callable[[Path, int], str], bool]] = {
    "memory": (lambda folder, number: "memory://", False),
    "sqlite": (lambda folder, number: f"sqlite:///{folder}/{number}.sqlite", True),
}


@pytest.fixture(params=BACKENDS)
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Makes as many empty stores as a test asks for."""
    url, shared = BACKENDS[request.param]
    numbers = itertools.count()
    stores: list[Store] = []

    def make() -> Store:
        stores.append(Store(url(tmp_path, next(numbers)), shared))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Store:
    return new_store()


@pytest.fixture
def shared_store(store: Store) -> Store:
    if not store.shared:
        pytest.skip("one worker has this store for itself")
    return store
