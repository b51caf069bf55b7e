"""The cost of a claim where a host serves one long text under other headings each time.

    python -m benchmarks.flood [--pages 3000] [--only memory,sqlite,redis]

The rule keeps all of the pages, and each is near all others. 128 of them claim at a time. *Lag*:
how much later than asked the event loop goes on, which depends on what else the machine does. Run
it at two commits to compare them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from random import Random
from types import SimpleNamespace
from typing import Any

from benchmarks.redis_measuring import Table
from scrapy_simhash.core.analysis import analyse_html
from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.core.claims import Claims
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival
from tests import servers

TOGETHER = 128


def pages(count: int) -> list[Arrival]:
    chance, recipe = Random(1), named_recipe("default")
    words = ["".join(chance.choices("bcdfgklmnprst", k=3)) + "aeiou"[n % 5] for n in range(5000)]
    text = "".join(f"<p>{' '.join(chance.choices(words, k=60))}.</p>" for _ in range(4))
    made = []
    for number in range(count):
        name = " ".join(chance.choices(words, k=5))
        page = f"<title>{name}</title><h1>{name}</h1>{text}"
        found = analyse_html(page, recipe)
        assert found.fingerprint
        made.append(Arrival(f"http://a.example/{number}", found.fingerprint, facts=found.facts))
    return made


async def crawl(url: str, arrivals: list[Arrival]) -> tuple[float, list[float], int]:
    """Return seconds of CPU, the lags of the loop, and how many pages became originals."""
    spec = spec_of(named_recipe("default"), spider="s")
    index = Breaker(lambda: open_index(url, spec), spec, pages=1)
    pool: Any = SimpleNamespace(is_busy=False)
    claims = Claims(index, pool, on_loop=not url.startswith("redis"))
    lags, turn, most = list[float](), 0.001, asyncio.Semaphore(TOGETHER)

    async def watch() -> None:
        while True:
            started = time.monotonic()
            await asyncio.sleep(turn)
            lags.append(time.monotonic() - started - turn)

    async def claim(arrival: Arrival) -> bool:
        async with most:
            answer = await claims.claim(arrival)
            return answer is not None and answer.outcome.value == "original"

    watching = asyncio.get_running_loop().create_task(watch())
    started = time.process_time()
    originals = await asyncio.gather(*map(claim, arrivals))
    seconds = time.process_time() - started
    watching.cancel()
    claims.close()
    return seconds, sorted(lags), sum(originals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--only", default="memory,sqlite,redis")
    args = parser.parse_args()
    arrivals = pages(args.pages)
    table = Table("store", "originals", "ms of CPU a page", "lag, ms: p50", "p99", "most")
    for name in args.only.split(","):
        with contextlib.ExitStack() as stack:
            url = "memory://"
            if name == "sqlite":
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                url = f"sqlite:///{folder}/index.sqlite"
            elif name == "redis":
                url = f"{stack.enter_context(servers.redis_server()).url}?socket_timeout=5"
            seconds, lags, originals = asyncio.run(crawl(url, arrivals))
        shown = (1000 * lags[int(share * (len(lags) - 1))] for share in (0.5, 0.99, 1))
        table.row(name, originals, 1000 * seconds / args.pages, *shown)


if __name__ == "__main__":
    main()
