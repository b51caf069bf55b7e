"""Which workers of a local index are alive: those of this machine can be looked for."""

from __future__ import annotations

import os
import secrets
import socket
import time
import weakref

# Seconds for which a process found alive is not looked for again.
_ALIVE_FOR = 1.0

# The workers of this process whose index is open: any other of this process is dead.
_open: set[str] = set()


class Presence:
    """A worker of this process, and what it knows of the others.

    Args:
        spider: number of the worker's spider, with which its name begins.

    Attributes:
        name: by which the worker is known in the index.
    """

    def __init__(self, spider: int) -> None:
        self.name = f"{spider}@{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._alive: dict[str, float] = {}
        _open.add(self.name)
        weakref.finalize(self, _open.discard, self.name)

    def leave(self) -> None:
        """Be dead for the others."""
        _open.discard(self.name)

    def is_alive(self, worker: str) -> bool:
        """Return False if a worker ran on this machine and does no more."""
        host, pid, _ = worker.rsplit(":", 2)
        if host.partition("@")[2] != socket.gethostname():
            return True
        if int(pid) == os.getpid():
            return worker in _open
        if self._alive.get(worker, 0.0) < time.monotonic():
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                return False
            except PermissionError:  # another user's
                pass
            self._alive[worker] = time.monotonic() + _ALIVE_FOR
        return True
