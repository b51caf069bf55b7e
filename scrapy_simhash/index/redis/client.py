"""Talking to Redis, Sentinel or Cluster: connections, commands, scripts, errors."""

import hashlib
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any, TypeVar

from redis import Redis, Sentinel
from redis import exceptions as errors
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from scrapy_simhash.index.redis.location import Location
from scrapy_simhash.index.store import (
    StoreDamaged,
    StoreError,
    StoreRefused,
    StoreUnavailable,
)

# A crawl does not wait for a store that is away. The client's own defaults are seconds,
# and ten attempts, also of each sentinel.
_PATIENCE = {
    "socket_connect_timeout": 0.25,
    "socket_timeout": 0.5,
    "retry": Retry(NoBackoff(), 0),
}
# If a script fails, the keys that it reads are damaged, unless Redis refused one of its
# commands.
_IN_SCRIPT = re.compile("user_script|Error running script")
_REFUSED = re.compile(
    "OOM|MISCONF|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|BUSY|memory|replica|killed"
)
_NOT_LET_IN = re.compile(
    "WRONGPASS|NOAUTH|AUTH|invalid password|DB index|unknown command .HELLO"
)
_DENIED = re.compile(r"(?i)NOPERM|permission|ACL failure|can't run this command")

T = TypeVar("T")
# The scripts beside this module, by their SHA-1.
_SCRIPTS: dict[str, str] = {}


def script(name: str) -> str:
    """Return the SHA-1 of a script beside this module, by which it is called."""
    source = (files(__package__) / f"{name}.lua").read_text("utf-8")
    digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
    _SCRIPTS[digest] = source
    return digest


class Client:
    """The commands that an index needs, on one server or on the node of its slot.

    One thread at a time may use it. Every method raises :class:`.StoreUnavailable` when
    Redis cannot do what was asked now, and :class:`.StoreDamaged` when a key is not of
    ours.
    """

    # An error that waiting does not heal is told from an outage as long as no call
    # succeeded.
    _was_reached = False

    def __init__(self, address: Location) -> None:
        self.address = address
        self._redis: Any = self._translated(lambda: _connect(address))
        self._was_reached = False

    @property
    def where(self) -> str:
        return f"the index {self.address.name!r} at {self.address.shown}"

    def key(self, part: str, name: str = "") -> str:
        """Return a key of the index, or of its shard that has another name."""
        return f"{{{name or self.address.name}}}:{part}"

    def names_beside(self) -> list[str]:
        """Return the names of indexes in the same place, of the first 100,000 keys or so.

        A place that cannot be searched, such as a cluster, has no names.
        """
        with suppress(StoreError):
            command = ("SCAN", 0, "MATCH", "{*}:meta", "COUNT", 100_000)
            _, keys, *_ = self.call(*command)
            names = (key.decode("utf-8", "replace") for key in keys)
            return sorted(name[1 : -len("}:meta")] for name in names)
        return []

    def scan(self, pattern: str) -> Iterator[bytes]:
        """Yield the keys that match a pattern, some maybe twice."""
        keys = self._redis.scan_iter(pattern, "1000")
        while key := self._translated(lambda: next(keys, b"")):
            yield key

    def close(self) -> None:
        self._redis.close()

    def send(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands together, each about the keys of one slot."""
        if len(commands) < 2:
            return [self.call(*command) for command in commands]
        pipeline = self._redis.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*_as_text(command))
        answers: list[Any] = self._translated(
            lambda: pipeline.execute(raise_on_error=False)
        )
        for number, answer in enumerate(answers):
            if isinstance(answer, errors.NoScriptError):
                answers[number] = self.call(*commands[number])
            elif isinstance(answer, Exception):
                raise self._failure(answer)
        return answers

    def call(self, *command: Any) -> Any:
        execute = self._redis.execute_command
        try:
            return self._translated(lambda: execute(*_as_text(command)))
        except errors.NoScriptError:
            # Never loaded, or gone with SCRIPT FLUSH or a failover.
            source = ("EVAL", _SCRIPTS[command[1]], *command[2:])
            return self._translated(lambda: execute(*_as_text(source)))

    def _translated(self, call: Callable[[], T]) -> T:
        """Return the answer of a call, whose errors are raised as ours."""
        try:
            answer = call()
        except errors.NoScriptError:
            raise
        except (
            errors.RedisError,
            errors.RedisClusterException,
            OSError,
            IndexError,
        ) as error:
            failure = self._failure(error)
        else:
            self._was_reached = True
            return answer
        # outside, because its context would have the secrets of the other error
        raise failure

    def _failure(self, error: Exception) -> StoreError:
        """Return the error that tells of an error of redis-py."""
        text = self.address.without_secrets(str(error) or type(error).__name__)
        is_lasting = _is_lasting(error)
        if isinstance(error, errors.ResponseError):
            return self._refusal(text, is_moved=isinstance(error, errors.AskError))
        if isinstance(error, (MasterNotFoundError, IndexError)):
            # redis-py's own messages do not tell that no sentinel, or no node, answers.
            text = f"no {self.address.topology} answers and names a master"
        elif isinstance(error, errors.TimeoutError):
            option = (
                "socket_connect_timeout" if "connecting" in text else "socket_timeout"
            )
            seconds = float({**_PATIENCE, **self.address.client}[option])
            text = f"no answer within {seconds:g} s; if it is that far, set {option} in its URL, "
            text += f"such as ?{option}={10 * seconds:g}"
        # A server without TLS waits for the end of a line, which the hello of TLS may
        # not have.
        if not self._was_reached and _answers_without_tls(self.address):
            text = "it answers without TLS: use redis:// in place of rediss://"
            is_lasting = True
        kind = (
            StoreRefused if is_lasting and not self._was_reached else StoreUnavailable
        )
        return kind(f"cannot use {self.where}: {text}")

    def _refusal(self, text: str, *, is_moved: bool) -> StoreError:
        """Return the error that tells of an answer that is an error."""
        shown = self.address.shown
        # Older versions of redis-py have classes for both in clients of a cluster only.
        if is_moved or text.startswith(("MOVED ", "ASK ")):
            return StoreUnavailable(
                f"{shown} is a node of a cluster: use redis+cluster://"
            )
        if "unknown command" in text and "SENTINEL" in text:
            return StoreRefused(f"{shown} is a Redis and no sentinel: use redis://")
        kind: type[StoreError] = StoreUnavailable
        if _DENIED.search(text):
            text = f"the user's ACL denies a command, which ACL LOG names: {text}"
            # Without its scripts there is no index, and other commands may be missed
            # for a while.
            if not self._was_reached and "eval" in text.lower():
                kind = StoreRefused
        elif not self._was_reached and _NOT_LET_IN.search(text):
            kind = StoreRefused
        elif "WRONGTYPE" in text:
            kind = StoreDamaged
            text = "its keys are another program's: give the index another name with ?name="
        elif _IN_SCRIPT.search(text) and not _REFUSED.search(text):
            kind = StoreDamaged
            text = f"it is damaged: {text}"
        return kind(f"cannot use {self.where}: {text}")


def _as_text(parts: Sequence[Any]) -> list[str | bytes]:
    # Ctrl-C while hiredis writes a number ends the process (3.5.0, ``pack.c``), so all
    # is text.
    return [part if isinstance(part, (str, bytes)) else str(part) for part in parts]


def _is_lasting(error: BaseException | None) -> bool:
    """Return whether the URL is wrong: its host, password or TLS, or the kind of the server."""
    while error:
        if isinstance(error, socket.gaierror):
            return error.errno != socket.EAI_AGAIN
        if isinstance(
            error, (ssl.SSLError, errors.AuthenticationError, errors.InvalidResponse)
        ):
            return not isinstance(error, ssl.SSLEOFError)
        if re.search("(?i)protocol error|cluster (mode|support)", str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _answers_without_tls(address: Location) -> bool:
    """Return whether a server that is asked for TLS speaks plain Redis."""
    host, port = address.client.get("host"), address.client.get("port", 6379)
    if not (host and address.client.get("ssl")):
        return False
    try:
        # Nothing secret is sent, and any answer of Redis will do.
        with socket.create_connection((host, port), timeout=1) as plain:
            plain.sendall(b"PING\r\n")
            return plain.recv(1) in (b"+", b"-")
    except OSError:
        return False


def _connect(address: Location) -> Any:
    options = {**_PATIENCE, **address.client}
    if address.topology == "sentinel":
        of_sentinels = {**_PATIENCE, **address.sentinel}
        sentinels = Sentinel(address.hosts, sentinel_kwargs=of_sentinels, **options)
        return sentinels.master_for(address.service)
    if address.topology == "cluster":
        nodes = [ClusterNode(*host) for host in address.hosts]
        return RedisCluster(startup_nodes=nodes, **options)
    return Redis(**options)
