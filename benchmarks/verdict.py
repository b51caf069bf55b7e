"""What a crawl loses and finds, by distance alone and with the rule, beside MinHash and simhash.

    python -m benchmarks.verdict                      # every set, and made copies
    python -m benchmarks.verdict blog-html --show 10  # with wrong pairs by name
    python -m benchmarks.verdict --rivals             # MinHash-256 and PyPI simhash

Needs ../shared/data. Prints two Markdown tables. *Wrong drops* are
distinct pages of which no copy was kept, in 1,000 of them, in the order of the file.
The second table has the recall of made near-duplicates by kind, and the false pairs of
these sets. All methods have the same text and the same facts; a MinHash has no Hamming
distance, so the rule gets k times (1 - J) / (1 - .8) instead.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.documents import DATA, html_of, read_marked, text_of
from benchmarks.evaluate import wrong_pairs
from benchmarks.evaluation import Dataset, Result, near_pairs, read_dataset, scored
from benchmarks.kinds import DUPLICATES, make_kinds
from benchmarks.measuring import Table
from benchmarks.rivals import MinHashLSH, PypiSimhash
from scrapy_simhash.extraction.extractor import Extraction, extract
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.rule.facts import facts_of
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Judge, Page, Ruling, by_distance

SETS = (
    *(
        "shops-html",
        "manual-html",
        "types-html",
        "blog-html",
        "docs-html",
        "traps-html",
    ),
    *("records-html", "mails-html", "frames-html", "news-en"),
)
MADE_FROM = ("articles-html", "types-html")


@dataclass
class Pages:
    """A set with what was taken from its pages."""

    dataset: Dataset
    extractions: list[Extraction]
    facts: list[bytes]


@dataclass(frozen=True)
class Method:
    """A way to find near pairs, with or without the rule."""

    name: str
    recipe: Recipe
    rival: Any
    judge: Judge

    def sketch(self, extraction: Extraction) -> Any:
        if self.rival:
            return self.rival.sketch(extraction.text)
        return self.recipe.fingerprint(*extraction.to_fingerprint)

    def near(
        self, pages: Pages, sketches: Sequence[Any]
    ) -> dict[tuple[int, int], tuple[int, Ruling]]:
        known = [
            Page(d.key, f)
            for d, f in zip(pages.dataset.documents, pages.facts, strict=True)
        ]
        return {
            (a, b): (distance, self.judge(known[a], known[b], distance))
            for (a, b), distance in self._pairs(sketches)
        }

    def _pairs(self, sketches: Sequence[Any]) -> Iterable[tuple[tuple[int, int], int]]:
        if not isinstance(self.rival, MinHashLSH):
            by_rule = self.judge is not by_distance
            return near_pairs(
                sketches, self.recipe.reach if by_rule else self.recipe.distance
            )
        found = self.rival.pairs(sketches)
        return (
            (pair, self._distance(*(sketches[page] for page in pair))) for pair in found
        )

    def _distance(self, one: Any, other: Any) -> int:
        apart = (1 - one.jaccard(other)) / (1 - self.rival.threshold)
        return min(self.recipe.distance, round(self.recipe.distance * apart))


def methods(rivals: bool) -> list[Method]:
    default = named_recipe("default")
    classic = replace(named_recipe("classic"), name="simhash (PyPI)")
    found: list[tuple[str, Recipe, Any]] = [("default", default, None)]
    if rivals:
        found += [
            ("MinHash-256", default, MinHashLSH(256)),
            ("PyPI simhash", classic, PypiSimhash()),
        ]
    return [
        Method(f"{name}{suffix}", recipe, rival, judge)
        for name, recipe, rival in found
        for suffix, judge in (
            (", by distance", by_distance),
            (" + rule", Rule(recipe.distance)),
        )
    ]


def read(dataset: Dataset, recipe: Recipe) -> Pages:
    extractions = [
        Extraction(text_of(d), content=text_of(d), alone=True)
        if d.body.is_text
        else extract(html_of(d), recipe.extractor, d.body.url)
        for d in dataset.documents
    ]
    facts = [facts_of(extraction, recipe) for extraction in extractions]
    return Pages(dataset, extractions, facts)


def results(pages: Pages, tried: Sequence[Method]) -> Iterator[tuple[Method, Result]]:
    kept: dict[Any, list[Any]] = {}
    for method in tried:
        if method.rival not in kept:
            kept[method.rival] = [
                method.sketch(extraction) if extraction.text.strip() else None
                for extraction in pages.extractions
            ]
        near = method.near(pages, kept[method.rival])
        result = scored(pages.dataset, method.recipe, near, {})
        yield method, replace(result, name=method.name)


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def row(result: Result) -> list[str]:
    return [
        f"{result.dataset} ({result.distinct:,})",
        result.name,
        f"{result.wrong_per_thousand:.2f}",
        *(str(result.dropped), str(len(result.false))),
        *map(share, (result.precision, result.recall)),
    ]


def made_row(dataset: Dataset, result: Result) -> list[str]:
    made = Counter(
        pair.kind for pair in dataset.pairs.values() if pair.label == "duplicate"
    )
    missed = Counter(pair.kind for pair in result.missed)
    recall = [1 - missed[kind] / made[kind] for kind in DUPLICATES]
    return [result.dataset, result.name, *map(share, recall), str(len(result.false))]


def show(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(*head)
    for cells in rows:
        table.row(*cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="folders in the data")
    parser.add_argument(
        "--rivals", action="store_true", help="measure other packages, too"
    )
    parser.add_argument(
        "--show", type=int, default=0, help="name so many wrong pairs of each"
    )
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: there is no {DATA}", file=sys.stderr)
        return 0
    tried = methods(options.rivals)
    default = tried[0].recipe
    rows, wrong = [], []
    for name in options.sets or SETS:
        pages = read(read_dataset(DATA / name), default)
        for _, result in results(pages, tried):
            rows.append(row(result))
            wrong += wrong_pairs(result, options.show)
    head = ("set (distinct)", "method", "wrong drops in 1,000", "drops", "false pairs")
    show((*head, "precision", "recall"), rows)
    if not options.sets:
        made = (
            make_kinds(read_marked(name).documents, name=name) for name in MADE_FROM
        )
        print()
        show(
            ("made from", "method", *DUPLICATES, "false pairs"),
            [
                made_row(dataset, result)
                for dataset in made
                for _, result in results(read(dataset, default), tried)
            ],
        )
    print("\n".join(wrong))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
