"""What programs here share: processes, the counters of servers and processes, and tables."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a crawl whose memory is measured does not load the client
    from tests.servers import RedisServer


ROOT = Path(__file__).resolve().parents[1]


def in_a_process(program: str, order: Any) -> Any:
    """Give an order to a program here, in a process of its own, and return what it prints.

    Order and answer are JSON: the program reads ``sys.stdin`` when it is started with
    ``--order``."""
    command = [sys.executable, "-W", "ignore", "-m", f"benchmarks.{program}", "--order"]
    order = json.dumps(order)
    done = subprocess.run(
        command, input=order, capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode:
        raise RuntimeError(f"{program} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout)


def info(server: RedisServer, section: str) -> dict[str, Any]:
    """Return a section of a server's INFO."""
    with server.client() as client:
        return dict(client.info(section))


def cpu_seconds(server: RedisServer) -> float:
    """Return the CPU time of a server so far."""
    used = info(server, "cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def workers(pid: int | str = "self") -> list[int]:
    """Return the processes that a process has started."""
    return [
        int(child)
        for thread in Path(f"/proc/{pid}/task").iterdir()
        for child in (thread / "children").read_text().split()
    ]


def descendants(pid: int | str = "self") -> Iterator[int]:
    """Yield the processes that a process, or one of these, has started."""
    for child in workers(pid):
        yield child
        yield from descendants(child)


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
        self._row(
            [f"{cell:,.3g}" if isinstance(cell, float) else str(cell) for cell in cells]
        )

    def _row(self, cells: Sequence[str]) -> None:
        print("| " + " | ".join(cells) + " |", flush=True)


def need_redis() -> None:
    """End the program with a plain line when there is no server to measure.

    From then on SIGTERM ends it in order, so that the servers it started are stopped.
    """
    from tests import servers

    if servers.PROGRAM is None:
        sys.exit("skipped: there is no redis-server")
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(f"ended by signal {number}")
    )
