"""`scrapy simhash export`: an index as a file."""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, progress
from scrapy_simhash.commands.stores import (
    add_index_option,
    add_json_option,
    check_json,
    needed_index_url,
    opened,
    show,
    usage_errors,
)
from scrapy_simhash.report.words import count

if TYPE_CHECKING:
    from scrapy_simhash.index import Entry, Index

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
    add_index_option(parser)
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Write the file."""
    from scrapy_simhash.offline.transfer import write

    path = Path(options.file)
    check_writable(options.file)
    check_json(options)
    url = needed_index_url(options, settings)
    beside = path.absolute().parent
    folder = tempfile.TemporaryDirectory(prefix=".simhash-", dir=beside)
    with usage_errors(), folder, opened(url) as index:
        whole = Path(folder.name) / "whole"
        with _writing(whole, packed=path.suffix == ".gz") as file:
            pages, in_progress = write(file, index.spec, _watched(index))
        whole.replace(path)
    lines = [f"{path}: {count(pages, 'page')}"]
    if in_progress:
        lines.append(f"left out: {count(in_progress, 'page')} in progress")
    show(options, lines, {"file": str(path), "pages": pages, "in_progress": in_progress})


def _writing(path: Path, *, packed: bool) -> IO[bytes]:
    # The fastest level, because keys and fingerprints gain little by more.
    return cast("IO[bytes]", gzip.open(path, "wb", 1)) if packed else path.open("wb")


def _watched(index: Index) -> Iterator[Entry]:
    with progress("exporting", len(index)) as bar:
        for entry in index:
            bar.update()
            yield entry
