"""`scrapy simhash import`: what another index knew, or fingerprints made elsewhere."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import ProgressBar
from scrapy_simhash.commands.stores import (
    add_index_option,
    add_json_option,
    check_json,
    counted,
    needed_index_url,
    show,
    told,
)

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.index import Entry, StoredIndex
    from scrapy_simhash.offline.transfer import Header

SUMMARY = "Add the pages of an exported index, or fingerprints made elsewhere"

DESCRIPTION = """\
FILE is what "scrapy simhash export" wrote. It is read through and checked before
anything is added; then its pages are added, confirmed, in their order. The index is
made if there is none. A page that is there with the same fingerprint is passed over,
so an import that was interrupted is simply run again.

    scrapy simhash import pages.jsonl.gz --index redis://localhost/0

Fingerprints made elsewhere come from CSV, TSV or JSON lines, with the recipe that
they were made by:

    scrapy simhash import old.csv --recipe pypi --key url --fingerprint simhash

A fingerprint that is text is hexadecimal unless --decimal; a number in JSON is what it
is. Numbers below zero, as from Java, are taken for what their bits are.

exit status: 0, all of it is in the index; 2, something given cannot be used; 130,
interrupted, between two pages.
"""

# Pages that are added at a time; Ctrl-C waits for them.
_BATCH = 2048


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="what to read")
    add_index_option(parser)
    parser.add_argument(
        "--recipe", metavar="NAME", help="of fingerprints made elsewhere (SIMHASH_RECIPE)"
    )
    parser.add_argument(
        "--key", default="url", metavar="COLUMN", help="what names a page there (url)"
    )
    parser.add_argument(
        "--fingerprint", metavar="COLUMN", help="where its fingerprint is there (fingerprint)"
    )
    parser.add_argument(
        "--decimal", action="store_true", help="fingerprints that are text are decimal"
    )
    add_json_option(parser)


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Read, check, add."""
    from scrapy_simhash.offline.transfer import TransferError, check, read_entries, read_header

    check_json(options)
    path = Path(options.file)
    try:
        header = read_header(path)
        if header is None:
            header, entries, count = _foreign(options, settings, path)
        else:
            if options.recipe or options.fingerprint:
                raise UsageError(f"{path} is an exported index: leave out --recipe and the columns")
            count = check(path)
            entries = read_entries(path, header.bits)
        with _index(needed_index_url(options, settings), header, count, settings) as index:
            before = len(index)
            added = _add(index, entries, count)
            after = len(index)
    except TransferError as error:
        raise UsageError(str(error)) from None
    lines = [
        f"{counted(added, 'page')} added, {count - added:,} were there; the index now has {after:,}"
    ]
    found = {"read": count, "added": added, "before": before, "after": after}
    show(options, lines, found)


def _foreign(
    options: argparse.Namespace, settings: BaseSettings, path: Path
) -> tuple[Header, Iterator[Entry], int]:
    from scrapy_simhash.offline.transfer import Columns, Header, read_foreign

    recipe = _recipe(options, settings)
    columns = Columns(
        options.key,
        options.fingerprint or "fingerprint",
        recipe.bits,
        10 if options.decimal else 16,
    )
    now = time.time()
    # Once through before anything is added.
    count = sum(1 for _ in read_foreign(path, columns, now))
    header = Header(recipe.identity, recipe.bits, recipe.distance)
    return header, read_foreign(path, columns, now), count


def _recipe(options: argparse.Namespace, settings: BaseSettings) -> Recipe:
    from scrapy_simhash.exceptions import SettingError
    from scrapy_simhash.fingerprint.recipe import named_recipe
    from scrapy_simhash.settings import recipe_from_settings

    try:
        return named_recipe(options.recipe) if options.recipe else recipe_from_settings(settings)
    except (SettingError, ValueError) as error:
        raise UsageError(str(error)) from None


@contextlib.contextmanager
def _index(url: str, header: Header, count: int, settings: BaseSettings) -> Iterator[StoredIndex]:
    """Open the index; a new one is laid out for what comes, and for what the settings expect."""
    from scrapy_simhash.index import StoreMissing, index_from_url, open_existing

    expected = settings.getint("SIMHASH_EXPECTED_PAGES", 1_000_000)
    about: dict[str, Any] = {
        "recipe": header.recipe,
        "bits": header.bits,
        "distance": header.distance,
        "expected_pages": max(count, expected),
    }
    with told():
        try:
            index = open_existing(url, read_only=False)
        except StoreMissing:
            index = index_from_url(url, **about)
        with contextlib.closing(index):
            if index.recipe != header.recipe:
                raise UsageError(
                    f"the index was made by the recipe {index.recipe}, the file by "
                    f"{header.recipe}: their fingerprints cannot be compared; use another index"
                )
            yield index


def _add(index: StoredIndex, entries: Iterator[Entry], total: int) -> int:
    from scrapy_simhash.index.stored import DIGEST_KEY

    added = done = 0
    with ProgressBar("importing") as progress, _between_batches() as check:
        while batch := list(itertools.islice(entries, _BATCH)):
            if index.options.get("keys") != "digest" and any(
                DIGEST_KEY.fullmatch(entry.key) for entry in batch
            ):
                raise UsageError(
                    "the file has digests instead of URLs, by which no page would know itself "
                    "again: import it into an index in Redis with keys=digest"
                )
            added += index.restore(batch)
            done += len(batch)
            progress(done, total)
            check()
    return added


@contextlib.contextmanager
def _between_batches() -> Iterator[Any]:
    """Put Ctrl-C off until the function that this yields is called."""
    told: list[object] = []

    def check() -> None:
        if told:
            sys.stderr.write("\n")
            raise KeyboardInterrupt

    def note(*signalled: object) -> None:
        told.append(signalled)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, where no signal comes
        yield check
        return
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
