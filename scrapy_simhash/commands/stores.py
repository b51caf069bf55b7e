"""What subcommands have in common that look at an index: which one, and how to say it."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, write_file

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.index import StoredIndex


def add_index_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--index``."""
    parser.add_argument(
        "--index",
        metavar="URL",
        help="the index: as SIMHASH_INDEX_URL, which it replaces, or the path of a file",
    )


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", metavar="FILE", help="write it as JSON; - for standard output")


def add_log_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--log``."""
    parser.add_argument(
        "--log",
        action="append",
        metavar="FILE",
        help="a dedup log, instead of SIMHASH_LOG (may be repeated)",
    )


def index_url(options: argparse.Namespace, settings: BaseSettings) -> str | None:
    """Return the URL of the index that is meant; None if none is named."""
    if options.index:
        if "://" in options.index:
            return _patient(options.index)
        return "sqlite:///" + quote(str(Path(options.index).absolute()))
    from scrapy_simhash.exceptions import SettingError
    from scrapy_simhash.settings import FilterSettings

    try:
        url = FilterSettings.from_settings(settings).index_url
    except SettingError as error:
        raise UsageError(str(error)) from None
    return None if url.startswith("memory:") else _patient(url)


def _patient(url: str) -> str:
    # A crawl does not wait for a slow Redis; an operator does.
    if "socket_timeout=" in url or not url.startswith(("redis", "unix")):
        return url
    return f"{url}{'&' if '?' in url else '?'}socket_timeout=30"


def needed_index_url(options: argparse.Namespace, settings: BaseSettings) -> str:
    """Return the URL of the index that is meant.

    Raises:
        UsageError: none is named.
    """
    url = index_url(options, settings)
    if url is None:
        raise UsageError("which index? name it with --index URL, or -s SIMHASH_INDEX_URL=URL")
    return url


@contextlib.contextmanager
def opened(url: str, *, read_only: bool = True) -> Iterator[StoredIndex]:
    """Open an index that is there; what goes wrong with it is a UsageError."""
    from scrapy_simhash.index import open_existing

    with told(), contextlib.closing(open_existing(url, read_only=read_only)) as index:
        yield index


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Make a UsageError of what goes wrong with an index."""
    from scrapy_simhash.index import StoreError

    try:
        yield
    except (StoreError, ValueError) as error:
        raise UsageError(str(error)) from None


def log_paths(options: argparse.Namespace, settings: BaseSettings) -> list[str]:
    """Return the dedup logs that are meant, none if there is none."""
    if options.log:
        return list(options.log)
    path = settings.get("SIMHASH_LOG")
    return [str(path)] if path and Path(path).is_file() else []


def recipe_of(identity: str, settings: BaseSettings) -> Recipe | None:
    """Return the recipe with an identity: that of the settings, or a named one; None if unknown."""
    import itertools

    from scrapy_simhash.extraction.extractor import EXTRACTORS
    from scrapy_simhash.extraction.marks import MARKS
    from scrapy_simhash.fingerprint.recipe import RECIPES, named_recipe
    from scrapy_simhash.settings import recipe_from_settings

    with contextlib.suppress(ValueError):
        own = recipe_from_settings(settings)
        if own.identity == identity:
            return own
    apart = [(), *((mark,) for mark in MARKS), tuple(MARKS)]
    for name, extractor, marks in itertools.product(RECIPES, EXTRACTORS, apart):
        recipe = named_recipe(name, extractor=extractor, tell_apart=marks)
        if recipe.identity == identity:
            return recipe
    return None


def check_json(options: argparse.Namespace) -> None:
    """Raise a UsageError if the file for JSON cannot be written: before the work."""
    if options.json not in (None, "-"):
        check_writable(options.json)


def show(options: argparse.Namespace, lines: Sequence[str], found: dict[str, Any]) -> None:
    """Print lines, and write what was found as JSON if asked; the one or the other to stdout."""
    if options.json != "-":
        sys.stdout.write("\n".join(lines) + "\n")
    if options.json is not None:
        text = json.dumps(found, indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            write_file(options.json, text.encode())
    sys.stdout.flush()


def counted(number: int, what: str) -> str:
    """Return a number of things for people."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def when(time: float) -> str:
    """Return a time for people."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def in_bytes(size: float) -> str:
    """Return a size for people."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"
