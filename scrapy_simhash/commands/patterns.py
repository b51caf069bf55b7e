"""List address patterns whose pages are copies; pin, forbid or forget them.

Addresses whose pages were copies again and again make a pattern: a host, a path and
parameters, with stars for values that differ. SIMHASH_SPARE says what a crawl does
with requests that fit one. The command lists patterns, and with --all every signature:

    scrapy simhash patterns --all
    scrapy simhash patterns --forbid 'www.example.com/item/*?view=print'

Signatures that are nearly patterns follow, each with what is in the way. A pinned
signature is a pattern whatever the counts say, also before the first crawl; a forbidden
one is none; crawls learn of that within seconds. --forget deletes a signature and its
counts; a running crawl keeps what it knows.

columns: copies and distinct, pages; at least, the lower end of the 95% interval of the
share of copies, if that makes a pattern.
"""

import argparse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import add_shared_options, chosen_recipe, index_url
from scrapy_simhash.commands.output import say
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.contract import StoreMissing
from scrapy_simhash.report.words import count, size
from scrapy_simhash.url_patterns import open_patterns
from scrapy_simhash.url_patterns.address import read_signature
from scrapy_simhash.url_patterns.learner import MOST_DISTINCT, Learner
from scrapy_simhash.url_patterns.places import Places
from scrapy_simhash.url_patterns.store import PatternStore, Tally
from scrapy_simhash.url_patterns.table import PatternTable

_MANY = 20  # copies of a signature that is nearly a pattern
_NEARLY = 5  # of them are listed


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="signatures that are no patterns too")
    signatures: dict[str, Any] = {"action": "append", "default": [], "metavar": "SIGNATURE"}
    parser.add_argument("--pin", **signatures, help="make it a pattern (may be repeated)")
    parser.add_argument("--forbid", **signatures, help="never make it one (may be repeated)")
    parser.add_argument("--forget", **signatures, help="delete its counts (may be repeated)")
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> int:
    url = index_url(options, settings)
    if both := {*map(_parted, options.pin)} & {*map(_parted, options.forbid)}:
        raise UsageError(f"{''.join(min(both))} cannot be pinned and forbidden at once")
    try:
        open_existing(url).close()
    except StoreMissing:
        if not (options.pin or options.forbid):
            raise
        # The first crawl finds its index, with the recipe of the settings.
        open_index(url, spec_of(chosen_recipe(None, settings))).close()
    with closing(open_patterns(url)) as store:
        if options.pin or options.forbid or options.forget:
            marked = [Tally(*_parted(text), mark="pinned") for text in options.pin]
            marked += [Tally(*_parted(text), mark="forbidden") for text in options.forbid]
            known = {(row.host, row.signature) for _, row in _read(store)}
            store.add(marked)
            done = len(marked) + sum(store.remove(*_parted(text)) for text in options.forget)
            say([f"{count(done, 'signature')} changed"])
            say(
                f"no crawl has met {row.host}{row.signature} yet; --all lists those that were met"
                for row in marked
                if (row.host, row.signature) not in known
            )
            return 0 if done else 1
        found = _read(store)
    listed = found if options.all else [(bound, row) for bound, row in found if bound]
    if listed:
        say(_listed(listed))
    else:
        learned = count(len(found), "signature")
        say([f"no pattern among {learned}{'; --all lists them' if found else ''}"])
    if not options.all:
        say(_nearly(found))
    return 0 if listed else 1


def _parted(text: str) -> tuple[str, str]:
    host, slash, rest = text.partition("/")
    if not host or not slash or rest.startswith("/") or "://" in host:
        raise UsageError(f"{text!r} is no signature: it must be like www.example.com/item/*?view=*")
    # Its parameters may have any order, and the values any escapes.
    return host, Places().signature(read_signature(text))


def _read(store: PatternStore) -> list[tuple[float, Tally]]:
    """Return signatures with examples, those first whose copies have the most bytes.

    Each stands behind the bound of its share of copies, which is 0 for what is no pattern.
    """
    table = PatternTable(most_hosts=10**6, most_of_host=10**6, most=10**6)
    read: list[Tally] = []
    rows, since = store.changes()
    while rows:
        read += rows
        rows, since = store.changes(since)
    table.read(read)
    examples = {
        (row.host, table.of(row.host).present(row.signature)): row.example
        for row in read
        if row.example
    }
    learner = Learner(table=table)
    found = []
    for row in table:
        example = examples.get((row.host, row.signature), "")
        bound = learner.bound(row.host, row.signature, row.counts)
        found.append((bound, row._replace(example=example)))
    return sorted(found, key=lambda pair: -pair[1].counts.bytes)


def _listed(found: list[tuple[float, Tally]]) -> Iterator[str]:
    yield f"{'copies':>9} {'distinct':>9} {'at least':>9} {'in bytes':>10}   signature"
    for bound, row in found:
        counts = row.counts
        share = f"{bound:.0%}" if bound else "-"
        mark = f" ({row.mark})" if row.mark else ""
        yield (
            f"{counts.duplicates:>9,} {counts.distinct:>9,} {share:>9} {size(counts.bytes):>10}   "
            f"{row.host}{row.signature}{mark}"
        )
        if row.example:
            copy, _, original = row.example.partition(" ")
            yield f"{'':>40}   such as {copy}, a copy of {original}"


def _nearly(found: list[tuple[float, Tally]]) -> Iterator[str]:
    """Yield what is in the way of the largest signatures most of whose pages are copies."""
    near = [
        (row, row.counts.duplicates, row.counts.duplicates + max(0, row.counts.distinct))
        for bound, row in found
        if not bound and not row.mark and row.counts.duplicates >= _MANY
    ]
    for row, copies, pages in [one for one in near if 2 * one[1] >= one[2]][:_NEARLY]:
        learned = row.counts.telling + pages - copies
        if pages - copies > MOST_DISTINCT * learned:
            why = f"{(pages - copies) / learned:.0%} distinct are too many"
        elif 2 * row.counts.telling < copies:
            why = "they are versions of few pages, which tell nothing about others"
        else:
            why = "they are too few yet, because a path names a page"
        yield (
            f"nearly a pattern: {copies:,} of {pages:,} {row.host}{row.signature} were copies; "
            f"{why}; pin it?"
        )
