"""The URL of an index in Redis, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from inspect import signature
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from redis import Redis
from redis.cluster import RedisCluster
from redis.connection import parse_url, to_bool


@dataclass(frozen=True)
class Address:
    """Where an index is, and how it is kept.

    Attributes:
        shown: the URL without its password.
        topology: ``single``, ``sentinel`` or ``cluster``.
        hosts: of the sentinels or the cluster's nodes.
        service: what the sentinels call the master.
        client: what redis-py is given.
        sentinel: what redis-py is given for the sentinels themselves.
        name: of the index; its keys begin with ``name:`` or ``{name}:``.
        options: of the index: ``buckets``, ``keys``.
        expire: seconds after which pages not seen again are forgotten, or None.
    """

    shown: str
    topology: str
    hosts: list[tuple[str, int]]
    service: str
    client: dict[str, Any]
    name: str
    options: dict[str, str]
    expire: float | None
    sentinel: dict[str, Any] = field(default_factory=dict)


# Which values an option of the index may have; the first is the default.
OPTIONS = {"buckets": ("redis", "local"), "keys": ("url", "digest")}


def parse_address(url: str) -> Address:
    """Take a URL apart.

    Raises:
        ValueError: it is of no known form; the message does not show the password.
    """
    parts = urlsplit(url)
    scheme, _, topology = parts.scheme.partition("+")
    place = parts.netloc.rpartition("@")[2]
    shown = f"{parts.scheme}://{place}{parts.path}"
    if scheme != "unix" and _is_cut(parts):
        raise ValueError(
            f"{parts.scheme}:… is no URL: two slashes stand before user:password@host, and special "
            "characters of the password are written as %2F, %23, %3F, %40 and the like"
        )
    if topology not in ("", "sentinel", "cluster") or (topology and scheme == "unix"):
        raise ValueError(f"{shown}: what follows redis+ or rediss+ must be sentinel or cluster")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    name = query.pop("name", "simhash")
    if not name or set(name) & set("{}"):
        raise ValueError(f"{shown}: name={name!r} must be a name without braces")
    options = {}
    for option, values in OPTIONS.items():
        options[option] = query.pop(option, values[0])
        if options[option] not in values:
            raise ValueError(
                f"{shown}: {option}={options[option]!r} is none of {', '.join(values)}"
            )
    expire = _seconds(query.pop("expire", None), shown)
    # Answers are bytes here, whatever the user's other clients want.
    query.pop("decode_responses", None)
    sentinel: dict[str, Any] = {
        option.removeprefix("sentinel_"): query.pop(option)
        for option in list(query)
        if option.startswith("sentinel_")
    }
    hosts, service, path = [], "", parts.path
    netloc = parts.netloc
    if topology:
        hosts = [
            _host(host, 26379 if topology == "sentinel" else 6379) for host in place.split(",")
        ]
        service, _, database = parts.path.strip("/").partition("/")
        if topology == "sentinel" and not service:
            raise ValueError(f"{shown}: the path must be /service or /service/db")
        if topology == "cluster" and (service or database):
            raise ValueError(f"{shown}: a cluster has no databases; the path must be empty")
        path = f"/{database}"
        netloc = parts.netloc[: len(parts.netloc) - len(place)] + "localhost"
    try:
        client = dict(parse_url(f"{scheme}://{netloc}{path}?{urlencode(query)}"))
        sentinel = dict(parse_url(f"redis://?{urlencode(sentinel)}"))
        if "ssl" in sentinel:
            sentinel["ssl"] = bool(to_bool(sentinel["ssl"]))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{shown}: {error}") from None
    known = set(signature(Redis).parameters)
    if topology == "cluster":
        known |= set(signature(RedisCluster).parameters)
    if unknown := sorted((client.keys() | sentinel.keys()) - known - {"connection_class", "path"}):
        raise ValueError(f"{shown}: neither redis-py nor the index has an option {unknown[0]}")
    client.pop("connection_class", None)
    if topology:
        client.pop("host", None)
    if scheme == "rediss":
        client["ssl"] = True
    if "path" in client:
        client["unix_socket_path"] = client.pop("path")
    kind = topology or "single"
    return Address(shown, kind, hosts, service, client, name, options, expire, sentinel)


def _is_cut(parts: SplitResult) -> bool:
    """Return whether a URL seems to be cut in the middle of its password."""
    if "@" in parts.path + parts.fragment:
        return True
    before, at, _ = parts.query.partition("@")
    if not at or "@" in parts.netloc:
        return False
    _, colon, port = parts.netloc.partition(",")[0].rpartition(":")
    return "=" not in before or bool(colon and not re.fullmatch(r"\d*|.*\]", port))


def _seconds(text: str | None, shown: str) -> float | None:
    if text is None:
        return None
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    try:
        seconds = float(text[:-1]) * units[text[-1:]]
    except (KeyError, ValueError):
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{shown}: expire={text!r} must be like 30d or 12h")
    return seconds


def _host(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError(f"{text!r} is no host:port")
    return parts.hostname, parts.port or port
