"""Crawls the docs-html set over HTTP on loopback and scores the drops against its labels.

Run as ``python benchmarks/docs_crawl.py [--show N]``. The three
releases of one documentation site are served as three hosts and crawled by the example's ``pages``
spider with the plugin's defaults, in a process of its own. The data is read from ``../shared/data``
beside the checkout.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from w3lib.url import canonicalize_url

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "example_project"
DATA = ROOT.parent / "shared" / "data" / "docs-html"

DEFINITIONS = """\
A drop (page -> original) is right if that pair is labelled a duplicate, left out if it is
labelled ambiguous, else false. Precision: right / (right + false). Recall: the share of the
labelled duplicate pairs of which not both pages were kept."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Crawl:
    """What a crawl did.

    Attributes:
        drops: the dropped page, its original, and their distance in bits; pages by id.
        stats: Scrapy's stats, those that are plain numbers or text.
        errors: the lines of the log at level ERROR or above, and tracebacks.
        seconds: wall time of the crawl, from the first request on.
    """

    drops: list[tuple[str, str, int]]
    stats: dict[str, Any]
    errors: list[str]
    seconds: float


@dataclass(frozen=True)
class Score:
    """The crawl against the labels."""

    right: int
    ambiguous: int
    false: list[tuple[str, str, int]]
    labelled: int
    missed: list[Pair]

    @property
    def precision(self) -> float:
        """Right drops among the drops that count."""
        judged = self.right + len(self.false)
        return self.right / judged if judged else 1.0

    @property
    def recall(self) -> float:
        """Labelled duplicate pairs of which not both pages were kept."""
        return 1 - len(self.missed) / self.labelled


def crawl_docs(settings: dict[str, str] | None = None, data: Path = DATA) -> Crawl:
    """Crawl the set in a subprocess and return what was dropped.

    Args:
        settings: further Scrapy settings.
        data: the folder with ``docs.jsonl.xz``.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, log = Path(folder) / "report.json", Path(folder) / "crawl.log"
        pages = data / "docs.jsonl.xz"
        order = {"settings": settings or {}, "pages": pages, "report": report, "log": log}
        done = subprocess.run(
            [sys.executable, __file__, "--order", json.dumps(order, default=str)],
            cwd=EXAMPLE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        if done.returncode or not report.exists():
            raise RuntimeError(f"the crawl failed:\n{done.stderr[-4000:]}")
        crawl = json.loads(report.read_text())
        loud = (" ERROR: ", " CRITICAL: ", "Traceback")
        lines = [*log.read_text().splitlines(), *done.stderr.splitlines()]
        errors = [line for line in lines if any(mark in line for mark in loud)]
    ids = _read_ids(data)
    drops = [(ids[page], ids[original], distance) for page, original, distance in crawl["drops"]]
    return Crawl(drops, crawl["stats"], errors, crawl["seconds"])


def score(drops: Iterable[tuple[str, str, int]], labels: dict[Pair, str]) -> Score:
    """Hold the drops against the labels of pairs, whose ids are in sorted order."""
    right = ambiguous = 0
    false = []
    dropped = set()
    for page, original, distance in drops:
        dropped.add(page)
        label = labels.get(_pair(page, original))
        right += label == "duplicate"
        ambiguous += label == "ambiguous"
        if label is None:
            false.append((page, original, distance))
    duplicates = [pair for pair, label in labels.items() if label == "duplicate"]
    missed = [pair for pair in duplicates if dropped.isdisjoint(pair)]
    return Score(right, ambiguous, false, len(duplicates), missed)


def read_labels(data: Path = DATA) -> dict[Pair, str]:
    """Return the label of each listed pair of pages."""
    with (data / "pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {_pair(row["a"], row["b"]): row["label"] for row in rows}


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


def _read_ids(data: Path) -> dict[str, str]:
    """Return the id of each page by its key, the canonical URL."""
    with lzma.open(data / "docs.jsonl.xz", "rt", encoding="utf-8") as lines:
        pages = map(json.loads, lines)
        return {canonicalize_url(page["url"]): page["id"] for page in pages}


def _run_spider(order: dict[str, Any]) -> None:
    """Crawl, in the process that is there for it, and write the report."""
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess
    from scrapy.utils.project import get_project_settings

    from scrapy_simhash.signals import near_duplicate

    drops: list[tuple[str, str, int]] = []
    times: list[float] = []

    def on_drop(verdict: Any) -> None:
        drops.append((verdict.key, verdict.original, verdict.distance))

    def on_event() -> None:
        times.append(time.perf_counter())

    settings = get_project_settings()
    settings.update({"LOG_FILE": order["log"], **order["settings"]}, priority="cmdline")
    process = CrawlerProcess(settings)
    crawler = process.create_crawler("pages")
    crawler.signals.connect(on_drop, signal=near_duplicate)
    crawler.signals.connect(on_event, signal=signals.spider_opened)
    crawler.signals.connect(on_event, signal=signals.spider_closed)
    process.crawl(crawler, pages=order["pages"])
    process.start()
    stats = {
        name: value
        for name, value in crawler.stats.get_stats().items()
        if isinstance(value, (int, float, str))
    }
    report = {"drops": drops, "stats": stats, "seconds": times[-1] - times[0]}
    Path(order["report"]).write_text(json.dumps(report))


def _print_report(crawl: Crawl, result: Score, show: int) -> None:
    names = ("responses", "unique", "duplicate", "revisit", "skipped")
    counts = {name: crawl.stats.get(f"simhash/{name}", 0) for name in names}
    for name, number in counts.items():
        print(f"{name:>12} {number:>6}")
    for name, number in sorted(crawl.stats.items()):
        if name.startswith("simhash/skipped/"):
            print(f"{number:>26} {name.removeprefix('simhash/skipped/')}")
    rest = counts["responses"] - sum(counts[name] for name in names[1:])
    print(f"{'sum':>12} {'holds' if rest == 0 else f'is {rest} short'}")
    print(f"{'pages/s':>12} {counts['responses'] / crawl.seconds:>6.0f}")
    print(f"{'errors':>12} {len(crawl.errors):>6}")
    for line in crawl.errors[:show]:
        print(f"  {line}")
    print(f"\n{DEFINITIONS}\n")
    print(f"   precision {result.precision:.4f}  {result.right} right, {len(result.false)} false,"
          f" {result.ambiguous} left out")  # fmt: skip
    print(f"      recall {result.recall:.4f}  {result.labelled} labelled pairs,"
          f" {len(result.missed)} missed")  # fmt: skip
    for page, original, distance in result.false[:show]:
        print(f"  false   {page} -> {original} ({distance} bits)")
    for a, b in result.missed[:show]:
        print(f"  missed  {a}  {b}")


def main() -> int:
    """Crawl, score, print; the exit code is 1 when the log has errors or pages are missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--show", type=int, default=10, metavar="N", help="list N mistakes a kind")
    parser.add_argument("--order", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.order:
        _run_spider(json.loads(options.order))
        return 0
    if not DATA.is_dir():
        print(f"skipped: there is no {DATA}")
        return 0
    crawl = crawl_docs()
    result = score(crawl.drops, read_labels())
    _print_report(crawl, result, options.show)
    return 1 if crawl.errors else 0


if __name__ == "__main__":
    sys.exit(main())
