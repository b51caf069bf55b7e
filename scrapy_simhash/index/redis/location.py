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

_HOST = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?")
_PORTS = {"": 6379, "sentinel": 26379, "cluster": 6379}
#: An index is opened, and looked at as a whole, shard by shard.
MOST_SHARDS = 1024
# Options that redis-py does not have.
_OURS = ("name", "shards")
# Answers are bytes here, and come from a master, whatever the user's other clients
# want.
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


def parse_location(url: str) -> Location:
    """Take a URL apart.

    Raises:
        ValueError: it is of no known form; the message does not show what may be a
            password.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # its message may hold a password
        raise ValueError(
            "the URL of an index has characters that no address has"
        ) from None
    user_info, _, place = parts.netloc.rpartition("@")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    # An "@" in an option of a wrong URL may be the one that follows a password.
    may_be_cut = not user_info and any("@" in value for value in options.values())
    shown = f"{parts.scheme}://{place}{parts.path}"
    if not _is_cut(parts, place):
        try:
            return _location(parts, place, shown, options)
        except (TypeError, ValueError) as error:
            if not may_be_cut:
                raise ValueError(f"{shown}: {error}") from None
    raise ValueError(
        f"{parts.scheme.partition('+')[0]}:… is no URL of an index: two slashes stand before "
        "user:password@host:port, and special characters of the password are written as %2F, %23, "
        "%3F, %40 and the like"
    )


def _is_cut(parts: SplitResult, place: str) -> bool:
    """Return whether a URL seems to be cut in the middle of its password."""
    is_unix = parts.scheme.startswith("unix")
    names = [option.partition("=")[0] for option in parts.query.split("&")]
    if "@" in f"{parts.path}{names}" or parts.fragment or not (is_unix or parts.netloc):
        return True
    hosts = map(_HOST.fullmatch, place.split(","))
    are_hosts = all(host and int(host[2] or 0) < 1 << 16 for host in hosts)
    return bool(place) and (is_unix or not are_hosts)


def _location(
    parts: SplitResult, place: str, shown: str, options: dict[str, str]
) -> Location:
    """Return the location that a URL names; its message may show all but user and password."""
    login = parts.netloc.removesuffix(place)
    scheme, topology = _scheme_and_topology(parts.scheme, place)
    service, path = _service_and_path(scheme, topology, parts.path)
    server = "localhost" if topology else place
    sentinel = _client("redis://", _sentinel_options(options), topology)
    client = _client(f"{scheme}://{login}{server}{path}", options, topology)
    return Location(
        shown,
        topology,
        _hosts(place, _PORTS[topology]),
        service,
        client,
        sentinel,
        _name(options),
        _shards(options),
        _secrets(login.removesuffix("@"), client, sentinel),
    )


def _scheme_and_topology(scheme: str, place: str) -> tuple[str, str]:
    scheme, _, topology = scheme.replace("valkey", "redis").partition("+")
    if topology not in _PORTS or (topology and scheme == "unix"):
        raise ValueError("what follows redis+ or rediss+ must be sentinel or cluster")
    if not topology and "," in place:
        raise ValueError("several hosts need redis+sentinel or redis+cluster")
    return scheme, topology


def _service_and_path(scheme: str, topology: str, path: str) -> tuple[str, str]:
    """Return the service that a path names, and the path as redis-py reads it."""
    if scheme == "unix":
        if not path:
            raise ValueError("the path of a socket is missing")
        return "", path
    service = ""
    database = path.strip("/")
    if topology:
        service, _, database = database.partition("/")
    if topology == "sentinel" and not service:
        raise ValueError("the path must be /service or /service/db")
    if topology == "cluster" and (service or database):
        raise ValueError("a cluster has no databases; the path must be empty")
    if database and not database.isdecimal():
        raise ValueError("the database must be a number")
    return service, f"/{database}"


def _name(options: dict[str, str]) -> str:
    name = options.get("name", "simhash")
    if not name or set(name) & set("{}"):
        raise ValueError(f"name={name!r} must be a name without braces")
    return name


def _shards(options: dict[str, str]) -> int:
    shards = options.get("shards", "")
    if shards and not (shards.isdecimal() and 0 < int(shards) <= MOST_SHARDS):
        raise ValueError(f"shards={shards!r} must be from 1 to {MOST_SHARDS}")
    return int(shards or 0)


def _sentinel_options(options: dict[str, str]) -> dict[str, str]:
    """Take the options for sentinels out of options."""
    names = [name for name in options if name.startswith("sentinel_")]
    return {name.removeprefix("sentinel_"): options.pop(name) for name in names}


def _client(address: str, options: dict[str, str], topology: str) -> dict[str, Any]:
    """Return the options of redis-py for a URL."""
    client = dict(parse_url(f"{address}?{urlencode(options)}"))
    known = {*signature(Redis).parameters, "connection_class", *_OURS}
    if address.startswith("unix"):
        known.add("path")
    if topology == "cluster":
        known |= {*signature(RedisCluster).parameters}
    # redis-py passes over options without a value.
    if unknown := sorted({*options, *client} - (known - _OBJECTS)):
        meant = get_close_matches(unknown[0][:80], known - _OBJECTS, 1)
        hint = f"; did you mean {meant[0]}?" if meant else ""
        raise ValueError(f"a URL of an index has no option {unknown[0]}{hint}")
    for name in ("connection_class", *_OURS, *_UNHEEDED, "host" if topology else ""):
        client.pop(name, None)
    if "path" in client:
        client["unix_socket_path"] = client.pop("path")
    if address.startswith("rediss"):
        client["ssl"] = True
    if "ssl" in client:
        client["ssl"] = bool(to_bool(client["ssl"]))
    if client.get("ssl") and client.get("ssl_cert_reqs", "required") == "required":
        # redis-py checks the name in a certificate from version 6 on.
        client.setdefault("ssl_check_hostname", True)
    return client


def _hosts(place: str, port: int) -> list[tuple[str, int]]:
    hosts = map(_HOST.fullmatch, place.split(","))
    return [(host[1].strip("[]"), int(host[2] or port)) for host in hosts if host]


def _secrets(user_info: str, *options: dict[str, Any]) -> frozenset[str]:
    written = set(user_info.split(":", 1))
    secrets = written | {unquote(text) for text in written}
    for part in options:
        secrets |= {
            str(part[name]) for name in ("username", "password") if part.get(name)
        }
    return frozenset(secrets - {""})
