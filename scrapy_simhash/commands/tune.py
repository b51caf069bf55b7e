"""Find the distance for your own pages.

PAGES are pages of your crawl: a file or folder that "scrapy simhash dedupe" reads, such
as a feed of the example's pages spider; the first 3,000 are taken. The command draws
pairs of them at every distance and shows both texts, the nearest pairs first; you say
of each whether the two are near-duplicates. From your answers it estimates the share of
drops that would be right at each distance, and prints the setting to paste: the largest
distance at which at least 95% of the drops are right, with a certainty of 95%.

    scrapy simhash tune kept.jsonl --labels answers.tsv

The --labels file keeps your answers as you give them: stop with q or Ctrl-C, and go on
later. Each of its lines is a pair and y or n, separated by tabs.

exit status: 0, done; 2, something given cannot be used; 130, interrupted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.analysis.page import PageAnalysis
from scrapy_simhash.commands.output import (
    aligned,
    check_writable,
    columns,
    has_colours,
    progress,
    say,
)
from scrapy_simhash.commands.stores import chosen_recipe
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.pages import SavedPage, analysed, read_pages
from scrapy_simhash.offline.tuning import (
    BAND,
    Answers,
    Candidate,
    candidates,
    draw,
    estimate,
    suggest,
)
from scrapy_simhash.report.difference import differences, paint

_PAGES = 3000
_EXCERPT = 20_000  # characters of a text that are compared word by word
_LINES = 4  # of each text that is shown
_TARGET = 0.95  # the share of drops that has to be right


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("pages", metavar="PAGES", help="pages of your crawl")
    parser.add_argument("--labels", metavar="FILE", help="where answers are read and kept")
    parser.add_argument(
        "--each",
        type=int,
        default=8,
        metavar="N",
        help="pairs to draw of each 4 bits of distance (8)",
    )


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Draw pairs, ask, and print what the answers say."""
    if options.each < 1:
        raise UsageError("--each is a whole number of at least 1")
    if options.labels:
        check_writable(options.labels)
    recipe = chosen_recipe(None, settings)
    pages = list(_compared(options.pages, recipe))
    pairs = candidates(pages, _farthest(recipe))
    drawn = draw(pairs, options.each)
    if not drawn:
        raise UsageError(
            f"{options.pages}: no two of its {len(pages)} pages could be taken for copies"
        )
    answers = _read_labels(options.labels, pages)
    if sys.stdin.isatty():
        _ask(drawn, pages, answers, options.labels)
    elif not answers:
        raise UsageError("no terminal to ask at, and no answers in a file of --labels")
    say(_report(recipe, pairs, answers))


def _compared(path: str, recipe: Recipe) -> Iterator[tuple[SavedPage, PageAnalysis]]:
    """Yield the pages that have enough text, each with an excerpt of it."""
    pages = itertools.islice(read_pages(path), _PAGES)
    cores = os.cpu_count() or 1
    with progress("reading", _PAGES) as bar:
        for page, analysis in analysed(pages, recipe, processes=cores, excerpt_length=_EXCERPT):
            bar.update()
            if analysis.fingerprint is not None:
                yield page, analysis


def _farthest(recipe: Recipe) -> int:
    return recipe.distance + recipe.bits // 16


def _ask(
    drawn: Sequence[Candidate],
    pages: Sequence[tuple[SavedPage, PageAnalysis]],
    answers: Answers,
    labels: str | None,
) -> None:
    for number, pair in enumerate(drawn, 1):
        if pair.documents in answers:
            continue
        say(["", f"{number} of {len(drawn)}: {pair.distance} bits apart"])
        both = [pages[document] for document in pair.documents]
        say(f"  {line}" for line in _shown(both, columns() - 2))
        answer = _answer()
        if answer == "q":
            return
        if answer != "s":
            answers[pair.documents] = answer == "y"
            if labels is not None:
                with Path(labels).open("a", encoding="utf-8") as file:
                    file.write("\t".join((*(page.name for page, _ in both), answer)) + "\n")


def _shown(both: Sequence[tuple[SavedPage, PageAnalysis]], width: int) -> Iterator[str]:
    """Yield the beginnings of two texts, and what differs."""
    colour = has_colours()
    for page, analysis in both:
        yield paint(page.name, "1", colour)
        shown = textwrap.wrap(analysis.excerpt[: width * _LINES], width - 2)[:_LINES]
        yield from (f"  {line}" for line in shown)
    yield "what differs"
    changes = differences(*(analysis.excerpt for _, analysis in both))
    yield from (f"  {line}" for line in changes.lines(width - 2, 8, colour) or ["nothing"])


def _answer() -> str:
    while True:
        try:
            answer = input("near-duplicates? y, n, s to skip, q to stop: ").strip().lower()[:1]
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            return "q"
        if answer in ("y", "n", "s", "q"):
            return answer


def _read_labels(path: str | None, pages: Sequence[tuple[SavedPage, PageAnalysis]]) -> Answers:
    """Return the answers of a file about pages that are there; none if there is no file."""
    if path is None or not Path(path).exists():
        return {}
    number_of = {page.name: number for number, (page, _) in enumerate(pages)}
    answers = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        cells = line.split("\t")
        if len(cells) != 3 or cells[2] not in ("y", "n"):
            raise UsageError(f"{path}, line {number}: not two pages and y or n, but {line!r:.80}")
        if cells[0] in number_of and cells[1] in number_of:
            first, second = sorted((number_of[cells[0]], number_of[cells[1]]))
            answers[first, second] = cells[2] == "y"
    return answers


def _report(recipe: Recipe, pairs: list[Candidate], answers: Answers) -> list[str]:
    distances = sorted({*range(BAND - 1, _farthest(recipe) + 1, BAND), recipe.distance})
    estimates = [estimate(pairs, answers, k) for k in distances]
    rows = [("k", "right drops", "90% interval", "pairs", "answered")]
    for one in estimates:
        mark = "*" if one.distance == recipe.distance else ""
        share, interval = f"{one.precision:.3f}", f"{one.low:.3f}-{one.high:.3f}"
        shown = (share, interval) if one.pairs else ("-", "-")
        rows.append((f"{one.distance}{mark}", *shown, f"{one.pairs:,}", f"{one.answered:,}"))
    lines = [*aligned(rows, left=1), "* the distance that the settings have now", ""]
    best = suggest(estimates, _TARGET)
    if best is None:
        enough = f"that {_TARGET:.0%} of the drops are right at any distance"
        return [*lines, f"The answers do not show yet {enough}: answer more pairs (--each)."]
    return [
        *lines,
        f"The largest distance at which surely {_TARGET:.0%} of the drops are right:",
        "",
        f"    SIMHASH_DISTANCE = {best.distance}",
    ]
