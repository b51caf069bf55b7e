"""The Redis that scrapy-redis uses, by the settings that it reads."""

from contextlib import suppress
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from scrapy_simhash.exceptions import SettingError


def uses_scrapy_redis(settings: BaseSettings) -> bool:
    """Return whether the scheduler is that of scrapy-redis, or is derived from it."""
    scheduler = settings.get("SCHEDULER")
    if isinstance(scheduler, str):
        if scheduler.startswith("scrapy_redis."):
            return True
        with suppress(Exception):  # Scrapy says what is wrong with it
            scheduler = load_object(scheduler)
    bases = getattr(scheduler, "__mro__", ())
    return any(base.__module__.startswith("scrapy_redis.") for base in bases)


def scrapy_redis_url(settings: BaseSettings) -> str:
    """Return the URL of the Redis that scrapy-redis uses.

    Raises:
        SettingError: REDIS_URL cannot be used, or REDIS_PARAMS no dictionary.
    """
    try:
        params = dict(settings.getdict("REDIS_PARAMS"))
    except (TypeError, ValueError):
        # Its own message may hold the password.
        raise SettingError("REDIS_PARAMS is not a dictionary") from None
    for name in ("url", "host", "port", "db"):
        if value := settings.get(f"REDIS_{name.upper()}"):
            params[name] = value
    if url := str(params.get("url") or ""):
        from scrapy_simhash.index import registry  # heavy
        from scrapy_simhash.index.redis.location import parse_location

        try:
            # It also refuses what urllib refuses with the password in its message.
            registry.store_of(url)
            parse_location(url)
        except ValueError as error:
            raise SettingError(f"REDIS_URL: {error}") from None
    # The URL goes before what is said beside it, as in redis-py.
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name, value in params.items():
        if name == "ssl_cert_reqs":
            # It may be None or a constant of the module ssl, such as CERT_REQUIRED.
            word = str(getattr(value, "name", value)).removeprefix("CERT_").lower()
            query.setdefault(name, word)
        elif name.startswith("ssl_") and value is not None:
            query.setdefault(name, str(value))
    login, _, place = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    user = user or quote(str(params.get("username") or ""), "")
    password = password or quote(str(params.get("password") or ""), "")
    scheme, path = parts.scheme, parts.path
    if not scheme and params.get("unix_socket_path"):
        scheme, path = "unix", quote(str(params["unix_socket_path"]))
    elif not scheme:
        scheme = "rediss" if params.get("ssl") else "redis"
        host = str(params.get("host") or "localhost")
        place = f"{f'[{host}]' if ':' in host else host}:{params.get('port') or 6379}"
    database = str(params.get("db") or 0)
    if scheme == "unix":
        query.setdefault("db", database)
    elif not path.strip("/") and "db" not in query:
        path = f"/{database}"
    login = f"{user}:{password}@" if user or password else ""
    return f"{scheme}://{login}{place}{path}{'?' if query else ''}{urlencode(query)}"
