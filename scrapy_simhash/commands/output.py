"""The progress, tables and results that subcommands show, and the files that they write."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from scrapy_simhash.offline.interrupts import uninterrupted
from scrapy_simhash.offline.saved_pages import PageReader
from scrapy_simhash.printable import printable
from scrapy_simhash.report.words import pad, width
from scrapy_simhash.rule.rule import REASONS


def progress(
    label: str,
    total: float | None,
    of: Iterable[Any] | None = None,
) -> tqdm[Any]:
    """Return a line on the terminal with done, total, rate and time left.

    It says nothing where standard error is no terminal. Iterated, it gives the pages
    that ``of`` has; without these, it counts bytes.
    """
    return tqdm(
        of,
        desc=label,
        total=total,
        unit="B" if of is None else " pages",
        unit_scale=of is None,
        disable=not sys.stderr.isatty(),
        leave=False,
        dynamic_ncols=True,
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, by columns of the terminal."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(pad, row, widths)).rstrip() for row in rows]


def sentence(reason: str) -> str:
    """Return a reason, behind its sentence if the rule has one."""
    return f"{REASONS[reason]} ({reason})" if reason in REASONS else reason


def shown(text: str) -> str:
    """Return a line with escapes for what steers a terminal or cannot be written there.

    Strangers wrote most of what is shown: addresses, keys, texts.
    """
    encoding = sys.stdout.encoding or "utf-8"
    return printable(text).encode(encoding, "backslashreplace").decode(encoding)


def say(*lines: str) -> None:
    sys.stdout.writelines(f"{shown(line)}\n" for line in lines)
    sys.stdout.flush()


def passed_over(reader: PageReader) -> list[str]:
    """Return a line for each kind of what a reader passed over."""
    return [
        f"passed over: {number:,} ({kind})"
        for kind, number in reader.passed_over.items()
    ]


def show(
    options: Namespace,
    lines: Iterable[str],
    values: dict[str, Any],
) -> None:
    """Print lines, or values as JSON if that is asked for."""
    say(*(json.dumps(values, indent=1).splitlines() if options.json else lines))


@contextlib.contextmanager
def whole_file(path: str, *sources: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces another when it is whole, and else leaves nothing.

    What is no regular file, such as a pipe, is written to and never replaced.

    Raises:
        ValueError: the file is one of ``sources``, from which the content comes.
    """
    given = Path(path)
    whole = given.resolve()  # a link stays
    if not whole.parent.is_dir():
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if whole in {source.resolve() for source in sources}:
        raise ValueError(f"{path}: it is read, so it cannot be replaced")
    # A pipe has no path, to which a link such as /dev/stdout would lead.
    if given.exists() and not given.is_file():
        with open(path, "wb") as file:  # noqa: PTH123 - an error names it as it was given
            yield file
        return
    part = Path(f"{path}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(whole)
    finally:
        with uninterrupted():
            part.unlink(missing_ok=True)
