"""Add the pages of another index, or fingerprints made elsewhere.

SOURCE is an index, by its URL or SQLite file; or fingerprints as Parquet: a file of
"scrapy simhash dedupe --kept", or a folder of "scrapy simhash fingerprint". The command
checks a file as a whole, makes a target that is missing, and adds the pages in their order,
confirmed. Repeat an interrupted import: it passes over pages that are there.

    scrapy simhash import pages.sqlite --index redis://localhost/0
    scrapy simhash import redis://localhost/0 --index backup.sqlite
    scrapy simhash import old.jsonl --recipe pypi --index new.sqlite

Pages in progress are left out, because they may not be delivered.
Fingerprints of another program are JSON lines with url and fingerprint, a number or
hexadecimal text, of 64 bits, as --recipe makes them.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.commands.selection import add_shared_options, index_url, url_of_index
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.offline.prints import entries_in
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings

# The beginning of a SQLite file (sqlite.org/fileformat.html, section 1.3).
_MAGIC = b"SQLite format 3\0"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="an index, or a file of fingerprints")
    add_shared_options(parser, "index", "recipe")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    url = index_url(options, settings)
    chosen = FilterSettings.from_settings(settings)
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        spec, total, entries = _open_source(options.source, settings, stack)
        spec = replace(spec, scoped=chosen.scope != "global")
        index = stack.enter_context(closing(open_index(url, spec)))
        added = index.put(_delivered(progress("importing", total, of=entries), counts))
        say(_added_lines(added, counts, len(index)))


def _added_lines(added: int, counts: Counter[str], total: int) -> Iterator[str]:
    old = counts["delivered"] - added
    yield f"{count(added, 'page')} added, {old:,} were there; the index has {total:,} now"
    if counts["provisional"]:
        yield f"left out: {count(counts['provisional'], 'page')} in progress"


def _open_source(
    source: str, settings: BaseSettings, stack: ExitStack
) -> tuple[IndexSpec, int, Iterable[Entry]]:
    """Return how the entries of a source were made, how many they are, and the entries."""
    if _is_index(source):
        old = stack.enter_context(closing(open_existing(url_of_index(source, settings))))
        return old.spec, len(old), old.with_blocks()
    recipe = FilterSettings.from_settings(settings).recipe
    spec, read = entries_in(Path(source), recipe)
    # The whole file is read once before anything is added.
    total = sum(1 for _ in progress("checking", None, of=read()))
    return spec, total, read()


def _is_index(source: str) -> bool:
    if "://" in source:
        return True
    if not Path(source).is_file():
        return False
    with Path(source).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _delivered(entries: Iterable[Entry], counts: Counter[str]) -> Iterator[Entry]:
    """Yield the entries of delivered pages; count these, and others."""
    for entry in entries:
        if entry.provisional:
            counts["provisional"] += 1
        else:
            counts["delivered"] += 1
            yield entry
