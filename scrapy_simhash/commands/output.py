"""The progress, tables and results that subcommands show, and the files that they write."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from scrapy.exceptions import UsageError
from tqdm import tqdm

from scrapy_simhash.report.difference import pad, width


def progress(label: str, total: float | None, unit: str = " pages") -> tqdm[Any]:
    """Return a line on the terminal with done, total, rate and time left.

    It says nothing where standard error is no terminal. A total in bytes has the unit ``B``.
    """
    return tqdm(
        desc=label,
        total=total,
        unit=unit,
        unit_scale=unit == "B",
        disable=not sys.stderr.isatty(),
        leave=False,
        dynamic_ncols=True,
    )


def aligned(rows: Sequence[Sequence[str]], left: int | None = None) -> list[str]:
    """Return the lines of a table.

    Args:
        rows: cells of text, the same number in each.
        left: how many columns stand to the left, the others to the right; all by default.
    """
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            pad(cell, size) if left is None or place < left else pad("", size - width(cell)) + cell
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def has_colours() -> bool:
    """Return whether what is printed may be coloured."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def columns() -> int:
    """Return how wide a printed line may be."""
    return min(shutil.get_terminal_size().columns, 120)


def say(lines: Iterable[str]) -> None:
    """Print lines."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def show(options: argparse.Namespace, lines: Iterable[str], found: dict[str, Any]) -> None:
    """Print lines, or what was found as JSON if that is asked for."""
    say([json.dumps(found, indent=1)] if options.json else lines)


def check_writable(path: str) -> None:
    """Raise a UsageError unless a file can be made there: before the work, not after it."""
    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        raise UsageError(f"{path}: it is a folder")
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: the folder {folder} cannot be written")


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file that replaces another when it is whole, and else leaves nothing."""
    check_writable(path)
    folder = Path(path).absolute().parent
    with tempfile.TemporaryDirectory(prefix=".simhash-", dir=folder) as beside:
        whole = Path(beside) / "whole"
        with whole.open("wb") as file:
            yield file
        whole.replace(path)
