"""Write an index to a file.

The file is JSON lines, the same from every store, and packed if its name ends with .gz;
or Parquet, if its name ends with .parquet. An interrupted export leaves no file; - stands
for standard output.

    scrapy simhash export pages.jsonl.gz --index sqlite:////var/lib/crawl/pages.sqlite
    scrapy simhash import pages.jsonl.gz --index redis://localhost/0

Pages in progress are left out, because nobody knows yet whether they were delivered.
"""

import argparse
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import progress, say, whole_file
from scrapy_simhash.commands.selection import add_shared_options, existing_index, index_url
from scrapy_simhash.index.registry import file_of
from scrapy_simhash.index.values import Entry
from scrapy_simhash.offline.prints import print_of, write_prints
from scrapy_simhash.offline.transfer import is_parquet, write_entries
from scrapy_simhash.report.words import count


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write, or -")
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    url, path = index_url(options, settings), Path(options.file)
    if path.suffix.lower() in (".xz", ".bz2"):
        raise UsageError(f"{options.file}: an index is packed as .gz only")
    source, left_out = file_of(url), list[str]()
    with existing_index(url) as index:
        sources = [source] if source else []
        with whole_file(options.file, *sources) as whole:
            # The fastest level, because keys and fingerprints gain little by more.
            is_packed = path.suffix.lower() == ".gz"
            file = gzip.GzipFile(fileobj=whole, mode="wb", compresslevel=1) if is_packed else whole
            entries = progress("exporting", len(index), of=index.with_blocks())
            delivered = _delivered(entries, left_out)
            if is_parquet(path):
                pages = write_prints(whole, index.spec, map(print_of, delivered))
            else:
                pages = write_entries(cast("IO[bytes]", file), index.spec, delivered)
            if is_packed:
                file.close()
    aside = options.file == "-"
    say([f"{options.file}: {count(pages, 'page')}"], aside=aside)
    if left_out:
        say([f"left out: {count(len(left_out), 'page')} in progress"], aside=aside)


def _delivered(entries: Iterable[Entry], left_out: list[str]) -> Iterator[Entry]:
    for entry in entries:
        if entry.provisional:
            left_out.append(entry.key)
        else:
            yield entry
