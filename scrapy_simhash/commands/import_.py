"""Add the pages of an exported index, or fingerprints made elsewhere.

FILE is what "scrapy simhash export" wrote, or fingerprints as Parquet: a file of "scrapy
simhash dedupe --kept", or a folder of "scrapy simhash fingerprint". All of it is checked
before its pages are added, confirmed, in their order. The index is made if there is none.
Repeat an interrupted import: pages that are in the index are passed over.

    scrapy simhash import pages.jsonl.gz --index redis://localhost/0
    scrapy simhash import old.jsonl --recipe pypi --index new.sqlite

Fingerprints of another program are JSON lines with url and fingerprint, a number or
hexadecimal text, of 64 bits, as --recipe makes them.
"""

import argparse
import contextlib
from dataclasses import replace
from pathlib import Path

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import progress, say
from scrapy_simhash.commands.selection import add_shared_options, chosen_recipe, index_url
from scrapy_simhash.index import open_index
from scrapy_simhash.offline.transfer import index_in
from scrapy_simhash.report.words import count
from scrapy_simhash.settings import FilterSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to read")
    add_shared_options(parser, "index", "recipe")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    url = index_url(options, settings)
    spec, entries = index_in(Path(options.file), chosen_recipe(options.recipe, settings))
    # All of it is read once before anything is added.
    total = sum(1 for _ in progress("checking", None, of=entries()))
    scoped = FilterSettings.from_settings(settings).scope != "global"
    with contextlib.closing(open_index(url, replace(spec, scoped=scoped))) as index:
        added = index.put(progress("importing", total, of=entries()))
        pages = f"{count(added, 'page')} added, {total - added:,} were there"
        say([f"{pages}; the index has {len(index):,} now"])
