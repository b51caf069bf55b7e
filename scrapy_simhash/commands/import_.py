"""Add the pages of another index, or fingerprints made elsewhere.

SOURCE is an index, by its URL, SQLite file or job's folder; or fingerprints as Parquet:
a file of "scrapy simhash dedupe --kept", or a folder of "scrapy simhash fingerprint".
The command reads all of it before it adds a page, and makes the target index if there
is none. If it is interrupted, run it again: it passes over pages that are there.

    scrapy simhash import pages.sqlite --index redis://localhost/0
    scrapy simhash import redis://localhost/0 --index backup.sqlite
    scrapy simhash import old.jsonl --recipe pypi --index new.sqlite

Pages in progress are left out, because they may not be delivered.
Fingerprints of another program are JSON lines (.jsonl) with url and fingerprint, a
number or hexadecimal text, of 64 bits, as --recipe makes them.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.commands.selection import (
    chosen_settings,
    index_url,
    shared_options,
)
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.offline.files import JSON_SUFFIXES, unpacked_name
from scrapy_simhash.offline.prints import (
    are_prints,
    print_files,
    read_foreign,
    read_prints,
    spec_of_prints,
)
from scrapy_simhash.report.words import count

OPTIONS = {
    "source": {
        "metavar": "SOURCE",
        "help": "an index, or fingerprints (.parquet, .jsonl)",
    },
    **shared_options("index", "recipe"),
}


def run(options: Namespace) -> None:
    url = index_url(options)
    with ExitStack() as stack:
        spec, read = _open_source(options, stack)
        entries = progress("checking", None, of=read())
        counts = Counter(entry.provisional for entry in entries)
        spec = replace(spec, scoped=chosen_settings(options).scope != "global")
        index = stack.enter_context(closing(open_index(url, spec)))
        entries = progress("importing", counts.total(), of=read())
        added = index.put(entry for entry in entries if not entry.provisional)
        say(f"{count(added, 'page')} added; the index has {len(index):,} now")
    if counts[True]:
        say(f"left out: {count(counts[True], 'page')} in progress")


def _open_source(
    options: Namespace, stack: ExitStack
) -> tuple[IndexSpec, Callable[[], Iterable[Entry]]]:
    """Return how the entries of the source were made, and a function that reads them."""
    path = Path(options.source)
    recipe = chosen_settings(options).recipe
    if unpacked_name(path).endswith(JSON_SUFFIXES):
        return spec_of(recipe), partial(read_foreign, path, recipe)
    if are_prints(path):
        files = print_files([path])
        spec = spec_of_prints(files)
        return spec, partial(read_prints, files, spec)
    url = index_url(options, options.source)
    index = stack.enter_context(closing(open_existing(url)))
    return index.spec, partial(index.entries, blocks=True)
