"""`scrapy simhash export`: an index as a file."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path
from typing import IO, cast

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, whole_file
from scrapy_simhash.commands.stores import (
    add_shared_options,
    needed_index_url,
    opened,
    show,
    usage_errors,
    watched,
)
from scrapy_simhash.report.words import count

SUMMARY = "Write an index to a file"

DESCRIPTION = """\
The file has one JSON object a line, the same from every store: a header with the
recipe; then key, fingerprint, block values, facts, time and scope of each page, in the
order of their admission; then their number and a checksum. A name that ends with .gz
means a packed file. The file is there whole or not at all.

    scrapy simhash export pages.jsonl.gz --index sqlite:////var/lib/crawl/pages.sqlite
    scrapy simhash import pages.jsonl.gz --index redis://localhost/0

Pages in progress are left out, because nobody knows yet whether they were delivered.

exit status: 0, written; 2, something given cannot be used; 130, interrupted.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="the file to write")
    add_shared_options(parser, "index", "json")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Write the file."""
    from scrapy_simhash.offline.transfer import write

    path = Path(options.file)
    check_writable(options.file)
    url = needed_index_url(options, settings)
    with usage_errors(), opened(url) as index, whole_file(options.file) as whole:
        file = _packed(whole) if path.suffix == ".gz" else whole
        pages, in_progress = write(file, index.spec, watched(index, "exporting"))
        file.close()
    lines = [f"{path}: {count(pages, 'page')}"]
    if in_progress:
        lines.append(f"left out: {count(in_progress, 'page')} in progress")
    show(options, lines, {"file": str(path), "pages": pages, "in_progress": in_progress})


def _packed(file: IO[bytes]) -> IO[bytes]:
    # The fastest level, because keys and fingerprints gain little by more.
    return cast("IO[bytes]", gzip.open(file, "wb", 1))
