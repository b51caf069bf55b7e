"""Addresses tell of copies before a download; crawlers pool what they learn beside the index."""

from scrapy_simhash.index import place_of
from scrapy_simhash.index.contract import StoreMissing
from scrapy_simhash.url_patterns.sqlite_store import SqlitePatternStore
from scrapy_simhash.url_patterns.store import PatternStore


def open_patterns(url: str) -> PatternStore:
    """Open the store of address patterns of an index, which must be there if it is a file.

    It raises what :func:`open_index` does, and StoreMissing for an index in memory.
    """
    place = place_of(url)
    if place == "redis":
        from scrapy_simhash.url_patterns.redis_store import RedisPatternStore

        return RedisPatternStore(url)
    if place is None:
        raise StoreMissing("what was learned with an index in memory ends with its crawl")
    return SqlitePatternStore(place)
