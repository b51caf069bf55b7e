"""Compares the main text with that of trafilatura, by the words that people marked.

    python -m benchmarks.wcxb FOLDER --split test

FOLDER is a checkout of github.com/Murrough-Foley/web-content-extraction-benchmark:
pages of seven types, each with its main content. The figure is that benchmark's word
F1: words and how often they occur, in small letters, a mean of all pages.
"""

import argparse
import gzip
import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import Table
from scrapy_simhash.extraction.extractor import extract

SPLITS = ("dev", "test")
_WORD = re.compile(r"\w+")


class Page(NamedTuple):
    """A page of the benchmark, and its main content as people marked it."""

    name: str
    kind: str
    url: str
    html: str
    body: str


def pages(folder: Path, split: str) -> Iterator[Page]:
    for path in sorted((folder / split / "ground-truth").glob("*.json")):
        marked = json.loads(path.read_text(encoding="utf-8"))
        page = (folder / split / "html" / path.stem).with_suffix(".html.gz")
        yield Page(
            path.stem,
            marked["_internal"]["page_type"]["primary"],
            marked.get("url") or "",
            gzip.decompress(page.read_bytes()).decode("utf-8"),
            marked["ground_truth"].get("main_content") or "",
        )


def word_f1(text: str, body: str) -> float:
    words, marked = (Counter(_WORD.findall(each.lower())) for each in (text, body))
    return (
        2 * (words & marked).total() / total
        if (total := (words + marked).total())
        else 1.0
    )


def ours(page: Page) -> str:
    """Return the text of a page without the names of pictures, which stand for what has no text."""
    found = extract(page.html, url=page.url)
    shown = set(found.shown.split("\n"))
    return "\n".join(line for line in found.text.split("\n") if line in shown)


def trafilaturas(page: Page) -> str:
    import trafilatura

    return trafilatura.extract(page.html, url=page.url or None) or ""


EXTRACTORS: dict[str, Callable[[Page], str]] = {
    "scrapy-simhash": ours,
    "trafilatura": trafilaturas,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of the benchmark")
    parser.add_argument("--split", choices=SPLITS, default="dev")
    options = parser.parse_args()
    likeness: dict[str, list[list[float]]] = defaultdict(list)
    for page in pages(options.folder, options.split):
        found = [
            word_f1(extractor(page), page.body) for extractor in EXTRACTORS.values()
        ]
        likeness[page.kind].append(found)
        likeness["all"].append(found)
    table = Table("word F1", "pages", *EXTRACTORS)
    for kind, found in sorted(likeness.items()):
        means = map(statistics.mean, zip(*found, strict=True))
        table.row(kind, len(found), *(f"{mean:.4f}" for mean in means))


if __name__ == "__main__":
    main()
