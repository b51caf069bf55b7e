"""Real Redis servers on loopback: alone, with TLS or a password, Sentinel, Cluster.

Each function is a context manager. It starts its servers on free ports, with their data in a
temporary folder, and stops them at the end, whatever happens in between. A server keeps its port
and its data when it is stopped, or killed, and started again.
"""

import contextlib
import itertools
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
HOST = "127.0.0.1"
SLOTS = 16384  # of a cluster
# What a URL and a configuration file reserve is in it.
PASSWORD = "p@ss:w/r%d"
# A replica counts from its first ping on, which would come after ten seconds.
REPLICATION = "--repl-diskless-sync yes --repl-diskless-sync-delay 0 --repl-ping-replica-period 1"


class RedisServer:
    """One server; made by :func:`redis_server`, which also stops it.

    Its folder has its data, its log and its socket; its port speaks TLS if there is a certificate.
    """

    def __init__(self, folder: Path, options: str = "", *, certificate: Path | None = None) -> None:
        if PROGRAM is None:
            pytest.skip("no redis-server on this machine")
        self.folder = folder
        self.port = free_port()
        self.address = HOST, self.port
        self.url = f"redis://{HOST}:{self.port}/0"
        # The same server by its unix socket.
        self.unix_url = f"unix://{folder}/socket?db=0"
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(exist_ok=True)
        ports = f"--port {self.port}"
        if certificate:
            self.url = f"rediss://{HOST}:{self.port}/0?ssl_ca_certs={quote(str(certificate))}"
            ports = f"--port 0 --tls-port {self.port} --tls-auth-clients no"
            ports += f" --tls-cert-file {certificate} --tls-key-file {certificate}.key"
            ports += f" --tls-ca-cert-file {certificate}"
        place = f"--bind {HOST} --dir {folder} --unixsocket {folder}/socket --save"
        self._command = [str(PROGRAM), *place.split(), "", *options.split(), *ports.split()]

    def client(self, **options: Any) -> redis.Redis:
        """Return a client of the default user; it is the caller's to close."""
        return redis.Redis.from_url(self.url, retry=None, **options)

    def start(self, *more: str) -> None:
        """Start, or start again with the same port and data; return when it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([*self._command, *more], stdout=log, stderr=log)
        wait_until(self._answers, f"{self.url} does not answer, see {self.folder}/log")

    def kill(self) -> None:
        """End it at once, as a crash would (SIGKILL)."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process in its tracks: connections stay open, nothing answers."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        assert self.process
        if self.process.poll() is not None:
            text = (self.folder / "log").read_text(errors="replace")
            raise RuntimeError(f"{PROGRAM} ended:\n{text[-2000:]}")
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.AuthenticationError:
            return True
        except (redis.ConnectionError, redis.TimeoutError):
            return False


@contextlib.contextmanager
def redis_server(options: str = "") -> Iterator[RedisServer]:
    """Start a server with options such as ``"--appendonly yes"``, by TCP and by a unix socket."""
    with new_folder() as folder, running(RedisServer(folder, options)) as server:
        yield server


@contextlib.contextmanager
def password_server() -> Iterator[RedisServer]:
    """Start a server that only lets in the user ``worker`` of its URL, and only to its data."""
    rules = f"on >{PASSWORD} ~* &* +@all -@dangerous +info +config|get"
    with redis_server(f"--user worker {rules} --user default off") as server:
        server.url = f"redis://worker:{quote(PASSWORD, safe='')}@{HOST}:{server.port}/0"
        yield server


@contextlib.contextmanager
def tls_server() -> Iterator[RedisServer]:
    """Start a server with TLS and a certificate made now, which its URL names."""
    with (
        new_folder() as folder,
        running(RedisServer(folder, certificate=make_certificate(folder))) as server,
    ):
        yield server


def make_certificate(folder: Path) -> Path:
    """Write a certificate for the loopback address, and its key beside it (``.key``)."""
    path = folder / "certificate.pem"
    command = "openssl req -x509 -nodes -days 1 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
    names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=IP:{HOST}"]
    files = ["-out", str(path), "-keyout", f"{path}.key"]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return path


def wait_until(holds: Callable[[], bool], otherwise: str, seconds: float = 100) -> None:
    """Ask every few milliseconds until it holds; TimeoutError when it never does."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.01)


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    # Not in pytest's folder: the path of a unix socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="redis", ignore_cleanup_errors=True) as name:
        yield Path(name)


@contextlib.contextmanager
def running(server: RedisServer, *more: str) -> Iterator[RedisServer]:
    try:
        server.start(*more)
        yield server
    finally:
        server.kill()


def free_port() -> int:
    # Below the ports that the system gives to clients, also with 10,000 added for a cluster bus.
    while True:
        port = random.SystemRandom().randrange(12_000, 22_000)
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as other:
            one.bind((HOST, port))
            other.bind((HOST, port + 10_000))
            return port


def call(server: RedisServer, *command: Any) -> Any:
    with server.client(decode_responses=True) as client:
        # As it is, not as redis-py reads it.
        client.response_callbacks.clear()
        return client.execute_command(*command)


def replication(server: RedisServer) -> dict[str, Any]:
    with server.client() as client:
        return dict(client.info("replication"))


def wait_for_replica(replica: RedisServer) -> None:
    wait_until(lambda: replication(replica).get("master_link_status") == "up", "no replica")


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
        replica = next(server for server in self.servers if server is not dead)
        wait_until(lambda: self.master is replica, "no failover")
        wait_until(lambda: replication(replica)["role"] == "master", "no new master")
        return dead

    def _begins(self) -> bool:
        """Return whether the sentinel, which knows a replica by now, fails over."""
        with contextlib.suppress(redis.ResponseError):
            return bool(call(self.sentinel, "SENTINEL FAILOVER", self.SERVICE))
        return False


class _SentinelServer(RedisServer):
    def __init__(self, folder: Path, master: RedisServer) -> None:
        super().__init__(folder)
        file, service = folder / "sentinel.conf", Sentinel.SERVICE
        # Redis changes the configuration as it likes.
        file.write_text(
            f"port {self.port}\nbind {HOST}\ndir {folder}\n"
            f"sentinel monitor {service} {HOST} {master.port} 1\n"
            # However busy the machine is, no living master is given up.
            f"sentinel down-after-milliseconds {service} 60000\n"
            f"sentinel failover-timeout {service} 2000\n"
        )
        self._command = [str(PROGRAM), str(file), "--sentinel"]


@contextlib.contextmanager
def sentinel() -> Iterator[Sentinel]:
    """Start a master, a replica and a sentinel."""
    with new_folder() as folder, contextlib.ExitStack() as stack:
        master = stack.enter_context(running(RedisServer(folder / "master", REPLICATION)))
        replica = RedisServer(folder / "replica", REPLICATION)
        stack.enter_context(running(replica, "--replicaof", HOST, str(master.port)))
        wait_for_replica(replica)
        watching = stack.enter_context(running(_SentinelServer(folder / "sentinel", master)))
        wait_until(lambda: _sees_replica(watching), "the sentinel sees no replica")
        yield Sentinel([master, replica], watching)


def _sees_replica(sentinel: RedisServer) -> bool:
    fields = call(sentinel, "SENTINEL MASTER", Sentinel.SERVICE)
    if isinstance(fields, list):
        fields = dict(zip(fields[::2], fields[1::2], strict=True))
    return int(fields["num-slaves"]) == 1


class Cluster:
    """Masters in the order of their slots, and the replicas of each; the URL names two nodes."""

    def __init__(self, masters: list[RedisServer], replicas: list[list[RedisServer]]) -> None:
        self.masters = masters
        self.replicas = replicas
        self.url = "redis+cluster://" + ",".join(f"{HOST}:{node.port}" for node in masters[:2])

    def owner(self, slot: int) -> RedisServer:
        """Return the master of a slot."""
        ids = {call(node, "CLUSTER MYID"): node for node in self.masters}
        living = next(node for node in self.masters if node.process)
        for first, last, master, *_ in call(living, "CLUSTER SLOTS"):
            if first <= slot <= last:
                return ids[master[2]]
        raise LookupError(slot)

    @contextlib.contextmanager
    def migrating(self, slot: int, to: RedisServer, *, keys: int = 0) -> Iterator[None]:
        """Hold a slot half-way to another master, with some keys, and move it in the end."""
        source = self.owner(slot)
        source_id, target_id = call(source, "CLUSTER MYID"), call(to, "CLUSTER MYID")
        call(to, "CLUSTER SETSLOT", slot, "IMPORTING", source_id)
        call(source, "CLUSTER SETSLOT", slot, "MIGRATING", target_id)
        if keys:
            self._move(slot, source, to, keys)
        try:
            yield
        finally:
            while self._move(slot, source, to, 100):
                pass
            for node in (to, source, *self.masters):
                with contextlib.suppress(redis.ConnectionError):
                    call(node, "CLUSTER SETSLOT", slot, "NODE", target_id)

    def fail_over(self, number: int) -> None:
        """Kill a master, and have a replica of it take over."""
        dead = call(self.masters[number], "CLUSTER MYID")
        self.masters[number].kill()
        self.masters[number] = self.replicas[number].pop()
        call(self.masters[number], "CLUSTER FAILOVER", "TAKEOVER")

        def is_forgotten(node: RedisServer) -> bool:
            return all(shard[2][2] != dead for shard in call(node, "CLUSTER SLOTS"))

        wait_until(lambda: all(map(is_forgotten, self.masters)), "no failover")

    def _move(self, slot: int, source: RedisServer, to: RedisServer, limit: int) -> int:
        # Names of keys are bytes, which redis-py would decode if the command were one word.
        with redis.Redis(host=HOST, port=source.port) as client:
            keys = client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, limit)
            if keys:
                client.execute_command("MIGRATE", HOST, to.port, "", 0, 5000, "KEYS", *keys)
        return len(keys)


@contextlib.contextmanager
def cluster(replicas: int = 0) -> Iterator[Cluster]:
    """Start a cluster of three masters, with replicas of each."""
    masters = 3
    # However busy the machine is, no living node is given up.
    options = f"--cluster-enabled yes --cluster-node-timeout 60000 {REPLICATION}"
    with new_folder() as folder, contextlib.ExitStack() as stack:
        nodes = [RedisServer(folder / str(i), options) for i in range(masters * (1 + replicas))]
        for epoch, node in enumerate(nodes, 1):
            stack.enter_context(running(node))
            call(node, "CLUSTER SET-CONFIG-EPOCH", epoch)
        for node, other in itertools.combinations(nodes, 2):
            call(node, "CLUSTER MEET", *other.address)
        bounds = [SLOTS * i // masters for i in range(masters + 1)]
        for i in range(masters):
            call(nodes[i], "CLUSTER ADDSLOTS", *range(bounds[i], bounds[i + 1]))
        followers = [nodes[masters + i :: masters] for i in range(masters)]
        for master, following in zip(nodes[:masters], followers, strict=True):
            name = call(master, "CLUSTER MYID")
            for node in following:
                wait_until(lambda node=node, name=name: _replicates(node, name), "nodes unknown")
        for node in nodes[masters:]:
            wait_for_replica(node)
        wait_until(lambda: all(_knows_all(node, len(nodes)) for node in nodes), "no cluster")
        yield Cluster(nodes[:masters], followers)


def _replicates(node: RedisServer, master: str) -> bool:
    try:
        return bool(call(node, "CLUSTER REPLICATE", master))
    except redis.ResponseError:
        return False  # it has not heard of its master yet


def _knows_all(node: RedisServer, nodes: int) -> bool:
    info = str(call(node, "CLUSTER INFO"))
    says = ("cluster_state:ok", f"cluster_slots_ok:{SLOTS}", f"cluster_known_nodes:{nodes}")
    known = sum(len(shard) - 2 for shard in call(node, "CLUSTER SLOTS"))
    return known == nodes and all(line in info for line in says)
