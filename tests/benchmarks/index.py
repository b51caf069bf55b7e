"""What a claim costs, in time, RAM and on disk, beside other ways to do it.

    python tests/benchmarks/index.py [--full] [--sizes 100000,1000000] [--rounds 3]

Random fingerprints with exponential margins, one thread, one process for each line. Times are
CPU time, medians of rounds; a claim of a new page has its share of confirmations in batches of
100. Of the others, only ``sqlite rows`` keeps anything when its process ends, and none has leases:
what they do, search and add, is what ``buckets alone`` does.
"""

from __future__ import annotations

import argparse
import collections
import gc
import itertools
import multiprocessing
import os
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

from scrapy_simhash.fingerprint.blocks import plan_layout
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, index_from_url
from scrapy_simhash.index.buckets import Neighbours
from scrapy_simhash.index.local import LocalIndex
from scrapy_simhash.index.log import Row

ROUNDS = 3
# Pages a round; fewer where they would take longer than so many seconds.
TIMED = 2048
SECONDS = 1.0
BATCH = 10_000
KEY = "https://www.example.com/section/{}.html"
REQUEST = '{"url":"https://www.example.com/section/123456.html","method":"GET","callback":null}'
Page = tuple[str, Fingerprint]
# Claims for some pages; returns for each the key of a page within the distance, None for a new one.
Claimer = Callable[[list[Page]], list[object]]


def fingerprints(
    bits: int, count: int, seed: int, *, margins: bool = True
) -> Iterator[Fingerprint]:
    values, sums = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        packed = values.bytes(size * bits // 8)
        rows = sums.exponential(size=(size, bits)).astype(np.float32) if margins else None
        for i in range(size):
            value = int.from_bytes(packed[i * bits // 8 : (i + 1) * bits // 8], "big")
            yield Fingerprint(value, bits, None if rows is None else rows[i])


def near(fingerprint: Fingerprint, distance: int) -> Fingerprint:
    """Flip half as many bits as are allowed, those with the smallest margins."""
    value = fingerprint.value
    for position in np.argsort(fingerprint.margins)[: distance // 2]:
        value ^= 1 << fingerprint.bits - 1 - int(position)
    return Fingerprint(value, fingerprint.bits, fingerprint.margins)


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Ours:
    """The index; provisional pages are confirmed by hundreds."""

    def __init__(self, url: str, bits: int, distance: int, size: int) -> None:
        self.index = index_from_url(
            url, recipe="benchmark", bits=bits, distance=distance, expected_pages=size
        )
        self.pending: list[str] = []

    def fill(self, pages: Iterator[Page]) -> None:
        """Append without comparing: only what comes after is timed."""
        index = self.index
        assert isinstance(index, LocalIndex)
        while batch := list(itertools.islice(pages, BATCH)):
            with index._transaction():
                first = index._last() + 1
                index._insert(
                    [
                        (Row(at, "", fingerprint.to_bytes()), key, 0.0)
                        for at, (key, fingerprint) in enumerate(batch, first)
                    ]
                )
            index._follow()

    def __call__(self, pages: list[Page]) -> list[object]:
        claims = self.index.claim_all([Arrival(*page, request=REQUEST) for page in pages])
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


class BucketsAlone(OneByOne):
    """Our buckets, without log, leases and keys on disk."""

    def __init__(self, bits: int, distance: int, size: int) -> None:
        self.neighbours = Neighbours(plan_layout(bits, distance, size))
        self.keys: list[str] = []
        self.distance = distance

    def fill(self, pages: Iterator[Page]) -> None:
        while batch := list(itertools.islice(pages, BATCH)):
            first = len(self.keys)
            self.keys += [key for key, _ in batch]
            packed = b"".join(fingerprint.to_bytes() for _, fingerprint in batch)
            words = np.frombuffer(packed, ">u8").astype(np.uint64).reshape(len(batch), -1)
            self.neighbours.extend(np.arange(first, len(self.keys)), words)

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        found = self.neighbours.find(fingerprint, self.distance)
        if found:
            return self.keys[found[0][1]]
        self.neighbours.add(len(self.keys), fingerprint.value)
        self.keys.append(key)
        return None


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


class Faiss(OneByOne):
    """The binary indexes of faiss: hash tables of m blocks with flips of any bit, or a scan."""

    def __init__(self, bits: int, distance: int, size: int, *, hashed: bool) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        layout = plan_layout(bits, distance, size)
        if hashed:
            self.index = faiss.IndexBinaryMultiHash(bits, layout.blocks, layout.width)
            self.index.nflip = int(layout.probes > layout.blocks)
        else:
            self.index = faiss.IndexBinaryFlat(bits)
        self.distance = distance
        self.keys: list[str] = []

    def fill(self, pages: Iterator[Page]) -> None:
        while batch := list(itertools.islice(pages, BATCH)):
            self.keys += [key for key, _ in batch]
            packed = b"".join(fingerprint.to_bytes() for _, fingerprint in batch)
            self.index.add(np.frombuffer(packed, np.uint8).reshape(len(batch), -1))

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        row = np.frombuffer(fingerprint.to_bytes(), np.uint8)[None]
        _, _, found = self.index.range_search(row, self.distance + 1)
        if len(found):
            return self.keys[found[0]]
        self.index.add(row)
        self.keys.append(key)
        return None


class Datasketch(OneByOne):
    """MinHashLSH with 128 permutations; a page's signature is made of its fingerprint."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self.index = MinHashLSH(threshold=0.8, num_perm=128)
        self.empty = MinHash(num_perm=128)

    def claim(self, key: str, fingerprint: Fingerprint) -> object:
        values = np.random.Philox(key=fingerprint.value & (1 << 64) - 1).random_raw(128)
        page = self.empty.copy()
        page.hashvalues = (values & np.uint64((1 << 32) - 1)).astype(page.hashvalues.dtype)
        found = self.index.query(page)
        if found:
            return found[0]
        self.index.insert(key, page)
        return None


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


# The batch of each way, and the pages up to which it is tried.
WAYS: dict[str, tuple[int, int]] = {
    "memory": (1, 10_000_000),
    "memory, 64 a call": (64, 10_000_000),
    "sqlite": (1, 10_000_000),
    "sqlite, 64 a call": (64, 10_000_000),
    "buckets alone": (1, 10_000_000),
    "numpy scan": (1, 1_000_000),
    "faiss MultiHash": (1, 10_000_000),
    "faiss Flat": (1, 1_000_000),
    "PyPI simhash": (1, 1_000_000),
    "sqlite rows": (1, 1_000_000),
    "datasketch LSH": (1, 100_000),
}
ONLY_64 = ("PyPI simhash", "sqlite rows", "datasketch LSH")


def made(way: str, folder: Path, bits: int, distance: int, size: int) -> Any:
    if way.startswith("memory"):
        return Ours("memory://", bits, distance, size)
    if way.startswith("sqlite,") or way == "sqlite":
        return Ours(f"sqlite:///{folder}/index.sqlite", bits, distance, size)
    if way == "buckets alone":
        return BucketsAlone(bits, distance, size)
    if way == "numpy scan":
        return NumpyScan(bits, distance, size)
    if way.startswith("faiss"):
        return Faiss(bits, distance, size, hashed=way == "faiss MultiHash")
    if way == "PyPI simhash":
        return PypiSimhash(bits, distance)
    if way == "datasketch LSH":
        return Datasketch()
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
    """Fill an index; return us per new page, us per duplicate, recall, RAM and disk per page."""
    batch, _ = WAYS[way]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # What making them takes does not count.
        collections.deque(fingerprints(bits, BATCH, 0, margins=False), 0)
        before = resident()
        claim = made(way, folder, bits, distance, size)
        values = fingerprints(bits, size, seed=1, margins=False)
        claim.fill((KEY.format(i), page) for i, page in enumerate(values))
        ram = (resident() - before) / size
        disk = sum(file.stat().st_size for file in folder.iterdir()) / size
        new_pages = list(fingerprints(bits, rounds * TIMED, seed=2))
        old_pages = list(fingerprints(bits, min(size, rounds * TIMED), seed=1))
        if way != "datasketch LSH":  # to which a near fingerprint is any other
            old_pages = [near(page, distance) for page in old_pages]
        new, old = [], []
        for first in range(0, rounds * TIMED, TIMED):
            some = slice(first, first + TIMED)
            named = [(KEY.format(f"new/{first + i}"), p) for i, p in enumerate(new_pages[some])]
            new.append(per_page(claim, named, batch)[0])
            named = [(KEY.format(f"twin/{first + i}"), p) for i, p in enumerate(old_pages[some])]
            old.append(per_page(claim, named, batch))
        recall = sum(share for _, share in old) / len(old)
        return median(new), median(us for us, _ in old), recall, ram, disk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="up to 10 million pages")
    parser.add_argument("--sizes", help="pages in the index, instead of 100,000 (--full: up to)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="medians of so many rounds")
    options = parser.parse_args()
    sizes = options.sizes or ("100000,1000000,10000000" if options.full else "100000")
    print(
        f"{'':26}{'pages':>9}{'new/s':>9}{'us new':>9}{'us dup':>9}{'found':>7}"
        f"{'RAM B/page':>12}{'disk B/page':>12}{'x memory':>10}"
    )
    for bits, distance in ((64, 3), (256, 48)):
        for size in map(int, sizes.split(",")):
            base = None
            for way, (_, most) in WAYS.items():
                if size > most or (way in ONLY_64 and bits != 64):
                    continue
                arguments = (way, bits, distance, size, options.rounds)
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    try:
                        new, duplicate, recall, ram, disk = pool.apply(measure, arguments)
                    except ImportError as error:
                        print(f"{way}: {error}", file=sys.stderr)
                        continue
                base = base or new
                print(
                    f"{f'{way} {bits}/{distance}':26}{size:9}{1e6 / new:9.0f}{new:9.1f}"
                    f"{duplicate:9.1f}{recall:7.3f}{ram:12.0f}{disk:12.0f}{new / base:10.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
