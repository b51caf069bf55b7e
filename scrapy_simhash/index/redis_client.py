"""Talking to Redis, Sentinel or Cluster: addresses, scripts, pipelines, errors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from redis import Redis, Sentinel
from redis import exceptions as errors
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

from scrapy_simhash.index import base
from scrapy_simhash.index.base import StoreDamaged, StoreUnavailable
from scrapy_simhash.index.redis_address import Address

# A crawl does not wait for a store that is away. The client's own defaults are seconds, and ten
# attempts; one more attempt is for a connection that was closed while it was idle.
_PATIENCE = {"socket_connect_timeout": 0.25, "socket_timeout": 0.5}

# What a request to a node of a cluster may hold, so that no other waits long behind it.
_AT_ONCE = 512

# The keys that every script on the log slot is given, in this order; see ``lua/life.lua``.
CONTROL = ("meta", "tail", "leases", "waiting", "waiters", "handed", "dead", "frozen")

# An error of a script is the fault of what it reads, unless Redis refuses to do what it asks.
_IN_SCRIPT = re.compile("user_script|Error running script")
_REFUSED = re.compile("OOM|MISCONF|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|BUSY|memory|replica|permission")
_NOT_NOW = (
    errors.BusyLoadingError,
    errors.ClusterDownError,
    errors.MasterDownError,
    errors.NoPermissionError,
    errors.ReadOnlyError,
    errors.TryAgainError,
)

T = TypeVar("T")


class Client:
    """The commands that an index needs, on one node or on many.

    Args:
        address: from :func:`parse_address`.

    Every method raises :class:`.base.StoreUnavailable` when Redis cannot do what was asked now,
    and :class:`.base.StoreDamaged` when a key is not of ours.
    """

    def __init__(self, address: Address) -> None:
        self.name = address.name
        self.shown = address.shown
        self.is_cluster = address.topology == "cluster"
        #: Entries of the log that are frozen at a time, and what the keys outside the log slot
        #: begin with: by the index's header.
        self.segment = 0
        self.prefix = ""
        self._control = [self.control(part) for part in CONTROL]
        self._redis: Any = self._translated(lambda: _connect(address))

    def control(self, part: str) -> str:
        """Return the key of a part of the log slot."""
        return f"{{{self.name}}}:{part}"

    def clear(self) -> None:
        """Delete the log slot's keys."""
        self._translated(lambda: self._redis.unlink(*self._control))

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    # Scripts.

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script on the log slot; see ``lua/``."""
        return self._script(script, self._control, arguments)

    def put(self, key: str, limit: int, head: int, entries: Sequence[bytes]) -> int:
        """Put field, entry, field, entry, … into a hash; see ``lua/put.lua``."""
        return sum(int(self._script("put", [key], [limit, head, *some])) for some in parts(entries))

    def replace(self, key: str, old: bytes, new: bytes) -> None:
        """Replace a string if it is still the same; see ``lua/replace.lua``."""
        self._script("replace", [key], [old, new])

    def _script(self, script: str, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        source, digest = _source(script, self.segment, base.MAX_HANDOVERS)

        def call() -> Any:
            try:
                return self._redis.evalsha(digest, len(keys), *keys, *arguments)
            except errors.NoScriptError:
                # Never loaded, or gone with SCRIPT FLUSH or a failover.
                return self._redis.eval(source, len(keys), *keys, *arguments)

        return self._translated(call)

    # Plain commands. Their keys may be anywhere, so in a cluster they are spread over its nodes.

    def all(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run commands in as few requests as there are nodes; return their answers."""
        answers: list[Any] = []
        for some in parts(commands):

            def call(some: Sequence[tuple[Any, ...]] = some) -> list[Any]:
                if len(some) == 1:
                    return [self._redis.execute_command(*some[0])]
                if self.is_cluster:
                    pipeline = self._redis.pipeline()
                else:
                    pipeline = self._redis.pipeline(transaction=False)
                for command in some:
                    pipeline.execute_command(*command)
                return list(pipeline.execute())

            answers += self._translated(call)
        return answers

    def setting(self, name: str) -> str | None:
        """Return a setting of the server, None where it may not be read."""
        try:
            return dict(self._redis.config_get(name)).get(name)
        except errors.RedisError:
            return None

    def _translated(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (errors.AskError, errors.MovedError) as error:
            raise StoreUnavailable(
                f"{self.shown} is a node of a cluster: use redis+cluster://"
            ) from error
        except _NOT_NOW as error:
            raise StoreUnavailable(f"cannot use the index at {self.shown}: {error}") from error
        except errors.ResponseError as error:
            text = str(error)
            if "WRONGTYPE" in text:
                raise StoreDamaged(
                    f"keys that begin with {self.name!r} at {self.shown} are another program's: "
                    "give the index another name with ?name="
                ) from error
            if _IN_SCRIPT.search(text) and not _REFUSED.search(text):
                raise StoreDamaged(
                    f"the index {self.name!r} at {self.shown} is damaged: {error}"
                ) from error
            raise StoreUnavailable(f"cannot use the index at {self.shown}: {error}") from error
        except (errors.RedisError, errors.RedisClusterException, OSError) as error:
            raise StoreUnavailable(f"cannot use the index at {self.shown}: {error}") from error
        except IndexError as error:
            # What redis-py makes of a cluster of which no node answers.
            raise StoreUnavailable(f"cannot use the index at {self.shown}: no node") from error


def _connect(address: Address) -> Any:
    options = {**_PATIENCE, "retry": Retry(NoBackoff(), 1), **address.client}
    if address.topology == "sentinel":
        sentinels = Sentinel(
            address.hosts, sentinel_kwargs={**_PATIENCE, **address.sentinel}, **options
        )
        return sentinels.master_for(address.service)
    if address.topology == "cluster":
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        return RedisCluster(startup_nodes=nodes, **options)
    return Redis(**options)


@cache
def _source(script: str, segment: int, most: int) -> tuple[str, str]:
    """Return the text of a script and its SHA-1, by which Redis knows it."""
    folder = files("scrapy_simhash.index") / "lua"
    text = (folder / f"{script}.lua").read_text("utf-8")
    if script not in _ALONE:
        constants = f"local SEGMENT, MAX_HANDOVERS = {segment}, {most}\n"
        text = constants + (folder / "life.lua").read_text("utf-8") + text
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


# Scripts that do nothing to the life of an entry.
_ALONE = ("follow", "put", "replace")


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the items in parts of which each may go into one request."""
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]


def text(value: Any) -> str:
    """Return a text that Redis holds.

    Raises:
        StoreDamaged: it is none.
    """
    try:
        return str(value.decode())
    except (AttributeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"{value!r:.80} in Redis is no text of an index") from error


def number(value: Any) -> int:
    """Return a position, a size or a count that Redis holds.

    Raises:
        StoreDamaged: it is none.
    """
    if isinstance(value, bytes) and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or not 0 <= value < 1 << 48:
        raise StoreDamaged(f"{value!r:.80} in Redis is no position or size of an index")
    return value
