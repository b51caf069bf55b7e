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
    """A master, its replica, and the sentinels that watch them.

    Attributes:
        servers: the two data servers; the first was the master at the start.
        sentinels: (host, port) of each.
        url: of the service.
    """

    SERVICE = "simhash"

    def __init__(self, servers: list[RedisServer], sentinels: list[RedisServer]) -> None:
        self.servers = servers
        self.sentinels = [sentinel.address for sentinel in sentinels]
        hosts = ",".join(f"{host}:{port}" for host, port in self.sentinels)
        self.url = f"redis+sentinel://{hosts}/{self.SERVICE}/0"

    @property
    def master(self) -> RedisServer:
        """The server that the sentinels call master."""
        host, port = self.sentinels[0]
        with redis.Redis(host, port) as client:
            _, port = client.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", self.SERVICE)
        return next(server for server in self.servers if server.port == int(port))

    def fail_over(self) -> RedisServer:
        """Kill the master and wait until the replica has taken over; return the dead one."""
        dead = self.master
        dead.kill()
        wait_until(self._begins, "no failover begins")
        wait_until(lambda: _is_new_master(self.master, dead), "no failover")
        return dead

    def _begins(self) -> bool:
        """Return whether sentinels, which know a replica by now, fail over."""
        host, port = self.sentinels[0]
        with redis.Redis(host, port) as client, contextlib.suppress(redis.ResponseError):
            return bool(client.execute_command("SENTINEL FAILOVER", self.SERVICE))
        return False


class _SentinelServer(RedisServer):
    def write(self, master: RedisServer, quorum: int) -> None:
        """Write the configuration, which Redis then changes as it likes."""
        service = Sentinel.SERVICE
        (self.folder / "sentinel.conf").write_text(
            f"port {self.port}\nbind {HOST}\ndir {self.folder}\n"
            f"sentinel monitor {service} {HOST} {master.port} {quorum}\n"
            # However busy the machine is, no living master is given up.
            f"sentinel down-after-milliseconds {service} 60000\n"
            f"sentinel failover-timeout {service} 2000\n"
        )

    def _command(self) -> list[str]:
        return [str(PROGRAM), str(self.folder / "sentinel.conf"), "--sentinel"]


@contextlib.contextmanager
def sentinel(sentinels: int = 1) -> Iterator[Sentinel]:
    """Start a master, a replica and some sentinels, which agree when most of them do."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(new_folder())
        master = stack.enter_context(stopped(RedisServer(folder / "master", REPLICATION)))
        replica = stack.enter_context(stopped(RedisServer(folder / "replica", REPLICATION)))
        master.start()
        replica.start("--replicaof", HOST, str(master.port))
        wait_for_replica(replica)
        watching = []
        for number in range(sentinels):
            server = stack.enter_context(stopped(_SentinelServer(folder / f"sentinel{number}")))
            server.write(master, sentinels // 2 + 1)
            server.start()
            watching.append(server)
        for server in watching:
            wait_until(lambda server=server: _sees_all(server, sentinels), "sentinels do not meet")
        yield Sentinel([master, replica], watching)


def _is_new_master(server: RedisServer, dead: RedisServer) -> bool:
    return server is not dead and role(server) == "master"


def _sees_all(sentinel: RedisServer, sentinels: int) -> bool:
    fields = call(sentinel, "SENTINEL MASTER", Sentinel.SERVICE)
    if isinstance(fields, list):
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    return (int(fields["num-slaves"]), int(fields["num-other-sentinels"])) == (1, sentinels - 1)
