"""`scrapy simhash requeue`: what was dropped because of pages that are forgotten."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, write_file
from scrapy_simhash.commands.selection import add_host_option, is_get, keys_of, of_hosts
from scrapy_simhash.commands.stores import (
    add_index_option,
    add_log_option,
    counted,
    log_paths,
    needed_index_url,
    opened,
)

if TYPE_CHECKING:
    from scrapy_simhash.report.dedup_log import LogLine

SUMMARY = "Write the URLs that were dropped because of pages that are forgotten"

DESCRIPTION = """\
Reads the dedup log for pages that were dropped, and the index for the pages that they
repeated. Where such an original is not in the index any more, the dropped pages are
written, one URL a line, for a spider to crawl again:

    scrapy simhash forget --host staging.example.com
    scrapy simhash requeue --log dedup.jsonl --output again.txt

Given URLs or --host, only those that were dropped because of these pages. What has come
in since is left out, and so is what "flag" let through.

exit status: 0, written; 1, there is none; 2, something given cannot be used.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("pages", nargs="*", metavar="URL", help="a page that was forgotten")
    add_host_option(parser, "dropped because of forgotten pages")
    add_log_option(parser)
    add_index_option(parser)
    parser.add_argument("--output", "-O", metavar="FILE", help="instead of standard output")
    parser.add_argument(
        "--json",
        action="store_true",
        help="write JSON lines, with url, key, original and distance",
    )


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Read the log, ask the index, write."""
    from scrapy_simhash.report.dedup_log import read_log

    if options.output:
        check_writable(options.output)
    paths = log_paths(options, settings)
    if not paths:
        raise UsageError("which log? Name it with --log, or -s SIMHASH_LOG=FILE")
    dropped: dict[str, LogLine] = {}
    try:
        for line in read_log(paths):
            if line.what == "page" and line.verdict != "skipped":
                # The last word counts; in the order of that.
                dropped.pop(line.key, None)
                if line.verdict == "duplicate" and line.action != "flag":
                    dropped[line.key] = line
    except OSError as error:
        raise UsageError(f"{error.filename or paths[0]}: {error.strerror or 'not there'}") from None
    is_of = of_hosts(options.host)
    with opened(needed_index_url(options, settings)) as index:
        wanted = {index.stored_key(key) for page in options.pages for key in keys_of(page)}
        chosen = [
            line
            for line in dropped.values()
            if line.original is not None
            and is_of(line.original)
            and (not wanted or index.stored_key(line.original) in wanted)
        ]
        keys = {key for line in chosen for key in (line.key, line.original or "")}
        there = {entry.key for entry in index.find(keys)}
        forgotten = [
            line
            for line in chosen
            if not there & {index.stored_key(line.key), index.stored_key(line.original or "")}
        ]
    written = [line for line in forgotten if is_get(line.key)]
    if left_out := len(forgotten) - len(written):
        were = "was" if left_out == 1 else "were"
        pages = counted(left_out, "page")
        sys.stderr.write(f"{pages} {were} not asked for with GET: left out\n")
    names = ("url", "key", "original", "distance")
    text = "".join(
        json.dumps({name: getattr(line, name) for name in names}) + "\n"
        if options.json
        else f"{line.url}\n"
        for line in written
    )
    if options.output:
        write_file(options.output, text.encode())
        sys.stderr.write(f"{options.output}: {counted(len(written), 'URL')}\n")
    else:
        sys.stdout.write(text)
        sys.stdout.flush()
    return 0 if written else 1
