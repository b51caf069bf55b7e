"""`scrapy simhash requeue`: pages that were dropped because of pages that are forgotten."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, write_file
from scrapy_simhash.commands.selection import is_get, keys_of, of_hosts
from scrapy_simhash.commands.stores import (
    add_shared_options,
    log_lines,
    log_paths,
    needed_index_url,
    opened,
    watched,
)
from scrapy_simhash.report.words import count

if TYPE_CHECKING:
    from scrapy_simhash.report.dedup_log import LogLine, SparedLine

SUMMARY = "Write the URLs that were dropped because of pages that are forgotten"

DESCRIPTION = """\
The dedup log names the pages that were dropped and their originals. Where an original
is not in the index any more, the command writes the pages that were dropped because of
it, one URL a line, for a spider to crawl again:

    scrapy simhash forget --host staging.example.com
    scrapy simhash requeue --log dedup.jsonl --output again.txt

With --pattern it writes the addresses that were spared because of a signature, which
"scrapy simhash patterns" lists, and "all" means every signature:

    scrapy simhash requeue --pattern 'shop.example/item/*?view=print'

With URLs or --host it writes only pages that were dropped because of these. It leaves
out pages that have come in since, and pages that "flag" let through.

exit status: 0, written; 1, there is none; 2, something given cannot be used.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("pages", nargs="*", metavar="URL", help="a page that was forgotten")
    parser.add_argument(
        "--pattern",
        action="append",
        metavar="SIGNATURE",
        help="addresses that were spared because of this signature, or of all (may be repeated)",
    )
    add_shared_options(parser, "host", "log", "index")
    parser.add_argument("--output", "-O", metavar="FILE", help="instead of standard output")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Read the log, ask the index, write."""
    if options.output:
        check_writable(options.output)
    paths = log_paths(options, settings)
    if not paths:
        raise UsageError("name the dedup log with --log FILE, or with -s SIMHASH_LOG=FILE")
    if options.pattern:
        return _requeue_spared(options, paths)
    is_of_host = of_hosts(options.host)
    dropped = [line for line in _dropped(paths) if is_of_host(line.original or "")]
    forgotten = _forgotten(options, settings, dropped)
    written = [line for line in forgotten if is_get(line.key)]
    if left_out := len(forgotten) - len(written):
        were = "was" if left_out == 1 else "were"
        pages = count(left_out, "page")
        sys.stderr.write(f"{pages} {were} not asked for with GET and cannot be written as a URL\n")
    _write(options.output, [line.url for line in written])
    return 0 if written else 1


def _requeue_spared(options: argparse.Namespace, paths: list[str]) -> int:
    """Write the addresses that were spared and have not come in since."""
    is_of_host = of_hosts(options.host)
    spared: dict[str, None] = {}
    wanted = None if "all" in options.pattern else set(options.pattern)

    def note(line: SparedLine) -> None:
        name = line.host + line.signature
        if (wanted is None or name in wanted) and is_of_host(line.url):
            spared[line.url] = None

    for line in log_lines(paths, spared=note):
        spared.pop(line.url, None)
    _write(options.output, list(spared))
    return 0 if spared else 1


def _dropped(paths: list[str]) -> list[LogLine]:
    """Return the pages that were dropped and have not come in since, in that order."""
    dropped: dict[str, LogLine] = {}
    for line in log_lines(paths):
        if line.what == "page" and line.verdict != "skipped":
            # The last line about a page counts.
            dropped.pop(line.key, None)
            if line.verdict == "duplicate" and line.action != "flag":
                dropped[line.key] = line
    return list(dropped.values())


def _forgotten(
    options: argparse.Namespace, settings: BaseSettings, dropped: list[LogLine]
) -> list[LogLine]:
    """Return the pages of which neither they nor their originals are in the index."""
    with opened(needed_index_url(options, settings)) as index:
        wanted = {index.stored_key(key) for page in options.pages for key in keys_of(page)}
        keys = [
            (line, index.stored_key(line.key), index.stored_key(line.original or ""))
            for line in dropped
        ]
        chosen = [entry for entry in keys if not wanted or entry[2] in wanted]
        asked = {key for _, *both in chosen for key in both}
        there = {entry.key for entry in watched(index, "looking") if entry.key in asked}
    return [line for line, own, original in chosen if not there & {own, original}]


def _write(path: str | None, urls: list[str]) -> None:
    text = "".join(f"{url}\n" for url in urls)
    if path:
        write_file(path, text.encode())
        sys.stderr.write(f"{path}: {count(len(urls), 'URL')}\n")
    else:
        sys.stdout.write(text)
        sys.stdout.flush()
