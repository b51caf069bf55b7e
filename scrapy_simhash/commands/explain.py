"""Say what became of a page, and which sentence of the rule decided.

    scrapy simhash explain http://www.example.com/a --log dedup.jsonl
    scrapy simhash explain www.example.com/a --index redis://localhost/0

The index has the pages that were kept; if it has this one, the command reads all of it,
and shows what is near the page. The dedup log, which a crawl writes with SIMHASH_LOG,
has the pages that were dropped, withheld or not requested, and what differs.
"""

import argparse
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import columns, progress, say, sentence
from scrapy_simhash.commands.selection import (
    Selection,
    add_shared_options,
    index_url,
    log_lines,
    log_paths,
)
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Entry
from scrapy_simhash.report.dedup_log import LogLine, SparedLine
from scrapy_simhash.report.difference import difference_lines
from scrapy_simhash.report.words import count, moment
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

_MOST_MATCHES = 10
_LEGEND = "what differs: [-only this page shows-]{+only that page shows+}"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="URL", help="the address of a page, or its key")
    add_shared_options(parser, "index", "log")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    url = None
    logs = []
    with suppress(UsageError):
        url = index_url(options, settings)
    with suppress(UsageError):
        logs = log_paths(options.log, settings, options.index)
    if url is None and not logs:
        raise UsageError(
            "name a dedup log with --log FILE, or the index with --index URL or -s JOBDIR=FOLDER"
        )
    selection = Selection.of([options.page])
    last, copies = _read(logs, selection)
    lines = [options.page]
    entries: list[Entry] = []
    if url is not None:
        with closing(open_existing(url)) as index:
            entries = _entries_of(index, selection.keys)
            for entry in entries:
                lines += _in_index(index, entry)
        if not entries:
            lines.append("  not in the index")
    if isinstance(last, SparedLine):
        lines.append(f"  not sent at {moment(last.time)} UTC")
        lines.append(f"    pages of {last.host}{last.signature} were copies")
    elif last is not None:
        lines += _in_log(last, _compared_with(logs, last))
    elif logs:
        lines.append("  not in the log")
    if copies:
        lines.append(f"  repeated by {count(len(copies), 'page')}")
    say(lines)
    return 0 if entries or last is not None or copies else 1


def _entries_of(index: Index, keys: Collection[str]) -> list[Entry]:
    """Return the entries of a page with their blocks; its key may have several contents."""
    if not index.entries_of(keys):
        return []
    # Blocks find near pages, and only a look at all entries gives blocks.
    everything = progress("looking", len(index), of=index.with_blocks())
    return [entry for entry in everything if entry.key in keys]


def _read(
    logs: Sequence[str | Path], selection: Selection
) -> tuple[LogLine | SparedLine | None, set[str]]:
    """Return the last line about the page, and the keys of its copies."""
    last: LogLine | SparedLine | None = None
    copies: set[str] = set()
    for line in log_lines(logs):
        if isinstance(line, SparedLine) and selection.has(line.url):
            last = line
        if isinstance(line, LogLine):
            if selection.has(line.key, line.url):
                last = line
            # A page that has changed since is a copy of this one no more.
            copies.discard(line.key)
            if line.original and selection.has(line.original):
                copies.add(line.key)
    return last, copies


def _in_index(index: Index, entry: Entry) -> Iterator[str]:
    """Say since when a page is in the index, and what is near it."""
    k = index.spec.distance
    state = "in progress" if entry.provisional else "original"
    scope = f", among the pages of {entry.scope}" if entry.scope else ""
    yield f"  {state}, in the index since {moment(entry.time)} UTC{scope}"
    matches = index.query(entry.fingerprint, scope=entry.scope)
    near = [match for match in matches if match.key != entry.key]
    yield f"  near it: {count(len(near), 'page')} of the index"
    for match in near[:_MOST_MATCHES]:
        original = Page(match.key, match.facts)
        ruling = Rule(k)(Page(entry.key, entry.facts), original, match.distance)
        yield f"    {match.distance:3} bits  {match.key}{_beyond(match.distance, k)}"
        verdict = "a copy" if ruling.is_copy else "another page"
        yield f"              {verdict}: {sentence(ruling.reason)}"
    if len(near) > _MOST_MATCHES:
        yield f"    and {count(len(near) - _MOST_MATCHES, 'other page')}"


def _beyond(distance: int, k: int) -> str:
    return f"  (beyond k = {k})" if distance > k else ""


def _compared_with(logs: Sequence[str | Path], last: LogLine) -> LogLine | None:
    """Return the log's line of the page with which another one was compared."""
    key = last.original or last.near
    compared = None
    for line in log_lines(logs) if key else ():
        if isinstance(line, LogLine) and line.key == key and line.text:
            compared = line
    return compared


def _in_log(line: LogLine, compared: LogLine | None) -> Iterator[str]:
    """Say what a log has of a page, and how it differs from the page it was compared with."""
    action = f" ({line.action})" if line.action else ""
    yield f"  {line.verdict}{action} at {moment(line.time)} UTC"
    if line.change:
        place = f" from {line.moved_from}" if line.moved_from else ""
        is_withheld = line.verdict == "unique" and line.action
        done = "so SIMHASH_RECRAWL withheld its items" if is_withheld else "and it was delivered"
        since = {"new": "in no earlier run", "same": "the same as in earlier runs"}
        yield f"    {since.get(line.change, f'{line.change} since earlier runs')}{place}, {done}"
    if name := line.original or line.near:
        yield f"    {line.distance} bits (k = {line.k}) from {name}"
    if line.reason:
        yield f"    {sentence(line.reason)}"
    if compared is not None and line.text:
        differs = difference_lines(line.shown, compared.shown, columns() - 4, _MOST_MATCHES)
        yield from (f"    {text}" for text in differs and [_LEGEND, *differs])
