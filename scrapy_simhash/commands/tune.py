"""`scrapy simhash tune`: the distance and the minimum length for an operator's own pages."""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import json
import os
import shutil
import sys
import textwrap
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, progress, write_file
from scrapy_simhash.commands.stores import chosen_recipe

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.offline.tuning import Candidate, Estimate

SUMMARY = "Find the distance and minimum length for your own pages"

DESCRIPTION = """\
PAGES are pages of your crawl: a file or folder that "scrapy simhash dedupe" reads, such
as a feed of the example's pages spider. The command draws pairs of them at every
distance and shows both texts, the nearest pairs first; you say of each whether the two
are near-duplicates. From your answers it estimates the share of drops that would be
right at each distance and minimum length, and prints the settings to paste.

    scrapy simhash tune kept.jsonl --labels answers.tsv

The --labels file keeps your answers as you give them: stop with q or Ctrl-C, and go on
later. Without a terminal, the command makes the file with an empty answer for each
pair; fill in y or n, and call the command again.

exit status: 0, done; 2, something given cannot be used; 130, interrupted.
"""

_LENGTHS = (100, 200, 500)
_COLUMNS = ("a", "b", "distance", "answer")
_EXCERPT = 20_000  # characters of a text that are compared word by word
_LINES = 4  # of each text that is shown


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("pages", metavar="PAGES", help="pages of your crawl")
    parser.add_argument("--labels", metavar="FILE", help="where answers are read and kept")
    parser.add_argument("--recipe", metavar="NAME", help="the recipe, instead of the setting's")
    parser.add_argument(
        "--each",
        type=int,
        default=8,
        metavar="N",
        help="pairs to draw of each 4 bits of distance (8)",
    )
    parser.add_argument(
        "--target",
        type=float,
        default=0.99,
        metavar="P",
        help="the share of drops that has to be right (0.99)",
    )
    parser.add_argument(
        "--limit", type=int, default=3000, metavar="N", help="pages to read at most (3000)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the estimates; - for standard output")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Draw pairs, ask, and print what the answers say."""
    from scrapy_simhash.offline.tuning import draw

    for name, least in (("each", 1), ("limit", 2)):
        if getattr(options, name) < least:
            raise UsageError(f"--{name} is a whole number of at least {least}")
    if not 0 < options.target < 1:
        raise UsageError("--target is between 0 and 1")
    for path in (options.labels, options.json):
        if path not in (None, "-"):
            check_writable(path)
    recipe = chosen_recipe(options.recipe, settings)
    names, texts, pairs = _candidates(options, recipe)
    drawn = draw(pairs, options.each)
    if not drawn:
        raise UsageError(
            f"{options.pages}: no two of its {len(names)} pages could be taken for copies"
        )
    answers = _read_labels(options.labels, names)
    if sys.stdin.isatty():
        _ask(drawn, names, texts, answers, options.labels)
    elif not any(pair.documents in answers for pair in drawn):
        if options.labels is None:
            raise UsageError("no terminal to ask at: name a file for the answers with --labels")
        _write_labels(options.labels, drawn, names, answers)
        sys.stdout.write(
            f"{options.labels}: {len(drawn)} pairs to judge; write y or n in the column answer "
            "and call the command again\n"
        )
        return
    _report(options, recipe, pairs, answers)


def _candidates(
    options: argparse.Namespace, recipe: Recipe
) -> tuple[list[str], list[str], list[Candidate]]:
    """Return the names and texts of the pages, and the pairs that may be taken for copies."""
    from scrapy_simhash.extraction.extractor import Extraction, extract
    from scrapy_simhash.fingerprint.facts import facts_of
    from scrapy_simhash.fingerprint.rule import Rule
    from scrapy_simhash.offline.pages import PagesError, read_pages
    from scrapy_simhash.offline.tuning import candidates

    # Texts below the recipe's minimum are judged too: how short is too short is a question here.
    lenient = replace(recipe, min_length=max(1, recipe.min_length // 2))
    names, keys, texts, facts, fingerprints, lengths = [], [], [], [], [], []
    with progress("reading", options.limit) as bar:
        try:
            for page in itertools.islice(read_pages(options.pages), options.limit):
                bar.update()
                html = page.html
                extraction = Extraction(page.text or "")
                if html is not None:
                    extraction = extract(html, recipe.extractor)
                analysis = lenient.analyse(extraction.text)
                if analysis.fingerprint is not None:
                    names.append(page.name)
                    keys.append(page.key)
                    texts.append(" ".join(extraction.text.split())[:_EXCERPT])
                    facts.append(b"" if html is None else facts_of(extraction, recipe))
                    fingerprints.append(analysis.fingerprint)
                    lengths.append(analysis.length)
        except PagesError as error:
            raise UsageError(str(error)) from None
    if not fingerprints:
        raise UsageError(f"{options.pages}: none of its pages has enough text")

    def is_copy(a: int, b: int, distance: int, k: int) -> bool:
        return Rule(k)(keys[b], facts[b], keys[a], facts[a], distance).is_copy

    return names, texts, candidates(fingerprints, lengths, _farthest(recipe), is_copy)


def _farthest(recipe: Recipe) -> int:
    return recipe.distance + recipe.bits // 16


def _ask(
    drawn: list[Candidate],
    names: list[str],
    texts: list[str],
    answers: dict[tuple[int, int], bool],
    labels: str | None,
) -> None:
    from scrapy_simhash.report.difference import differences, paint

    columns = min(shutil.get_terminal_size().columns, 120)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for number, pair in enumerate(drawn, 1):
        if pair.documents in answers:
            continue
        sys.stdout.write(f"\n{number} of {len(drawn)}: {pair.distance} bits apart\n")
        for document in pair.documents:
            text = texts[document]
            sys.stdout.write(f"  {paint(names[document], '1', colour)}\n")
            shown = textwrap.wrap(text[: columns * _LINES], columns - 4)[:_LINES]
            sys.stdout.writelines(f"    {line}\n" for line in shown)
            sys.stdout.write(f"    ({len(text):,} characters)\n")
        sys.stdout.write("  what differs\n")
        changes = differences(*(texts[document] for document in pair.documents))
        lines = changes.lines(columns - 4, 8, colour) or ["nothing"]
        sys.stdout.writelines(f"    {line}\n" for line in lines)
        answer = _answer()
        if answer == "q":
            return
        if answer in ("y", "n"):
            answers[pair.documents] = answer == "y"
            if labels is not None:
                _write_labels(labels, drawn, names, answers)


def _answer() -> str:
    while True:
        try:
            answer = input("near-duplicates? y, n, s to skip, q to stop: ").strip().lower()[:1]
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            return "q"
        if answer in ("y", "n", "s", "q"):
            return answer


def _read_labels(path: str | None, names: list[str]) -> dict[tuple[int, int], bool]:
    if path is None or not Path(path).exists():
        return {}
    number_of = {name: number for number, name in enumerate(names)}
    answers = {}
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            for line, row in enumerate(csv.DictReader(file, delimiter="\t"), 2):
                answer = (row.get("answer") or "").strip().lower()
                if answer not in ("", "y", "n"):
                    raise UsageError(f"{path}, line {line}: the answer is y or n, not {answer!r}")
                known = row.get("a") in number_of and row.get("b") in number_of
                if answer and known:
                    first, second = sorted((number_of[row["a"]], number_of[row["b"]]))
                    answers[first, second] = answer == "y"
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"{path}: {error}") from None
    return answers


def _write_labels(
    path: str,
    drawn: list[Candidate],
    names: list[str],
    answers: dict[tuple[int, int], bool],
) -> None:
    text = io.StringIO()
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerow(_COLUMNS)
    for pair in drawn:
        answer = {None: "", True: "y", False: "n"}[answers.get(pair.documents)]
        table.writerow((*(names[document] for document in pair.documents), pair.distance, answer))
    write_file(path, text.getvalue().encode())


def _report(
    options: argparse.Namespace,
    recipe: Recipe,
    pairs: list[Candidate],
    answers: dict[tuple[int, int], bool],
) -> None:
    from scrapy_simhash.offline.tuning import BAND, estimate, suggest

    distances = sorted({*range(BAND - 1, _farthest(recipe) + 1, BAND), recipe.distance})
    lengths = sorted({recipe.min_length, *(n for n in _LENGTHS if n > recipe.min_length)})
    grid = [[estimate(pairs, answers, k, least) for least in lengths] for k in distances]
    best = suggest(itertools.chain.from_iterable(grid), options.target)
    lines = _table(grid, lengths, recipe.distance)
    lines.append("")
    if best is None:
        lines.append(
            f"The answers do not show yet that {options.target:.0%} of the drops are right at any "
            "distance: answer more pairs (--each), or ask for less (--target)."
        )
    else:
        lines.append(
            f"With these settings {best.pairs:,} pairs match, of which {best.precision:.1%} "
            f"({best.low:.1%} to {best.high:.1%}) are near-duplicates:"
        )
        lines += ["", f"    SIMHASH_DISTANCE = {best.distance}"]
        lines += [f"    SIMHASH_MIN_LENGTH = {best.min_length}"]
    if options.json != "-":
        sys.stdout.write("\n".join(lines) + "\n")
    if options.json is not None:
        _write_json(options.json, grid, best)


def _table(grid: list[list[Estimate]], lengths: list[int], current: int) -> list[str]:
    heads = [f"from {length} letters" for length in lengths]
    lines = [
        "share of right drops, its 90% interval, and in brackets: pairs, pairs that you judged"
    ]
    lines.append("   k   " + "  ".join(f"{head:^30}" for head in heads))
    for row in grid:
        cells = [
            f"{one.precision:5.3f} {one.low:.3f}-{one.high:.3f} ({one.pairs:,}, {one.answered})"
            if one.pairs
            else "-"
            for one in row
        ]
        mark = "*" if row[0].distance == current else " "
        lines.append(
            f"{row[0].distance:4} {mark} " + "  ".join(f"{cell:^30}" for cell in cells).rstrip()
        )
    lines.append("* the distance that the settings have now")
    return lines


def _write_json(path: str, grid: list[list[Estimate]], best: Estimate | None) -> None:
    found: dict[str, Any] = {
        "estimates": [asdict(one) for row in grid for one in row],
        "suggestion": None if best is None else asdict(best),
    }
    text = json.dumps(found, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        write_file(path, text.encode())
