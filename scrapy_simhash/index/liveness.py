"""The crawlers of a file: those of this machine can be looked for."""

from __future__ import annotations

import os
import secrets
import socket

from scrapy_simhash.index.contract import spider_mark

# The crawlers of this process whose index is open: any other of this process is dead.
_open: set[str] = set()


class Liveness:
    """A crawler of this process, and what it knows of the others.

    Args:
        spider: name of the crawler's spider.

    Attributes:
        spider: what the names of this spider's crawlers begin with.
        name: by which the crawler is known in the index.
    """

    def __init__(self, spider: str) -> None:
        self.spider = f"{spider_mark(spider)}@"
        self.name = f"{self.spider}{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        _open.add(self.name)

    def leave(self) -> None:
        """Be dead for the others."""
        _open.discard(self.name)

    def is_dead(self, crawler: str) -> bool:
        """Return whether a crawler ran on this machine and does no more."""
        place, _, process = crawler.rpartition(":")[0].rpartition(":")
        if place.partition("@")[2] != socket.gethostname():
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
