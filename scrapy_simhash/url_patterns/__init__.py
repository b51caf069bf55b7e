"""Addresses tell of copies before a download; crawlers pool what they learn beside the index."""

from scrapy_simhash.index.contract import StoreMissing
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.url_patterns.store import PatternStore


def open_patterns(url: str) -> PatternStore:
    """Open the store of address patterns of an index, which must be there if it is a file.

    It raises what :func:`open_index` does, and StoreMissing for an index in memory.
    """
    store = store_of(url)
    if not store.patterns:
        raise StoreMissing("what was learned with this index ends with its crawl")
    patterns: PatternStore = store.call("patterns", url)
    return patterns
