"""Add the pages of another index, or fingerprints made elsewhere.

SOURCE is an index, by its URL, SQLite file or job's folder; or fingerprints as Parquet: a
file of "scrapy simhash dedupe --kept", or a folder of "scrapy simhash fingerprint". The
command checks a file as a whole, makes a target that is missing, and adds the pages in their
order, confirmed. Repeat an interrupted import: it passes over pages that are there.

    scrapy simhash import pages.sqlite --index redis://localhost/0
    scrapy simhash import redis://localhost/0 --index backup.sqlite
    scrapy simhash import old.jsonl --recipe pypi --index new.sqlite

Pages in progress are left out, because they may not be delivered.
Fingerprints of another program are JSON lines (.jsonl) with url and fingerprint, a number or
hexadecimal text, of 64 bits, as --recipe makes them.
"""

import argparse
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.commands.selection import add_shared_options, index_url, url_of_index
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.offline.files import is_json
from scrapy_simhash.offline.prints import (
    are_prints,
    print_files,
    read_foreign,
    read_prints,
    spec_of_prints,
)
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="an index, or a file of fingerprints")
    add_shared_options(parser, "index", "recipe")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    url = index_url(options, settings)
    chosen = FilterSettings.from_settings(settings)
    path = Path(options.source)
    provisional = 0
    with ExitStack() as stack:
        if are_prints(path) or is_json(path):
            spec, read = _open_files(path, chosen)
            # The whole file is read once before anything is added.
            total = sum(1 for _ in progress("checking", None, of=read()))
        else:
            source = open_existing(url_of_index(options.source, settings))
            stack.enter_context(closing(source))
            spec, read = source.spec, source.with_blocks
            total, provisional, _ = source.census()
        spec = replace(spec, scoped=chosen.scope != "global")
        index = stack.enter_context(closing(open_index(url, spec)))
        entries = progress("importing", total, of=read())
        added = index.put(entry for entry in entries if not entry.provisional)
        say([f"{count(added, 'page')} added; the index has {len(index):,} now"])
    if provisional:
        say([f"left out: {count(provisional, 'page')} in progress"])


def _open_files(
    path: Path, chosen: FilterSettings
) -> tuple[IndexSpec, Callable[[], Iterable[Entry]]]:
    """Return how the fingerprints of files were made, and a function that yields them."""
    if is_json(path):
        return spec_of(chosen.recipe), partial(read_foreign, path, chosen.recipe)
    files = print_files([path])
    spec = spec_of_prints(files)
    return spec, partial(read_prints, files, spec)
