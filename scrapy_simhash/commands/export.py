"""`scrapy simhash export`: an index as a file."""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import ProgressBar, check_writable
from scrapy_simhash.commands.stores import (
    add_index_option,
    add_json_option,
    check_json,
    counted,
    needed_index_url,
    opened,
    show,
)

if TYPE_CHECKING:
    from scrapy_simhash.index import Entry

SUMMARY = "Write an index to a file"

DESCRIPTION = """\
The file has one JSON object a line, the same from every store: a header with the
recipe, then key, fingerprint (hexadecimal), time (seconds since 1970) and scope of
each page in the order of their admission, then their number and a checksum. It is
packed if its name ends with .gz. It is there whole or not at all.

    scrapy simhash export pages.jsonl.gz --index sqlite:////var/lib/crawl/pages.sqlite
    scrapy simhash import pages.jsonl.gz --index redis://localhost/0

Pages in progress are left out: nobody knows yet whether they were delivered.

exit status: 0, written; 2, something given cannot be used; 130, interrupted.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="what to write")
    add_index_option(parser)
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Write the file."""
    from scrapy_simhash.offline.transfer import Header, write

    path = Path(options.file)
    check_writable(options.file)
    check_json(options)
    with (
        opened(needed_index_url(options, settings)) as index,
        ProgressBar("exporting") as progress,
    ):
        header = Header(index.recipe, index.layout.bits, index.distance)
        entries = _watched(index, len(index), progress)
        try:
            with tempfile.TemporaryDirectory(prefix=".simhash-", dir=path.absolute().parent) as tmp:
                whole = Path(tmp) / "whole"
                with _writing(whole, packed=path.suffix == ".gz") as file:
                    count, provisional = write(file, header, entries)
                whole.replace(path)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}") from None
    lines = [f"{path}: {counted(count, 'page')}"]
    if provisional:
        lines.append(f"left out: {counted(provisional, 'page')} in progress")
    show(options, lines, {"file": str(path), "pages": count, "in_progress": provisional})


def _writing(path: Path, *, packed: bool) -> IO[bytes]:
    # The fastest level: keys and fingerprints gain little by more.
    return cast("IO[bytes]", gzip.open(path, "wb", 1)) if packed else path.open("wb")


def _watched(entries: Iterable[Entry], total: int, progress: Any) -> Iterator[Entry]:
    for done, entry in enumerate(entries, 1):
        if not done % 1000:
            progress(done, max(total, done))
        yield entry
