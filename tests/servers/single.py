"""One server, and what servers have in common."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import redis

from tests.servers.certificate import make_certificate

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
# Its major version, 0 if there is none.
MAJOR = int(
    subprocess.run([PROGRAM, "--version"], capture_output=True, text=True)
    .stdout.partition("v=")[2]
    .partition(".")[0]
    if PROGRAM
    else 0
)
HOST = "127.0.0.1"
# What a URL and a configuration file reserve is in it.
PASSWORD = "p@ss:w/r%d"
# A replica counts from its first ping on, which would come after ten seconds.
REPLICATION = (
    "--repl-diskless-sync yes",
    "--repl-diskless-sync-delay 0",
    "--repl-ping-replica-period 1",
)


class RedisServer:
    """One server; made by :func:`redis_server`, which also stops it.

    Attributes:
        folder: where its data, its log and its socket are.
        port: the TCP port, with TLS if there is a certificate.
        url: what a client needs to connect.
        process: while it runs.
    """

    def __init__(
        self, folder: Path, options: tuple[str, ...] = (), *, certificate: Path | None = None
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.certificate = certificate
        self.url = f"redis://{HOST}:{self.port}/0"
        self._options = [word for option in options for word in option.split()]
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(exist_ok=True)
        if certificate:
            self.url = f"rediss://{HOST}:{self.port}/0?ssl_ca_certs={quote(str(certificate))}"
            for name, file in (("cert", ""), ("ca-cert", ""), ("key", ".key")):
                self._options += [f"--tls-{name}-file", f"{certificate}{file}"]
            self._options += ["--port", "0", "--tls-port", str(self.port)]
            self._options += ["--tls-auth-clients", "no"]
        else:
            self._options += ["--port", str(self.port)]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return HOST, self.port

    @property
    def unix_url(self) -> str:
        """The URL of the same server by its unix socket."""
        return f"unix://{self.folder}/socket?db=0"

    def client(self, **options: Any) -> redis.Redis:
        """Return a client of the default user; it is the caller's to close."""
        return redis.Redis.from_url(self.url, retry=None, **options)

    def info(self, section: str) -> dict[str, Any]:
        """Return a section of INFO."""
        with self.client() as client:
            return dict(client.info(section))

    def start(self, *more: str) -> None:
        """Start, or start again with the same port and data; return when it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([*self._command(), *more], stdout=log, stderr=log)
        wait_until(self._answers, f"{self.url} does not answer, see {self.folder}/log")

    def stop(self) -> None:
        """Stop as an operator would; what the options keep is kept."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash would (SIGKILL)."""
        self._end(signal.SIGKILL)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process in its tracks: connections stay open, nothing answers."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def _command(self) -> list[str]:
        return [
            *(str(PROGRAM), "--bind", HOST, "--dir", str(self.folder)),
            *("--unixsocket", str(self.folder / "socket"), "--save", ""),
            *self._options,
        ]

    def _end(self, by: signal.Signals) -> None:
        if self.process:
            self.process.send_signal(by)
            try:
                self.process.wait(60)
            finally:
                self.process.kill()
                self.process.wait()
                self.process = None

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
def redis_server(*options: str) -> Iterator[RedisServer]:
    """Start a server, by TCP and by a unix socket.

    Args:
        options: as on the command line, such as ``"--appendonly yes"``.
    """
    with new_folder() as folder, stopped(RedisServer(folder, options)) as server:
        server.start()
        yield server


@contextlib.contextmanager
def password_server() -> Iterator[RedisServer]:
    """Start a server that only lets in the user ``worker`` of its URL, and only to its data."""
    rules = f"on >{PASSWORD} ~* &* +@all -@dangerous +info +config|get"
    with redis_server(f"--user worker {rules}", "--user default off") as server:
        server.url = f"redis://worker:{quote(PASSWORD, safe='')}@{HOST}:{server.port}/0"
        yield server


@contextlib.contextmanager
def tls_server(*options: str) -> Iterator[RedisServer]:
    """Start a server with TLS and a certificate made now, which its URL names."""
    with new_folder() as folder:
        certificate = make_certificate(folder)
        with stopped(RedisServer(folder, options, certificate=certificate)) as server:
            server.start()
            yield server


@contextlib.contextmanager
def fake_server() -> Iterator[str]:
    """Start fakeredis's own TCP server in a thread; the value is its URL.

    Raises:
        ImportError: fakeredis is not installed, or not the lupa that runs its scripts.
    """
    import fakeredis
    import lupa  # noqa: F401

    server = fakeredis.TcpFakeServer((HOST, free_port()), server_type="redis")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"redis://{HOST}:{server.server_address[1]}/0"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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
def stopped(server: RedisServer) -> Iterator[RedisServer]:
    try:
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


def role(server: RedisServer) -> str:
    return str(server.info("replication")["role"])


def wait_for_replica(replica: RedisServer) -> None:
    wait_until(lambda: replica.info("replication").get("master_link_status") == "up", "no replica")
