"""Add the pages of an exported index, or fingerprints made elsewhere.

FILE is what "scrapy simhash export" wrote, or fingerprints as Parquet: a file of "scrapy
simhash dedupe --kept", or a folder of "scrapy simhash fingerprint". The command reads and
checks all of it, and then adds its pages, confirmed, in their order. It makes the index
if there is none. A page that is in the index with the same fingerprint is passed over, so
an interrupted import is simply repeated.

    scrapy simhash import pages.jsonl.gz --index redis://localhost/0

Fingerprints made elsewhere come from CSV, TSV or JSON lines, with the recipe that made
them. It must be one of 64 bits: wide recipes find pages by values that are made from
the text, so a bare fingerprint of 128 or 256 bits cannot be imported.

    scrapy simhash import old.csv --recipe pypi --key url --fingerprint simhash

A fingerprint that is text is hexadecimal unless --decimal; a number in JSON is what it
is. Numbers below zero, as from Java, stand for their bits.
"""

import argparse
import contextlib
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.commands.selection import add_shared_options, chosen_recipe, index_url
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.index import open_index
from scrapy_simhash.offline.transfer import read_entries, read_foreign, spec_of_file
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to read")
    parser.add_argument(
        "--key", default="url", metavar="COLUMN", help="the column that names a page (url)"
    )
    parser.add_argument(
        "--fingerprint", default="fingerprint", metavar="COLUMN", help="that of its fingerprint"
    )
    parser.add_argument(
        "--decimal", action="store_true", help="fingerprints that are text are decimal"
    )
    add_shared_options(parser, "index", "recipe")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    url = index_url(options, settings)
    path = Path(options.file)
    if exported := spec_of_file(path):
        spec, total = exported
        entries = read_entries(path, spec, total)
    else:
        recipe = chosen_recipe(options.recipe, settings)
        columns, base = (options.key, options.fingerprint), 10 if options.decimal else 16
        read = partial(read_foreign, path, recipe, time.time(), *columns, base)
        # All of it is read once before anything is added.
        spec, entries, total = spec_of(recipe), read(), sum(1 for _ in read())
    scoped = FilterSettings.from_settings(settings).scope != "global"
    with contextlib.closing(open_index(url, replace(spec, scoped=scoped))) as index:
        added = index.put(progress("importing", total, of=entries))
        pages = f"{count(added, 'page')} added, {total - added:,} were there"
        say([f"{pages}; the index has {len(index):,} now"])
