"""The work of a cluster's nodes for an index of many sites, beside that of one server.

    python -m benchmarks.shards [--pages 50000] [--sites 10000] [--shards 1 24]

Each way gets the same pages, of which three in ten are near an earlier one of their site, and then
claims a tenth as many more; they are confirmed 32 at a time. *claims* is the CPU of all servers for
the claim of a page in us, *in all* that with its confirmation; *busiest* is the part of that which
the node has that has most of it, beside what one server takes. A model follows of a billion pages
on a cluster, from what was measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.redis_instructions import Counted
from benchmarks.redis_measuring import (
    DEFAULT,
    NEAR,
    Table,
    batches,
    blocks_of,
    near_page,
    need_redis,
    spec_of,
)
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival, Entry
from scrapy_simhash.rule.facts import FACTS_SIZE
from tests.servers import Cluster, RedisServer, cluster, redis_server
from tests.servers.single import new_folder, stopped

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

    def fill(self, pages: Iterable[Arrival]) -> None:
        self.index.put(Entry(one.key, one.fingerprint, one.scope, one.facts) for one in pages)

    def claim(self, pages: list[Arrival], each: int) -> np.ndarray[Any, Any]:
        """Claim for pages, so many in a call, and confirm them 32 at a time.

        Return the CPU of each node in us a page, for claims and in all, shape (2, nodes).
        """
        begun, claims = self._cpu(), np.zeros(len(self.nodes))
        for together in batches(pages, 32):
            before = self._cpu()
            for some in batches(together, each):
                self.index.claim_all(some)
            claims += self._cpu() - before
            self.index.confirm([page.key for page in together])
        return np.array([claims, self._cpu() - begun]) * 1e6 / len(pages)

    def _cpu(self) -> np.ndarray[Any, Any]:
        # Asking a server for it would be work of the server.
        pids = [node.process.pid for node in self.nodes if node.process]
        told = [Path(f"/proc/{pid}/schedstat").read_text("ascii") for pid in pids]
        return np.array([int(text.split()[0]) / 1e9 for text in told])


def count_instructions(
    shards: int, options: argparse.Namespace
) -> Iterator[tuple[int, float, float]]:
    """Yield pages a call, and the instructions of claim and confirmation of a page in one server.

    They are the same however busy the machine is.
    """
    with new_folder() as folder:
        with stopped(RedisServer(folder)) as server:
            server.start()
            way = Way(server, f"&shards={shards}")
            way.fill(arrivals(options.pages, options.sites))
            way.index.close()
            with server.client(socket_timeout=60) as client:
                client.save()
        with stopped(Counted(folder)) as counted:
            counted.start()
            index = Way(counted, f"&shards={shards}").index
            new = arrivals(options.pages, options.sites, seed=2)
            counted.control("--instr=on")
            for each in [options.batch[0], *options.batch]:  # the first call loads scripts
                pages = list(islice(new, 320))
                counted.counted()
                for some in batches(pages, each):
                    index.claim_all(some)
                claims = counted.counted()
                for some in batches(pages, 32):
                    index.confirm([page.key for page in some])
                yield each, claims / len(pages), counted.counted() / len(pages)
            index.close()


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
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--shards", type=int, nargs="*", default=[1, 24])
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 8, 32])
    parser.add_argument("--instructions", action="store_true", help="of one server, by valgrind")
    options = parser.parse_args()
    need_redis()
    if options.instructions:
        table = Table("shards", "pages a call", "claim", "confirmation")
        for shards in options.shards:
            for each, *found in islice(count_instructions(shards, options), 1, None):
                table.row(shards, each, *(f"{number:,.0f}" for number in found))
        return
    with redis_server() as one, cluster(3) as three:
        ways = {"one server": Way(one, "")}
        for shards in options.shards:
            name = f"cluster of 3, {shards} shards"
            ways[name] = Way(three, f"{shards}&shards={shards}")
        empty = one.used_memory
        for way in ways.values():
            way.fill(arrivals(options.pages, options.sites))
        size = (one.used_memory - empty) / len(ways["one server"].index)
        table = Table("", "pages a call", "claims", "/ one", "in all", "/ one", "busiest")
        new = arrivals(options.pages, options.sites, seed=2)
        for each in options.batch:
            found = {name: np.zeros((2, len(way.nodes))) for name, way in ways.items()}
            for _ in range(_PARTS):
                # One after the other, so that all meet what else the machine does.
                some = list(islice(new, options.pages // 10 // _PARTS))
                for name, way in ways.items():
                    found[name] += way.claim(some, each) / _PARTS
            one_claims, one_all = found["one server"].sum(1)
            for name, (claims, us) in found.items():
                parts = (us.sum(), us.sum() / one_all, us.max() / one_all)
                table.row(name, each, claims.sum(), claims.sum() / one_claims, *parts)
        for way in ways.values():
            way.index.close()
        model(float(us.sum()), size, float(us.max() / us.sum()))


if __name__ == "__main__":
    main()
