"""Write an index to a file.

The file is JSON lines, the same from every store, and packed if its name ends with .gz. An
interrupted export leaves no file; - stands for standard output.

    scrapy simhash export pages.jsonl.gz --index sqlite:////var/lib/crawl/pages.sqlite
    scrapy simhash import pages.jsonl.gz --index redis://localhost/0

Pages in progress are left out, because nobody knows yet whether they were delivered.
"""

import argparse
import contextlib
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import progress, say, whole_file
from scrapy_simhash.commands.selection import add_shared_options, index_url
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.registry import file_of
from scrapy_simhash.index.values import Entry
from scrapy_simhash.offline.transfer import write_entries
from scrapy_simhash.report.words import count


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write, or -")
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    url = index_url(options, settings)
    with contextlib.ExitStack() as stack:
        index = stack.enter_context(contextlib.closing(open_existing(url)))
        file = stack.enter_context(whole_file(options.file, *filter(None, [file_of(url)])))
        if Path(options.file).suffix.lower() == ".gz":
            # The fastest level, because keys and fingerprints gain little by more.
            packed = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1)
            file = cast("IO[bytes]", stack.enter_context(packed))
        entries = progress("exporting", len(index), of=index.with_blocks())
        provisional: list[str] = []
        pages = write_entries(file, index.spec, _delivered(entries, provisional))
    lines = [f"{options.file}: {count(pages, 'page')}"]
    if provisional:
        lines.append(f"left out: {count(len(provisional), 'page')} in progress")
    say(lines, aside=options.file == "-")


def _delivered(entries: Iterable[Entry], provisional: list[str]) -> Iterator[Entry]:
    """Yield the entries of delivered pages, and collect the keys of others."""
    for entry in entries:
        if entry.provisional:
            provisional.append(entry.key)
        else:
            yield entry
