"""What the Redis benchmarks share: pages to claim, the servers' counters, tables."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from tests import servers
from tests.servers import Cluster, RedisServer

# A page to claim: its key and fingerprint.
Page = tuple[str, Fingerprint]

NEAR = 0.3
CLASSIC, DEFAULT = (64, 3), (256, 48)
_BATCH = 10_000
# As varied as words in addresses are: what is stored of a key may be compressed.
_SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]


def pages(
    bits: int,
    distance: int,
    count: int,
    *,
    seed: int = 1,
    skew_width: int = 0,
    near: float = NEAR,
) -> Iterator[Page]:
    """Random fingerprints with exponential margins, three in ten of them near an earlier one.

    Near pages differ from it in up to the distance, mostly in bits with small margins.

    Args:
        bits: of a fingerprint.
        distance: the greatest distance of near pages.
        count: how many pages.
        seed: the same seed gives the same pages; the keys have it in them.
        skew_width: if given, bits are ones more often than zeros, such that a bucket addressed
            by this many bits has on average 20 times the candidates that it would have.
        near: another share of near pages.
    """
    random = np.random.default_rng(seed)
    # The chance p of a one: a pair agrees in a bit with p^2 + (1 - p)^2.
    one = 0.5 + np.sqrt((20 ** (1 / skew_width) - 1) / 4) if skew_width else 0.5
    earlier: list[Fingerprint] = []
    number = 0
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        margins = random.exponential(size=(size, bits)).astype(np.float32)
        if skew_width:
            packed = np.packbits(random.random((size, bits), np.float32) < one, axis=1).tobytes()
        else:
            packed = random.bytes(size * bits // 8)
        is_near = random.random(size) < near
        flips = random.integers(0, distance, size, endpoint=True)
        syllables = random.integers(len(_SYLLABLES), size=(size, 12))
        for i in range(size):
            number += 1
            if is_near[i] and earlier:
                page = _near(earlier[random.integers(len(earlier))], int(flips[i]), random)
            else:
                value = int.from_bytes(packed[i * bits // 8 : (i + 1) * bits // 8], "big")
                page = Fingerprint(value, bits, margins[i])
                if i < 1000:
                    earlier.append(page)
            yield _address(seed, number, [_SYLLABLES[j] for j in syllables[i]]), page


def _address(seed: int, number: int, parts: list[str]) -> str:
    first, second, third = ("".join(parts[at : at + 4]) for at in (0, 4, 8))
    return f"https://www.example.com/{seed}/{first}/{second}-{third}-{number}.html"


def _near(page: Fingerprint, flips: int, random: np.random.Generator) -> Fingerprint:
    value = page.value
    assert page.margins is not None
    for position in np.argsort(page.margins * random.exponential(size=page.bits))[:flips]:
        value ^= 1 << page.bits - 1 - int(position)
    return Fingerprint(value, page.bits, page.margins)


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
