"""What programs here share: the counters of servers and processes, and tables."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a crawl whose memory is measured does not load the client
    from tests.servers import RedisServer


def cpu_seconds(server: RedisServer) -> float:
    """Return the CPU time of a server so far."""
    used = server.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def workers() -> list[int]:
    """Return the processes that this one has started."""
    return [
        int(child)
        for thread in Path("/proc/self/task").iterdir()
        for child in (thread / "children").read_text().split()
    ]


def cpu_of(pid: int) -> float:
    """Return the CPU time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int | str = "self") -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Table:
    """A Markdown table that is printed row by row as the figures come in."""

    def __init__(self, *columns: str) -> None:
        self._row(columns)
        print("|" + " --- |" * len(columns), flush=True)

    def row(self, *cells: object) -> None:
        self._row([f"{cell:,.3g}" if isinstance(cell, float) else str(cell) for cell in cells])

    def _row(self, cells: Sequence[str]) -> None:
        print("| " + " | ".join(cells) + " |", flush=True)


def need_redis() -> None:
    """End the program with a plain line when there is no server to measure.

    From then on SIGTERM ends it in order, so that the servers it started are stopped.
    """
    from tests import servers

    if servers.PROGRAM is None:
        sys.exit("skipped: there is no redis-server")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(f"ended by signal {number}"))
