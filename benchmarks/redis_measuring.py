"""What the Redis benchmarks share: pages to claim, the servers' counters, tables."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from scrapy_simhash.fingerprint.blocks import Bands, Slices
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.values import IndexSpec
from tests import servers
from tests.servers import Cluster, RedisServer

# A page to claim: its key and fingerprint.
Page = tuple[str, Fingerprint]

NEAR = 0.3
CLASSIC, DEFAULT = (64, 3), (256, 48)
SLICES, BANDS = Slices(), Bands().count
# As varied as words in addresses are: what is stored of a key may be compressed.
_SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]


def blocks_of(value: int, bits: int, chance: np.random.Generator) -> bytes:
    """Return the slices of a narrow fingerprint; of a wide one random bands."""
    if bits == 64:
        return SLICES.of(value)
    return chance.bytes(4 * BANDS)


def pages(
    bits: int, distance: int, count: int, *, seed: int = 1, near: float = NEAR
) -> Iterator[Page]:
    """Random fingerprints, three in ten of them near an earlier one.

    Near pages differ from it in up to the distance; of the bands of a wide one, half are the same.

    Args:
        bits: of a fingerprint.
        distance: the greatest distance of near pages.
        count: how many pages.
        seed: the same seed gives the same pages; the keys have it in them.
        near: another share of near pages.
    """
    random = np.random.default_rng(seed)
    earlier: list[Fingerprint] = []
    for number in range(1, count + 1):
        if random.random() < near and earlier:
            page = near_page(earlier[random.integers(len(earlier))], distance, random)
        else:
            value = int.from_bytes(random.bytes(bits // 8), "big")
            page = Fingerprint(value, bits, blocks_of(value, bits, random))
            if len(earlier) < 1000:
                earlier.append(page)
        parts = [_SYLLABLES[j] for j in random.integers(len(_SYLLABLES), size=12)]
        yield _address(seed, number, parts), page


def _address(seed: int, number: int, parts: list[str]) -> str:
    first, second, third = ("".join(parts[at : at + 4]) for at in (0, 4, 8))
    return f"https://www.example.com/{seed}/{first}/{second}-{third}-{number}.html"


def near_page(page: Fingerprint, distance: int, random: np.random.Generator) -> Fingerprint:
    """Return a page that differs in up to so many bits, and in half of its bands."""
    value = page.value
    for position in random.permutation(page.bits)[: random.integers(0, distance, endpoint=True)]:
        value ^= 1 << int(position)
    if page.bits == 64:
        return Fingerprint(value, 64, SLICES.of(value))
    own = np.frombuffer(page.blocks, "<u4")
    other = np.frombuffer(blocks_of(value, page.bits, random), "<u4")
    mixed = np.where(random.permutation(BANDS) < BANDS // 2, own, other)
    return Fingerprint(value, page.bits, mixed.tobytes())


def spec_of(bits: int, distance: int, **changed: Any) -> IndexSpec:
    """Return how the benchmarks open an index."""
    blocks = SLICES.count if bits == 64 else BANDS
    return IndexSpec("benchmark", bits, distance, blocks, **changed)


def batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Cut into lists of a size; the last may be shorter."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def cpu_seconds(server: RedisServer | Cluster) -> float:
    """CPU time of the server or servers so far."""
    nodes = server.masters if isinstance(server, Cluster) else [server]
    infos = [node.info("cpu") for node in nodes]
    return float(sum(info["used_cpu_user"] + info["used_cpu_sys"] for info in infos))


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
    if servers.PROGRAM is None:
        sys.exit("skipped: there is no redis-server")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(f"ended by signal {number}"))


def count(number: int) -> str:
    """A number of pages, short: 100k, 1M."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if number >= size and number % (size // 10) == 0:
            return f"{number / size:g}{unit}"
    return str(number)
