"""`scrapy simhash forget`: pages out of the index."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.selection import given_moment, keys_of, of_hosts
from scrapy_simhash.commands.stores import (
    add_shared_options,
    needed_index_url,
    opened,
    show,
    watched,
)
from scrapy_simhash.report.words import count

if TYPE_CHECKING:
    from scrapy_simhash.index import Index

SUMMARY = "Take pages out of an index, so that they or their copies may come in again"

DESCRIPTION = """\
An index holds originals only. To let a page in that was dropped, forget the page that
it repeats; "scrapy simhash explain" names that page.

    scrapy simhash forget http://www.example.com/a http://www.example.com/b
    scrapy simhash forget --host staging.example.com --yes
    scrapy simhash forget --host www.example.com --before 30d --dry-run

Given URLs, --host and --before together, the command forgets pages that meet all of
them. It says first how many there are, and asks, unless --yes. Afterwards, "scrapy
simhash requeue" writes the pages that were dropped because of them.

exit status: 0, forgotten (or, with --dry-run, counted); 1, there is none, or the answer
was no; 2, something given cannot be used; 130, interrupted.
"""

_SHOWN = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("pages", nargs="*", metavar="URL", help="the address, or key, of a page")
    parser.add_argument(
        "--before",
        metavar="DATE",
        help="pages that came in before then: 2026-01-31, 2026-01-31T12:00 (UTC), 30d or 12h ago",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say how many there are")
    add_shared_options(parser, "host", "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Count, ask, delete."""
    if not (options.pages or options.host or options.before):
        raise UsageError("name the pages to forget: give URLs, --host or --before")
    url = needed_index_url(options, settings)
    with opened(url, read_only=options.dry_run) as index:
        total = len(index)
        keys = _matching(options, index)
        lines = [
            f"{len(keys):,} of {count(total, 'page')}:",
            *(f"  {key}" for key in keys[:_SHOWN]),
        ]
        lines += [f"  and {len(keys) - _SHOWN:,} more"] * (len(keys) > _SHOWN)
        if options.json != "-" or not (options.yes or options.dry_run):
            sys.stderr.write("\n".join(lines) + "\n")
        removed = 0
        if keys and not options.dry_run and _agreed(options, len(keys)):
            removed = index.remove(keys)
    result = f"{count(removed, 'page')} forgotten" if not options.dry_run else "nothing was changed"
    show(options, [result], {"found": len(keys), "forgotten": removed, "of": total})
    return 0 if (keys if options.dry_run else removed) else 1


def _matching(options: argparse.Namespace, index: Index) -> list[str]:
    """Return the keys of the entries that are meant."""
    names = {index.stored_key(key) for page in options.pages for key in keys_of(page)}
    is_of_host = of_hosts(options.host)
    before = given_moment(options.before) if options.before else float("inf")
    keys = []
    for entry in watched(index, "looking"):
        named = not names or entry.key in names
        if named and entry.time < before and is_of_host(entry.key):
            keys.append(entry.key)
    return keys


def _agreed(options: argparse.Namespace, found: int) -> bool:
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("no terminal to ask at: give --yes to forget them, or --dry-run")
    try:
        answer = input(f"Forget {count(found, 'page')}? y or n: ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")
