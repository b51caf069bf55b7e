"""The names of crawlers of one machine, and whether one of them still runs."""

import os
import secrets
import socket
from pathlib import Path

# Containers may share a host's name, and have processes of their own.
_SPACE = Path("/proc/self/ns/pid")
HERE = f"{socket.gethostname()}{_SPACE.readlink() if _SPACE.exists() else ''}"
# The crawlers of this process whose index is open. A name of this process that is not here is dead.
_open: set[str] = set()


def new_crawler() -> str:
    name = f"{HERE}:{os.getpid()}:{secrets.token_hex(4)}"
    _open.add(name)
    return name


def leave(crawler: str) -> None:
    """Take the name of a crawler away, so that it counts as dead."""
    _open.discard(crawler)


def is_dead(crawler: str) -> bool:
    """Return whether a crawler ran on this machine and does no more."""
    place, _, process = crawler.rpartition(":")[0].rpartition(":")
    if place != HERE:
        return False
    try:
        if int(process) == os.getpid():
            return crawler not in _open
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError, ValueError):  # another user's, or no process
        return False
    return False
