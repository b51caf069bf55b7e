"""What a claim costs, in time, RAM and on disk, beside the index of PyPI simhash.

    python -m benchmarks.index [--full] [--sizes 100000] [--only memory] [--rounds 3]

Random fingerprints, keys of 45 bytes, facts as long as those of a page, one thread, and
one process for each line. Times are CPU time, medians of rounds; our index is given 64
pages a call, or one. A claim of a new page has its share of confirmations in batches of
100. The rival has 64 bits and k = 3, and neither leases nor facts.

A near page differs in half the bits of k; each block of 256 bits survives with the
probability that four MinHash values have for sets of that similarity, .7.
"""

import argparse
import collections
import gc
import itertools
import multiprocessing
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measuring import Table, megabytes
from scrapy_simhash.fingerprint.blocks import Bands, Slices
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival, IndexSpec
from scrapy_simhash.rule.facts import FACTS_SIZE

# Pages a round; fewer where they would take longer than so many seconds.
TIMED = 2048
SECONDS = 1.0
BATCH = 10_000
KEY = "https://www.example.com/section/{}.html"
SLICES, BANDS = Slices(), Bands().count
SURVIVES = 0.7
FACTS = bytes(range(FACTS_SIZE))
Page = tuple[str, Fingerprint]
# Claims for some pages; returns for each the key of a page within the distance, None
# for a new one.
Claimer = Callable[[list[Page]], list[object]]


def fingerprints(bits: int, count: int, seed: int) -> Iterator[Fingerprint]:
    values, blocks = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        packed, bands = values.bytes(size * bits // 8), blocks.bytes(size * BANDS * 4)
        for i in range(size):
            value = int.from_bytes(packed[i * bits // 8 : (i + 1) * bits // 8], "big")
            random_bands = bands[i * BANDS * 4 : (i + 1) * BANDS * 4]
            yield Fingerprint(
                value, bits, SLICES.of(value) if bits == 64 else random_bands
            )


def near(fingerprint: Fingerprint, distance: int, chance: random.Random) -> Fingerprint:
    """Flip half as many bits as are allowed."""
    bits, value = fingerprint.bits, fingerprint.value
    for position in chance.sample(range(bits), distance // 2):
        value ^= 1 << position
    if bits == 64:
        return Fingerprint(value, bits, SLICES.of(value))
    blocks = [
        fingerprint.blocks[at : at + 4]
        if chance.random() < SURVIVES
        else chance.randbytes(4)
        for at in range(0, BANDS * 4, 4)
    ]
    return Fingerprint(value, bits, b"".join(blocks))


class Ours:
    """The index; provisional pages are confirmed by hundreds."""

    def __init__(self, url: str, bits: int, distance: int) -> None:
        spec = IndexSpec("benchmark", bits, distance, 4 if bits == 64 else BANDS)
        self.index = open_index(url, spec)
        self.pending: list[str] = []

    def __call__(self, pages: list[Page]) -> list[object]:
        arrivals = [Arrival(*page, facts=FACTS) for page in pages]
        claims = self.index.claim_all(arrivals)
        found = [claim.matches[0].key if claim.matches else None for claim in claims]
        self.pending += [
            key for (key, _), old in zip(pages, found, strict=True) if old is None
        ]
        if len(self.pending) >= 100:
            self.index.confirm(self.pending)
            self.pending.clear()
        return found


class PypiSimhash:
    """SimhashIndex of the package simhash."""

    def __init__(self, bits: int, distance: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from simhash import Simhash, SimhashIndex
        self.index = SimhashIndex([], f=bits, k=distance)
        self.page = lambda value: Simhash(value, f=bits)

    def __call__(self, pages: list[Page]) -> list[object]:
        return [self.claim(*page) for page in pages]

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        page = self.page(fingerprint.value)
        if found := self.index.get_near_dups(page):
            return found[0]
        self.index.add(key, page)
        return None


# The batch of each way, and the pages up to which it is tried.
WAYS: dict[str, tuple[int, int]] = {
    "memory": (64, 10_000_000),
    "sqlite": (64, 10_000_000),
    "memory, 1 a call": (1, 1_000_000),
    "sqlite, 1 a call": (1, 1_000_000),
    "PyPI simhash": (1, 1_000_000),
}


def made(way: str, folder: Path, bits: int, distance: int) -> Claimer:
    if way.startswith("memory"):
        return Ours("memory://", bits, distance)
    if way.startswith("sqlite"):
        return Ours(f"sqlite:///{folder}/index.sqlite", bits, distance)
    return PypiSimhash(bits, distance)


def fill(claim: Claimer, pages: Iterable[Page]) -> None:
    pages = iter(pages)
    while batch := list(itertools.islice(pages, 64)):
        claim(batch)


def per_page(claim: Claimer, pages: list[Page], batch: int) -> tuple[float, float]:
    """Return microseconds a page, and the share that found something."""
    found: list[object] = []
    start = time.process_time()
    for first in range(0, len(pages), batch):
        found += claim(pages[first : first + batch])
        if time.process_time() - start > SECONDS:
            break
    share = sum(key is not None for key in found) / len(found)
    return (time.process_time() - start) / len(found) * 1e6, share


def measure(
    way: str, bits: int, distance: int, size: int, rounds: int
) -> tuple[Any, ...]:
    """Return the figures of a row, from the time to fill the index on."""
    batch, _ = WAYS[way]
    with tempfile.TemporaryDirectory() as name:
        # What making pages takes does not count.
        collections.deque(fingerprints(bits, BATCH, 0), 0)
        gc.collect()
        before = megabytes()
        claim = made(way, Path(name), bits, distance)
        start = time.process_time()
        values = fingerprints(bits, size, seed=1)
        fill(claim, ((KEY.format(i), page) for i, page in enumerate(values)))
        filled = (time.process_time() - start) / size * 1e6
        gc.collect()
        ram = 1e6 * (megabytes() - before) / size
        disk = sum(file.stat().st_size for file in Path(name).iterdir()) / size
        chance = random.Random(3)
        new_pages = list(fingerprints(bits, rounds * TIMED, seed=2))
        known = itertools.cycle(fingerprints(bits, min(size, rounds * TIMED), seed=1))
        copies = [
            near(page, distance, chance)
            for page in itertools.islice(known, rounds * TIMED)
        ]
        new, old = [], []
        for first in range(0, rounds * TIMED, TIMED):
            some = slice(first, first + TIMED)
            named = [
                (KEY.format(f"new/{first + i}"), p)
                for i, p in enumerate(new_pages[some])
            ]
            new.append(per_page(claim, named, batch)[0])
            named = [
                (KEY.format(f"twin/{first + i}"), p) for i, p in enumerate(copies[some])
            ]
            old.append(per_page(claim, named, batch))
        recall = sum(share for _, share in old) / len(old)
        return (
            filled,
            median(new),
            median(us for us, _ in old),
            recall,
            round(ram),
            round(disk),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="up to 10 million pages")
    parser.add_argument(
        "--sizes", help="pages in the index, instead of 100,000 (--full: up to)"
    )
    parser.add_argument("--only", choices=WAYS, help="one way")
    parser.add_argument(
        "--rounds", type=int, default=3, help="medians of so many rounds"
    )
    options = parser.parse_args()
    sizes = options.sizes or ("100000,1000000,10000000" if options.full else "100000")
    columns = ("us fill", "us new", "us copy", "found", "bytes of RAM", "bytes on disk")
    table = Table("way", "bits", "pages", *columns)
    for bits, distance in ((64, 3), (256, 48)):
        for size in map(int, sizes.split(",")):
            for way, (_, largest) in WAYS.items():
                if size > largest or (way == "PyPI simhash" and bits != 64):
                    continue
                if options.only not in (None, way):
                    continue
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    arguments = (way, bits, distance, size, options.rounds)
                    table.row(way, bits, size, *pool.apply(measure, arguments))


if __name__ == "__main__":
    main()
