"""Talking to Redis, Sentinel or Cluster: addresses, scripts, pipelines, errors."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from redis import Redis, Sentinel
from redis import exceptions as errors
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from scrapy_simhash.index import base
from scrapy_simhash.index.base import StoreDamaged, StoreUnavailable
from scrapy_simhash.index.redis_address import Address

# A crawl does not wait for a store that is away. The client's own defaults are seconds, and ten
# attempts, also of each sentinel.
_PATIENCE = {
    "socket_connect_timeout": 0.25,
    "socket_timeout": 0.5,
    "retry": Retry(NoBackoff(), 0),
}
# For a connection that was closed while it was idle.
_ONCE_MORE = Retry(NoBackoff(), 1, supported_errors=(errors.ConnectionError,))

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
        #: Entries of the log that are frozen at a time, and which of the indexes it is that were
        #: made under this name one after the other: by the index's header.
        self.segment = 0
        self.generation = ""
        # Seconds from our monotonic clock, which nobody puts right, to that of Redis.
        self._ahead = 0.0
        self._control = [self.control(part).encode() for part in CONTROL]
        self._connection: Any = None
        self._redis: Any = self._translated(lambda: _connect(address))

    @property
    def prefix(self) -> str:
        """What the keys outside the log slot begin with."""
        return f"{self.name}:{self.generation}"

    def control(self, part: str) -> str:
        """Return the key of a part of the log slot."""
        return f"{{{self.name}}}:{part}"

    def set_clock(self, now: float) -> None:
        """Note what the clock of Redis shows, in seconds since the Unix epoch."""
        self._ahead = now - time.monotonic()

    def time(self) -> float:
        """Return what the clock of Redis shows: those of workers may be far apart."""
        return time.monotonic() + self._ahead

    def start_anew(self) -> None:
        """After a fork, leave the connection to the parent."""
        self._connection = None

    def clear(self) -> None:
        """Delete the log slot's keys."""
        self._ask([("UNLINK", *self._control)])

    def close(self) -> None:
        """Close the connections."""
        if self._connection is not None:
            self._connection.disconnect()
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

    def _script(self, script: str, keys: Sequence[bytes | str], arguments: Sequence[Any]) -> Any:
        source, digest = _source(script, self.segment, base.MAX_HANDOVERS)

        try:
            return self._ask([("EVALSHA", digest, len(keys), *keys, *arguments)])[0]
        except errors.NoScriptError:
            # Never loaded, or gone with SCRIPT FLUSH or a failover.
            return self._ask([("EVAL", source, len(keys), *keys, *arguments)])[0]

    # Plain commands. Their keys may be anywhere, so in a cluster they are spread over its nodes.

    def all(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run commands in as few requests as there are nodes; return their answers."""
        return [answer for some in parts(commands) for answer in self._ask(some)]

    def setting(self, name: str) -> str | None:
        """Return a setting of the server, None where it may not be read."""
        try:
            (answer,) = self._ask([("CONFIG GET", name)])
        except StoreUnavailable:
            return None
        # Of a cluster it is text.
        found = dict(pairs(answer))
        value = found.get(name, found.get(name.encode()))
        return value if value is None or isinstance(value, str) else text(value)

    # Requests.

    def _ask(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Send a request, and return the answers to its commands."""
        return self._translated(lambda: self._answers(commands))

    def _answers(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self.is_cluster and len(commands) == 1:
            return [self._redis.execute_command(*commands[0])]
        if self.is_cluster:
            pipeline = self._redis.pipeline()
            for command in commands:
                pipeline.execute_command(*command)
            return list(pipeline.execute())
        # One thread at a time gets here, so that one connection will do; taking it from the pool
        # for every request would cost as much as the request.
        if self._connection is None:
            self._connection = self._redis.connection_pool.make_connection()
        # Of Sentinel, this finds the master; nothing is done if it is connected.
        self._connection.connect()
        answers: list[Any] = _ONCE_MORE.call_with_retry(
            lambda: self._exchange(commands), lambda _: None
        )
        for answer in answers:
            if isinstance(answer, errors.RedisError):
                raise answer
        return answers

    def _exchange(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        connection = self._connection
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            return [self._answer() for _ in commands]
        except BaseException:
            # Answers that may still come are to no request of ours.
            connection.disconnect()
            raise

    def _answer(self) -> Any:
        try:
            return self._connection.read_response()
        except errors.ResponseError as error:
            return error

    def _translated(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except errors.NoScriptError:
            raise
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
        except MasterNotFoundError as error:
            # Its own message holds much of the client's insides.
            raise StoreUnavailable(
                f"cannot use the index at {self.shown}: no sentinel answers and names a master"
            ) from error
        except (errors.RedisError, errors.RedisClusterException, OSError) as error:
            raise StoreUnavailable(f"cannot use the index at {self.shown}: {error}") from error
        except IndexError as error:
            # What redis-py makes of a cluster of which no node answers.
            raise StoreUnavailable(f"cannot use the index at {self.shown}: no node") from error


def _connect(address: Address) -> Any:
    options = {**_PATIENCE, **address.client}
    if address.topology == "sentinel":
        own = {**_PATIENCE, **address.sentinel}
        sentinels = Sentinel(address.hosts, sentinel_kwargs=own, **options)
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
        ones = ",".join(str(number.bit_count()) for number in range(1, 256))
        constants = (
            f"local SEGMENT, MAX_HANDOVERS = {segment}, {most}\n"
            f"local function ones_of_bytes() return {{[0]=0,{ones}}} end\n"
        )
        before, _, after = text.rpartition(_LIFE)
        text = constants + before + (folder / "life.lua").read_text("utf-8") + after
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


# Where the life of an entry stands in a script that does not begin with it.
_LIFE = "--# life.lua\n"

# Scripts that do nothing to the life of an entry.
_ALONE = ("put", "replace")


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the items in parts of which each may go into one request."""
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]


def pairs(answer: Any) -> Iterable[tuple[Any, Any]]:
    """Return names and values, of which an answer consists by whichever protocol."""
    if isinstance(answer, dict):
        return answer.items()
    return zip(answer[::2], answer[1::2], strict=True)


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


def seconds(value: Any) -> float:
    """Return a time that Redis holds.

    Raises:
        StoreDamaged: it is none.
    """
    try:
        found = float(text(value))
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise StoreDamaged(f"{value!r:.80} in Redis is no time of an index")
    return found
