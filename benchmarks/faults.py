"""The answers that crawlers get under faults, checked against what an index promises.

    python -m benchmarks.faults [--seconds 60] [--only redis,cluster,sqlite] [--seed 1]

Four processes claim pages of shared clusters, now and then one of theirs with another
text; they renew, confirm and release them, and note when they asked and when they were
answered. Meanwhile processes are killed (-9) and stopped (SIGSTOP). Of one Redis
connections are killed, scripts flushed, and the server is stopped, or killed and
started from an older snapshot, so that it has lost what it acknowledged. With
sentinels, the master is killed and its replica takes over. The clock of a file jumps.
Then the notes are checked:

- I1: no page became an original while another of its cluster surely was one. So an
  expired entry is replaced once.
- I2: a duplicate names a page that had asked before with such a text.
- I3: what was surely confirmed is there in the end, and each cluster has one confirmed
  entry.
- I4: a key has one entry, and nothing repeats the text that it had before.
- I5: what is confirmed in the end was confirmed by a crawler.
- I6: the index counts what is there, and all of it can be read.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import mutants  # noqa: F401 - puts a fault into the index, if one is named
from benchmarks.measuring import Table
from benchmarks.promises import LEASE, Disturbed, Hold, Note, broken_ones
from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreError
from scrapy_simhash.index.values import Arrival, IndexSpec, Report
from tests import servers
from tests.index.promises.made import fp

ROOT = Path(__file__).resolve().parents[1]
CRAWLERS, CLUSTERS, DISTANCE = 4, 40, 3


def clock(file: str) -> Callable[[], float]:
    """Return a clock that is ahead by as many seconds as stand in a file."""
    return lambda: time.time() + float(Path(file).read_text() or 0)


def opened(url: str, file: str = "") -> Index:
    spec = IndexSpec("faults", 64, DISTANCE, 4, lease=LEASE, spider="s")
    index = open_index(url, spec)
    if file:
        index.now = clock(file)
    return index


def value_of(cluster: int) -> int:
    return Random(cluster).getrandbits(64)


class Crawler:
    """Acts at random for some seconds, and notes it.

    Args:
        order: the URL, the crawler's name, the seconds, and the files of its notes and
            its clock.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.name, self.chance = order["name"], Random(order["name"])
        self.until = time.monotonic() + order["seconds"]
        self.file = os.open(order["notes"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.index: Index = self.tried(lambda: opened(order["url"], order["clock"]))
        # Keys in progress, and those that were confirmed; the numbers of their
        # clusters.
        self.mine, self.done = dict[str, int](), dict[str, int]()
        # Until when keys stay in progress whose pages take longer than a lease.
        self.slow = dict[str, float]()
        self.number = 0

    def note(self, act: str, key: str, asked: float, *more: Any) -> None:
        line = json.dumps([act, key, asked, time.monotonic(), self.name, *more])
        os.write(self.file, f"{line}\n".encode())

    def tried(self, act: Callable[[], Any]) -> Any:
        while time.monotonic() < self.until + 30:
            with contextlib.suppress(StoreError):
                return act()
            time.sleep(0.05)
        raise TimeoutError("the store stays away")

    def work(self) -> None:
        while time.monotonic() < self.until:
            self.claim(
                [self.page(place) for place in range(self.chance.choice([1, 1, 3, 8]))]
            )
            now = time.monotonic()
            for act in ("renewed", "failed", "delivered"):
                keys = [
                    key
                    for key in self.mine
                    if act == "renewed" or self.slow.get(key, 0) < now
                ]
                self.tell(act, [key for key in keys if self.chance.random() < 0.25])
            time.sleep(self.chance.random() * 0.02)
        self.index.close()

    def page(self, place: int) -> tuple[int, Arrival]:
        """Return a page, and its cluster; one in ten comes again, with another text or its own."""
        chance, cluster = self.chance, self.chance.randrange(1, CLUSTERS + 1)
        self.number += 1
        key, known = f"{self.name}.{self.number}", {**self.mine, **self.done}
        if known and chance.random() < 0.1:
            key = chance.choice([*known])
            cluster = chance.choice([cluster, known[key]])
        own = fp(value_of(cluster) ^ 1 << chance.randrange(64))
        return cluster, Arrival(key, own)

    def claim(self, pages: list[tuple[int, Arrival]]) -> None:
        asked = time.monotonic()
        for cluster, page in pages:  # whoever is killed meanwhile has asked
            self.note("claim", page.key, asked, cluster, "unknown")
        try:
            claims = self.index.claim_all([page for _, page in pages])
        except StoreError:
            time.sleep(0.05)
            return
        for (cluster, page), claim in zip(pages, claims, strict=True):
            outcome, matches = claim.outcome, claim.matches
            if outcome == "revisit" and matches[0].distance > DISTANCE:
                outcome = "apart" if matches[1:] else "superseded"
            self.note(
                "claim",
                page.key,
                asked,
                cluster,
                outcome,
                matches[0].key if matches else "",
            )
            if outcome in ("unique", "superseded"):
                self.mine[page.key] = cluster
                if self.chance.random() < 0.1:
                    self.slow[page.key] = asked + 3 * LEASE

    def tell(self, act: str, keys: list[str]) -> None:
        if not keys:
            return
        asked = time.monotonic()
        noted = {"renewed": "renew", "failed": "release", "delivered": "confirm"}[act]
        # whoever is killed may have done it
        for key in keys if act != "renewed" else ():
            self.note(noted, key, asked, 0, "unknown")
        self.tried(lambda: self.index.report(Report()._replace(**{act: keys})))
        for key in keys:
            self.note(noted, key, asked)
            if act != "renewed":
                self.done[key] = self.mine.pop(key)
                self.done.pop(
                    next(iter(self.done)) if len(self.done) > 20 else "", None
                )


class Faults:
    """Disturbs crawlers and their store.

    Args:
        server: the store, if it is one server.
        group: the store, if sentinels watch it.
        clock: the file of the clock, if it jumps.
    """

    def __init__(
        self,
        chance: Random,
        server: servers.RedisServer | None,
        group: servers.Sentinel | None,
        clock: str,
    ) -> None:
        self.chance, self.server, self.group, self.clock = chance, server, group, clock
        self.done = Counter[str]()
        self.disturbed = Disturbed()
        self.kinds = ["kill -9", "SIGSTOP"]
        if server:
            self.kinds += [
                "CLIENT KILL",
                "SCRIPT FLUSH",
                "SIGSTOP of Redis",
                "lost writes",
                "jump",
            ]
        self.kinds += ["failover"] * bool(group) + ["clock"] * bool(clock)
        # Each kind comes as often as the others; at first the last one.
        self.next = [*self.kinds]

    def disturb(self, crawlers: list[subprocess.Popen[bytes]]) -> int:
        """Do something; return the number of the crawler that was killed, or -1."""
        chance, server = self.chance, self.server
        time.sleep(chance.uniform(0.2, 0.8))
        self.next = self.next or chance.sample(self.kinds, len(self.kinds))
        kind, number = self.next.pop(), chance.randrange(len(crawlers))
        self.done[kind] += 1
        if kind == "kill -9":
            crawlers[number].kill()
            crawlers[number].wait()
            return number
        if kind == "SIGSTOP":
            crawlers[number].send_signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0.1, LEASE))
            crawlers[number].send_signal(signal.SIGCONT)
        elif kind == "clock":
            ahead = float(Path(self.clock).read_text()) + chance.uniform(-1, 2) * LEASE
            # In one step, because crawlers read it all the time.
            new = Path(f"{self.clock}.new")
            new.write_text(str(ahead))
            self.disturbed.jumps.append(time.monotonic())
            new.replace(self.clock)
            self.disturbed.jumps.append(time.monotonic())
        elif self.group:
            started = time.monotonic()
            # A busy machine takes its time for the replica.
            with self.group.master.client(socket_timeout=60) as client:
                client.set("the replica", "has all until now")
                client.wait(1, 30_000)
            dead = self.group.fail_over()
            self.disturbed.losses.append((started, time.monotonic()))
            host, port = self.group.master.address
            dead.start("--replicaof", host, str(port))
            # or it would have nothing when it takes over
            servers.wait_for_replica(dead)
        elif server and kind == "lost writes":
            started = time.monotonic()
            with server.client() as client:
                client.save()
            time.sleep(chance.uniform(0.1, 0.5))
            server.kill()
            self.disturbed.losses.append((started, time.monotonic()))
            server.start()
        elif server and kind == "jump":
            with server.client() as client:
                client.hincrby("{simhash}:meta", "last", self.chance.randrange(1, 40))
        elif server and kind == "SIGSTOP of Redis":
            with server.frozen():
                time.sleep(chance.uniform(0.1, 0.9))
        elif server:
            with server.client() as client, contextlib.suppress(Exception):
                command = ["CLIENT", "KILL", "TYPE", "normal"]
                client.execute_command(
                    *(command if kind == "CLIENT KILL" else ["SCRIPT", "FLUSH"])
                )
        return -1


def check(
    url: str,
    seconds: float,
    seed: int,
    server: servers.RedisServer | None = None,
    group: servers.Sentinel | None = None,
    *,
    jumps: bool = False,
) -> tuple[int, Counter[str], Counter[str]]:
    """Return events, faults and broken promises of some crawlers."""
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        clock = f"{folder}/clock" if jumps else ""
        if clock:
            Path(clock).write_text("0")

        def start(number: int, turn: int) -> subprocess.Popen[bytes]:
            name = f"c{number}.{turn}"
            order = {
                "url": url,
                "name": name,
                "seconds": max(until - time.monotonic(), 0.1),
            }
            order |= {"notes": f"{folder}/{name}", "clock": clock}
            command = [
                sys.executable,
                "-m",
                "benchmarks.faults",
                "--work",
                json.dumps(order),
            ]
            return subprocess.Popen(command, cwd=ROOT)

        # A failover that loses the index as a whole, because it has just begun, loses
        # all promises.
        opened(url).close()
        turns = [0] * CRAWLERS
        crawlers = [start(number, 0) for number in range(CRAWLERS)]
        faults = Faults(Random(seed), server, group, clock)
        try:
            while time.monotonic() < until:
                number = faults.disturb(crawlers)
                if number >= 0:
                    turns[number] += 1
                    crawlers[number] = start(number, turns[number])
            for crawler in crawlers:
                crawler.wait(60)
        finally:
            for crawler in crawlers:
                crawler.kill()
                crawler.wait()
        files = [
            file
            for file in Path(folder).iterdir()
            if file.name.startswith("c") and "." in file.name
        ]
        lines = [line for file in files for line in file.read_text().splitlines()]
    with contextlib.closing(opened(url)) as index:
        stored = list(index)
        complaints = index.check()
    notes = [Note(*json.loads(line)) for line in lines]
    if url.startswith("sqlite:"):
        for note in notes:
            ends = faults.disturbed.ends
            ends[note.crawler] = max(ends.get(note.crawler, 0.0), note.answered)
    broken = list(broken_ones(notes, faults.disturbed, stored))
    asked = {note.key for note in notes if note.act == "confirm"}
    final = [entry.key for entry in stored if not entry.provisional]
    broken += [("I5", (key,)) for key in final if key not in asked]
    broken += [("I6", (complaint,)) for complaint in complaints]
    if broken:
        show(broken, notes, faults.disturbed)
    return len(notes), faults.done, Counter(promise for promise, _ in broken)


def show(
    broken: list[tuple[str, tuple[Any, ...]]], notes: list[Note], disturbed: Disturbed
) -> None:
    """Print how promises were broken: the notes of the keys and the clusters concerned."""
    print("disturbed:", disturbed, file=sys.stderr)
    for promise, told in broken:
        print(promise, *told, sep="\n  ", file=sys.stderr)
        named = {one.key for one in told if isinstance(one, (Note, Hold))} | {
            *map(str, told)
        }
        texts = {one.text for one in told if isinstance(one, (Note, Hold))}
        named |= {
            note.key for note in notes if note.act == "claim" and note.text in texts
        }
        for note in sorted(notes, key=lambda note: note.asked):
            if note.key in named:
                print("   ", *note, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="redis,sentinel,cluster,sqlite")
    parser.add_argument("--work")
    args = parser.parse_args()
    if args.work:
        Crawler(json.loads(args.work)).work()
        return
    is_broken = False
    table = Table("store", "events", "faults", "broken promises")
    for name in args.only.split(","):
        with contextlib.ExitStack() as stack:
            single = group = None
            if name == "sqlite":
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                url = f"sqlite:///{folder}/index.sqlite"
            elif name.startswith("cluster"):
                url = stack.enter_context(servers.cluster()).url
            elif name.startswith("sentinel"):
                group = stack.enter_context(servers.sentinel())
                url = group.url
            else:
                single = stack.enter_context(servers.redis_server())
                url = single.url
            jumps = name == "sqlite"
            events, done, broken = check(
                url, args.seconds, args.seed, single, group, jumps=jumps
            )
        shown = ", ".join(f"{count} {kind}" for kind, count in sorted(done.items()))
        table.row(name, events, shown, dict(broken) or "none")
        is_broken |= bool(broken)
    sys.exit(is_broken)


if __name__ == "__main__":
    main()
