"""The progress, tables and results that subcommands show, and the files that they write."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from scrapy_simhash.printable import printable
from scrapy_simhash.report.difference import pad, width
from scrapy_simhash.report.words import count
from scrapy_simhash.rule.facts import FACTS_SIZE, Facts
from scrapy_simhash.rule.rule import REASONS

# Ends of lines, and the colours of our own.
_KEPT = ("\n", "\t", *(f"\x1b[{colour}m" for colour in ("0", "1", "32", "31;9")))


def progress(
    label: str, total: float | None, unit: str = " pages", of: Iterable[Any] | None = None
) -> tqdm[Any]:
    """Return a line on the terminal with done, total, rate and time left.

    It says nothing where standard error is no terminal. Iterated, it gives what ``of`` has.
    """
    return tqdm(
        of,
        desc=label,
        total=total,
        unit=unit,
        unit_scale=unit == "B",
        disable=not sys.stderr.isatty(),
        leave=False,
        dynamic_ncols=True,
    )


def aligned(rows: Sequence[Sequence[str]], left: int | None = None) -> list[str]:
    """Return the lines of a table: ``left`` columns, or all, stand to the left."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            pad(cell, size) if left is None or place < left else pad("", size - width(cell)) + cell
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def about(facts: bytes) -> dict[str, str]:
    """Return the facts of a page by name, headings as hashes; nothing for a text without a page."""
    if len(facts) != FACTS_SIZE:
        return {}
    known = Facts.from_bytes(facts)
    return {
        "main text": f"about {known.text_bytes:,.0f} bytes",
        "main text stands out": "no" if known.thin else "yes",
        "it is a third of the page": "yes" if known.fills else "no",
        "it speaks of a heading": "yes" if known.backed else "no",
        "title": f"{known.title:08x}" if known.title else "-",
        "h1": f"{known.heading:08x}" if known.heading else "-",
        "names on one host": f"{known.headings:08x}",
        "name of the site": f"{known.site:02x}" if known.site else "-",
        "words and sentences": f"{known.said:06x}",
        "numbers": f"{known.numbers.bits:032x}",
    }


def side_by_side(
    heads: tuple[str, str], one: Mapping[str, str], other: Mapping[str, str]
) -> list[str]:
    """Return a table of what is known of two pages, by name."""
    rows = [(name, one.get(name, "-"), other.get(name, "-")) for name in {**one, **other}]
    return aligned([("", *heads), *rows])


def sentence(reason: str) -> str:
    """Return a reason, with the sentence of the rule if it stands for one."""
    return f"{REASONS[reason]} ({reason})" if reason in REASONS else reason


def has_colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def columns() -> int:
    """Return how wide a printed line may be."""
    return min(shutil.get_terminal_size().columns, 120)


def shown(text: str) -> str:
    """Return a text with escapes for what steers a terminal or cannot be written there."""
    encoding = sys.stdout.encoding or "utf-8"
    return printable(text, _KEPT).encode(encoding, "backslashreplace").decode(encoding)


def say(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{shown(line)}\n" for line in lines)
    sys.stdout.flush()


def say_passed_over(over: Mapping[str, int]) -> None:
    """Print what was passed over: how many of each kind, which begins with its noun."""
    for what, number in over.items():
        noun, _, rest = what.partition(" ")
        say([f"passed over: {count(number, noun)} {rest}"])


def show(options: argparse.Namespace, lines: Iterable[str], found: dict[str, Any]) -> None:
    """Print lines, or what was found as JSON if that is asked for."""
    say([json.dumps(found, indent=1)] if options.json else lines)


@contextlib.contextmanager
def whole_file(path: str, *sources: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces another when it is whole, and else leaves nothing.

    None of the files that its content comes from may be replaced: that is a ValueError.

    A path that is no regular file, such as ``/dev/stdout``, is written to and never replaced.
    A link stays, and the file that it names is replaced.
    """
    whole = Path(path).resolve() if Path(path).is_file() else Path(path)
    if whole.is_dir() or not whole.parent.is_dir():
        wrong = errno.EISDIR if whole.is_dir() else errno.ENOENT
        raise OSError(wrong, os.strerror(wrong), path)
    if whole in {source.resolve() for source in sources}:
        raise ValueError(f"{path}: it is read, and cannot be replaced by what is made of it")
    if whole.exists() and not whole.is_file():
        with whole.open("wb") as file:
            yield file
        return
    part = Path(f"{whole}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)
