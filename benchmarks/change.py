"""Counts what is called changed without a change, and which changes are missed.

``python -m benchmarks.change``. *Noise* are pairs of pages of traps-html that people marked
as copies: they differ in counters, tokens, ads and dates. The others are pages of docs-html and the
same pages a release later; their truth is the words of the content of both, without dates. The
rivals are MD5 of the body, as Norconex, StormCrawler and Browsertrix have it, and the fingerprint
alone. A third set is made of marked pages of some 400 sites, see :mod:`.edits`; nothing was chosen
on it but that prices and paragraphs beside the text count. Needs ../shared/data; takes two minutes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.documents import DATA, html_of
from benchmarks.edits import made
from benchmarks.recrawl import content
from scrapy_simhash.core.analysis import PageAnalysis, analyse_html
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.offline.datasets import read_dataset
from scrapy_simhash.rule.state import is_same

RECIPE = named_recipe("default")
LATER = {"bullseye": "bookworm", "bookworm": "trixie"}
DATE = re.compile(
    r"(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)(?: \d{1,2})? \d{4}|\b\d{4} \d\d \d\d\b|\d{4}\s?年\s?\d+\s?月|\b\d{4} \d{4}\b"
)


@dataclass(frozen=True)
class Seen:
    """A page at one time."""

    html: str
    analysis: PageAnalysis

    @property
    def words(self) -> list[str]:
        text = content(self.html.encode("utf-8", "replace"))
        return DATE.sub(" ", text).split()


Pair = tuple[Seen, Seen]


def apart(one: Seen, other: Seen) -> int:
    first, second = one.analysis.fingerprint, other.analysis.fingerprint
    assert first
    assert second
    return (first.value ^ second.value).bit_count()


def md5(page: Seen) -> bytes:
    return hashlib.md5(page.html.encode("utf-8", "replace"), usedforsecurity=False).digest()


RULES: dict[str, Callable[[Seen, Seen], bool]] = {
    "MD5 of the body": lambda one, other: md5(one) == md5(other),
    "the fingerprint alone": lambda one, other: apart(one, other) == 0,
    "is_same": lambda one, other: is_same(
        other.analysis.facts, one.analysis.facts, apart(one, other)
    ),
}


def pages_of(name: str) -> dict[str, Seen]:
    documents = read_dataset(DATA / name).documents
    seen = {
        page.name: Seen(html := html_of(page), analyse_html(html, RECIPE)) for page in documents
    }
    return {name: page for name, page in seen.items() if page.analysis.fingerprint}


def noise() -> Iterator[Pair]:
    pages = pages_of("traps-html")
    for (one, other), pair in read_dataset(DATA / "traps-html").pairs.items():
        if pair.label == "duplicate" and one in pages and other in pages:
            yield pages[one], pages[other]


def releases() -> Iterator[Pair]:
    pages = pages_of("docs-html")
    for name, page in pages.items():
        release, _, path = name.partition("/")
        later = pages.get(f"{LATER.get(release)}/{path}")
        if later:
            yield page, later


def main() -> None:
    copies, pairs = list(noise()), list(releases())
    unchanged = [pair for pair in pairs if pair[0].words == pair[1].words]
    changed = [pair for pair in pairs if pair[0].words != pair[1].words]
    print("| Rule | noise called changed | false alarms | changes missed |")
    print("| --- | ---: | ---: | ---: |")
    for name, same in RULES.items():
        called = [sum(not same(*pair) for pair in some) for some in (copies, unchanged)]
        missed = sum(same(*pair) for pair in changed)
        print(f"| {name} | {called[0]} of {len(copies)} | {called[1]} of {len(unchanged)} | "
              f"{missed} of {len(changed)} |")  # fmt: skip
    report_edits()


def report_edits() -> None:
    """Print what is called changed of pages that were edited, and of others."""
    called: dict[tuple[bool, str, str], dict[str, list[bool]]] = {}
    for name, what, is_change, *pages in made():
        seen = [Seen(html, analyse_html(html, RECIPE)) for html in pages]
        if all(page.analysis.fingerprint for page in seen):
            row = called.setdefault((not is_change, what, name), {rule: [] for rule in RULES})
            for rule, same in RULES.items():
                row[rule].append(not same(*seen))
    print(f"\n| Made | Is | Called changed by {' | by '.join(RULES)} |")
    print("| --- | --- |" + " ---: |" * len(RULES))
    for (is_noise, what, name), row in sorted(called.items()):
        figures = [f"{sum(found)} of {len(found)}" for found in row.values()]
        kind = "noise" if is_noise else "a change"
        print(f"| {what}, {name} | {kind} | {' | '.join(figures)} |")


if __name__ == "__main__":
    main()
