"""List address patterns whose pages are copies; pin, forbid or forget them.

A pattern is a host, a path and parameters, with stars for values that differ. SIMHASH_SPARE
says what a crawl does with requests that fit one.

    scrapy simhash patterns --all
    scrapy simhash patterns --forbid 'www.example.com/item/*?view=print'

A pinned signature is always a pattern, also before the first crawl; a forbidden one never
is. --forget deletes a signature and its counts. Running crawls learn of that within seconds.

columns: copies and distinct, pages; at least, the lower end of the 95% interval of the
share of copies, if that makes a pattern.
"""

import argparse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import aligned, say
from scrapy_simhash.commands.selection import add_shared_options, index_url
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreMissing
from scrapy_simhash.report.words import count, size
from scrapy_simhash.settings import FilterSettings
from scrapy_simhash.url_patterns.address import read_signature
from scrapy_simhash.url_patterns.learner import Learner
from scrapy_simhash.url_patterns.rows import Row, SharedRows
from scrapy_simhash.url_patterns.table import PatternTable, Places

_Listed = tuple[float, str, Row]  # bound of the share of copies, host and signature, counts


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="signatures that are no patterns too")
    signatures: dict[str, Any] = {"action": "append", "default": [], "metavar": "SIGNATURE"}
    parser.add_argument("--pin", **signatures, help="make it a pattern (may be repeated)")
    parser.add_argument("--forbid", **signatures, help="never make it one (may be repeated)")
    parser.add_argument("--forget", **signatures, help="delete its counts (may be repeated)")
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    # A wrong signature is refused before an index is made for it.
    for signature in (*options.pin, *options.forbid, *options.forget):
        _parted(signature)
    shared = SharedRows()
    with closing(_opened(options, settings)) as index:
        shared.read(index)
        changed = _change(shared, index, options)
    if options.pin or options.forbid or options.forget:
        say([f"{count(changed, 'signature')} changed"])
        return 0 if changed else 1
    signatures = _signatures(shared)
    listed = signatures if options.all else [row for row in signatures if row[0]]
    if listed:
        say(_listed_lines(listed))
    else:
        learned = count(len(signatures), "signature")
        say([f"no pattern among {learned}{'; --all lists them' if signatures else ''}"])
    return 0 if listed else 1


def _opened(options: argparse.Namespace, settings: BaseSettings) -> Index:
    """Open the index; one is made for what is pinned or forbidden before the first crawl."""
    url = index_url(options, settings)
    try:
        return open_existing(url)
    except StoreMissing:
        if not (options.pin or options.forbid):
            raise
    # The first crawl finds its index, with the recipe of the settings.
    return open_index(url, spec_of(FilterSettings.from_settings(settings).recipe))


def _change(shared: SharedRows, index: Index, options: argparse.Namespace) -> int:
    """Pin, forbid and forget signatures; return how many have changed."""
    marks = dict.fromkeys(map(_parted, options.pin), "pinned")
    marks |= dict.fromkeys(map(_parted, options.forbid), "forbidden")
    forgotten = [*map(_parted, options.forget)]
    for (host, signature), mark in marks.items():
        shared.add(index, host, {signature: Row(mark=mark)})
    changed = len(marks)
    for host, signature in forgotten:
        changed += signature in shared.rows(host)
        shared.add(index, host, {}, forget=[signature])
    return changed


def _parted(text: str) -> tuple[str, str]:
    host, slash, rest = text.partition("/")
    if not host or not slash or rest.startswith("/") or "://" in host:
        raise UsageError(f"{text!r} is no signature: it must be like www.example.com/item/*?view=*")
    # Its parameters may have any order, and the values any escapes.
    return host, Places().signature(read_signature(text))[0]


def _signatures(shared: SharedRows) -> list[_Listed]:
    """Return all signatures, those first whose copies have the most bytes."""
    learner = Learner(PatternTable(shared.rows))
    signatures = []
    for host in shared:
        for signature, row in learner.table.of(host).rows().items():
            name = host + signature
            signatures.append((learner.bound(name, row), name, row))
    return sorted(signatures, key=lambda row: -row[2].bytes)


def _listed_lines(listed: list[_Listed]) -> Iterator[str]:
    rows = [("copies", "distinct", "at least", "in bytes", "signature")]
    examples = [""]
    for bound, name, row in listed:
        share = f"{bound:.0%}" if bound else "-"
        name += f" ({row.mark})" if row.mark else ""
        rows.append((f"{row.copies:,}", f"{row.distinct:,}", share, size(row.bytes), name))
        examples.append(row.example)
    for line, example in zip(aligned(rows), examples, strict=True):
        yield line
        if example:
            yield f"    such as {example.replace(' ', ', a copy of ')}"
