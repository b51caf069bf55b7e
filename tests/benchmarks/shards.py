"""The work of a cluster's nodes for an index of many sites, beside that of one server.

    python -m tests.benchmarks.shards [--pages 50000] [--sites 10000] [--batch 1 32]

Each way gets the same pages, of which three in ten are near an earlier one of their site, and then
claims a tenth as many more; they are confirmed 32 at a time. *server us* is the CPU of all servers
for each of these pages, *busiest* that of the node that has most of it, and *share* its part of
what one server takes. A model follows of a billion pages on a cluster, from what was measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival
from scrapy_simhash.rule.facts import FACTS_SIZE
from tests.benchmarks.redis_measuring import (
    DEFAULT,
    NEAR,
    Table,
    batches,
    blocks_of,
    cpu_seconds,
    near_page,
    need_redis,
    spec_of,
)
from tests.servers import Cluster, RedisServer, cluster, redis_server

# Of a node: bytes for pages, and the part of a second in which it serves claims.
_MEMORY, _BUSY = 64e9, 0.5
# Each way claims in so many turns.
_PARTS = 10


def arrivals(count: int, sites: int, seed: int = 1) -> Iterator[Arrival]:
    """Yield pages of sites in any order."""
    chance = np.random.default_rng(seed)
    bits, distance = DEFAULT
    last: dict[int, Fingerprint] = {}
    for number in range(count):
        site = int(chance.integers(sites))
        if site in last and chance.random() < NEAR:
            own = near_page(last[site], distance, chance)
        else:
            value = int.from_bytes(chance.bytes(bits // 8), "big")
            own = last[site] = Fingerprint(value, bits, blocks_of(value, bits, chance))
        url = f"https://www.{site}.example.com/{seed}/section/{number:032}.html"
        facts = chance.bytes(FACTS_SIZE)
        yield Arrival(url, own, f"{site}.example.com", facts, f'{{"url": "{url}"}}')


class Way:
    """An index on some servers, that is filled and then measured."""

    def __init__(self, server: RedisServer | Cluster, options: str) -> None:
        mark = "&" if "?" in server.url else "?"
        url = f"{server.url}{mark}socket_timeout=30&name=shop:simhash{options}"
        self.nodes = server.masters if isinstance(server, Cluster) else [server]
        self.index = open_index(url, spec_of(*DEFAULT, scoped=True))

    def claim(self, pages: list[Arrival], each: int) -> list[float]:
        """Claim for pages, so many in a call; return the CPU of each node in us a page."""
        before = [cpu_seconds(node) for node in self.nodes]
        for together in batches(pages, 32):
            for some in batches(together, each):
                self.index.claim_all(some)
            self.index.confirm([page.key for page in together])
        after = [cpu_seconds(node) for node in self.nodes]
        return [(b - a) * 1e6 / len(pages) for a, b in zip(before, after, strict=True)]


def model(us: float, size: float, share: float) -> None:
    """Print what a billion pages take, given us and bytes a page and the busiest node's share."""
    print(f"\nA billion pages at {size:.0f} bytes and {us:.0f} us of server a page:")
    table = Table("nodes", "GB a node", "hours of CPU a node", "pages/s at half load")
    for nodes in (3, 6, 12):
        # The busiest node has more than its part, as it had here.
        part = share * 3 / nodes
        hours = 1e9 * us * part / 3.6e9
        table.row(nodes, 1e9 * size * part / 1e9, hours, _BUSY * 1e6 / (us * part))
    print(f"nodes of {_MEMORY / 1e9:.0f} GB: {np.ceil(1e9 * size * 3 * share / _MEMORY):.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 8, 32])
    options = parser.parse_args()
    need_redis()
    with redis_server() as one, cluster(3) as three:
        ways = {
            "one server": Way(one, ""),
            "cluster of 3, one shard": Way(three, "one&shards=1"),
            "cluster of 3, 64 shards": Way(three, "all"),
        }
        empty = one.used_memory
        for some in batches(arrivals(options.pages, options.sites), 256):
            for way in ways.values():
                way.claim(some, 32)
        size = (one.used_memory - empty) / len(ways["one server"].index)
        table = Table("", "pages a call", "server us", "/ one server", "busiest us", "share")
        new = arrivals(options.pages, options.sites, seed=2)
        for each in options.batch:
            found = {name: np.zeros(len(way.nodes)) for name, way in ways.items()}
            for _ in range(_PARTS):
                # One after the other, so that all meet what else the machine does.
                some = list(islice(new, options.pages // 10 // _PARTS))
                for name, way in ways.items():
                    found[name] += np.array(way.claim(some, each)) / _PARTS
            alone = found["one server"].sum()
            for name, us in found.items():
                table.row(name, each, us.sum(), us.sum() / alone, us.max(), us.max() / alone)
        for way in ways.values():
            way.index.close()
        model(float(us.sum()), size, float(us.max() / us.sum()))


if __name__ == "__main__":
    main()
