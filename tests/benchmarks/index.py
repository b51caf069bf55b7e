"""What a claim costs, in time, RAM and on disk, beside other ways to do it.

    python tests/benchmarks/index.py [--sizes 100000,1000000]

Random fingerprints with exponential margins, one thread, one process for each line. Times are
CPU time; a claim of a new page is measured with its share of confirmations in batches of 100.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import multiprocessing
import os
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index import index_from_url
from scrapy_simhash.index.local import LocalIndex
from scrapy_simhash.index.log import Row

TIMED = 3000
BATCH = 10_000
KEY = "https://www.example.com/section/{}.html"
# Claims a way of doing it: None for a new page, else the key of a page within the distance.
Claimer = Callable[[str, Fingerprint], object]


def fingerprints(bits: int, count: int, seed: int) -> Iterator[Fingerprint]:
    random = np.random.default_rng(seed)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        packed = random.bytes(size * bits // 8)
        margins = random.exponential(size=(size, bits)).astype(np.float32)
        for i in range(size):
            value = int.from_bytes(packed[i * bits // 8 : (i + 1) * bits // 8], "big")
            yield Fingerprint(value, bits, margins[i])


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

    def fill(self, pages: Iterator[tuple[str, Fingerprint]]) -> None:
        """Append without comparing: only what comes after is timed."""
        index = self.index
        assert isinstance(index, LocalIndex)
        while batch := list(itertools.islice(pages, BATCH)):
            with index._transaction():
                for key, fingerprint in batch:
                    index._insert(key, Row(0, "", fingerprint.to_bytes()), 0.0)
            LocalIndex._follow(index)

    def __call__(self, key: str, fingerprint: Fingerprint) -> object:
        matches = self.index.claim(key, fingerprint, request='{"url": "..."}').matches
        if matches:
            return matches[0].key
        self.pending.append(key)
        if len(self.pending) == 100:
            self.index.confirm(self.pending)
            self.pending.clear()
        return None


def pypi_simhash(bits: int, distance: int) -> Claimer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from simhash import Simhash, SimhashIndex
    index = SimhashIndex([], f=bits, k=distance)

    def claim(key: str, fingerprint: Fingerprint) -> object:
        page = Simhash(fingerprint.value, f=bits)
        found = index.get_near_dups(page)
        if found:
            return found[0]
        index.add(key, page)
        return None

    return claim


class NumpyScan:
    """Compares with everything."""

    def __init__(self, bits: int, distance: int, size: int) -> None:
        self.words = np.empty((bits // 64, size + TIMED), np.uint64)
        self.keys: list[str] = []
        self.distance = distance

    def fill(self, pages: Iterator[tuple[str, Fingerprint]]) -> None:
        for page in pages:
            self.append(*page)

    def append(self, key: str, fingerprint: Fingerprint) -> None:
        self.words[:, len(self.keys)] = np.frombuffer(fingerprint.to_bytes(), ">u8")
        self.keys.append(key)

    def __call__(self, key: str, fingerprint: Fingerprint) -> object:
        value = np.frombuffer(fingerprint.to_bytes(), ">u8").astype(np.uint64)
        differing = np.bitwise_count(self.words[:, : len(self.keys)] ^ value[:, None])
        hits = np.flatnonzero(differing.sum(axis=0, dtype=np.uint16) <= self.distance)
        if len(hits):
            return self.keys[hits[0]]
        return self.append(key, fingerprint)


def sqlite_rows(path: Path) -> Claimer:
    """A row for each of four blocks, as most projects do it; 64 bits, k = 3."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, value BLOB, key TEXT)")
    connection.execute(
        "CREATE TABLE blocks (block, address, id, PRIMARY KEY (block, address, id)) WITHOUT ROWID"
    )

    def claim(key: str, fingerprint: Fingerprint) -> object:
        value = fingerprint.value
        blocks = [(i, value >> 16 * i & 0xFFFF) for i in range(4)]
        connection.execute("BEGIN IMMEDIATE")
        for block in blocks:
            for stored, found in connection.execute(
                "SELECT value, key FROM blocks JOIN pages USING (id)"
                " WHERE block = ? AND address = ?",
                block,
            ):
                if (int.from_bytes(stored, "big") ^ value).bit_count() <= 3:
                    connection.execute("COMMIT")
                    return found
        number = connection.execute(
            "INSERT INTO pages (value, key) VALUES (?, ?)", (fingerprint.to_bytes(), key)
        ).lastrowid
        connection.executemany(
            "INSERT INTO blocks VALUES (?, ?, ?)", [(*block, number) for block in blocks]
        )
        connection.execute("COMMIT")
        return None

    return claim


def made(way: str, folder: Path, bits: int, distance: int, size: int) -> Claimer:
    if way == "memory":
        return Ours("memory://", bits, distance, size)
    if way == "sqlite":
        return Ours(f"sqlite:///{folder}/index.sqlite", bits, distance, size)
    if way == "PyPI simhash":
        return pypi_simhash(bits, distance)
    if way == "numpy scan":
        return NumpyScan(bits, distance, size)
    return sqlite_rows(folder / "rows.sqlite")


def per_call(claim: Claimer, pages: list[tuple[str, Fingerprint]]) -> tuple[float, float]:
    """Return microseconds a call, and the share that found something."""
    start = time.process_time()
    found = sum(claim(key, page) is not None for key, page in pages)
    return (time.process_time() - start) / len(pages) * 1e6, found / len(pages)


def measure(way: str, bits: int, distance: int, size: int) -> tuple[float, ...]:
    """Fill an index; return us per new page, us per duplicate, recall, RAM and disk per page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        list(fingerprints(bits, BATCH, 0))  # what making them takes does not count
        before = resident()
        claim = made(way, folder, bits, distance, size)
        pages = ((KEY.format(i), page) for i, page in enumerate(fingerprints(bits, size, seed=1)))
        if isinstance(claim, Ours | NumpyScan):
            claim.fill(pages)
        else:
            for key, page in pages:
                claim(key, page)
        ram = (resident() - before) / size
        disk = sum(file.stat().st_size for file in folder.iterdir()) / size
        timed = 100 if isinstance(claim, NumpyScan) else TIMED
        new = list(fingerprints(bits, timed, seed=2))
        new_us, _ = per_call(claim, [(KEY.format(f"new/{i}"), page) for i, page in enumerate(new)])
        old = [near(page, distance) for page in fingerprints(bits, timed, seed=1)]
        duplicate_us, recall = per_call(
            claim, [(KEY.format(f"twin/{i}"), page) for i, page in enumerate(old)]
        )
        return new_us, duplicate_us, recall, ram, disk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000,1000000", help="pages in the index")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    print(
        f"{'':24}{'pages':>9}{'new/s':>9}{'us new':>9}{'us dup':>9}{'found':>7}"
        f"{'RAM B/page':>12}{'disk B/page':>12}{'x memory':>10}"
    )
    for bits, distance in ((64, 3), (256, 48)):
        for size in sizes:
            base = None
            for way in ("memory", "sqlite", "numpy scan", "PyPI simhash", "sqlite rows"):
                if way in ("PyPI simhash", "sqlite rows") and bits != 64:
                    continue
                if way == "PyPI simhash" and size > 100_000:
                    continue
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    new, duplicate, recall, ram, disk = pool.apply(
                        measure, (way, bits, distance, size)
                    )
                base = base or new
                print(
                    f"{f'{way} {bits}/{distance}':24}{size:9}{1e6 / new:9.0f}{new:9.1f}"
                    f"{duplicate:9.1f}{recall:7.3f}{ram:12.0f}{disk:12.0f}{new / base:10.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
