"""What a claim costs, in time, RAM and on disk, beside other ways to do it.

    python benchmarks/index.py [--full] [--sizes 100000,1000000] [--rounds 3] [--ways memory]

Random fingerprints, keys of 45 bytes, facts as long as those of a page, one thread, and one process
for each line.
Times are CPU time, medians of rounds; every way is given 64 pages a call where it takes batches. A
claim of a new page has its share of confirmations in batches of 100. ``sqlite`` and ``sqlite rows``
keep their pages when the process ends; the others have neither leases nor facts.

A near page differs in half the bits of k; each block of 256 bits survives with the probability
that four MinHash values have for sets of that similarity, .7. The index of faiss is given the
tables and flips with which it finds as many of these pages as ours, in the shortest time we found.
"""

from __future__ import annotations

import argparse
import collections
import gc
import itertools
import multiprocessing
import os
import random
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from scrapy_simhash.fingerprint.blocks import Bands, Slices
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival, IndexSpec
from scrapy_simhash.rule.facts import FACTS_SIZE

ROUNDS = 3
# Pages a round; fewer where they would take longer than so many seconds.
TIMED = 2048
SECONDS = 1.0
BATCH = 10_000
KEY = "https://www.example.com/section/{}.html"
Page = tuple[str, Fingerprint]
# Claims for some pages; returns for each the key of a page within the distance, None for a new one.
Claimer = Callable[[list[Page]], list[object]]


SLICES, BANDS = Slices(), Bands().count
SURVIVES = 0.7
FACTS = bytes(range(FACTS_SIZE))


def fingerprints(bits: int, count: int, seed: int) -> Iterator[Fingerprint]:
    values, blocks = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        packed, bands = values.bytes(size * bits // 8), blocks.bytes(size * BANDS * 4)
        for i in range(size):
            value = int.from_bytes(packed[i * bits // 8 : (i + 1) * bits // 8], "big")
            own = bands[i * BANDS * 4 : (i + 1) * BANDS * 4]
            yield Fingerprint(value, bits, SLICES.of(value) if bits == 64 else own)


def near(fingerprint: Fingerprint, distance: int, chance: random.Random) -> Fingerprint:
    """Flip half as many bits as are allowed."""
    bits, value = fingerprint.bits, fingerprint.value
    for position in chance.sample(range(bits), distance // 2):
        value ^= 1 << position
    if bits == 64:
        return Fingerprint(value, bits, SLICES.of(value))
    blocks = [
        fingerprint.blocks[at : at + 4] if chance.random() < SURVIVES else chance.randbytes(4)
        for at in range(0, BANDS * 4, 4)
    ]
    return Fingerprint(value, bits, b"".join(blocks))


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Ours:
    """The index; provisional pages are confirmed by hundreds."""

    def __init__(self, url: str, bits: int, distance: int) -> None:
        spec = IndexSpec("benchmark", bits, distance, 4 if bits == 64 else BANDS)
        self.index = open_index(url, spec)
        self.pending: list[str] = []

    def fill(self, pages: Iterator[Page]) -> None:
        """Claim for all; what comes after is timed."""
        while batch := list(itertools.islice(pages, 64)):
            self(batch)

    def __call__(self, pages: list[Page]) -> list[object]:
        arrivals = [Arrival(*page, facts=FACTS) for page in pages]
        claims = self.index.claim_all(arrivals)
        found = [claim.matches[0].key if claim.matches else None for claim in claims]
        self.pending += [key for (key, _), old in zip(pages, found, strict=True) if old is None]
        if len(self.pending) >= 100:
            self.index.confirm(self.pending)
            self.pending.clear()
        return found


class OneByOne:
    """What has no batches; ``claim`` returns the key of a page within the distance, or adds."""

    def fill(self, pages: Iterator[Page]) -> None:
        for page in pages:
            self.claim(*page)

    def __call__(self, pages: list[Page]) -> list[object]:
        return [self.claim(*page) for page in pages]

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        raise NotImplementedError


class PypiSimhash(OneByOne):
    """SimhashIndex of the package simhash."""

    def __init__(self, bits: int, distance: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from simhash import Simhash, SimhashIndex
        self.index = SimhashIndex([], f=bits, k=distance)
        self.page = lambda value: Simhash(value, f=bits)

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        page = self.page(fingerprint.value)
        found = self.index.get_near_dups(page)
        if found:
            return found[0]
        self.index.add(key, page)
        return None


class Faiss:
    """The binary index of faiss: hash tables of some bits each, with flips of any of them."""

    def __init__(self, bits: int, distance: int) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        tables, width, flips = FAISS[bits]
        self.index = faiss.IndexBinaryMultiHash(bits, tables, width)
        self.index.nflip = flips
        self.distance = distance
        self.keys: list[str] = []

    def fill(self, pages: Iterator[Page]) -> None:
        while batch := list(itertools.islice(pages, BATCH)):
            self.keys += [key for key, _ in batch]
            self.index.add(self.rows(batch))

    def rows(self, pages: list[Page]) -> Any:
        packed = b"".join(fingerprint.to_bytes() for _, fingerprint in pages)
        return np.frombuffer(packed, np.uint8).reshape(len(pages), -1)

    def __call__(self, pages: list[Page]) -> list[object]:
        rows = self.rows(pages)
        limits, _, numbers = self.index.range_search(rows, self.distance + 1)
        found: list[object] = [
            self.keys[numbers[start]] if start < end else None
            for start, end in itertools.pairwise(limits.tolist())
        ]
        new = [i for i, key in enumerate(found) if key is None]
        if new:
            self.index.add(np.ascontiguousarray(rows[new]))
            self.keys += [pages[i][0] for i in new]
        return found


class NumpyScan(OneByOne):
    """Compares with everything."""

    def __init__(self, bits: int, distance: int, size: int) -> None:
        self.words = np.empty((bits // 64, size + ROUNDS * TIMED), np.uint64)
        self.keys: list[str] = []
        self.distance = distance

    def fill(self, pages: Iterator[Page]) -> None:
        for page in pages:
            self.append(*page)

    def append(self, key: str, fingerprint: Fingerprint) -> None:
        self.words[:, len(self.keys)] = np.frombuffer(fingerprint.to_bytes(), ">u8")
        self.keys.append(key)

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        value = np.frombuffer(fingerprint.to_bytes(), ">u8").astype(np.uint64)
        differing = np.bitwise_count(self.words[:, : len(self.keys)] ^ value[:, None])
        hits = np.flatnonzero(differing.sum(axis=0, dtype=np.uint16) <= self.distance)
        if len(hits):
            return self.keys[hits[0]]
        return self.append(key, fingerprint)


class SqliteRows(OneByOne):
    """A row for each of four blocks, as most projects do it; 64 bits, k = 3."""

    def __init__(self, path: Path) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, value BLOB, key TEXT)")
        connection.execute(
            "CREATE TABLE blocks (block, address, id, PRIMARY KEY (block, address, id))"
            " WITHOUT ROWID"
        )
        self.connection = connection

    def fill(self, pages: Iterator[Page]) -> None:
        while batch := list(itertools.islice(pages, BATCH)):
            self.connection.execute("BEGIN")
            for page in batch:
                self.append(*page)
            self.connection.execute("COMMIT")

    def append(self, key: str, fingerprint: Fingerprint) -> None:
        number = self.connection.execute(
            "INSERT INTO pages (value, key) VALUES (?, ?)", (fingerprint.to_bytes(), key)
        ).lastrowid
        self.connection.executemany(
            "INSERT INTO blocks VALUES (?, ?, ?)",
            [(i, fingerprint.value >> 16 * i & 0xFFFF, number) for i in range(4)],
        )

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        value, execute = fingerprint.value, self.connection.execute
        execute("BEGIN IMMEDIATE")
        for i in range(4):
            for stored, found in execute(
                "SELECT value, key FROM blocks JOIN pages USING (id)"
                " WHERE block = ? AND address = ?",
                (i, value >> 16 * i & 0xFFFF),
            ):
                if (int.from_bytes(stored, "big") ^ value).bit_count() <= 3:
                    execute("COMMIT")
                    return found
        self.append(key, fingerprint)
        execute("COMMIT")
        return None


# Tables, their bits, and flips, with which faiss finds the near pages.
FAISS = {64: (4, 16, 0), 256: (14, 18, 1)}
# The batch of each way, and the pages up to which it is tried.
WAYS: dict[str, tuple[int, int]] = {
    "memory": (64, 10_000_000),
    "sqlite": (64, 10_000_000),
    "memory, 1 a call": (1, 1_000_000),
    "sqlite, 1 a call": (1, 1_000_000),
    "faiss MultiHash": (64, 10_000_000),
    "numpy scan": (1, 1_000_000),
    "PyPI simhash": (1, 1_000_000),
    "sqlite rows": (1, 1_000_000),
}
ONLY_64 = ("PyPI simhash", "sqlite rows")


def made(way: str, folder: Path, bits: int, distance: int, size: int) -> Any:
    if way.startswith("memory"):
        return Ours("memory://", bits, distance)
    if way in ("sqlite", "sqlite, 1 a call"):
        return Ours(f"sqlite:///{folder}/index.sqlite", bits, distance)
    if way == "numpy scan":
        return NumpyScan(bits, distance, size)
    if way == "faiss MultiHash":
        return Faiss(bits, distance)
    if way == "PyPI simhash":
        return PypiSimhash(bits, distance)
    return SqliteRows(folder / "rows.sqlite")


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


def measure(way: str, bits: int, distance: int, size: int, rounds: int) -> tuple[float, ...]:
    """Return us a new page, us a near one, recall, RAM and disk a page, us a page that fills it."""
    batch, _ = WAYS[way]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # What making them takes does not count.
        collections.deque(fingerprints(bits, BATCH, 0), 0)
        before = resident()
        claim = made(way, folder, bits, distance, size)
        filled = time.process_time()
        values = fingerprints(bits, size, seed=1)
        claim.fill((KEY.format(i), page) for i, page in enumerate(values))
        filled = (time.process_time() - filled) / size * 1e6
        ram = (resident() - before) / size
        disk = sum(file.stat().st_size for file in folder.iterdir()) / size
        chance = random.Random(3)
        new_pages = list(fingerprints(bits, rounds * TIMED, seed=2))
        known = itertools.cycle(fingerprints(bits, min(size, rounds * TIMED), seed=1))
        old_pages = list(itertools.islice(known, rounds * TIMED))
        old_pages = [near(page, distance, chance) for page in old_pages]
        new, old = [], []
        for first in range(0, rounds * TIMED, TIMED):
            some = slice(first, first + TIMED)
            named = [(KEY.format(f"new/{first + i}"), p) for i, p in enumerate(new_pages[some])]
            new.append(per_page(claim, named, batch)[0])
            named = [(KEY.format(f"twin/{first + i}"), p) for i, p in enumerate(old_pages[some])]
            old.append(per_page(claim, named, batch))
        recall = sum(share for _, share in old) / len(old)
        return median(new), median(us for us, _ in old), recall, ram, disk, filled


def opening(bits: int, distance: int) -> tuple[float, int]:
    """Return milliseconds and bytes that opening an empty index takes."""
    before, start = resident(), time.process_time()
    index = Ours("memory://", bits, distance).index
    taken = (time.process_time() - start) * 1000
    assert len(index) == 0
    return taken, resident() - before


def flooded(planted: int) -> tuple[float, float, int]:
    """Return us a page before and after pages were planted in one bucket; look-ups cut short."""
    ours = Ours("memory://", 256, 48)

    def in_bucket(count: int, seed: int) -> list[Page]:
        pages = enumerate(fingerprints(256, count, seed))
        return [
            (f"{seed}/{i}", Fingerprint(page.value, 256, bytes(4) + page.blocks[4:]))
            for i, page in pages
        ]

    ours.fill((KEY.format(i), page) for i, page in enumerate(fingerprints(256, planted, 1)))
    before = per_page(ours, in_bucket(TIMED, 2), 64)[0]
    ours.fill(iter(in_bucket(planted, 3)))
    return before, per_page(ours, in_bucket(TIMED, 4), 64)[0], ours.index.flooded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="up to 10 million pages")
    parser.add_argument("--sizes", help="pages in the index, instead of 100,000 (--full: up to)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="medians of so many rounds")
    parser.add_argument("--ways", help="only these, separated by semicolons")
    parser.add_argument("--bits", default="64,256", help="widths, separated by commas")
    options = parser.parse_args()
    sizes = options.sizes or ("100000,1000000,10000000" if options.full else "100000")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        taken, room = pool.apply(opening, (256, 48))
        print(f"opening an index: {taken:.1f} ms, {room / 1e6:.1f} MB")
        if not options.ways:
            before, after, cut = pool.apply(flooded, (100_000,))
            print(
                f"100,000 pages planted in one bucket: {before:.0f} us a page of it before, "
                f"{after:.0f} after, {cut} look-ups cut short"
            )
    print(
        f"{'':26}{'pages':>9}{'us fill':>9}{'us new':>9}{'us dup':>9}{'found':>7}"
        f"{'RAM B/page':>12}{'disk B/page':>12}{'x memory':>10}"
    )
    ways = options.ways.split(";") if options.ways else list(WAYS)
    for bits, distance in ((64, 3), (256, 48)):
        if str(bits) not in options.bits.split(","):
            continue
        for size in map(int, sizes.split(",")):
            base = None
            for way in ways:
                if size > WAYS[way][1] or (way in ONLY_64 and bits != 64):
                    continue
                arguments = (way, bits, distance, size, options.rounds)
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    try:
                        new, duplicate, recall, ram, disk, filled = pool.apply(measure, arguments)
                    except ImportError as error:
                        print(f"{way}: {error}", file=sys.stderr)
                        continue
                base = base or new
                print(
                    f"{f'{way} {bits}/{distance}':26}{size:9}{filled:9.1f}{new:9.1f}"
                    f"{duplicate:9.1f}{recall:7.3f}{ram:12.0f}{disk:12.0f}{new / base:10.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
