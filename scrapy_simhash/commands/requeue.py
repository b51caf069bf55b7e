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
"""

import argparse
import re
import sys
from collections.abc import Iterable
from contextlib import closing

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, index_url, log_lines, log_paths
from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.index import open_existing
from scrapy_simhash.report.dedup_log import Line, LogLine, SparedLine
from scrapy_simhash.report.words import count

# The method and digest before the URL, in the key of a page that was not asked for with GET.
_METHOD = re.compile("[A-Z]+ [0-9a-f]{16} ")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pattern",
        action="append",
        metavar="SIGNATURE",
        help="addresses that were spared because of this signature, or of all (may be repeated)",
    )
    add_shared_options(parser, "log", "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    lines = log_lines(log_paths(options.log, settings))
    if options.pattern:
        urls = _spared(lines, set(options.pattern))
    else:
        urls = _orphaned(lines, index_url(options, settings))
    say(urls)
    if not urls:
        sys.stderr.write("no page is to be crawled again\n")
    return 0 if urls else 1


def _spared(lines: Iterable[Line | None], wanted: set[str]) -> list[str]:
    """Return the addresses that were spared by some signatures and have not come in since."""
    spared: dict[str, None] = {}
    for line in lines:
        if isinstance(line, LogLine):
            spared.pop(line.url, None)
        elif isinstance(line, SparedLine) and wanted & {"all", line.host + line.signature}:
            spared[line.url] = None
    return list(spared)


def _orphaned(lines: Iterable[Line | None], url: str) -> list[str]:
    """Return the pages that were dropped because of pages that are not in the index any more."""
    dropped: dict[str, tuple[str, str | None]] = {}  # addresses and originals, by key
    for line in lines:
        if isinstance(line, LogLine) and line.what == "page" and line.verdict != "skipped":
            # The last line about a page counts.
            dropped.pop(line.key, None)
            if line.verdict == "duplicate" and line.action != "flag":
                dropped[line.key] = line.url, line.original
    asked = {key for page, (_, original) in dropped.items() for key in (page, original)}
    with closing(open_existing(url)) as index:
        entries = progress("looking", len(index), of=index)
        there = {entry.key for entry in entries if entry.key in asked}
    lost = [(key, url) for key, (url, original) in dropped.items() if not there & {key, original}]
    urls = [url for key, url in lost if not _METHOD.match(key)]
    if left_out := len(lost) - len(urls):
        pages = count(left_out, "page")
        sys.stderr.write(f"left out: {pages} not asked for with GET, which no URL alone gives\n")
    return urls
