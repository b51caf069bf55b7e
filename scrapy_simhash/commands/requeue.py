"""Write pages that were dropped, for a spider to crawl again: a line of JSON for each.

A line has the URL of a page, and the meta of its request. The command writes the pages
whose originals are not in the index any more:

    scrapy simhash forget --host staging.example.com
    scrapy simhash requeue --log dedup.jsonl > again.jsonl

With URLs, --host or --original it writes the dropped pages that meet all of them. Their
originals are in the index, so the meta tells the filter to let them pass
(dont_simhash):

    scrapy simhash requeue --host shop.example --log dedup.jsonl > again.jsonl

With --spared it writes the addresses that were not requested, because pages with such
addresses were copies. It leaves out pages that have come in since, and pages that
"flag" let through.
"""

import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrapy_simhash.commands.output import say
from scrapy_simhash.commands.selection import (
    Selection,
    chosen_index,
    log_lines,
    log_paths,
    shared_options,
)
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.words import count

# The method and digest before the URL, in the key of a page that was not asked for with
# GET.
_METHOD = re.compile("[A-Z]+ [0-9a-f]{16} ")


OPTIONS = {
    "pages": {"nargs": "*", "metavar": "URL", "help": "the address of a dropped page"},
    "--original": {
        "action": "append",
        "default": [],
        "metavar": "URL",
        "help": "pages that were dropped because of this one (may be repeated)",
    },
    "--spared": {"action": "store_true", "help": "addresses that were not requested"},
    **shared_options("host", "log", "index"),
}


def run(options: Namespace) -> int:
    selection = Selection.of(options.pages, options.host)
    originals = Selection.of(options.original)
    logs = log_paths(options)
    dropped, spared = _absent(log_lines(logs))
    meta = {}
    if options.spared:
        urls = [line.url for line in spared if selection.has(line.key, line.url)]
    elif selection or originals:
        urls = _urls(
            line
            for line in dropped
            if selection.has(line.key, line.url) and originals.has(line.original or "")
        )
        # Their originals would have them dropped once more.
        meta = {"dont_simhash": True}
    else:
        urls = _urls(_without_original(dropped, options))
    say(*(json.dumps({"url": url, "meta": meta}) for url in urls))
    if not urls:
        sys.stderr.write("no page is to be crawled again\n")
    return 0 if urls else 1


def _without_original(dropped: Sequence[LogLine], options: Namespace) -> list[LogLine]:
    """Return the dropped pages of which the index has neither original nor page."""
    keys = {line.key for line in dropped}
    originals = {line.original for line in dropped if line.original}
    with chosen_index(options) as index:
        in_index = {entry.key for entry in index.entries_of(keys | originals)}
    return [line for line in dropped if not in_index & {line.key, line.original}]


def _absent(lines: Iterable[LogLine | None]) -> tuple[list[LogLine], list[LogLine]]:
    """Return the pages that were dropped, and the requests that were not sent.

    Those that have come in since are left out. The last line about a page counts.
    """
    dropped: dict[str, LogLine] = {}
    spared: dict[str, LogLine] = {}
    for line in filter(None, lines):
        spared.pop(line.url, None)
        if line.what == "spared":
            spared[line.url] = line
        if line.what != "page" or line.verdict == "skipped":
            continue
        dropped.pop(line.key, None)
        if line.verdict == "duplicate" and line.action != "flag":
            dropped[line.key] = replace(line, text="", details="")
    return [*dropped.values()], [*spared.values()]


def _urls(lines: Iterable[LogLine]) -> list[str]:
    """Return the addresses of pages, and say how many an address does not give."""
    pages = [*lines]
    urls = [line.url for line in pages if not _METHOD.match(line.key)]
    if len(urls) < len(pages):
        posts = count(len(pages) - len(urls), "page")
        sys.stderr.write(
            f"left out: {posts} not asked for with GET, which no URL alone gives\n"
        )
    return urls
