"""The URL of an index in Redis, taken apart."""

import re
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from redis import Redis
from redis.cluster import RedisCluster
from redis.connection import parse_url, to_bool

_HOST = r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\])(?::\d{1,5})?"
_URL = re.compile(
    rf"([a-z]+)(?:\+([a-z]+))?://(?:([^/?#]*)@)?({_HOST}(?:,{_HOST})*)?(/[^?#@]*)?(?:\?([^#]*))?"
)
_PORTS = {"": 6379, "sentinel": 26379, "cluster": 6379}
# The path of a URL by how an index is kept, and what is said of another one.
_PATHS = {
    "unix": ("/.+", "the path of a socket is missing"),
    "": (r"/*(?P<database>\d*)/*", "the database must be a number"),
    "sentinel": (
        r"/+(?P<service>[^/]+)/*(?P<database>\d*)/*",
        "the path must be /service or /service/db",
    ),
    "cluster": ("/*", "a cluster has no databases; the path must be empty"),
}
# An index is opened, and looked at as a whole, shard by shard.
_MOST_SHARDS = 1024
# Options that redis-py does not have.
_OURS = ("name", "shards")
# Answers are bytes here, and come from a master, whatever the user's other clients
# want.
_UNHEEDED = ("decode_responses", "read_from_replicas", "load_balancing_strategy")
# Options of redis-py that are objects, which no text names, or that a URL has before its
# path.
_NO_OPTIONS = set(
    "host port cache cache_config connection_pool credential_provider driver_info event_dispatcher"
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
        shards: the number of shards over which its scopes are spread; 0 if the URL does
            not say.
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


class _Parts(NamedTuple):
    """The parts of a URL as they are written; one that is missing is empty."""

    scheme: str
    topology: str
    login: str
    place: str
    path: str
    query: str


def parse_location(url: str) -> Location:
    """Take a URL apart.

    Raises:
        ValueError: it is of no known form; the message does not show what may be a
            password.
    """
    # A variable may have a line with its end, and a scheme is of any case.
    scheme, colon, rest = re.sub("[\t\r\n]", "", url).strip().partition(":")
    scheme = scheme.lower()
    found = _URL.fullmatch(scheme + colon + rest)
    parts = _Parts(*found.groups("")) if found else None
    if parts and bool(parts.place) != (parts.scheme == "unix"):
        shown = f"{scheme}://{parts.place}{parts.path}"
        try:
            return _location(parts, _hosts(parts), shown)
        except (TypeError, ValueError) as error:
            # An "@" in an option of a wrong URL may be the one that follows a password.
            if "@" not in parts.query:
                raise ValueError(f"{shown}: {error}") from None
    raise ValueError(
        f"{re.split('[+/]', scheme)[0]}:… is no URL of an index: two slashes stand before "
        "user:password@host:port, and special characters of the password are written as %2F, %23, "
        "%3F, %40 and the like"
    )


def _hosts(parts: _Parts) -> list[tuple[str, int]]:
    """Return hosts and ports; the zone of an address follows %25 (RFC 6874)."""
    default = _PORTS.get(parts.topology, 0)
    places = [urlsplit(f"//{host}") for host in parts.place.split(",") if host]
    return [(unquote(place.hostname or ""), place.port or default) for place in places]


def _location(parts: _Parts, hosts: list[tuple[str, int]], shown: str) -> Location:
    """Return the location that a URL names; its message may show all but user and password."""
    topology = parts.topology
    if topology not in _PORTS or (topology and parts.scheme == "unix"):
        raise ValueError("what follows redis+ or rediss+ must be sentinel or cluster")
    if not topology and len(hosts) > 1:
        raise ValueError("several hosts need redis+sentinel or redis+cluster")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    named = _named_in_path(parts)
    of_sentinels = [name for name in options if name.startswith("sentinel_")]
    sentinel = _client(
        {name.removeprefix("sentinel_"): options.pop(name) for name in of_sentinels},
        topology,
    )
    if parts.scheme in ("rediss", "valkeys"):
        options["ssl"] = "true"
    client = _client(options, topology)
    login = zip(("username", "password"), parts.login.split(":", 1), strict=False)
    client |= {name: unquote(value) for name, value in login if value}
    if named.get("database"):
        client.setdefault("db", int(named["database"]))
    if parts.scheme == "unix":
        client["unix_socket_path"] = unquote(parts.path)
    elif not topology:
        client["host"], client["port"] = hosts[0]
    return Location(
        shown,
        topology,
        hosts,
        named.get("service", ""),
        client,
        sentinel,
        _name(options),
        shards_in(options.get("shards", "")),
        _secrets(parts.login, client, sentinel),
    )


def _named_in_path(parts: _Parts) -> dict[str, str]:
    """Return the service and the database that a path names."""
    pattern, wrong = _PATHS["unix" if parts.scheme == "unix" else parts.topology]
    path = re.fullmatch(pattern, parts.path)
    if not path:
        raise ValueError(wrong)
    return path.groupdict("")


def _name(options: dict[str, str]) -> str:
    name = options.get("name", "simhash")
    if not name or set(name) & set("{}"):
        raise ValueError(f"name={name!r} must be a name without braces")
    return name


def shards_in(text: str) -> int:
    """Return a number of shards; 0 if it is not said."""
    if text and not (text.isdecimal() and 0 < int(text) <= _MOST_SHARDS):
        raise ValueError(f"shards={text!r} must be from 1 to {_MOST_SHARDS}")
    return int(text or 0)


def _client(options: dict[str, str], topology: str) -> dict[str, Any]:
    """Return the options of redis-py for those of a URL."""
    known = {*signature(Redis).parameters, *_OURS}
    if topology == "cluster":
        known |= {*signature(RedisCluster).parameters}
    known -= _NO_OPTIONS
    # redis-py passes over options without a value.
    if unknown := sorted(options.keys() - known):
        raise ValueError(f"a URL of an index has no option {unknown[0]}")
    client = dict(parse_url(f"redis://?{urlencode(options)}"))
    for name in (*_OURS, *_UNHEEDED):
        client.pop(name, None)
    if "ssl" in client:
        client["ssl"] = bool(to_bool(client["ssl"]))
    if client.get("ssl") and client.get("ssl_cert_reqs", "required") == "required":
        # redis-py checks the name in a certificate from version 6 on.
        client.setdefault("ssl_check_hostname", True)
    return client


def _secrets(login: str, *options: dict[str, Any]) -> frozenset[str]:
    names = "username", "password"
    values = (str(part.get(name, "")) for part in options for name in names)
    return frozenset({*login.split(":", 1), *values} - {""})
