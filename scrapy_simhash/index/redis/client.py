"""Talking to Redis, Sentinel or Cluster: connections, commands, scripts, errors."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from redis import Redis, Sentinel
from redis import exceptions as errors
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from scrapy_simhash.index.contract import StoreDamaged, StoreUnavailable
from scrapy_simhash.index.redis.location import Location

# A crawl does not wait for a store that is away. The client's own defaults are seconds, and ten
# attempts, also of each sentinel.
_PATIENCE = {"socket_connect_timeout": 0.25, "socket_timeout": 0.5, "retry": Retry(NoBackoff(), 0)}
# The keys of an index, in the order in which scripts are given them; see ``lua/keys.lua``.
KEYS = ("meta", "log", "rows", "buckets", "leases", "due", "dead", "seen", "runs")

# If a script fails, the keys that it reads are damaged, unless Redis refused one of its commands.
_IN_SCRIPT = re.compile("user_script|Error running script")
_REFUSED = re.compile("OOM|MISCONF|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|BUSY|memory|replica|killed")
_GONE = re.compile(r"SIMHASH (\S+) is gone")
_DENIED = re.compile(r"(?i)NOPERM|permission|ACL failure|can't run this command")

T = TypeVar("T")


class Client:
    """The commands that an index needs, on one server or on the node of its slot.

    One thread at a time may use it. Every method raises :class:`.StoreUnavailable` when Redis
    cannot do what was asked now, and :class:`.StoreDamaged` when a key is not of ours.

    Args:
        mark: of the spider whose leases are told by their end.
        beside: another client, whose connections it uses.
    """

    def __init__(self, address: Location, mark: int = 0, beside: "Client | None" = None) -> None:
        self.address = address
        self._mark = mark
        self.keys = [self.key(f"due:{mark}" if part == "due" else part) for part in KEYS]
        self._owns_connections = beside is None
        connect = beside._connection if beside else lambda: _connect(address)
        self._redis: Any = self._translated(connect)

    def of_shard(self, tag: str) -> "Client":
        """Return the client of the index with another name in the same place."""
        return Client(replace(self.address, name=tag), self._mark, self)

    def _connection(self) -> Any:
        return self._redis

    @property
    def where(self) -> str:
        return f"the index {self.address.name!r} at {self.address.shown}"

    def key(self, part: str) -> str:
        return f"{{{self.address.name}}}:{part}"

    def close(self) -> None:
        """Close the connections, unless they are another client's, who may be using them."""
        if self._owns_connections:
            self._redis.close()

    def run(self, script: tuple[str, str], *arguments: Any) -> Any:
        """Run a script, given with its SHA-1, on the keys of the index."""
        source, digest = script
        rest = (len(self.keys), *self.keys, *arguments)
        try:
            return self.call("EVALSHA", digest, *rest)
        except errors.NoScriptError:
            # Never loaded, or gone with SCRIPT FLUSH or a failover.
            return self.call("EVAL", source, *rest)

    def run_all(self, asked: "Sequence[tuple[Client, tuple[str, str], list[Any]]]") -> list[Any]:
        """Run scripts of clients that share connections; return the answers, or their errors."""
        answers: list[Any] = []
        if len(asked) > 1:
            pipeline = self._redis.pipeline(transaction=False)
            for client, (_, digest), arguments in asked:
                keys = (len(client.keys), *client.keys)
                pipeline.execute_command("EVALSHA", digest, *_texts((*keys, *arguments)))
            answers = self._translated(lambda: pipeline.execute(raise_on_error=False))
        for number, (client, script, arguments) in enumerate(asked):
            try:
                if number == len(answers):
                    answers.append(client.run(script, *arguments))
                elif isinstance(answers[number], errors.NoScriptError):
                    answers[number] = client.run(script, *arguments)
                elif isinstance(answers[number], Exception):
                    client._translated(partial(_raise, answers[number]))
            except (StoreUnavailable, StoreDamaged) as error:
                answers[number:] = [error, *answers[number + 1 :]]
        return answers

    def call(self, *command: Any) -> Any:
        return self._translated(lambda: self._redis.execute_command(*_texts(command)))

    def _translated(self, call: Callable[[], T]) -> T:
        address = self.address
        try:
            return call()
        except errors.NoScriptError:
            raise
        except errors.ResponseError as error:
            # Older versions of redis-py have classes for both in clients of a cluster only.
            if isinstance(error, errors.AskError) or str(error).startswith(("MOVED ", "ASK ")):
                raise StoreUnavailable(
                    f"{address.shown} is a node of a cluster: use redis+cluster://"
                ) from None
            raise self._refusal(address.without_secrets(str(error))) from None
        except (MasterNotFoundError, IndexError):
            # redis-py's own messages do not tell that no sentinel, or no node, answers.
            reason = f"no {address.topology} answers and names a master"
        except (errors.RedisError, errors.RedisClusterException, OSError) as error:
            reason = address.without_secrets(str(error) or type(error).__name__)
        raise StoreUnavailable(f"cannot use {self.where}: {reason}")

    def _refusal(self, text: str) -> StoreUnavailable | StoreDamaged:
        """Return the error that tells of an answer that is an error."""
        if _DENIED.search(text):
            return StoreUnavailable(
                f"cannot use {self.where}, because the user's ACL denies a command, which ACL LOG "
                f"names: {text}"
            )
        if "WRONGTYPE" in text:
            return StoreDamaged(
                f"keys of {self.where} are another program's: "
                "give the index another name with ?name="
            )
        if gone := _GONE.search(text):
            return StoreDamaged(
                f"{self.where} is damaged, because {gone[1]} is gone: Redis may have deleted it to "
                "make room (set maxmemory-policy to noeviction); delete this index to start anew"
            )
        if _IN_SCRIPT.search(text) and not _REFUSED.search(text):
            return StoreDamaged(f"{self.where} is damaged: {text}")
        return StoreUnavailable(f"cannot use {self.where}: {text}")


def _texts(parts: Sequence[Any]) -> list[str | bytes]:
    # Ctrl-C while hiredis writes a number ends the process (3.5.0, ``pack.c``), so all is text.
    return [part if isinstance(part, (str, bytes)) else str(part) for part in parts]


def _raise(error: Exception) -> None:
    raise error


def _connect(address: Location) -> Any:
    options = {**_PATIENCE, **address.client}
    if address.topology == "sentinel":
        own = {**_PATIENCE, **address.sentinel}
        sentinels = Sentinel(address.hosts, sentinel_kwargs=own, **options)
        return sentinels.master_for(address.service)
    if address.topology == "cluster":
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        return RedisCluster(startup_nodes=nodes, **options)
    return Redis(**options)
