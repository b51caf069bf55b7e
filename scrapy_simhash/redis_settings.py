"""The Redis that scrapy-redis uses, by the settings that it reads."""

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.index.registry import store_of


def uses_scrapy_redis(settings: BaseSettings) -> bool:
    """Return whether the scheduler is of scrapy-redis, or inherits from it."""
    with suppress(Exception):  # Scrapy says what is wrong with it
        bases = load_object(settings.get("SCHEDULER")).__mro__
        return any(base.__module__.startswith("scrapy_redis.") for base in bases)
    return False


def scrapy_redis_url(settings: BaseSettings) -> str:
    """Return the URL of the Redis that scrapy-redis uses.

    Raises:
        SettingError: REDIS_URL, or host or port, cannot be used, or REDIS_PARAMS is no
            dictionary.
    """
    from scrapy_simhash.index.redis.location import parse_location  # heavy

    params = _params(settings)
    url = str(params.get("url") or _address(params))
    try:
        # urllib would refuse it with the password in its message.
        store_of(url)
        parse_location(url)
    except ValueError as error:
        raise SettingError(
            f"REDIS_URL, or REDIS_HOST and REDIS_PORT: {error}"
        ) from None
    address = urlsplit(url)
    options = _options(params)
    if address.scheme != "unix" and address.path.strip("/"):
        del options["db"]
    # The URL goes before what is said beside it, as in redis-py.
    options |= parse_qsl(address.query, keep_blank_values=True)
    query = f"?{urlencode(options)}" if options else ""
    return f"{address.scheme}://{address.netloc}{address.path}{query}"


def _params(settings: BaseSettings) -> dict[str, Any]:
    """Return what scrapy-redis hands to redis-py."""
    try:
        params = settings.getdict("REDIS_PARAMS")
    except (TypeError, ValueError):
        # Its own message may hold the password.
        raise SettingError("REDIS_PARAMS is not a dictionary") from None
    for name in ("url", "host", "port", "db"):
        if value := settings.get(f"REDIS_{name.upper()}"):
            params[name] = value
    return params


def _address(params: dict[str, Any]) -> str:
    """Return the address of a server that has no URL."""
    if path := params.get("unix_socket_path"):
        return f"unix://{quote(str(path))}"
    host = str(params.get("host") or "localhost")
    if ":" in host:
        host = f"[{host}]"
    scheme = "rediss" if params.get("ssl") else "redis"
    return f"{scheme}://{host}:{params.get('port') or 6379}"


def _options(params: dict[str, Any]) -> dict[str, Any]:
    """Return database, login and TLS as the options of a URL."""
    options = {"db": params.get("db") or 0}
    for name, value in params.items():
        if name == "ssl_cert_reqs":
            # It may be None or a constant of the module ssl, such as CERT_REQUIRED.
            options[name] = (
                str(getattr(value, "name", value)).removeprefix("CERT_").lower()
            )
        elif name.startswith("ssl_") or name in ("username", "password"):
            options[name] = value
    return {name: value for name, value in options.items() if value is not None}
