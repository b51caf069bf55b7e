"""The index of fingerprints: one contract, several stores, chosen by a URL."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.index import sqlite_file
from scrapy_simhash.index.base import (
    DEFAULT_LEASE,
    MAX_HANDOVERS,
    Arrival,
    Claim,
    Entry,
    Index,
    Match,
    Outcome,
    Page,
    StoreDamaged,
    StoreError,
    StoreMismatch,
    StoreMissing,
    StoreUnavailable,
)
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.index.sqlite import SqliteIndex
from scrapy_simhash.index.stored import Census, StoredIndex

__all__ = [
    "DEFAULT_LEASE",
    "MAX_HANDOVERS",
    "Arrival",
    "Census",
    "Claim",
    "Entry",
    "Index",
    "Match",
    "Outcome",
    "Page",
    "StoreDamaged",
    "StoreError",
    "StoreMismatch",
    "StoreMissing",
    "StoreUnavailable",
    "StoredIndex",
    "index_from_url",
    "open_existing",
]

_REDIS = ("redis", "rediss", "unix")
_URLS = (
    "memory://, sqlite:///relative/path, sqlite:////absolute/path, redis://host:port/db, "
    "rediss://host:port/db, unix:///path/of.sock?db=0, "
    "redis+sentinel://host:port,host:port/service/db or redis+cluster://host:port,host:port"
)


def index_from_url(
    url: str,
    *,
    recipe: str,
    bits: int,
    distance: int,
    expected_pages: int = 1_000_000,
    lease: float = DEFAULT_LEASE,
    layout: Layout | None = None,
    spider: str = "",
) -> StoredIndex:
    """Open the index that a URL names; make it if there is none.

    Args:
        url: ``memory://``, ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; what a
            URL reserves is percent-encoded in the path.
        recipe: identity of the recipe that makes the fingerprints.
        bits: width of the fingerprints: 64, 128 or 256.
        distance: k, 0 <= k < bits; pages within k bits match.
        expected_pages: what the layout of a new index is planned for; a stored layout stays.
        lease: seconds that a provisional entry or a hand-over belongs to its worker.
        layout: of a new index instead of the planned one; a stored one must be the same.
        spider: whose pages this worker crawls; only those are handed over to it.

    Raises:
        ValueError: the URL is of no known form, or no layout can be planned.
        StoreError: the index cannot be opened or does not fit; see :mod:`.base`.
    """
    scheme, host, path, query, fragment = _split(url)
    arguments: dict[str, Any] = {
        "recipe": recipe,
        "bits": bits,
        "distance": distance,
        "expected_pages": expected_pages,
        "lease": lease,
        "layout": layout,
        "spider": spider,
    }
    if scheme == "memory" and not (host or path or query or fragment):
        return MemoryIndex(**arguments)
    if scheme.split("+")[0] in _REDIS:
        _need_redis(scheme)
        from scrapy_simhash.index.redis import RedisIndex

        return RedisIndex(url, **arguments)
    if scheme == "sqlite" and len(path) > 1 and not (host or query or fragment):
        return SqliteIndex(unquote(path[1:]), **arguments)
    raise _unknown(url)


def open_existing(url: str, *, read_only: bool = True) -> StoredIndex:
    """Open an index with the recipe, distance and layout that it has; make none.

    Args:
        url: as for :func:`index_from_url`; an index in memory is nobody else's.
        read_only: only look at it. A file then is opened for reading.

    Raises:
        StoreMissing: there is none.
        ValueError: the URL is of no known form.
        StoreError: it cannot be opened.
    """
    scheme, host, path, query, fragment = _split(url)
    header: dict[str, str] = {}
    if scheme.split("+")[0] in _REDIS:
        _need_redis(scheme)
        from scrapy_simhash.index.redis_header import read_header

        header, url = read_header(url)
    elif scheme == "sqlite" and len(path) > 1 and not (host or query or fragment):
        header = sqlite_file.read_header(unquote(path[1:]))
    elif scheme == "memory":
        raise StoreMissing("an index in memory is gone with the process that made it")
    else:
        raise _unknown(url)
    try:
        recipe, layout = header["recipe"], Layout.parse(header["layout"])
    except (KeyError, ValueError) as error:
        raise StoreDamaged(f"the index has a damaged header: {error}") from error
    arguments: dict[str, Any] = {
        "recipe": recipe,
        "bits": layout.bits,
        "distance": layout.distance,
        "layout": layout,
    }
    if scheme == "sqlite" and read_only:
        return SqliteIndex(unquote(path[1:]), read_only=True, **arguments)
    return index_from_url(url, **arguments)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        # Its own message may hold the password.
        raise _unknown(url) from None


def _unknown(url: str) -> ValueError:
    """Return what says that a URL is of no known form, without what may be a password."""
    shown = f"{url.partition(':')[0]}:…" if "@" in url else url
    return ValueError(f"no index at {shown!r}: the URL must be {_URLS}")


def _need_redis(scheme: str) -> None:
    if find_spec("redis") is None:
        raise ValueError(f"{scheme}:// needs redis-py: pip install 'scrapy-simhash[redis]'")
