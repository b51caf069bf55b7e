"""Instructions that a claim costs Redis, which are the same however busy the machine is.

    python -m benchmarks.redis_instructions [--sizes 100000] [--pages 1024]

A server is filled with as many pages as `--sizes` says, and starts again under valgrind, which
counts while `--pages` more are claimed; originals are confirmed in batches of 32, as a crawl does
it. *near* is the share of near-duplicates among the claims.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.redis_measuring import Table, batches, count, need_redis, pages
from benchmarks.redis_rivals import Ours
from benchmarks.redis_speed import WAYS, Way
from tests.servers.single import RedisServer, new_folder, stopped

# Ways of `redis_speed`, pages in a call, share of near-duplicates.
CASES = (
    ("redis 256/48", 32, 0.0),
    ("redis 256/48", 32, 0.3),
    ("redis 256/48", 1, 0.0),
    ("local 256/48", 32, 0.0),
    ("redis 64/3", 32, 0.0),
)


class Counted(RedisServer):
    """A server under valgrind."""

    def _command(self) -> list[str]:
        out = f"--callgrind-out-file={self.folder}/out"
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", out]
        return [*valgrind, *super()._command()]

    def control(self, *command: str) -> None:
        assert self.process
        subprocess.run(
            ["callgrind_control", *command, str(self.process.pid)], check=True, capture_output=True
        )

    def counted(self) -> int:
        """Return the instructions since the last call."""
        self.control("--dump")
        dump = max(Path(self.folder).glob("out.*"), key=lambda file: int(file.suffix[1:]))
        found = re.search(r"^totals: (\d+)", dump.read_text(), re.MULTILINE)
        assert found
        return int(found[1])


def filled(way: Way, size: int, folder: Path) -> None:
    """Let a server of its own keep as many pages in the folder."""
    with stopped(RedisServer(folder)) as server:
        server.start()
        filler = Ours(f"{server.url}{way.options}", way.bits, way.distance)
        for batch in batches(pages(way.bits, way.distance, size, near=0.0), 256):
            filler.fill(batch)
        filler.close()
        with server.client(socket_timeout=60) as client:
            client.save()


def instructions(way: Way, number: int, per_call: int, near: float, folder: Path) -> float:
    """Return the instructions of a page that is claimed."""
    with stopped(Counted(folder)) as server:
        server.start()
        claimer = Ours(f"{server.url}{way.options}", way.bits, way.distance)
        made = pages(way.bits, way.distance, number + 64, seed=100, near=near)
        claims = list(batches(made, per_call))
        warm_up = 64 // per_call
        for some in claims[:warm_up]:
            claimer.claim(some)
        server.control("--instr=on")
        server.counted()
        for some in claims[warm_up:]:
            claimer.claim(some)
        found = server.counted()
        server.control("--instr=off")
        claimer.close()
    return found / number


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000", help="numbers of pages, separated by commas")
    parser.add_argument("--pages", type=int, default=1024, help="pages that are claimed")
    options = parser.parse_args()
    need_redis()
    if not shutil.which("valgrind"):
        sys.exit("skipped: there is no valgrind")
    table = Table("", "pages", "pages in a call", "near", "instructions a page")
    for size in map(int, options.sizes.split(",")):
        for name in dict.fromkeys(name for name, _, _ in CASES):
            with new_folder() as folder:
                filled(WAYS[name], size, folder)
                for way, per_call, near in CASES:
                    if way == name:
                        found = instructions(WAYS[way], options.pages, per_call, near, folder)
                        table.row(name, count(size), per_call, near, f"{found:,.0f}")


if __name__ == "__main__":
    main()
