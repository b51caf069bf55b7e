"""What an index costs Redis, and whether crawlers that race keep one page of each cluster.

    python -m benchmarks.redis [--pages 100000] [--batch 32] [--race 8]
    python -m benchmarks.redis --flood
    python -m benchmarks.redis --beside 1000000

Pages that are near nothing claim and are confirmed, a batch at a time and alone; then
copies claim. Each has a key of some 60 bytes and facts as long as those of a page. CPU
is that of the server and of the client, memory is the server's, and what is written is
the growth of its append-only file. In the race each process claims a copy of each
cluster, in batches of its own sizes; the pages share half of their block values, as
those of one template do.

``--flood`` measures what pages of one template cost beside unrelated ones, turn by
turn, and how many copies of the oldest ones are lost. ``--beside`` fills an index of so
many pages and one of 100,000, each on a server of its own, and measures what pages cost
in both, turn by turn; figures are medians of the turns."""

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from statistics import median

from benchmarks.measuring import Table, cpu_seconds, info, need_redis
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Arrival, IndexSpec
from scrapy_simhash.rule.facts import FACTS_SIZE
from tests import servers

BLOCKS, CLUSTERS = 14, 1000
WRITTEN = "--appendonly yes --auto-aof-rewrite-percentage 0"
SPEC = IndexSpec("benchmark", 256, 48, BLOCKS, reach=64)


def pages(seed: int = 1) -> Iterator[Arrival]:
    chance = Random(seed)
    for number in itertools.count():
        value, blocks = chance.getrandbits(256), chance.randbytes(4 * BLOCKS)
        name = f"section/{number % 31}/article-{chance.getrandbits(32):x}.html"
        key = f"https://www.example-{number % 997}.com/{name}"
        yield Arrival(
            key, Fingerprint(value, 256, blocks), facts=chance.randbytes(FACTS_SIZE)
        )


class Costs:
    """Counts what pages cost a server and this process, from its making on."""

    def __init__(self, server: servers.RedisServer) -> None:
        self._server = server
        self._before = self._now()

    def _now(self) -> tuple[float, float, int]:
        written = int(info(self._server, "persistence")["aof_current_size"])
        return cpu_seconds(self._server), time.process_time(), written

    def of_each(self, count: int) -> list[int]:
        """Return us of the server and of the client, and bytes written, a page."""
        server, client, written = (
            now - was for now, was in zip(self._now(), self._before, strict=True)
        )
        return [
            round(1e6 * server / count),
            round(1e6 * client / count),
            written // count,
        ]


def admit(index: Index, arrivals: Iterator[Arrival], count: int, batch: int) -> None:
    for start in range(0, count, batch):
        some = [*itertools.islice(arrivals, min(batch, count - start))]
        index.claim_all(some)
        index.confirm(page.key for page in some)


def measure(server: servers.RedisServer, count: int, batch: int) -> None:
    table = Table(
        "pages", "claims", "server us", "client us", "bytes written", "bytes of memory"
    )
    empty = int(info(server, "memory")["used_memory"])
    index, arrivals = open_index(f"{server.url}?socket_timeout=60", SPEC), pages()
    for done in range(0, count, max(step := min(count, 100_000), 1)):
        costs = Costs(server)
        admit(index, arrivals, step, batch)
        memory = (int(info(server, "memory")["used_memory"]) - empty) // (done + step)
        table.row(done + step, f"{batch} a call", *costs.of_each(step), memory)
    costs = Costs(server)
    admit(index, arrivals, 2000, 1)
    table.row(count, "alone", *costs.of_each(2000), "")
    some = [
        page._replace(key=f"{page.key}?")
        for page in itertools.islice(pages(), 0, count, 31)
    ]
    costs = Costs(server)
    claims = [
        index.claim_all(some[at : at + batch]) for at in range(0, len(some), batch)
    ]
    assert {claim.outcome for part in claims for claim in part} == {"duplicate"}
    table.row(count, "copies", *costs.of_each(len(some)), "")
    index.close()


def filled(server: servers.RedisServer, size: int, batch: int) -> Callable[[], int]:
    """Fill an index; return a function that admits more pages, and returns what each cost."""
    empty = int(info(server, "memory")["used_memory"])
    index, arrivals = open_index(f"{server.url}?socket_timeout=60", SPEC), pages()
    admit(index, arrivals, size, batch)
    memory = int(info(server, "memory")["used_memory"]) - empty
    print(f"{size:,} pages take {memory // size} bytes each", flush=True)

    def turn() -> int:
        costs = Costs(server)
        admit(index, arrivals, 2000, batch)
        return costs.of_each(2000)[0]

    return turn


def measure_beside(count: int, batch: int) -> None:
    with servers.redis_server(WRITTEN) as small, servers.redis_server(WRITTEN) as large:
        turns = filled(small, 100_000, batch), filled(large, count, batch)
        rounds = [[turn() for turn in turns] for _ in range(15)]
    few, many = map(median, zip(*rounds, strict=True))
    table = Table("server us beside 100,000 pages", f"beside {count:,} pages", "times")
    table.row(few, many, many / few)


def flood() -> Iterator[Arrival]:
    """Yield pages of one template, which share half of their block values."""
    chance, shared = Random(9), bytes(2 * BLOCKS)
    for number in itertools.count():
        blocks = shared + chance.randbytes(2 * BLOCKS)
        fingerprint = Fingerprint(chance.getrandbits(256), 256, blocks)
        yield Arrival(
            f"http://f.example/{number}",
            fingerprint,
            facts=chance.randbytes(FACTS_SIZE),
        )


def changed(page: Arrival, chance: Random) -> Arrival:
    """Return a copy of a page, which differs from it in ten bits."""
    value = page.fingerprint.value
    for place in chance.sample(range(256), 10):
        value ^= 1 << place
    fingerprint = Fingerprint(value, 256, page.fingerprint.blocks)
    return page._replace(key=f"{page.key}?copy", fingerprint=fingerprint)


def measure_flood(server: servers.RedisServer, batch: int) -> None:
    index = open_index(f"{server.url}?socket_timeout=60", SPEC)
    kinds = {"unrelated": pages(), "flood": flood()}
    admit(index, kinds["unrelated"], 20_000, batch)
    admit(index, kinds["flood"], 3000, batch)
    used = dict.fromkeys(kinds, 0)
    for kind in [*kinds] * 5:
        costs = Costs(server)
        admit(index, kinds[kind], 2000, batch)
        used[kind] += costs.of_each(10_000)[0]
    oldest, chance = [*itertools.islice(flood(), 0, 3000, 30)], Random(3)
    claims = index.claim_all([changed(page, chance) for page in oldest])
    lost = sum(claim.outcome != "duplicate" for claim in claims)
    table = Table(
        "us of an unrelated page", "us of a flood's page", "times", "lost copies of 100"
    )
    table.row(*used.values(), used["flood"] / used["unrelated"], lost)
    index.close()


def copies(crawler: int) -> Iterator[Arrival]:
    """Yield a page of each cluster, which differs in ten bits from those of the others."""
    chance, shared = Random(7), bytes(2 * BLOCKS)
    for cluster in range(CLUSTERS):
        value = chance.getrandbits(256)
        blocks = shared + chance.randbytes(2 * BLOCKS)
        for place in Random(f"{crawler} {cluster}").sample(range(256), 10):
            value ^= 1 << place
        yield Arrival(
            f"http://h{crawler}.example/{cluster}", Fingerprint(value, 256, blocks)
        )


def race(url: str, crawler: int) -> None:
    """Claim, and print how many pages became originals."""
    index, arrivals, chance, originals = (
        open_index(url, SPEC),
        copies(crawler),
        Random(crawler),
        0,
    )
    sys.stdin.readline()
    while some := [*itertools.islice(arrivals, chance.randint(1, 40))]:
        claims = index.claim_all(some)
        originals += sum(claim.outcome == "unique" for claim in claims)
        index.confirm(page.key for page in some)
    print(originals, flush=True)
    index.close()


def compare(server: servers.RedisServer, crawlers: int) -> None:
    url = f"{server.url}?name=race&socket_timeout=60"
    open_index(url, SPEC).close()
    command = [sys.executable, "-m", "benchmarks.redis", "--url", url, "--work"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*command, str(n)], **pipes) for n in range(crawlers)]  # type: ignore[call-overload]
    time.sleep(2)
    before = cpu_seconds(server)
    for crawler in running:
        crawler.stdin.write("\n")
        crawler.stdin.flush()
    originals = sum(int(crawler.communicate()[0]) for crawler in running)
    count = crawlers * CLUSTERS
    table = Table("crawlers", "clusters", "originals", "server us a page")
    used = round(1e6 * (cpu_seconds(server) - before) / count)
    table.row(crawlers, CLUSTERS, originals, used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--race", type=int, default=8)
    parser.add_argument("--flood", action="store_true")
    parser.add_argument("--beside", type=int)
    parser.add_argument("--url")
    parser.add_argument("--work", type=int)
    args = parser.parse_args()
    if args.url:
        race(args.url, args.work)
        return
    need_redis()
    if args.beside:
        measure_beside(args.beside, args.batch)
        return
    with servers.redis_server(WRITTEN) as server:
        if args.flood:
            measure_flood(server, args.batch)
            return
        measure(server, args.pages, args.batch)
        if args.race:
            compare(server, args.race)


if __name__ == "__main__":
    main()
