"""What crawlers are answered under faults, checked against what an index promises.

    python -m tests.benchmarks.faults [--seconds 60] [--only redis,cluster,sqlite] [--seed 1]

Four processes claim pages of shared clusters, confirm, release and adopt them, and note when they
asked and when they were answered. Meanwhile processes are killed (-9) and stopped (SIGSTOP), and of
one Redis connections are killed, scripts flushed, and the server stopped. Then the notes are
checked:

- I1: no page became an original while another of its cluster surely was one. So an expired entry
  is replaced once.
- I2: a duplicate names a page that had asked before.
- I3: what was surely confirmed is there in the end, and each cluster has one confirmed entry.
- I4: an orphan goes to one crawler until that one's lease has run out.
- I5: a key has one entry.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Index, StoreError
from scrapy_simhash.index.values import Arrival, IndexSpec
from scrapy_simhash.testing.made import fp
from tests import servers
from tests.benchmarks.redis_measuring import Table

ROOT = Path(__file__).resolve().parents[2]
CRAWLERS, CLUSTERS = 4, 40
# Seconds of a lease, and by how much the clocks of two crawlers may be apart: a client takes the
# time of Redis when it connects, and an answer may take half a second.
LEASE, APART = 2.0, 0.6


class Note(NamedTuple):
    """An act on a key: when it was asked and answered, by whom, and the answer."""

    act: str
    key: str
    asked: float
    answered: float
    crawler: str
    outcome: str = ""
    other: str = ""

    @property
    def cluster(self) -> str:
        return self.key.partition("/")[0]

    @property
    def leases(self) -> bool:
        return self.act == "adopt" or self.outcome in ("original", "revisit")


def opened(url: str) -> Index:
    return open_index(url, IndexSpec("faults", 64, 3, 4, lease=LEASE, spider="s"))


def work(url: str, crawler: str, seconds: float, path: str) -> None:
    """Act at random for some seconds, and note it."""
    chance, until, mine = Random(crawler), time.monotonic() + seconds, list[str]()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(act: str, key: str, asked: float, *more: str) -> None:
        line = json.dumps([act, key, asked, time.monotonic(), crawler, *more])
        os.write(file, f"{line}\n".encode())

    def tried(act: Callable[[], Any]) -> Any:
        while time.monotonic() < until + 30:
            with contextlib.suppress(StoreError):
                return act()
            time.sleep(0.05)
        raise TimeoutError("the store stays away")

    index, number = tried(lambda: opened(url)), 0
    while time.monotonic() < until:
        number += 1
        pages = []
        for place in range(chance.choice([1, 1, 3, 8])):
            cluster = chance.randrange(CLUSTERS)
            value = Random(cluster).getrandbits(64) ^ 1 << chance.randrange(64)
            again = mine and chance.random() < 0.1
            key = chance.choice(mine) if again else f"{cluster}/{crawler}.{number}.{place}"
            if again:
                value = Random(int(key.partition("/")[0])).getrandbits(64)
            pages.append(Arrival(key, fp(value), request="R"))
        asked = time.monotonic()
        for page in pages:  # whoever is killed meanwhile has asked
            note("claim", page.key, asked, "unknown")
        try:
            claims = index.claim_all(pages)
        except StoreError:
            time.sleep(0.05)
            continue
        for page, claim in zip(pages, claims, strict=True):
            other = claim.matches[0].key if claim.matches else ""
            note("claim", page.key, asked, claim.outcome.value, other)
            mine += [page.key] * (claim.outcome.value == "original")
        for act in ("release", "confirm"):
            if some := [key for key in dict.fromkeys(mine) if chance.random() < 0.25]:
                asked = time.monotonic()
                tried(lambda act=act, some=some: getattr(index, act)(some))
                for key in some:
                    note(act, key, asked)
                mine = [key for key in mine if key not in some]
        if chance.random() < 0.1:
            asked = time.monotonic()
            for orphan in tried(index.orphans) or []:
                note("adopt", orphan.key, asked)
                mine.append(orphan.key)
        time.sleep(chance.random() * 0.02)
    index.close()


def violations(notes: list[Note], kills: dict[str, float], stored: list[Any]) -> Counter[str]:
    """Return which promises were broken, and how often."""
    broken = Counter[str]()
    by_cluster, asked = defaultdict[str, list[Note]](list), dict[str, float]()
    released = defaultdict[str, list[float]](list)
    for note in notes:
        by_cluster[note.cluster].append(note)
        if note.act == "claim":
            asked[note.key] = min(note.asked, asked.get(note.key, note.asked))
        elif note.act == "release":
            released[note.key].append(note.asked)
    sure = set[str]()
    for note in notes:
        if note.act == "confirm":
            leases = [one for one in by_cluster[note.cluster] if one.key == note.key and one.leases]
            begun = max((one.asked for one in leases if one.answered <= note.asked), default=0.0)
            if note.answered < begun + LEASE - APART and not released[note.key]:
                sure.add(note.key)
    for some in by_cluster.values():
        confirmed = {n.key: n.answered for n in some if n.act == "confirm" and n.key in sure}
        for x in some:
            if x.outcome == "duplicate" and not asked.get(x.other, x.answered) < x.answered:
                broken["I2"] += 1
            if x.outcome != "original" and x.act != "adopt":
                continue
            for y in some:
                if not y.leases or y.answered >= x.asked or y is x:
                    continue
                is_same = x.key == y.key
                if is_same and (x.act != "adopt" or x.crawler == y.crawler):
                    continue
                left = any(y.asked <= at < x.answered for at in released[y.key])
                gone = left or kills.get(y.crawler, x.answered) < x.answered
                is_sure = confirmed.get(y.key, x.asked) < x.asked
                if is_sure or not (gone or y.asked + LEASE - APART <= x.answered):
                    if x.act != "adopt":
                        broken["I1"] += 1
                    elif is_same:
                        broken["I4"] += 1
    final = [entry.key for entry in stored if not entry.provisional]
    counted = Counter(key.partition("/")[0] for key in final)
    broken["I3"] += sum(count > 1 for count in counted.values()) + len(sure - set(final))
    broken["I5"] += len(stored) - len({entry.key for entry in stored})
    return +broken


def faults(
    crawlers: list[subprocess.Popen[bytes]], server: servers.RedisServer | None, chance: Random
) -> Iterator[tuple[str, int]]:
    """Do one fault after the other; yield its name, and the crawler that it killed, or -1."""
    while True:
        time.sleep(chance.uniform(0.2, 0.8))
        kinds = ["kill -9", "SIGSTOP"]
        kinds += ["CLIENT KILL", "SCRIPT FLUSH", "SIGSTOP of Redis"] if server else []
        kind, number = chance.choice(kinds), chance.randrange(len(crawlers))
        if kind == "kill -9":
            crawlers[number].kill()
            crawlers[number].wait()
        elif kind == "SIGSTOP":
            crawlers[number].send_signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0.1, 1.5 * LEASE))
            crawlers[number].send_signal(signal.SIGCONT)
        elif server and kind == "SIGSTOP of Redis":
            with server.frozen():
                time.sleep(chance.uniform(0.1, 0.9))
        elif server:
            with server.client() as client, contextlib.suppress(Exception):
                command = ["CLIENT", "KILL", "TYPE", "normal"]
                client.execute_command(*(command if kind == "CLIENT KILL" else ["SCRIPT", "FLUSH"]))
        yield kind, number if kind == "kill -9" else -1


def check(
    url: str, seconds: float, seed: int, server: servers.RedisServer | None = None
) -> tuple[int, Counter[str], Counter[str]]:
    """Return events, faults and broken promises of some crawlers."""
    until, kills, done = time.monotonic() + seconds, dict[str, float](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:

        def start(number: int, turn: int) -> subprocess.Popen[bytes]:
            left = max(until - time.monotonic(), 0.1)
            order = json.dumps([url, f"c{number}.{turn}", left, f"{folder}/{number}.{turn}"])
            command = [sys.executable, "-m", "tests.benchmarks.faults", "--work", order]
            return subprocess.Popen(command, cwd=ROOT)

        turns = [0] * CRAWLERS
        crawlers = [start(number, 0) for number in range(CRAWLERS)]
        try:
            for kind, number in faults(crawlers, server, Random(seed)):
                done[kind] += 1
                if number >= 0:
                    kills[f"c{number}.{turns[number]}"] = time.monotonic()
                    turns[number] += 1
                    crawlers[number] = start(number, turns[number])
                if time.monotonic() > until:
                    break
            for crawler in crawlers:
                crawler.wait(60)
        finally:
            for crawler in crawlers:
                crawler.kill()
                crawler.wait()
        lines = [line for file in Path(folder).iterdir() for line in file.read_text().splitlines()]
    notes = sorted((Note(*json.loads(line)) for line in lines), key=lambda note: note.asked)
    with contextlib.closing(opened(url)) as index:
        stored = list(index)
    return len(notes), done, violations(notes, kills, stored)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="redis,redis-local,cluster,sqlite")
    parser.add_argument("--work")
    args = parser.parse_args()
    if args.work:
        work(*json.loads(args.work))
        return
    table = Table("store", "events", "faults", "broken promises")
    for name in args.only.split(","):
        with contextlib.ExitStack() as stack:
            single = None
            if name == "sqlite":
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                url = f"sqlite:///{folder}/index.sqlite"
            elif name.startswith("cluster"):
                url = stack.enter_context(servers.cluster()).url
            else:
                single = stack.enter_context(servers.redis_server())
                url = single.url
            url += "?buckets=local" if name.endswith("-local") else ""
            events, done, broken = check(url, args.seconds, args.seed, single)
        shown = ", ".join(f"{count} {kind}" for kind, count in sorted(done.items()))
        table.row(name, events, shown, dict(broken) or "none")


if __name__ == "__main__":
    main()
