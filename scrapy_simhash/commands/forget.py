"""Remove pages from an index, so that they or their copies may come in again.

An index holds originals only. To let in a page that was dropped, forget the page that
it repeats; "scrapy simhash explain" names that page.

    scrapy simhash forget http://www.example.com/a http://www.example.com/b
    scrapy simhash forget --host staging.example.com --yes
    scrapy simhash forget --host www.example.com --older-than 30
    scrapy simhash forget --missing-since 7
    scrapy simhash forget --all

Given several of URLs, --host, --older-than, --run and --missing-since, the command
forgets pages that meet all of them. "scrapy simhash runs" lists the numbers of runs. The
command says how many pages there are, and asks, unless --yes. Afterwards, "scrapy
simhash requeue" writes the pages that were dropped because of the forgotten ones.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from math import inf

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.commands.selection import NO_RUN, Selection, add_shared_options, chosen_index
from scrapy_simhash.index.values import Entry
from scrapy_simhash.report.words import count

_SHOWN = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pages", nargs="*", metavar="URL", help="the address, or key, of a page")
    parser.add_argument(
        "--older-than", type=float, metavar="DAYS", help="pages that came in more days ago"
    )
    parser.add_argument(
        "--run", type=int, metavar="N", help="pages that were last seen in this run"
    )
    parser.add_argument(
        "--missing-since", type=int, metavar="N", help="pages that this run and later ones lack"
    )
    parser.add_argument("--all", action="store_true", help="every page: empty the index")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_shared_options(parser, "host", "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    selection = Selection.of(options.pages, options.host)
    numbers = (options.older_than, options.run, options.missing_since)
    is_named = bool(selection) or any(number is not None for number in numbers)
    if not is_named and not options.all:
        raise UsageError(
            "name the pages to forget: give URLs, --host, --older-than, --run, "
            "--missing-since or --all"
        )
    if is_named and options.all:
        raise UsageError("--all forgets every page, so nothing else can be named beside it")
    if options.older_than is not None and not options.older_than >= 0:
        raise UsageError(f"--older-than {options.older_than:g}: it must be a number of days")
    # Without --older-than, a page counts even if another machine's clock is ahead.
    before = inf if options.older_than is None else time.time() - 86400 * options.older_than
    with chosen_index(options, settings) as index:
        if options.all:
            removed = len(index)
            if options.yes or _agreed(removed):
                index.clear()
                say([f"{count(removed, 'page')} forgotten"])
            return 0
        runs = {run.number for run in index.runs()}
        for option in ("run", "missing_since"):
            number = getattr(options, option)
            # Pages of no run are of number 0.
            if number is not None and number not in (runs | {0} if option == "run" else runs):
                raise UsageError(f"--{option.replace('_', '-')} {number}: {NO_RUN}")
        entries: Iterable[Entry] = index
        if options.missing_since is not None:
            entries = index.missing(options.missing_since)
        elif selection.keys:
            entries = index.entries_of(selection.keys)
        keys = [
            entry.key
            for entry in progress("looking", len(index), of=entries)
            if options.run in (None, entry.run)
            if entry.time <= before
            if selection.has(entry.key)
        ]
        say([f"{len(keys):,} of {count(len(index), 'page')}", *(f"  {k}" for k in keys[:_SHOWN])])
        removed = index.gone(keys) if keys and (options.yes or _agreed(len(keys))) else 0
    say([f"{count(removed, 'page')} forgotten"])
    return 0 if removed else 1


def _agreed(pages: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("no terminal to ask at: give --yes to forget them")
    return input(f"Forget {count(pages, 'page')}? y or n: ").strip().lower() in ("y", "yes")
