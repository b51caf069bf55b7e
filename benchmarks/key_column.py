"""What it costs a claim to find a page's own entry by its key, in each store.

``python -m benchmarks.key_column [--pages 1000000] [--only "memory;sqlite;redis"]``

The entry of a key is found as near ones are, by one more value beside the blocks. An index with a
block less has as many values as one that does not know keys, so the two stand side by side, are
filled alike, and claim new pages and near ones in turn. Times are CPU time of the client and of
the server, medians of the rounds; the ratio is the median of each round's. Bytes are those of the
file, or of Redis; in RAM of the process a value takes 6 to 9, see :class:`.Neighbours`.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.index import BANDS, FACTS, KEY, REQUEST, fingerprints, near
from benchmarks.redis_measuring import Table, count, cpu_seconds
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival, IndexSpec
from tests import servers

ROUNDS = 9
ROUND = 1024
BATCH = 64


class Store:
    """An index of so many blocks, the key's value not counted."""

    def __init__(self, way: str, blocks: int, stack: contextlib.ExitStack) -> None:
        self._blocks = blocks
        self._server = stack.enter_context(servers.redis_server()) if way == "redis" else None
        self._file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "index.sqlite"
        url = f"{self._server.url}?socket_timeout=60" if self._server else "memory://"
        spec = IndexSpec("benchmark", 256, 48, blocks)
        self._index = open_index(f"sqlite:///{self._file}" if way == "sqlite" else url, spec)
        stack.callback(self._index.close)
        self._empty = self.held()

    def claim(self, name: str, pages: list[Fingerprint]) -> float:
        """Claim pages, and confirm new ones; return microseconds a page."""
        own = [
            Arrival(
                KEY.format(f"{name}/{number}"),
                Fingerprint(page.value, page.bits, page.blocks[: 4 * self._blocks]),
                facts=FACTS,
                request=REQUEST,
            )
            for number, page in enumerate(pages)
        ]
        start = self._seconds()
        for first in range(0, len(own), BATCH):
            some = own[first : first + BATCH]
            claims = zip(some, self._index.claim_all(some), strict=True)
            self._index.confirm([page.key for page, claim in claims if not claim.matches])
        return (self._seconds() - start) / len(own) * 1e6

    def held(self) -> int:
        if self._server:
            return int(self._server.info("memory")["used_memory"])
        return sum(file.stat().st_size for file in self._file.parent.iterdir())

    def grown(self) -> int:
        return self.held() - self._empty

    def _seconds(self) -> float:
        return time.process_time() + (cpu_seconds(self._server) if self._server else 0)


def filling(pages: int) -> Iterator[list[Fingerprint]]:
    made = fingerprints(256, pages, seed=1)
    while some := list(itertools.islice(made, 10_000)):
        yield some


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--only", default="memory;sqlite;redis")
    options = parser.parse_args()
    table = Table("Store", "pages", "claim", "us without the key", "with it", "ratio", "bytes more")
    for way in options.only.split(";"):
        with contextlib.ExitStack() as stack:
            stores, held, chance = [], [], random.Random(46)
            for blocks in (BANDS - 1, BANDS):
                stores.append(Store(way, blocks, stack))
                for part, some in enumerate(filling(options.pages)):
                    stores[-1].claim(f"old/{part}", some)
                held.append(stores[-1].grown() / options.pages)
            for kind in ("new", "near"):
                rounds = []
                for number in range(ROUNDS):
                    pages = list(
                        fingerprints(256, ROUND, seed=1 if kind == "near" else 10 + number)
                    )
                    if kind == "near":
                        pages = [near(page, 48, chance) for page in pages]
                    rounds.append([store.claim(f"{kind}/{number}", pages) for store in stores])
                without, with_it = (median(us) for us in zip(*rounds, strict=True))
                ratio = median(own / other for other, own in rounds)
                table.row(way, count(options.pages), kind, without, with_it, ratio,
                          held[1] - held[0])  # fmt: skip


if __name__ == "__main__":
    main()
