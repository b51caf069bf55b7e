"""The URL of an index in Redis, taken apart."""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from inspect import signature
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from redis import Redis
from redis.cluster import RedisCluster
from redis.connection import parse_url, to_bool

_PLACE = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?")
_PORTS = {"": 6379, "sentinel": 26379, "cluster": 6379}
_SHARD_COUNT = re.compile("[1-9][0-9]{0,3}")
#: An index is opened, and looked at as a whole, shard by shard.
MOST_SHARDS = 1024
# Answers are bytes here, and come from a master, whatever the user's other clients want.
_UNHEEDED = ("decode_responses", "read_from_replicas", "load_balancing_strategy")
# Options that are objects, which no text names.
_OBJECTS = set(
    "cache cache_config connection_pool credential_provider driver_info event_dispatcher"
    " maint_notifications_config oss_cluster_maint_notifications_handler redis_connect_func retry"
    " socket_keepalive_options ssl_ocsp_context".split()
)


@dataclass(frozen=True)
class Location:
    """The place of an index, and how it is kept.

    Attributes:
        shown: the URL without user, password and options, for messages.
        topology: "" for one server, ``sentinel`` or ``cluster``.
        hosts: the server, the sentinels, or nodes of the cluster.
        service: the sentinels' name of the master.
        client: the options of redis-py.
        sentinel: the options of redis-py for the sentinels themselves.
        name: the index's name, with which its keys begin.
        shards: the number of shards over which its scopes are spread; 0 if the URL does not say.
        secrets: texts that no message may contain.
    """

    shown: str
    topology: str
    hosts: list[tuple[str, int]]
    service: str
    client: dict[str, Any] = field(repr=False)
    sentinel: dict[str, Any] = field(repr=False)
    name: str
    shards: int
    secrets: frozenset[str] = field(repr=False)

    def without_secrets(self, message: str) -> str:
        for secret in sorted(self.secrets, key=len, reverse=True):
            message = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "…", message)
        return message.partition(", with args")[0]  # which a server repeats, cut off


def parse_location(url: str) -> Location:
    """Take a URL apart.

    Raises:
        ValueError: it is of no known form; the message does not show what may be a password.
    """
    written = _written(url)
    name = _index_name(written)
    shards = _shards(written)
    service, database = _path(written)
    client, sentinel = _client_options(written, database)
    secrets = _secrets(written.user_info, client, sentinel)
    if written.topology:
        client.pop("host", None)
    if written.is_unix:
        client["unix_socket_path"] = client.pop("path")
    hosts = written.hosts
    return Location(
        written.shown, written.topology, hosts, service, client, sentinel, name, shards, secrets
    )


@dataclass
class _Written:
    """A URL as it is written.

    Attributes:
        scheme: ``redis``, ``rediss`` or ``unix``, or anything else that somebody wrote.
        topology: see :class:`Location`.
        user_info: user and password, escaped.
        place: all hosts and ports.
        shown: see :class:`Location`.
        options: those that are not taken out yet.
    """

    scheme: str
    topology: str
    user_info: str
    place: str
    hosts: list[tuple[str, int]]
    path: str
    shown: str
    options: dict[str, str]

    @property
    def is_unix(self) -> bool:
        return self.scheme == "unix"

    def error(self, message: str) -> ValueError:
        # An "@" in an option of a wrong URL may be the one that follows a password.
        has_at = not self.user_info and any("@" in value for value in self.options.values())
        return _no_index(self.scheme) if has_at else ValueError(f"{self.shown}: {message}")


def _written(url: str) -> _Written:
    try:
        parts = urlsplit(url)
    except ValueError:  # its message may hold a password
        raise ValueError("the URL of an index has characters that no address has") from None
    scheme, _, topology = parts.scheme.partition("+")
    scheme = scheme.replace("valkey", "redis")
    is_unix = scheme == "unix"
    user_info, _, place = parts.netloc.rpartition("@")
    hosts = _hosts(place, _PORTS.get(topology, 0))
    if _is_cut(parts, is_unix) or hosts is None or (is_unix and place):
        raise _no_index(scheme)
    written = _Written(
        scheme,
        topology,
        user_info,
        place,
        hosts,
        parts.path,
        shown=f"{parts.scheme}://{place}{parts.path}",
        options=dict(parse_qsl(parts.query, keep_blank_values=True)),
    )
    if topology not in _PORTS or (topology and is_unix):
        raise written.error("what follows redis+ or rediss+ must be sentinel or cluster")
    if not topology and len(hosts) > 1:
        raise written.error("several hosts need redis+sentinel or redis+cluster")
    if is_unix and not parts.path:
        raise written.error("the path of a socket is missing")
    return written


def _no_index(scheme: str) -> ValueError:
    """Return an error whose message shows nothing that may be a password."""
    return ValueError(
        f"{scheme}:… is no URL of an index: two slashes stand before user:password@host:port, and "
        "special characters of the password are written as %2F, %23, %3F, %40 and the like"
    )


def _index_name(written: _Written) -> str:
    name = written.options.pop("name", "simhash")
    if not name or set(name) & set("{}"):
        raise written.error(f"name={name!r} must be a name without braces")
    return name


def _shards(written: _Written) -> int:
    shards = written.options.pop("shards", "")
    if shards and not (_SHARD_COUNT.fullmatch(shards) and int(shards) <= MOST_SHARDS):
        raise written.error(f"shards={shards!r} must be from 1 to {MOST_SHARDS}")
    return int(shards or 0)


def _path(written: _Written) -> tuple[str, str]:
    """Return the service that the path of a URL names, and the database."""
    service = ""
    database = written.path.strip("/")
    if written.topology:
        service, _, database = database.partition("/")
    if written.topology == "sentinel" and not service:
        raise written.error("the path must be /service or /service/db")
    if written.topology == "cluster" and (service or database):
        raise written.error("a cluster has no databases; the path must be empty")
    if database and not written.is_unix and not database.isdecimal():
        raise written.error("the database must be a number")
    return service, database


def _client_options(written: _Written, database: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of redis-py for the servers, and those for the sentinels."""
    options = {name: value for name, value in written.options.items() if name not in _UNHEEDED}
    of_sentinel = {
        name.removeprefix("sentinel_"): options.pop(name)
        for name in list(options)
        if name.startswith("sentinel_")
    }
    user_info = f"{written.user_info}@" if written.user_info else ""
    server = "localhost" if written.topology else written.place
    place = written.path if written.is_unix else f"{server}/{database}"
    try:
        client = dict(parse_url(f"{written.scheme}://{user_info}{place}?{urlencode(options)}"))
        sentinel = dict(parse_url(f"redis://?{urlencode(of_sentinel)}"))
    except (TypeError, ValueError) as error:
        raise written.error(str(error)) from None
    # redis-py passes over options without a value.
    _refuse_unknown(written, {*options, *of_sentinel, *client, *sentinel})
    if written.scheme == "rediss":
        client["ssl"] = True
    return _checked(client), _checked(sentinel)


def _checked(client: dict[str, Any]) -> dict[str, Any]:
    """Return options of redis-py by which TLS checks the name in a certificate."""
    client.pop("connection_class", None)
    if "ssl" in client:
        client["ssl"] = bool(to_bool(client["ssl"]))
    if client.get("ssl") and client.get("ssl_cert_reqs", "required") == "required":
        # redis-py checks it from version 6 on.
        client.setdefault("ssl_check_hostname", True)
    return client


def _refuse_unknown(written: _Written, options: set[str]) -> None:
    known = {*signature(Redis).parameters, "connection_class"}
    if written.is_unix:
        known.add("path")
    if written.topology == "cluster":
        known |= set(signature(RedisCluster).parameters)
    known -= _OBJECTS
    if unknown := sorted(options - known):
        meant = get_close_matches(unknown[0][:80], {*known, "name", "shards"}, 1)
        hint = f"; did you mean {meant[0]}?" if meant else ""
        raise written.error(f"a URL of an index has no option {unknown[0]}{hint}")


def _secrets(user_info: str, *options: dict[str, Any]) -> frozenset[str]:
    written = set(user_info.split(":", 1))
    secrets = written | {unquote(text) for text in written}
    for part in options:
        secrets |= {str(part[name]) for name in ("username", "password") if part.get(name)}
    return frozenset(secrets - {""})


def _hosts(place: str, port: int) -> list[tuple[str, int]] | None:
    """Return hosts and ports, None if the text may be something else, such as a password."""
    hosts = [_host(text, port) for text in place.split(",")] if place else []
    known = [host for host in hosts if host]
    return known if len(known) == len(hosts) else None


def _host(text: str, port: int) -> tuple[str, int] | None:
    match = _PLACE.fullmatch(text)
    if not match or int(match[2] or 0) > 65535:
        return None
    return match[1].strip("[]"), int(match[2] or port)


def _is_cut(parts: SplitResult, is_unix: bool) -> bool:
    """Return whether a URL seems to be cut in the middle of its password."""
    if "@" in parts.path or parts.fragment or not (is_unix or parts.netloc):
        return True
    return any("@" in option.partition("=")[0] for option in parts.query.split("&"))
