"""The index of fingerprints: one contract, several stores, opened by a URL."""

from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from scrapy_simhash.index.contract import Index, IndexSpec, StoreMissing
from scrapy_simhash.index.local import LocalIndex
from scrapy_simhash.index.sqlite_file import SqliteFile, open_file, spec_of

_URLS = (
    "memory://, sqlite:///relative/path, sqlite:////absolute/path, redis://host:port/db, "
    "rediss://host:port/db, unix:///path/of.sock?db=0, "
    "redis+sentinel://host:port,host:port/service/db or redis+cluster://host:port,host:port"
)


def open_index(url: str, spec: IndexSpec) -> Index:
    """Open the index that a URL names; make it if there is none.

    Args:
        url: ``memory://``, ``sqlite:///relative/path``, ``sqlite:////absolute/path``, or one of
            those of Redis; what a URL reserves is percent-encoded in the path.
        spec: the recipe's identity, width, distance and number of blocks, and whose crawler it is.

    Raises:
        ValueError: the URL is of no known form.
        StoreError: the index cannot be opened or does not fit.
    """
    place = place_of(url)
    if place == "redis":
        from scrapy_simhash.index.redis.index import RedisIndex

        return RedisIndex(url, spec)
    return LocalIndex(open_file(place, spec), spec)


def open_existing(url: str) -> Index:
    """Open an index with the recipe, distance and blocks that it has; make none.

    Args:
        url: as for :func:`open_index`; an index in memory is nobody else's.

    Raises:
        StoreMissing: there is none. For other errors see :func:`open_index`.
    """
    place = place_of(url)
    if place == "redis":
        from scrapy_simhash.index.redis.index import RedisIndex
        from scrapy_simhash.index.redis.session import stored_spec

        return RedisIndex(*stored_spec(url))
    if place is None:
        raise StoreMissing("an index in memory is gone with the process that made it")
    if not place.is_file():
        raise StoreMissing(f"there is no index {place}")
    file = SqliteFile(place)
    return LocalIndex(file, spec_of(file))


def place_of(url: str) -> Path | Literal["redis"] | None:
    """Return the file of an index; None for RAM.

    Raises:
        ValueError: the URL is of no known form.
    """
    with suppress(ValueError):  # its message may hold a password
        scheme, host, path, *rest = urlsplit(url)
        if scheme.split("+")[0] in ("redis", "rediss", "unix"):
            return "redis"
        if scheme == "memory" and not any((host, path, *rest)):
            return None
        # With fewer slashes, "sqlite:pages.sqlite" would be the file "ages.sqlite".
        if scheme == "sqlite" and url[6:10] == ":///" and len(path) > 1 and not any(rest):
            return Path(unquote(path[1:])).absolute()
    # A password may stand anywhere, if the user forgot a slash or an "@".
    scheme, slashes, _ = url.partition("://")
    shown = f"{scheme}:…" if slashes and ":" not in scheme else "…"
    raise ValueError(f"no index at {shown!r}: the URL must be {_URLS}")
