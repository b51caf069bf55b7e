"""Find the distance for your own pages.

PAGES are pages of your crawl: a file or folder that "scrapy simhash dedupe" reads, such
as a feed of the example's pages spider; the first 3,000 are taken. The command draws
pairs of them at every distance and shows both texts, the nearest pairs first; you say
of each whether the two are near-duplicates. From your answers it estimates the share of
drops that would be right at each distance, and prints the setting to paste: the largest
distance at which at least 95% of the drops are right, with a certainty of 95%. That
takes some forty pairs, because fewer tell too little of the rest of the crawl.

    scrapy simhash tune kept.jsonl --labels answers.tsv

The --labels file keeps your answers as you give them: stop with q or Ctrl-C, and go on
later. Each of its lines is a pair and y or n, separated by tabs.
"""

import argparse
import itertools
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import IO

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import chosen_recipe
from scrapy_simhash.commands.output import aligned, columns, has_colours, progress, say
from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.core.pool import analyse_all
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index.neighbours import near_pairs
from scrapy_simhash.offline import tuning
from scrapy_simhash.offline.pages import SavedPage, read_pages
from scrapy_simhash.report.difference import Shown, difference_lines, paint

_PAGES = 3000
_EXCERPT = 20_000  # characters of a text that are compared word by word
_LINES = 4  # of each text that is shown
# Pairs of each four bits of distance: twenty right answers would leave more than 5% in doubt where
# most copies are identical.
_EACH = 40
_TARGET = 0.95  # the share of drops that has to be right


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pages", metavar="PAGES", help="pages of your crawl")
    parser.add_argument("--labels", metavar="FILE", help="where answers are read and kept")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    recipe = chosen_recipe(None, settings)
    # To add to; without a file, answers go nowhere.
    with open(options.labels or os.devnull, "a+", encoding="utf-8") as labels:  # noqa: PTH123
        pages = list(_compared(options.pages, recipe))
        farthest = recipe.distance + recipe.bits // 16
        near = near_pairs([analysis.fingerprint for _, analysis in pages], farthest)
        pairs = tuning.copies(pages, near, farthest)
        if not pairs:
            raise UsageError(
                f"{options.pages}: no two of its {len(pages)} pages could be taken for copies"
            )
        answers = _read_labels(labels, pages)
        if sys.stdin.isatty():
            _ask(tuning.draw(pairs, _EACH), pages, answers, labels)
        elif not answers:
            raise UsageError("no terminal to ask at, and no answers in a file of --labels")
    distances = sorted({*range(tuning.BAND - 1, farthest + 1, tuning.BAND), recipe.distance})
    estimates = [tuning.estimate(tuning.copies(pages, pairs, k), answers, k) for k in distances]
    say(_report(estimates, recipe.distance))


def _compared(path: str, recipe: Recipe) -> Iterator[tuple[SavedPage, PageAnalysis]]:
    """Yield the pages that have enough text, each with an excerpt of it."""
    saved = read_pages(path, recipe=recipe)
    pages = ((page, page.body) for page in itertools.islice(saved, _PAGES))
    found = analyse_all(pages, recipe, excerpt_length=_EXCERPT)
    for page, analysis in progress("reading", _PAGES, of=found):
        if analysis.fingerprint is not None:
            yield page, analysis


def _ask(
    drawn: Sequence[tuning.Pair],
    pages: tuning.Analysed,
    answers: tuning.Answers,
    labels: IO[str],
) -> None:
    """Show pairs and note the answers, until they end or are broken off."""
    for number, (pair, distance) in enumerate(drawn, 1):
        if pair in answers:
            continue
        both = [pages[document] for document in pair]
        say(["", f"{number} of {len(drawn)}: {distance} bits apart", *_shown(both)])
        try:
            answer = input("near-duplicates? y, n, q to stop, else the next: ").strip().lower()[:1]
        except (EOFError, KeyboardInterrupt):
            say([""])
            return
        if answer == "q":
            return
        if answer in ("y", "n"):
            answers[pair] = answer == "y"
            labels.write("\t".join((*(page.name for page, _ in both), answer)) + "\n")
            labels.flush()


def _shown(both: tuning.Analysed) -> Iterator[str]:
    """Yield the beginnings of two texts, and what differs."""
    colour, width = has_colours(), columns() - 4
    for page, analysis in both:
        yield "  " + paint(page.name, "1", colour)
        shown = textwrap.wrap(Shown.of(analysis.excerpt).text[: width * _LINES], width)[:_LINES]
        yield from (f"    {line}" for line in shown)
    yield "  what differs"
    before, after = (Shown.of(analysis.excerpt) for _, analysis in both)
    changes = difference_lines(before, after, width, 8, colour)
    yield from (f"    {line}" for line in changes or ["nothing"])


def _read_labels(labels: IO[str], pages: tuning.Analysed) -> tuning.Answers:
    """Return the answers of a file about pages that are there."""
    number_of = {page.name: number for number, (page, _) in enumerate(pages)}
    answers = {}
    labels.seek(0)
    for number, line in enumerate(labels, 1):
        cells = line.rstrip("\n").split("\t")
        if len(cells) != 3 or cells[2] not in ("y", "n"):
            raise UsageError(
                f"{labels.name}, line {number}: not two pages and y or n, but {line!r:.80}"
            )
        if {*cells[:2]} <= number_of.keys():
            first, second = sorted(number_of[name] for name in cells[:2])
            answers[first, second] = cells[2] == "y"
    return answers


def _report(estimates: Sequence[tuning.Precision], present: int) -> list[str]:
    rows = [("k", "right drops", "90% interval", "pairs", "answered")]
    for one in estimates:
        mark = "*" if one.distance == present else ""
        share, interval = f"{one.precision:.3f}", f"{one.low:.3f}-{one.high:.3f}"
        shown = (share, interval) if one.pairs else ("-", "-")
        rows.append((f"{one.distance}{mark}", *shown, f"{one.pairs:,}", f"{one.answered:,}"))
    lines = [*aligned(rows, left=1), "* the distance that the settings have now", ""]
    best = tuning.suggest(estimates, _TARGET)
    if best is None:
        needed = "answer more pairs, or take more pages"
        return [*lines, f"No distance has surely {_TARGET:.0%} right drops yet: {needed}."]
    said = f"The largest distance at which surely {_TARGET:.0%} of the drops are right:"
    return [*lines, said, "", f"    SIMHASH_DISTANCE = {best.distance}"]
