"""Write the URLs of pages that were dropped, for a spider to crawl again.

The dedup log names the pages that were dropped and their originals. Where an original
is not in the index any more, the command writes the pages that were dropped because of
it, one URL a line; it reads the whole index:

    scrapy simhash forget --host staging.example.com
    scrapy simhash requeue --log dedup.jsonl > again.txt

With --host, --reason or --original it writes the dropped pages that fit all of them,
from the log alone. Their originals are still there, so --json tells the filter to let
them pass (dont_simhash); the example's pages spider reads such a file:

    scrapy simhash requeue --reason other-site --host shop.example --json > again.jsonl
    scrapy crawl pages -a again=again.jsonl

With --pattern it writes the addresses that were spared because of a signature, which
"scrapy simhash patterns" lists, and "all" means every signature:

    scrapy simhash requeue --pattern 'shop.example/item/*?view=print'

It leaves out pages that have come in since, and pages that "flag" let through.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import (
    add_shared_options,
    index_url,
    keys_of,
    log_lines,
    log_paths,
)
from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.index import open_existing
from scrapy_simhash.report.dedup_log import Line, LogLine, SparedLine
from scrapy_simhash.report.words import count

# The method and digest before the URL, in the key of a page that was not asked for with GET.
_METHOD = re.compile("[A-Z]+ [0-9a-f]{16} ")


def add_options(parser: argparse.ArgumentParser) -> None:
    for name, metavar, chosen in (
        ("host", "HOST", "pages of this host"),
        ("reason", "REASON", "pages that this sentence of the rule dropped"),
        ("original", "URL", "pages that were dropped because of this one"),
        ("pattern", "SIGNATURE", "addresses that this signature spared, or all"),
    ):
        says = f"{chosen} (may be repeated)"
        parser.add_argument(f"--{name}", action="append", metavar=metavar, help=says)
    says = "write a line of JSON for each page: its URL, and the meta of its request"
    parser.add_argument("--json", action="store_true", help=says)
    add_shared_options(parser, "log", "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    lines, meta = log_lines(log_paths(options.log, settings)), {}
    options.host = [host.lower() for host in options.host or ()]
    if options.pattern:
        urls = _spared(lines, set(options.pattern), options.host)
    elif options.host or options.reason or options.original:
        # The originals would have them dropped once more.
        urls, meta = _chosen(lines, options), {"dont_simhash": True}
    else:
        urls = _orphaned(lines, index_url(options, settings))
    say([json.dumps({"url": url, "meta": meta}) if options.json else url for url in urls])
    if not urls:
        sys.stderr.write("no page is to be crawled again\n")
    return 0 if urls else 1


def _spared(lines: Iterable[Line | None], wanted: set[str], hosts: list[str]) -> list[str]:
    """Return the addresses that were spared by some signatures and have not come in since."""
    spared: dict[str, None] = {}
    for line in lines:
        if isinstance(line, LogLine):
            spared.pop(line.url, None)
        elif isinstance(line, SparedLine) and wanted & {"all", line.host + line.signature}:
            spared.update({line.url: None} if not hosts or line.host in hosts else {})
    return list(spared)


def _dropped(lines: Iterable[Line | None]) -> dict[str, LogLine]:
    """Return the pages that were dropped and have not come in since, by their keys."""
    dropped: dict[str, LogLine] = {}
    for line in lines:
        if isinstance(line, LogLine) and line.what == "page" and line.verdict != "skipped":
            # The last line about a page counts.
            dropped.pop(line.key, None)
            if line.verdict == "duplicate" and line.action != "flag":
                dropped[line.key] = replace(line, text="")
    return dropped


def _chosen(lines: Iterable[Line | None], options: argparse.Namespace) -> list[str]:
    """Return the dropped pages that fit all that is asked for."""
    hosts = options.host
    originals = {key for page in options.original or () for key in keys_of(page)}
    return _urls(
        line
        for line in _dropped(lines).values()
        if (not hosts or line.host in hosts)
        and (not options.reason or line.reason in options.reason)
        and (not originals or line.original in originals)
    )


def _orphaned(lines: Iterable[Line | None], url: str) -> list[str]:
    """Return the pages that were dropped because of pages that are not in the index any more."""
    dropped = _dropped(lines)
    asked = {key for page, line in dropped.items() for key in (page, line.original)}
    with closing(open_existing(url)) as index:
        entries = progress("looking", len(index), of=index)
        there = {entry.key for entry in entries if entry.key in asked}
    return _urls(line for line in dropped.values() if not there & {line.key, line.original})


def _urls(lines: Iterable[LogLine]) -> list[str]:
    """Return the addresses of pages, and say how many have none that is enough."""
    lost = list(lines)
    urls = [line.url for line in lost if not _METHOD.match(line.key)]
    if left_out := len(lost) - len(urls):
        pages = count(left_out, "page")
        sys.stderr.write(f"left out: {pages} not asked for with GET, which no URL alone gives\n")
    return urls
