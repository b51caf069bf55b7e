"""Say what became of a page, and which sentence of the rule decided.

The index holds the pages that were kept; the dedup log, which a crawl writes with
SIMHASH_LOG, names the pages that were dropped or not asked for, and why.

    scrapy simhash explain http://www.example.com/a --log dedup.jsonl
    scrapy simhash explain www.example.com/a --index redis://localhost/0

For a page that was kept, the command shows the pages of the index that are near it,
with the facts of both and what the rule says of them. It reads the whole index.
For a page that was dropped, it shows what differs, as far as the log has it.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import (
    add_shared_options,
    index_url,
    keys_of,
    log_lines,
    log_paths,
)
from scrapy_simhash.commands.output import about, columns, progress, say, sentence, side_by_side
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.values import Entry
from scrapy_simhash.report.dedup_log import LogLine, SparedLine
from scrapy_simhash.report.difference import difference_lines
from scrapy_simhash.report.words import count, moment
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

_SHOWN = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="URL", help="the address of a page, or its key")
    add_shared_options(parser, "index", "log")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    url, logs = None, []
    with suppress(UsageError):
        url = index_url(options, settings)
    with suppress(UsageError):
        logs = log_paths(options.log, settings)
    if url is None and not logs:
        raise UsageError(
            "name a dedup log with --log FILE, or the index with --index URL or -s JOBDIR=FOLDER"
        )
    names = keys_of(options.page)
    last, repeating = _read(logs, names)
    other = _other(logs, last) if isinstance(last, LogLine) else None
    lines = [options.page]
    own: list[Entry] = []
    if url is not None:
        with closing(open_existing(url)) as index:
            entries = progress("looking", len(index), of=index.with_blocks())
            # One and the same key may have come in twice, with different contents.
            own = [entry for entry in entries if entry.key in names]
            lines += _in_index(index, own)
    if last is not None:
        lines += _logged(last, other)
    elif logs:
        lines.append("  not in the log")
    if repeating:
        lines.append(f"  repeated by {count(len(repeating), 'page')}")
    say(lines)
    return 0 if own or last is not None or repeating else 1


def _read(
    logs: Sequence[str | Path], names: set[str]
) -> tuple[LogLine | SparedLine | None, set[str]]:
    """Return the last line about the page, and the pages that repeat it."""
    last: LogLine | SparedLine | None = None
    repeating: set[str] = set()
    for line in log_lines(logs):
        if isinstance(line, SparedLine) and line.url in names:
            last = line
        if not isinstance(line, LogLine):
            continue
        if names & {line.key, line.url}:
            last = line
        # A page that has changed since repeats this one no more.
        repeating.discard(line.key)
        if line.original in names:
            repeating.add(line.key)
    return last, repeating


def _in_index(index: Index, own: Sequence[Entry]) -> Iterator[str]:
    """Say since when a page is in the index, and what is near it."""
    if not own:
        yield "  not in the index"
    for entry in own:
        state = "in progress" if entry.provisional else "original"
        scope = f", among the pages of {entry.scope}" if entry.scope else ""
        yield f"  {state}, in the index since {moment(entry.time)} UTC{scope}"
        found = index.query(entry.fingerprint, scope=entry.scope)
        near = [other for other in found if other.key != entry.key]
        yield f"  near it: {count(len(near), 'page')} of the index"
        k = index.spec.distance
        for other in near[:_SHOWN]:
            pages = Page(entry.key, entry.facts), Page(other.key, other.facts)
            ruling = Rule(k)(*pages, other.distance)
            beyond = f"  (beyond k = {k})" if other.distance > k else ""
            yield f"    {other.distance:3} bits  {other.key}{beyond}"
            verdict = "a copy" if ruling.is_copy else "another page"
            yield f"              {verdict}: {sentence(ruling.reason)}"
            facts = about(entry.facts), about(other.facts)
            if all(facts):
                for row in side_by_side(("this page", "that page"), *facts):
                    yield f"              {row}"


def _other(logs: Sequence[str | Path], last: LogLine) -> LogLine | None:
    """Return what the log has of the page that another one was compared with."""
    key, other = last.original or last.near, None
    for line in log_lines(logs) if key else ():
        if isinstance(line, LogLine) and line.key == key and line.text:
            other = line
    return other


def _logged(line: LogLine | SparedLine, other: LogLine | None) -> Iterator[str]:
    if isinstance(line, SparedLine):
        yield f"  not sent at {moment(line.time)} UTC"
        yield f"    pages of {line.host}{line.signature} were copies"
        return
    action = f" ({line.action})" if line.action else ""
    yield f"  {line.verdict}{action} at {moment(line.time)} UTC"
    if name := line.original or line.near:
        yield f"    {line.distance} bits (k = {line.k}) from {name}"
    if line.copies:
        yield f"    kept beside {count(line.copies, 'page')} that it repeats (SIMHASH_COPIES)"
    if line.reason:
        yield f"    {sentence(line.reason)}"
    if other is not None and line.text:
        pair = line.shown, other.shown
        if differs := difference_lines(*pair, columns() - 4, _SHOWN, colour=False):
            yield "    what differs: only this page shows | only that page shows"
            yield from (f"    {each}" for each in differs)
