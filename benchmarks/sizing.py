"""Measures what a page takes in each store.

    python -m benchmarks.sizing [--pages 200000] [--bits 256]

Pages have random fingerprints, block values and facts, and addresses of 60 characters. RAM is the
growth of the process, a file its size with its journal, Redis the growth of ``used_memory``. Redis
is left out where there is no redis-server.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import RECIPES
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.rule.facts import FACTS_SIZE
from tests import servers

BY_BITS = {64: "classic", 128: "compact", 256: "default"}
_BATCH = 2048


def entries(pages: int, spec: IndexSpec, first: int = 0) -> Iterator[Entry]:
    chance = random.Random(first)
    for number in range(first, first + pages):
        key = f"http://www.site{number % 997:03}.example/some/section/{number:020}.html"
        blocks = chance.randbytes(4 * spec.blocks)
        fingerprint = Fingerprint(chance.getrandbits(spec.bits), spec.bits, blocks)
        yield Entry(key, fingerprint, facts=chance.randbytes(FACTS_SIZE), time=1.7e9)


def _batches(made: Iterator[Entry]) -> Iterator[list[Entry]]:
    while batch := list(itertools.islice(made, _BATCH)):
        yield batch


def fill(url: str, spec: IndexSpec, pages: int, first: int = 0) -> None:
    with contextlib.closing(open_index(url, spec)) as index:
        for batch in _batches(entries(pages, spec, first)):
            index.put(batch)


def resident() -> int:
    """Return the bytes of RAM of this process."""
    gc.collect()
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def measure_ram(url: str, spec: IndexSpec, pages: int) -> None:
    """Print the bytes a page in the RAM of this process, from a tenth of the pages on."""
    index = open_index(url, spec)
    made = entries(pages, spec)
    begun = 0
    for number in range(0, pages, _BATCH):
        index.put(itertools.islice(made, _BATCH))
        if not begun and number > pages // 10:
            begun, after = resident(), len(index)
    print(f"{(resident() - begun) / (len(index) - after):.0f}")


def measured_ram(url: str, bits: int, pages: int) -> float:
    """Return what another process measures, whose memory nothing else has used."""
    command = [sys.executable, "-m", "benchmarks.sizing", "--ram", url, "--bits", str(bits)]
    done = subprocess.run(
        [*command, "--pages", str(pages)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measured_file(bits: int, pages: int) -> tuple[float, float]:
    """Return the bytes a page of a file, and of the RAM of the process that has it open."""
    with tempfile.TemporaryDirectory() as folder:
        ram = measured_ram(f"sqlite:///{folder}/pages.sqlite", bits, pages)
        return sum(file.stat().st_size for file in Path(folder).iterdir()) / pages, ram


def measured_redis(url: str, spec: IndexSpec, pages: int, options: str) -> float:
    import redis

    client = redis.Redis.from_url(url)
    # Also where the machine is busy with other things.
    name = f"{url}?name=sizing{spec.bits}{len(options)}{options}&socket_timeout=30"
    fill(name, spec, pages // 10)
    before = client.info("memory")["used_memory"]
    fill(name, spec, pages, first=pages)
    return float(client.info("memory")["used_memory"] - before) / pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--bits", type=int, action="append", choices=BY_BITS)
    parser.add_argument("--ram", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    specs = {bits: spec_of(RECIPES[BY_BITS[bits]]) for bits in options.bits or BY_BITS}
    if options.ram:
        measure_ram(options.ram, *specs.values(), options.pages)
        return
    print(f"bytes a page, of {options.pages:,} pages")
    heads = ("bits", "memory", "file", "its RAM", "Redis", "buckets=local")
    print("".join(f"{head:>14}" for head in heads))
    with contextlib.ExitStack() as stack:
        url = None
        if servers.PROGRAM is not None:
            url = stack.enter_context(servers.redis_server()).url
        for bits, spec in specs.items():
            row = [measured_ram("memory://", bits, options.pages)]
            row += measured_file(bits, options.pages)
            if url is not None:
                row += [measured_redis(url, spec, options.pages, each)
                        for each in ("", "&buckets=local")]  # fmt: skip
            print(f"{bits:>14}" + "".join(f"{value:>14.0f}" for value in row))


if __name__ == "__main__":
    main()
