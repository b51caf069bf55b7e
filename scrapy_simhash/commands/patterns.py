"""List address patterns whose pages are copies; pin, forbid, forget or export them.

Addresses whose pages were copies again and again make a pattern: a host, a path and
parameters, with stars for values that differ. SIMHASH_SPARE says what a crawl does
with requests that fit one. The command lists patterns, and with --all every signature:

    scrapy simhash patterns
    scrapy simhash patterns --host www.example.com --all
    scrapy simhash patterns --forbid 'www.example.com/item/*?view=print'

A pinned signature is a pattern whatever the counts say, a forbidden one is none, and
--unmark takes that back. Crawls learn of marks within seconds. --forget deletes counts;
a running crawl keeps those that it knows. --export writes rules for
duplicate-url-discarder, and prints those that its format cannot express like the lines
of a robots.txt.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, index_url, of_hosts
from scrapy_simhash.commands.output import show, whole_file
from scrapy_simhash.index import open_existing, open_patterns
from scrapy_simhash.report.words import count, size
from scrapy_simhash.url_patterns.export import discarder_rules, robots_line
from scrapy_simhash.url_patterns.learner import Learner
from scrapy_simhash.url_patterns.store import PatternStore, Row
from scrapy_simhash.url_patterns.table import PatternTable

_MARKS = {"pin": "pinned", "forbid": "forbidden", "unmark": "none"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--all", action="store_true", help="signatures that are no patterns too")
    for name, text in (
        ("pin", "make it a pattern"),
        ("forbid", "never make it a pattern"),
        ("unmark", "let its counts decide again"),
        ("forget", "delete its counts"),
    ):
        help_ = f"{text} (may be repeated)"
        parser.add_argument(f"--{name}", action="append", metavar="SIGNATURE", help=help_)
    parser.add_argument(
        "--export", metavar="FILE", help="write rules as JSON; - for standard output"
    )
    add_shared_options(parser, "host", "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    """Change rows, or list them."""
    url = index_url(options, settings)
    # An index that is not there is not made for its patterns.
    open_existing(url).close()
    with contextlib.closing(open_patterns(url)) as store:
        if any(getattr(options, name) for name in (*_MARKS, "forget")):
            return _change(options, store)
        learner, examples = _read(store)
    is_of_host = of_hosts(options.host)
    rows = [
        (
            learner.bound(row.host, row.signature, row.counts),
            row._replace(example=examples.get((row.host, row.signature), "")),
        )
        for row in learner.table
        if is_of_host(f"http://{row.host}/")
    ]
    found = [(bound, row) for bound, row in rows if bound or options.all]
    found.sort(key=lambda pair: -pair[1].counts.bytes)
    if options.export:
        _export(options.export, [row for bound, row in found if bound])
    else:
        show(options, _listed(found), {"patterns": [_as_json(*pair) for pair in found]})
    return 0 if found else 1


def _change(options: argparse.Namespace, store: PatternStore) -> int:
    done = 0
    for name, mark in _MARKS.items():
        for text in getattr(options, name) or ():
            store.add([Row(*_parted(text), mark=mark)])
            done += 1
    for text in options.forget or ():
        done += store.remove(*_parted(text))
    show(options, [f"{count(done, 'signature')} changed"], {"changed": done})
    return 0 if done else 1


def _parted(text: str) -> tuple[str, str]:
    host, slash, rest = text.partition("/")
    if not host or not slash:
        raise UsageError(f"{text!r} is no signature: it must be like www.example.com/item/*?view=*")
    return host, slash + rest


def _read(store: PatternStore) -> tuple[Learner, dict[tuple[str, str], str]]:
    """Return what the store knows, and examples of copies by host and signature."""
    table = PatternTable(most_hosts=10**6, most_of_host=10**6, most=10**6)
    read: list[Row] = []
    rows, since = store.changes()
    while rows:
        table.read(rows)
        read += rows
        rows, since = store.changes(since)
    present = {
        (row.host, table.of(row.host).present(row.signature)): row.example
        for row in read
        if row.example
    }
    return Learner(table=table), present


def _listed(found: list[tuple[float, Row]]) -> list[str]:
    lines = [f"{'copies':>9} {'distinct':>9} {'at least':>9} {'in bytes':>10}   signature"]
    for bound, row in found:
        counts = row.counts
        share = f"{bound:.0%}" if bound else "-"
        mark = f" ({row.mark})" if row.mark else ""
        lines.append(
            f"{counts.duplicates:>9,} {counts.distinct:>9,} {share:>9} {size(counts.bytes):>10}   "
            f"{row.host}{row.signature}{mark}"
        )
        if row.example:
            copy, _, original = row.example.partition(" ")
            lines.append(f"{'':>40}   such as {copy}, a copy of {original}")
    return lines


def _as_json(bound: float, row: Row) -> dict[str, Any]:
    values = {"signature": row.host + row.signature, "bound": round(bound, 4), "mark": row.mark}
    return values | row.counts._asdict() | {"example": row.example}


def _export(file: str, rows: list[Row]) -> None:
    rules, rest = discarder_rules(rows)
    text = json.dumps(rules, indent=2) + "\n"
    if file == "-":
        sys.stdout.write(text)
    else:
        with whole_file(file) as whole:
            whole.write(text.encode())
    out = sys.stderr if file == "-" else sys.stdout
    host = ""
    for row in sorted(rest, key=lambda row: row.host):
        if row.host != host:
            host = row.host
            out.write(f"# {host}\n")
        out.write(robots_line(row) + "\n")
    sys.stderr.write(f"{count(len(rules), 'rule')}, {len(rest):,} that need another format\n")
