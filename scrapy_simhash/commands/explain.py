"""Say what became of a page, and which sentence of the rule decided.

    scrapy simhash explain http://www.example.com/a --log dedup.jsonl
    scrapy simhash explain www.example.com/a --index redis://localhost/0

The index has the pages that were kept. The dedup log, which a crawl writes with
SIMHASH_LOG, has the pages that were dropped, withheld or not requested, the page that
each was compared with, and what differs.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from scrapy.exceptions import UsageError

from scrapy_simhash.commands.output import say, sentence
from scrapy_simhash.commands.selection import (
    Selection,
    index_url,
    log_lines,
    log_paths,
    shared_options,
)
from scrapy_simhash.index import open_existing
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.difference import difference_lines, differences
from scrapy_simhash.report.words import count, moment

_LEGEND = "what differs: [-only this page shows-]{+only that page shows+}"


OPTIONS = {
    "page": {"metavar": "URL", "help": "the address of a page, or its key"},
    **shared_options("index", "log"),
}


def run(options: Namespace) -> int:
    url = None
    logs: list[Path] = []
    with suppress(UsageError):
        url = index_url(options)
    with suppress(UsageError):
        logs = log_paths(options)
    if url is None and not logs:
        raise UsageError(
            "name a dedup log with --log FILE, or the index with --index URL or -s JOBDIR=FOLDER"
        )
    page = Selection.of([options.page])
    in_index = [] if url is None else [*_from_index(url, page)]
    in_log = [*_from_log(logs, page)]
    lines = [options.page, *in_index, *in_log]
    if url and not in_index:
        lines.append("  not in the index")
    if logs and not in_log:
        lines.append("  not in the log")
    say(*lines)
    return 0 if in_index or in_log else 1


def _from_index(url: str, page: Selection) -> Iterator[str]:
    """Say since when the index has a page; its key may have several contents."""
    with closing(open_existing(url)) as index:
        entries = index.entries_of(page.keys)
    for entry in entries:
        state = "in progress" if entry.provisional else "original"
        scope = f", among the pages of {entry.scope}" if entry.scope else ""
        yield f"  {state}, in the index since {moment(entry.time)} UTC{scope}"


def _from_log(logs: Sequence[Path], page: Selection) -> Iterator[str]:
    """Say what became of a page when it was last met, and how many pages repeat it."""
    last: LogLine | None = None
    copies: set[str] = set()
    for line in log_lines(logs):
        if line is None:
            continue
        if page.has(line.key, line.url):
            last = line
        if line.what != "spared":
            # A page that has changed since is a copy of this one no more.
            copies.discard(line.key)
        if line.original and page.has(line.original):
            copies.add(line.key)
    if last is not None:
        yield from _fate(last)
        yield from _differences(last, logs)
    if copies:
        yield f"  repeated by {count(len(copies), 'page')}"


def _fate(line: LogLine) -> Iterator[str]:
    action = f" ({line.action})" if line.action else ""
    yield f"  {line.verdict}{action} at {moment(line.time)} UTC"
    if line.change:
        place = f" from {line.moved_from}" if line.moved_from else ""
        done = (
            "so SIMHASH_RECRAWL withheld its items"
            if line.action
            else "and it was delivered"
        )
        since = {"new": "in no earlier run", "same": "the same as in earlier runs"}
        yield f"    {since.get(line.change, f'{line.change} since earlier runs')}{place}, {done}"
    if compared_with := line.original or line.near:
        yield f"    {line.distance} bits (k = {line.k}) from {compared_with}"
    if line.reason:
        yield f"    {sentence(line.reason)}"
    if line.signature:
        yield f"    not sent, because pages of {line.host}{line.signature} were copies"


def _differences(line: LogLine, logs: Sequence[Path]) -> Iterator[str]:
    """Show how a page differs from the one that it was compared with, as far as the log knows."""
    key = line.original or line.near
    if not key or not line.text:
        return
    compared = None
    for earlier in log_lines(logs):
        if earlier and earlier.key == key and earlier.text:
            compared = earlier
    if compared is not None:
        differs = difference_lines(differences(line.shown, compared.shown), most=10)
        yield from (f"    {text}" for text in differs and [_LEGEND, *differs])
