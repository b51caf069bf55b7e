"""The index of fingerprints: one contract, several stores, opened by a URL."""

from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from scrapy_simhash.index.contract import Index, IndexSpec, StoreMissing
from scrapy_simhash.index.local import LocalIndex
from scrapy_simhash.index.sqlite_file import SqliteFile, open_file, spec_of
from scrapy_simhash.index.sqlite_patterns import SqlitePatternStore
from scrapy_simhash.url_patterns.store import PatternStore

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
    parts = _split(url)
    if _is_redis(parts):
        from scrapy_simhash.index.redis import RedisIndex

        return RedisIndex(url, spec)
    if parts.scheme == "memory" and not any(parts[1:]):
        return LocalIndex(open_file(None, spec), spec)
    return LocalIndex(open_file(_path(url, parts), spec), spec)


def open_existing(url: str) -> Index:
    """Open an index with the recipe, distance and blocks that it has; make none.

    Args:
        url: as for :func:`open_index`; an index in memory is nobody else's.

    Raises:
        StoreMissing: there is none. For other errors see :func:`open_index`.
    """
    parts = _split(url)
    if _is_redis(parts):
        from scrapy_simhash.index.redis import RedisIndex, stored_spec

        return RedisIndex(*stored_spec(url))
    if parts.scheme == "memory":
        raise StoreMissing("an index in memory is gone with the process that made it")
    path = _path(url, parts)
    if not path.is_file():
        raise StoreMissing(f"there is no index {path}")
    file = SqliteFile(path)
    return LocalIndex(file, spec_of(file))


def open_patterns(url: str) -> PatternStore:
    """Open the store of address patterns that belongs to the index that a URL names.

    Args:
        url: as for :func:`open_index`; an index in a file must be there.

    Raises:
        StoreMissing: the index is in memory. For other errors see :func:`open_index`.
    """
    parts = _split(url)
    if _is_redis(parts):
        from scrapy_simhash.index.redis.patterns import RedisPatternStore

        return RedisPatternStore(url)
    if parts.scheme == "memory":
        raise StoreMissing("what was learned with an index in memory ends with its crawl")
    return SqlitePatternStore(_path(url, parts))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        # Its own message may hold the password.
        raise _unknown(url) from None


def _is_redis(parts: SplitResult) -> bool:
    return parts.scheme.split("+")[0] in ("redis", "rediss", "unix")


def _path(url: str, parts: SplitResult) -> Path:
    """Return the file that a URL names."""
    is_file = parts.scheme == "sqlite" and len(parts.path) > 1
    if not is_file or parts.netloc or parts.query or parts.fragment:
        raise _unknown(url)
    return Path(unquote(parts.path[1:])).absolute()


def _unknown(url: str) -> ValueError:
    """Return the error for a URL of no known form, without what may be a password."""
    # A password may stand anywhere, if the user forgot a slash or an "@".
    scheme, slashes, _ = url.partition("://")
    shown = f"{scheme}:…" if slashes and ":" not in scheme else "…"
    return ValueError(f"no index at {shown!r}: the URL must be {_URLS}")
