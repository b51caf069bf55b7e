"""Stores: the scheme of a URL says which one opens it; a project names its own by import path."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from scrapy_simhash.loading import load


@dataclass(frozen=True)
class Scheme:
    """Opens the stores of a URL's scheme.

    Attributes:
        store: the import path of a callable. Given the URL and a spec, it opens the
            :class:`.Store` there, and makes one if it is missing; given None for the
            spec, it opens what is there, or raises :class:`.StoreMissing`. It returns
            the store, and the spec.
        remote: it may be away for a while, and be back.
        lasting: it outlives the process that made it.
        patience_option: the option of the URL with which a command waits longer than a
            crawl does.
        name_option: the option of the URL that names one of several indexes in one
            place.
    """

    store: str
    remote: bool = True
    lasting: bool = True
    patience_option: str = ""
    name_option: str = ""

    def open(self, url: str, spec: Any) -> Any:
        return load(self.store)(url, spec)


_SQLITE = "scrapy_simhash.index.sqlite_store.open_sqlite"
_REDIS = "scrapy_simhash.index.redis.redis_store.open_redis"
_SCHEMES = {
    "memory": Scheme(_SQLITE, remote=False, lasting=False),
    "sqlite": Scheme(_SQLITE, remote=False),
    **dict.fromkeys(
        ("redis", "rediss", "unix", "valkey", "valkeys"),
        Scheme(_REDIS, patience_option="socket_timeout=30", name_option="name"),
    ),
}
_URLS = (
    "memory://, sqlite:///relative/path, sqlite:////absolute/path, redis://host:port/db, "
    "rediss://host:port/db, unix:///path/of.sock?db=0, valkey://host:port/db, "
    "redis+sentinel://host:port,host:port/service/db or redis+cluster://host:port,host:port"
)


def store_of(url: str) -> Scheme:
    """Return the scheme that opens a URL; one with a dot is the import path of a :class:`Scheme`.

    Raises:
        ValueError: the URL is of no known form; the message shows nothing that may be a
            password.
    """
    path, slashes, _ = url.partition("://")
    if slashes and "." in path and all(name.isidentifier() for name in path.split(".")):
        scheme = load(path)
        if not isinstance(scheme, Scheme):
            raise ValueError(f"{path:.200} is no scrapy_simhash.Scheme")
        return scheme
    scheme_name = ""
    with suppress(ValueError):  # its message may hold a password
        scheme_name = urlsplit(url).scheme.partition("+")[0]
    if scheme_name not in _SCHEMES:
        raise _unknown(url)
    file_of(url)
    return _SCHEMES[scheme_name]


def file_of(url: str) -> Path | None:
    """Return the file of an index; None for RAM, or for a store that has no file.

    Raises:
        ValueError: the URL is of no known form.
    """
    scheme, host, path, *rest = urlsplit(url)
    if scheme.partition("+")[0] == "sqlite":
        if path == "/:memory:":
            raise ValueError("an index in memory is memory://")
        # With fewer slashes, "sqlite:pages.sqlite" would be the file "ages.sqlite".
        if url[6:10] == ":///" and len(path) > 1 and not any(rest):
            return Path(unquote(path[1:])).absolute()
        raise _unknown(url)
    if scheme == "memory" and any((host, path, *rest)):
        raise _unknown(url)
    return None


def _unknown(url: str) -> ValueError:
    # A password may stand anywhere, if the user forgot a slash or an "@".
    scheme, slashes, _ = url.partition("://")
    shown = f"{scheme}:…" if slashes and ":" not in scheme else "…"
    return ValueError(f"no index at {shown!r}: the URL must be {_URLS}")
