"""The cells of an index, where crawlers pool what they have learned of addresses."""

from typing import Protocol

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.contract import StoreMissing
from scrapy_simhash.index.registry import store_of


class Cells(Protocol):
    """Small named values of an index, each of which is swapped as a whole; see :class:`.Index`."""

    def cells(self, prefix: str) -> dict[str, bytes]: ...

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool: ...

    def close(self) -> None: ...


def open_cells(url: str) -> Cells:
    """Open the cells of an index that is there.

    Raises:
        StoreMissing: the index is in memory. For other errors see :func:`.open_existing`.
    """
    if not store_of(url).lasting:
        raise StoreMissing("what was learned with this index ends with its crawl")
    return open_existing(url)
