"""Write the URLs that were dropped because of pages that are forgotten.

The dedup log names the pages that were dropped and their originals. Where an original
is not in the index any more, the command writes the pages that were dropped because of
it, one URL a line, for a spider to crawl again:

    scrapy simhash forget --host staging.example.com
    scrapy simhash requeue --log dedup.jsonl > again.txt

With --pattern it writes the addresses that were spared because of a signature, which
"scrapy simhash patterns" lists, and "all" means every signature:

    scrapy simhash requeue --pattern 'shop.example/item/*?view=print'

It leaves out pages that have come in since, and pages that "flag" let through. It reads
the whole index.

exit status: 0, written; 1, there is none; 2, something given cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import say
from scrapy_simhash.commands.selection import is_get
from scrapy_simhash.commands.stores import (
    add_shared_options,
    log_lines,
    log_paths,
    needed_index_url,
    opened,
    watched,
)
from scrapy_simhash.report.dedup_log import LogLine, SparedLine
from scrapy_simhash.report.words import count


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--pattern",
        action="append",
        metavar="SIGNATURE",
        help="addresses that were spared because of this signature, or of all (may be repeated)",
    )
    add_shared_options(parser, "log", "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Read the log, ask the index, print."""
    paths = log_paths(options.log, settings)
    if not paths:
        raise UsageError("name the dedup log with --log FILE, or with -s SIMHASH_LOG=FILE")
    if options.pattern:
        urls = _spared(paths, None if "all" in options.pattern else set(options.pattern))
    else:
        urls = _orphaned(paths, needed_index_url(options, settings))
    say(urls)
    return 0 if urls else 1


def _spared(paths: Sequence[str | Path], wanted: set[str] | None) -> list[str]:
    """Return the addresses that were spared by some signatures and have not come in since."""
    spared: dict[str, None] = {}

    def note(line: SparedLine) -> None:
        if wanted is None or line.host + line.signature in wanted:
            spared[line.url] = None

    for line in log_lines(paths, spared=note):
        spared.pop(line.url, None)
    return list(spared)


def _orphaned(paths: Sequence[str | Path], url: str) -> list[str]:
    """Return the pages that were dropped because of pages that are not in the index any more."""
    dropped: dict[str, LogLine] = {}
    for line in log_lines(paths):
        if line.what == "page" and line.verdict != "skipped":
            # The last line about a page counts.
            dropped.pop(line.key, None)
            if line.verdict == "duplicate" and line.action != "flag":
                dropped[line.key] = line
    asked = {key for line in dropped.values() for key in (line.key, line.original)}
    with opened(url) as index:
        there = {entry.key for entry in watched(index, "looking") if entry.key in asked}
    lost = [line for line in dropped.values() if not there & {line.key, line.original}]
    urls = [line.url for line in lost if is_get(line.key)]
    if left_out := len(lost) - len(urls):
        were = "was" if left_out == 1 else "were"
        pages = count(left_out, "page")
        sys.stderr.write(f"{pages} {were} not asked for with GET and cannot be written as a URL\n")
    return urls
