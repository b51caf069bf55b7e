"""The names of the indexes that are in one Redis, for who asks for another one."""

from contextlib import closing

from scrapy_simhash.index.contract import StoreError
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.location import parse_location

# Calls that look for names, each at some 1,000 keys.
_SCANS = 100


def names_of(url: str) -> list[str]:
    """Return the names of indexes in the place of a URL: in a large Redis, of those found first.

    A place that cannot be searched, such as a cluster, has none.
    """
    names, cursor = set[str](), b"0"
    try:
        with closing(Client(parse_location(url))) as client:
            for _ in range(_SCANS):
                answer = client.call("SCAN", cursor, "MATCH", "{*}:meta", "COUNT", 1000)
                cursor, keys = answer[0], answer[1]
                names |= {key.decode()[1 : -len("}:meta")] for key in keys}
                if cursor in (b"0", 0):
                    break
    except (StoreError, LookupError, TypeError, ValueError, AttributeError):
        return []
    return sorted(names)
