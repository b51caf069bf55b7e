"""Measure the extractors on real pages: CPU, and the main text that they take.

Run ``python benchmarks/extraction.py [PAGES]`` from the repository, with the number of pages
of a set that are timed; it needs ``../shared/data``. *Cost* is CPU time against an lxml parse of
the same bytes, interleaved in one process: the median of the pages' ratios. *F1* compares the
words (or Han characters) of the text with those of the main text made by hand; *lost* pages have
less than 30% of it, and *absent* of these are those whose HTML does not hold it.
"""

from __future__ import annotations

import base64
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from lxml import etree

from benchmarks.documents import DATA, lines_of
from scrapy_simhash.extraction.charset import utf8_html
from scrapy_simhash.extraction.extractor import EXTRACTORS, extract

TIMED = ("articles-html", "docs-html", "blog-html", "shops-html")
TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
LOST = 0.3


class Likeness(NamedTuple):
    """How much of a text is wanted, and how much of what is wanted is there."""

    f1: float
    recall: float
    precision: float


def page_bytes(entry: dict[str, Any]) -> bytes:
    if "html" in entry:
        return entry["html"].encode("utf-8", "replace")
    return utf8_html(base64.b64decode(entry["html_base64"]))


def likeness(text: str, body: str) -> Likeness:
    found, wanted = Counter(TOKEN.findall(text)), Counter(TOKEN.findall(body))
    shared = sum((found & wanted).values())
    recall, precision = shared / max(1, wanted.total()), shared / max(1, found.total())
    return Likeness(2 * shared / max(1, found.total() + wanted.total()), recall, precision)


def parse(data: bytes) -> object:
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    return etree.fromstring(data, parser)


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def costs(name: str, count: int) -> dict[str, float]:
    """Return the median cost of each extractor on a set, in lxml parses."""
    pages = [page_bytes(entry) for entry in lines_of(name)]
    ratios: dict[str, list[float]] = {extractor: [] for extractor in EXTRACTORS}
    for page in pages[:: max(1, len(pages) // count)]:
        best = dict.fromkeys(("parse", *EXTRACTORS), 9e9)
        for _ in range(3):
            best["parse"] = min(best["parse"], seconds(lambda page=page: parse(page)))
            for extractor in EXTRACTORS:
                taken = seconds(lambda page=page, by=extractor: extract(page, by))
                best[extractor] = min(best[extractor], taken)
        for extractor in EXTRACTORS:
            ratios[extractor].append(best[extractor] / best["parse"])
    return {extractor: statistics.median(found) for extractor, found in ratios.items()}


def print_faithfulness(extractor: str) -> None:
    """Print how like the hand-made main text the texts of each type of page are."""
    found: dict[str, list[tuple[Likeness, Likeness]]] = {}
    thin = 0
    for entry in lines_of("types-html"):
        extraction = extract(entry["html"], extractor)
        thin += extraction.thin
        like = likeness(extraction.text, entry["body"])
        shown = likeness(extraction.shown, entry["body"])
        for kind in (entry["type"], "all"):
            found.setdefault(kind, []).append((like, shown))
    print(f"{extractor} on types-html, {thin} pages thin")
    for kind, pairs in sorted(found.items()):
        f1, recall, precision = (statistics.mean(values) for values in zip(*(p[0] for p in pairs)))  # noqa: B905
        lost = [shown for like, shown in pairs if like.recall < LOST]
        absent = sum(shown.recall < LOST for shown in lost)
        print(
            f"  {kind:14} pages {len(pairs):3}  F1 {f1:.3f}  recall {recall:.3f}"
            f"  precision {precision:.3f}  lost {len(lost)} ({absent} absent)"
        )


def main() -> None:
    if not DATA.exists():
        print(f"skipped: no {DATA.parent.name}/{DATA.name} beside the repository")
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print("CPU, in lxml parses")
    print(f"  {'':14}" + "".join(f"{extractor:>12}" for extractor in EXTRACTORS))
    for name in TIMED:
        found = costs(name, count)
        print(f"  {name:14}" + "".join(f"{found[by]:12.2f}" for by in EXTRACTORS), flush=True)
    for extractor in EXTRACTORS:
        print_faithfulness(extractor)


if __name__ == "__main__":
    main()
