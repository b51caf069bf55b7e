"""A master and a replica that sentinels watch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import redis

from tests.servers.single import (
    HOST,
    PROGRAM,
    REPLICATION,
    RedisServer,
    call,
    new_folder,
    role,
    stopped,
    wait_for_replica,
    wait_until,
)


class Sentinel:
    """A master and its replica, the sentinel that watches them, and the URL of the service."""

    SERVICE = "simhash"

    def __init__(self, servers: list[RedisServer], sentinel: RedisServer) -> None:
        self.servers, self.sentinel = servers, sentinel
        self.url = f"redis+sentinel://{HOST}:{sentinel.port}/{self.SERVICE}/0"

    @property
    def master(self) -> RedisServer:
        """The server that the sentinel calls master."""
        _, port = call(self.sentinel, "SENTINEL GET-MASTER-ADDR-BY-NAME", self.SERVICE)
        return next(server for server in self.servers if server.port == int(port))

    def fail_over(self) -> RedisServer:
        """Kill the master and wait until the replica has taken over; return the dead one."""
        dead = self.master
        dead.kill()
        wait_until(self._begins, "no failover begins")
        wait_until(lambda: _is_new_master(self.master, dead), "no failover")
        return dead

    def _begins(self) -> bool:
        """Return whether the sentinel, which knows a replica by now, fails over."""
        with contextlib.suppress(redis.ResponseError):
            return bool(call(self.sentinel, "SENTINEL FAILOVER", self.SERVICE))
        return False


class _SentinelServer(RedisServer):
    def write(self, master: RedisServer) -> None:
        """Write the configuration, which Redis then changes as it likes."""
        service = Sentinel.SERVICE
        (self.folder / "sentinel.conf").write_text(
            f"port {self.port}\nbind {HOST}\ndir {self.folder}\n"
            f"sentinel monitor {service} {HOST} {master.port} 1\n"
            # However busy the machine is, no living master is given up.
            f"sentinel down-after-milliseconds {service} 60000\n"
            f"sentinel failover-timeout {service} 2000\n"
        )

    def _command(self) -> list[str]:
        return [str(PROGRAM), str(self.folder / "sentinel.conf"), "--sentinel"]


@contextlib.contextmanager
def sentinel() -> Iterator[Sentinel]:
    """Start a master, a replica and a sentinel."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(new_folder())
        master = stack.enter_context(stopped(RedisServer(folder / "master", REPLICATION)))
        replica = stack.enter_context(stopped(RedisServer(folder / "replica", REPLICATION)))
        master.start()
        replica.start("--replicaof", HOST, str(master.port))
        wait_for_replica(replica)
        watching = stack.enter_context(stopped(_SentinelServer(folder / "sentinel")))
        watching.write(master)
        watching.start()
        wait_until(lambda: _sees_replica(watching), "the sentinel sees no replica")
        yield Sentinel([master, replica], watching)


def _is_new_master(server: RedisServer, dead: RedisServer) -> bool:
    return server is not dead and role(server) == "master"


def _sees_replica(sentinel: RedisServer) -> bool:
    fields = call(sentinel, "SENTINEL MASTER", Sentinel.SERVICE)
    if isinstance(fields, list):
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    return int(fields["num-slaves"]) == 1
