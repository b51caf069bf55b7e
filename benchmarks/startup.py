"""What the add-on costs before the first page: CPU time and memory of a crawl that has just begun.

Run as ``python benchmarks/startup.py [--rounds N]``. Each crawl is a process of its own, and
measured when its spider has opened. The ways follow each other in each round; figures are medians
over the rounds with the least and the most, and the differences are medians of the differences to
Scrapy alone in the same round. A round before them, which does not count, compiles all modules to
bytecode, because an installer does so, too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ON = {"ADDONS": {"scrapy_simhash.Addon": 500}}
WAYS: dict[str, dict[str, Any]] = {
    "Scrapy alone": {},
    "switched off": {**ON, "SIMHASH_ENABLED": False},
    "on": ON,
    "on, with a JOBDIR": {**ON, "JOBDIR": "{folder}"},
    "on, recipe classic": {**ON, "SIMHASH_RECIPE": "classic"},
}


def _crawl(settings: dict[str, Any]) -> None:
    """Crawl nothing, in the process that is there for it; print what it took until then."""
    from scrapy import Spider, signals
    from scrapy.crawler import CrawlerProcess

    class Nothing(Spider):
        name = "nothing"

        async def start(self) -> Any:
            return
            yield

    def opened() -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        seconds = usage.ru_utime + usage.ru_stime
        print(json.dumps([seconds, pages * resource.getpagesize() / 1e6]))

    process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, **settings})
    crawler = process.create_crawler(Nothing)
    crawler.signals.connect(opened, signal=signals.spider_opened)
    process.crawl(crawler)
    process.start()


def measured(settings: dict[str, Any], bytecode: str) -> tuple[float, float, float]:
    """Return seconds of CPU and MB of a crawl when it has begun, and seconds until it has ended."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        order = json.dumps(settings).replace("{folder}", folder)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, __file__, "--order", order],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        cpu, memory = json.loads(done.stdout)
        return cpu, memory, time.perf_counter() - start


def _range(values: list[float], digits: int) -> str:
    least, middle, most = min(values), median(values), max(values)
    return f"{middle:.{digits}f} ({least:.{digits}f}-{most:.{digits}f})"


def main() -> None:
    """Measure each way, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--order", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        return _crawl(json.loads(options.order))
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as bytecode:
        for _ in range(options.rounds + 1):
            for name, settings in WAYS.items():
                found[name].append(measured(settings, bytecode))
    print(f"{os.cpu_count()} cores, load in the last minute {os.getloadavg()[0]:.1f}\n")
    print("| | CPU, s | more | memory, MB | more | from start to end, s |")
    print("| --- |" + " ---: |" * 5)
    base, *_ = counted = [runs[1:] for runs in found.values()]
    for name, runs in zip(found, counted, strict=True):
        cells = [name]
        for place, digits in ((0, 2), (1, 1)):
            more = median(run[place] - other[place] for run, other in zip(runs, base, strict=True))
            cells += [_range([run[place] for run in runs], digits), f"{more:+.{digits}f}"]
        cells.append(_range([run[2] for run in runs], 2))
        print("| " + " | ".join(cells) + " |")
    return None


if __name__ == "__main__":
    main()
