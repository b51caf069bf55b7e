"""Remove pages from an index, so that they or their copies may come in again.

An index holds originals only. To let in a page that was dropped, forget the page that
it repeats, which "scrapy simhash explain" names. Then "scrapy simhash requeue" writes
the pages that were dropped because of it.

    scrapy simhash forget http://www.example.com/a http://www.example.com/b
    scrapy simhash forget --host www.example.com --older-than 30
    scrapy simhash forget --missing-since 7
    scrapy simhash forget --all --yes
    scrapy simhash forget http://www.example.com/a --log dedup.jsonl

The command forgets the pages that meet all that is given. "scrapy simhash stats" lists
the numbers of runs. With --log, the pages leave that dedup log, too, with their text,
and so do lines that cannot be read; stop crawls that write to it first.
"""

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simhash.commands.output import progress, say, whole_file
from scrapy_simhash.commands.selection import (
    NO_RUN,
    Selection,
    chosen_index,
    log_lines,
    shared_options,
)
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Entry
from scrapy_simhash.report.dedup_log import LogLine, to_json
from scrapy_simhash.report.words import count

# The fields of a line of the log that name other pages.
_OTHER_PAGES = ("original", "near", "moved_from")


OPTIONS = {
    "pages": {"nargs": "*", "metavar": "URL", "help": "the address, or key, of a page"},
    "--older-than": {
        "type": float,
        "metavar": "DAYS",
        "help": "pages that came in more days ago",
    },
    "--missing-since": {
        "type": int,
        "metavar": "N",
        "help": "pages that this run and later ones lack",
    },
    "--all": {"action": "store_true", "help": "every page: empty the index"},
    "--yes": {"action": "store_true", "help": "do not ask"},
    **shared_options("host", "index", "log"),
}


def run(options: Namespace) -> int:
    selection = _selection(options)
    with chosen_index(options) as index:
        total = len(index)
        keys = [] if options.all else _keys(index, selection, options)
        chosen = total if options.all else len(keys)
        say(f"{chosen:,} of {count(total, 'page')}", *(f"  {key}" for key in keys[:5]))
        # An empty index may have parts that an interrupted call left.
        is_work = chosen or options.all or options.log
        if not is_work or not (options.yes or _agreed(chosen)):
            say("0 pages forgotten")
            return 1
        # First, because the index tells which pages are meant as long as it has them.
        lines = _leave_logs(options.log or (), selection, {*keys, *selection.keys})
        if options.all:
            index.clear()
        else:
            chosen = index.gone(keys)
    say(f"{count(chosen, 'page')} forgotten", *lines)
    return 0 if chosen or lines else 1


def _selection(options: Namespace) -> Selection:
    """Return the pages and hosts that are named.

    Raises:
        UsageError: too little is named, or too much.
    """
    selection = Selection.of(options.pages, options.host)
    has_age = options.older_than is not None or options.missing_since is not None
    if options.all == bool(selection or has_age):
        raise UsageError(
            "name the pages to forget: give URLs, --host, --older-than or --missing-since; or "
            "--all, and nothing else"
        )
    if options.older_than is not None and not options.older_than >= 0:
        raise UsageError(
            f"--older-than {options.older_than:g}: it must be a number of days"
        )
    if options.log and not selection:
        raise UsageError("--log needs URLs or --host: to empty a log, delete its file")
    return selection


def _leave_logs(
    paths: Iterable[str],
    selection: Selection,
    keys: Collection[str],
) -> list[str]:
    """Take pages out of logs, and say how many lines were removed, and why."""
    removed = Counter[str]()
    for path in paths:
        with whole_file(path) as file:
            for line in log_lines([Path(path)]):
                if line is None:
                    removed["not readable"] += 1
                elif selection.has(line.key, line.url):
                    removed["of these pages"] += 1
                else:
                    file.write(f"{to_json(_without(line, keys))}\n".encode())
    return [
        f"{count(number, 'line')} of the log removed: {reason}"
        for reason, number in removed.items()
    ]


def _without(line: LogLine, keys: Collection[str]) -> LogLine:
    """Return a line that names no page with one of the keys beside its own."""
    names = [name for name in _OTHER_PAGES if getattr(line, name) in keys]
    nothing: dict[str, Any] = dict.fromkeys(names)
    return replace(line, **nothing)


def _keys(
    index: Index,
    selection: Selection,
    options: Namespace,
) -> list[str]:
    """Return the keys of the pages that meet all that is asked for."""
    entries: Iterable[Entry] = index
    if options.missing_since is not None:
        if options.missing_since not in {run.number for run in index.runs()}:
            raise UsageError(f"--missing-since {options.missing_since}: {NO_RUN}")
        entries = index.missing(options.missing_since)
    elif selection.keys:
        entries = index.entries_of(selection.keys)
    # Without --older-than, a page counts even if another machine's clock is ahead.
    before = inf
    if options.older_than is not None:
        before = time.time() - 86400 * options.older_than
    return [
        entry.key
        for entry in progress("looking", len(index), of=entries)
        if entry.time <= before and selection.has(entry.key)
    ]


def _agreed(pages: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("no terminal to ask at: give --yes to forget them")
    answer = input(f"Forget {count(pages, 'page')}? y or n: ")
    return answer.strip().lower() in ("y", "yes")
