"""The names of crawlers: on one machine, a name tells whether its crawler may still run."""

from __future__ import annotations

import os
import secrets
import socket
from functools import cache
from pathlib import Path

# Containers may share the name of a host, and each numbers its processes from 1.
_PROCESS_SPACE = Path("/proc/self/ns/pid")
# The crawlers of this process whose index is open. A name of this process that is not
# here is dead.
_open_crawlers: set[str] = set()


@cache
def machine() -> str:
    """Return a name for this machine, or for this container of it."""
    space = _PROCESS_SPACE.readlink() if _PROCESS_SPACE.exists() else ""
    return f"{socket.gethostname()}{space}"


def new_name(*, is_here: bool) -> str:
    """Return the name of a new crawler.

    Args:
        is_here: only crawlers of this machine share its store.
    """
    if not is_here:
        return secrets.token_hex(6)
    name = f"{machine()}:{os.getpid()}:{secrets.token_hex(4)}"
    _open_crawlers.add(name)
    return name


def give_up(name: str) -> None:
    """Note that a crawler of this process has closed its index."""
    _open_crawlers.discard(name)


def is_dead(name: str) -> bool:
    """Return whether a crawler ran on this machine and does no more."""
    place, _, process = name.rpartition(":")[0].rpartition(":")
    if place != machine():
        return False
    try:
        if int(process) == os.getpid():
            return name not in _open_crawlers
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    # another user's process, or none
    except (PermissionError, OverflowError, ValueError):
        return False
    return False
