"""`scrapy simhash forget`: pages out of the index."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import ProgressBar
from scrapy_simhash.commands.selection import add_host_option, keys_of, moment, of_hosts
from scrapy_simhash.commands.stores import (
    add_index_option,
    add_json_option,
    check_json,
    counted,
    needed_index_url,
    opened,
    show,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index import Entry, StoredIndex

SUMMARY = "Take pages out of an index, so that they or their twins may come in again"

DESCRIPTION = """\
Only originals are in an index. A page that was dropped is not there: forget the page
that it repeats, which "scrapy simhash explain" names.

    scrapy simhash forget http://www.example.com/a http://www.example.com/b
    scrapy simhash forget --host staging.example.com --yes
    scrapy simhash forget --host www.example.com --before 30d --dry-run

With several kinds of choice, a page is forgotten that meets all of them. How many
there are is said first, and asked about, unless --yes. Afterwards, "scrapy simhash
requeue" writes what was dropped because of them.

exit status: 0, forgotten (or, with --dry-run, counted); 1, there is none, or the answer
was no; 2, something given cannot be used; 130, interrupted.
"""

_SHOWN = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("pages", nargs="*", metavar="URL", help="the address, or key, of a page")
    add_host_option(parser, "pages")
    parser.add_argument(
        "--before",
        metavar="DATE",
        help="pages that came in before then: 2026-01-31, 2026-01-31T12:00 (UTC), 30d or 12h ago",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say how many there are")
    add_index_option(parser)
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Count, ask, delete."""
    if not (options.pages or options.host or options.before):
        raise UsageError("forget which pages? Give URLs, --host or --before")
    check_json(options)
    url = needed_index_url(options, settings)
    with opened(url, read_only=options.dry_run) as index:
        condition = _condition(options, index)
        with ProgressBar("looking") as progress:
            names, found, total = [], 0, len(index)
            for done, entry in enumerate(index, 1):
                if condition(entry):
                    found += 1
                    names += [entry.key] if found <= _SHOWN else []
                if not done % 1000:
                    progress(done, max(total, done))
        lines = [f"{found:,} of {counted(total, 'page')}:", *(f"  {name}" for name in names)]
        lines += [f"  and {found - _SHOWN:,} more"] * (found > _SHOWN)
        if options.json != "-" or not (options.yes or options.dry_run):
            sys.stderr.write("\n".join(lines) + "\n")
        removed = 0
        if found and not options.dry_run and _agreed(options, found):
            removed = index.remove_where(condition)
    told = f"{counted(removed, 'page')} forgotten" if not options.dry_run else "nothing was changed"
    show(options, [told], {"found": found, "forgotten": removed, "of": total})
    return 0 if (found if options.dry_run else removed) else 1


def _condition(options: argparse.Namespace, index: StoredIndex) -> Callable[[Entry], bool]:
    names = {index.stored_key(key) for page in options.pages for key in keys_of(page)}
    if options.host and index.options.get("keys") == "digest":
        raise UsageError("--host: this index has digests instead of addresses (keys=digest)")
    is_of = of_hosts(options.host)
    before = moment(options.before) if options.before else float("inf")

    def condition(entry: Entry) -> bool:
        return (not names or entry.key in names) and entry.time < before and is_of(entry.key)

    return condition


def _agreed(options: argparse.Namespace, found: int) -> bool:
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("no terminal to ask at: give --yes to forget them, or --dry-run")
    try:
        answer = input(f"Forget {counted(found, 'page')}? y or n: ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")
