"""The crawl of a real documentation site by several Scrapy processes that share one Redis.

    python -m benchmarks.redis_workers [--workers 4] [--seed 1] [--query buckets=local]
        [--only "1 worker;4 workers;killed;killed, Redis too"]

The pages of ../shared/data/docs-html, served on loopback, with scrapy-redis as the scheduler and
the index in the same Redis. Each run has a Redis of its own, with an AOF that is always synced.

- one worker, then several: what is kept, and whether anything is kept twice;
- killed: every few seconds a worker is killed (-9) and started again;
- killed, Redis too: in the middle Redis is stopped, and started again two seconds later.

Each worker writes a line for a page that its spider gets (`got`), one that was dropped and one
that was delivered, at once and unbuffered. Whether two pages are near-duplicates is told by their
fingerprints, whatever the index said. *Kept twice*: a page was delivered though another delivered
page is near it. *Lost*: a page was got or dropped, but neither it nor a page near it was
delivered. *Never seen*: scrapy-redis had handed the page to a worker that was killed before the
page arrived, and forgot it. *Away*: how often a worker found Redis away or too slow; what it let
through meanwhile may be kept twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from w3lib.url import canonicalize_url

from benchmarks.documents import DATA, lines_of
from benchmarks.redis_measuring import Table, need_redis
from scrapy_simhash.core.analysis import analyse_html
from scrapy_simhash.fingerprint.recipe import named_recipe
from tests.servers import RedisServer, redis_server

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "example_project"
PAGES = DATA / "docs-html" / "docs.jsonl.xz"
LEASE = 5.0
# Seconds before the first kill, and between two; how many there are at most.
FIRST_KILL = 6.0
BETWEEN = (1.0, 3.0)
KILLS = 20
# Kills before Redis is stopped, and the seconds it stays away.
OUTAGE_AFTER, OUTAGE = 3, 2.0
# Seconds after which a run has hung.
LIMIT = 600


@dataclass
class Outcome:
    """What the workers of a run wrote."""

    got: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    delivered: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    failed: int = 0
    errors: int = 0
    away: int = 0
    seconds: float = 0.0


class Pages:
    """Which pages there are, and which are near each other."""

    def __init__(self) -> None:
        recipe = named_recipe("default")
        self.keys: list[str] = []
        values = []
        for page in lines_of("docs-html"):
            url = page["url"].replace("https://", "http://", 1)
            found = analyse_html(page["html"], recipe).fingerprint
            # A page that is never compared is near nothing.
            value = found.to_bytes() if found else random.Random(url).randbytes(32)
            self.keys.append(canonicalize_url(url))
            values.append(np.unpackbits(np.frombuffer(value, np.uint8)))
        bits = np.array(values, np.float32)
        distances = bits @ (1 - bits).T + (1 - bits) @ bits.T
        near = np.rint(distances) <= recipe.distance
        self.near = {
            key: {self.keys[i] for i in np.flatnonzero(row)} - {key}
            for key, row in zip(self.keys, near, strict=True)
        }

    def kept_twice(self, delivered: Counter[str]) -> int:
        """How many delivered pages are near another that stands before it in the file."""
        place = {key: number for number, key in enumerate(self.keys)}
        return sum(
            any(other in delivered and place[other] < place[key] for other in self.near[key])
            for key in delivered
        )

    def lost(self, outcome: Outcome) -> list[str]:
        """Pages that a worker had, without a delivered copy."""
        return [key for key in outcome.got | outcome.dropped if not self._kept(key, outcome)]

    def never_seen(self, outcome: Outcome) -> list[str]:
        """Pages that no worker had, without a delivered copy."""
        seen = outcome.got | outcome.dropped
        return [key for key in self.keys if key not in seen and not self._kept(key, outcome)]

    def _kept(self, key: str, outcome: Outcome) -> bool:
        return key in outcome.delivered or any(o in outcome.delivered for o in self.near[key])


class Worker:
    """A Scrapy process."""

    def __init__(self, folder: Path, number: int, order: dict[str, Any]) -> None:
        self.lines = folder / f"{number}.lines"
        self.log = folder / f"{number}.log"
        order = {**order, "lines": str(self.lines), "log": str(self.log)}
        command = [sys.executable, "-m", "benchmarks.redis_workers"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--order", json.dumps(order)],
                cwd=EXAMPLE,
                env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{EXAMPLE}"},
                stdout=log,
                stderr=log,
            )

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def run(
    server: RedisServer, workers: int, query: str, chance: random.Random | None, outage: bool
) -> Outcome:
    """Crawl until every worker has finished by itself."""
    outcome = Outcome()
    start = time.monotonic()
    order = {"redis": server.url, "index": f"{server.url}?{query}".rstrip("?")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made: list[Worker] = []

        def new() -> Worker:
            made.append(Worker(folder, len(made), order))
            return made[-1]

        living = [new() for _ in range(workers)]
        next_kill = time.monotonic() + FIRST_KILL
        try:
            while living:
                time.sleep(0.1)
                if time.monotonic() - start > LIMIT:
                    outcome.failed += len(living)
                    break
                for worker in list(living):
                    if worker.exit_code is not None:
                        living.remove(worker)
                        if worker.exit_code:
                            outcome.failed += 1
                            living.append(new())
                if not chance or not living or time.monotonic() < next_kill:
                    continue
                if outage and outcome.kills == OUTAGE_AFTER:
                    server.stop()
                    time.sleep(OUTAGE)
                    server.start()
                    outage = False
                victim = chance.choice(living)
                victim.kill()
                living.remove(victim)
                outcome.kills += 1
                if not living or outcome.kills >= KILLS:
                    chance = None
                living.append(new())
                next_kill = time.monotonic() + (chance.uniform(*BETWEEN) if chance else 0)
        finally:
            for worker in living:
                worker.kill()
        outcome.seconds = time.monotonic() - start
        for worker in made:
            _read(worker, outcome)
    return outcome


def _read(worker: Worker, outcome: Outcome) -> None:
    if worker.lines.exists():
        for line in worker.lines.read_text().splitlines():
            act, _, key = line.partition(" ")
            if act == "got":
                outcome.got.add(key)
            elif act == "dropped":
                outcome.dropped.add(key)
            else:
                outcome.delivered[key] += 1
    log = worker.log.read_text(errors="replace")
    outcome.errors += log.count(" ERROR: ")
    outcome.away += log.count(" WARNING: The index fails")


def crawl(order: dict[str, Any]) -> None:
    """Be a worker."""
    from example.spiders.pages import PagesSpider
    from scrapy import Request, signals
    from scrapy.crawler import CrawlerProcess
    from scrapy.utils.project import get_project_settings

    from scrapy_simhash.signals import near_duplicate

    lines = os.open(order["lines"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(act: str, key: str) -> None:
        os.write(lines, f"{act} {key}\n".encode())

    class Spider(PagesSpider):
        async def start(self) -> Any:
            # Every worker asks for every page; scrapy-redis lets each through once.
            for url in self._starts:
                yield Request(url)

        def parse(self, response: Any) -> Any:
            write("got", canonicalize_url(response.url))
            yield from super().parse(response)

    def on_drop(verdict: Any) -> None:
        write("dropped", verdict.key)

    def on_item(item: Any) -> None:
        write("delivered", canonicalize_url(item.url))

    settings = get_project_settings()
    settings.update(
        {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": order["redis"],
            "SIMHASH_INDEX_URL": order["index"],
            "SIMHASH_LEASE": LEASE,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_FILE": order["log"],
            "LOG_LEVEL": "INFO",
        },
        priority="cmdline",
    )
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Spider)
    crawler.signals.connect(on_drop, signal=near_duplicate)
    crawler.signals.connect(on_item, signal=signals.item_scraped)
    process.crawl(crawler, pages=str(PAGES))
    process.start()
    if crawler.stats.get_value("finish_reason") != "finished":
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="of the kills")
    parser.add_argument("--query", default="", help="of the index URL, such as buckets=local")
    parser.add_argument("--only", help="runs, separated by ;")
    parser.add_argument("--order", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        return crawl(json.loads(options.order))
    need_redis()
    if not DATA.exists():
        sys.exit(f"skipped: {DATA} is missing")
    several = f"{options.workers} workers"
    runs = ["1 worker", several, "killed", "killed, Redis too"]
    pages = Pages()
    table = Table(
        *("", "pages", "kept", "dropped", "kept twice", "lost", "never seen"),
        *("delivered again", "kills", "failed workers", "log errors", "away", "seconds"),
    )
    for name in options.only.split(";") if options.only else runs:
        with redis_server("--appendonly yes", "--appendfsync always") as server:
            chance = random.Random(options.seed) if name.startswith("killed") else None
            workers = 1 if name == "1 worker" else options.workers
            found = run(server, workers, options.query, chance, "Redis" in name)
        table.row(
            name,
            len(pages.keys),
            len(found.delivered),
            len(found.dropped),
            pages.kept_twice(found.delivered),
            len(pages.lost(found)),
            len(pages.never_seen(found)),
            found.delivered.total() - len(found.delivered),
            found.kills,
            found.failed,
            found.errors,
            found.away,
            round(found.seconds),
        )
    return None


if __name__ == "__main__":
    main()
