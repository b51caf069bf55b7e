"""Where the time of a crawl with the filter goes: threads, packages, and stages of a page.

Run as ``python -m benchmarks.crawl_profile [--pages N]``. Of the crawl process: CPU of each
thread, then where the event loop spends its own, by package (under cProfile, which makes it about
twice as slow; shares matter). Of a worker process: the stages of a page, measured in this process
over the same pages, one page after the other as a worker has them.
"""

from __future__ import annotations

import argparse
import pstats
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.crawl import DATA, WARM_UP, read_pages, run, serving
from scrapy_simhash.extraction.charset import utf8_html
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.features import heavier
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.rule.facts import facts_of

ROUNDS = 2
TOP = 12


def threads(port: int, count: int, server: int) -> None:
    """Print the CPU of each thread of the crawl process."""
    found = run(("bare", "default", 64), port, count, server)
    print(f"\nCrawl process, ms of CPU a page: {found.cpu:.2f}; workers: {found.worker_cpu:.2f}")
    for name, ms in sorted(found.threads.items(), key=lambda item: -item[1]):
        print(f"{ms:8.2f}  {name}")


def packages(port: int, count: int, server: int) -> None:
    """Print where the event loop's time goes, by package."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile"
        run(("bare", "default", 64), port, count, server, file)
        stats = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    times: Counter[str] = Counter()
    for (path, _, name), (_, _, own, _, _) in stats.items():
        times[_package(path, name)] += own / count * 1e3
    print("\nEvent loop, ms a page under the profiler")
    for package, ms in times.most_common(TOP):
        print(f"{ms:8.2f}  {package}")


def _package(path: str, name: str) -> str:
    """Return what a function belongs to: of ours the module, of others the package."""
    if "epoll" in name or "sleep" in name:
        return "waiting"
    if path == "~":
        return f"built in: {name.strip('<>').replace('built-in method ', '')}"
    parts = Path(path).parts
    if "scrapy_simhash" in parts:
        return "/".join(parts[parts.index("scrapy_simhash") :][:2])
    roots = [i for i, part in enumerate(parts) if part == "site-packages"] or [
        i for i, part in enumerate(parts) if part.startswith("python3.")
    ]
    return parts[roots[-1] + 1] if roots else path


def stages(bodies: list[bytes]) -> None:
    """Print the CPU of each stage of a page."""
    recipe = named_recipe("default")
    times: Counter[str] = Counter()
    clock = time.process_time
    for body in bodies * ROUNDS:
        begun = clock()
        html = utf8_html(body)
        decoded = clock()
        extraction = extract(html)
        extracted = clock()
        lines, weights = extraction.to_fingerprint
        counted = normalise(lines, by_line=bool(weights))
        normal = heavier(counted, weights).replace("\n", "") if weights else counted
        recipe.fingerprint(lines, weights, counted)
        fingerprinted = clock()
        facts_of(extraction, recipe, normal)
        ended = clock()
        times["to UTF-8"] += decoded - begun
        times["parse, and find the texts"] += extracted - decoded
        times["fingerprint and blocks"] += fingerprinted - extracted
        times["facts"] += ended - fingerprinted
    number = len(bodies) * ROUNDS
    size = sum(map(len, bodies)) / len(bodies) / 1000
    print(f"\nWorker, ms of CPU a page of {size:.0f} kB: {times.total() / number * 1e3:.2f}")
    for stage, seconds in times.items():
        print(f"{seconds / number * 1e3:8.2f}  {stage}")


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=1000, help="how many are crawled")
    options = parser.parse_args()
    if not DATA.is_dir():
        return print(f"skipped: there is no {DATA}")
    bodies = [body for body, _ in read_pages()]
    with serving() as (port, count, server):
        count = min(count, options.pages)
        print(f"{count - WARM_UP} pages after {WARM_UP}, bare spider, 64 requests at a time")
        threads(port, count, server)
        packages(port, count, server)
    # Each kind of page is spread over the run, as in the crawl.
    stages([bodies[place * 389 % len(bodies)] for place in range(min(len(bodies), 400))])
    return None


if __name__ == "__main__":
    main()
