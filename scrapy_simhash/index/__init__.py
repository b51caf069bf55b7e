"""The index of fingerprints: one contract, several stores, opened by a URL."""

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.index.values import IndexSpec


def open_index(url: str, spec: IndexSpec) -> Index:
    """Open the index that a URL names; make one if it is missing.

    Args:
        url: ``memory://``, ``sqlite:///relative/path``, ``sqlite:////absolute/path``,
            or a URL of Redis; what a URL reserves is percent-encoded in the path.
        spec: the recipe's identity, width, distance and number of blocks, and whose
            crawler it is.

    Raises:
        ValueError: the URL is of no known form.
        StoreError: the index cannot be opened or does not fit.
    """
    return Index(*store_of(url).open(url, spec))


def open_existing(url: str) -> Index:
    """Open an index with the recipe, distance and blocks that it has; make none.

    Args:
        url: as for :func:`open_index`; an index in memory belongs to the crawler that
            made it.

    Raises:
        StoreMissing: the index is missing. For other errors see :func:`open_index`.
    """
    return Index(*store_of(url).open(url, None))
