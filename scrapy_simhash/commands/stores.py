"""The parts that subcommands share: index, log, recipe, and results on the terminal or as JSON."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from scrapy_simhash.commands.output import progress, write_file

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.index import Entry, Index
    from scrapy_simhash.report.dedup_log import LogLine, SparedLine

# The settings that say what a recipe does.
_OF_RECIPES = tuple(f"SIMHASH_{name}" for name in ("DISTANCE", "EXTRACTOR", "MIN_LENGTH", "SEED"))

_OPTIONS: dict[str, dict[str, Any]] = {
    "index": {
        "metavar": "URL",
        "help": "the index, instead of SIMHASH_INDEX_URL: a URL, or the path of a file",
    },
    "host": {
        "action": "append",
        "metavar": "HOST",
        "help": "of this host only, with its port if it has one (may be repeated)",
    },
    "json": {"metavar": "FILE", "help": "write the result as JSON; - for standard output"},
    "log": {
        "action": "append",
        "metavar": "FILE",
        "help": "a dedup log, instead of SIMHASH_LOG (may be repeated)",
    },
    "recipe": {
        "metavar": "NAME",
        "help": "the recipe, instead of the project's (SIMHASH_RECIPE)",
    },
}


def add_shared_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Declare some of ``--index``, ``--host``, ``--json``, ``--log`` and ``--recipe``."""
    for name in names:
        parser.add_argument(f"--{name}", **_OPTIONS[name])


def chosen_recipe(name: str | None, settings: BaseSettings) -> Recipe:
    """Return the recipe of the settings, or the one that is named.

    Settings of the project belong to the project's recipe; those of the command line (``-s``)
    change the named recipe too.

    Raises:
        UsageError: there is no such recipe, or a setting does not fit.
    """
    from scrapy_simhash.settings import recipe_from_settings

    if name is not None:
        own = BaseSettings({"SIMHASH_RECIPE": name})
        for setting in _OF_RECIPES:
            if (settings.getpriority(setting) or 0) >= SETTINGS_PRIORITIES["cmdline"]:
                own.set(setting, settings.get(setting))
        settings = own
    with usage_errors():
        return recipe_from_settings(settings)


def index_url(options: argparse.Namespace, settings: BaseSettings) -> str | None:
    """Return the URL of the index that is meant; None if none is named."""
    from scrapy_simhash.settings import index_url_from_settings

    if options.index:
        if "://" in options.index:
            return _patient(options.index)
        return "sqlite:///" + quote(str(Path(options.index).absolute()))
    with usage_errors():
        url = index_url_from_settings(settings)
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
        raise UsageError("name the index with --index URL, or with -s SIMHASH_INDEX_URL=URL")
    return url


@contextlib.contextmanager
def opened(url: str, *, read_only: bool = True) -> Iterator[Index]:
    """Open an index that is there; what goes wrong with it is a UsageError."""
    from scrapy_simhash.index import open_existing

    with usage_errors(), contextlib.closing(open_existing(url, read_only=read_only)) as index:
        yield index


@contextlib.contextmanager
def usage_errors() -> Iterator[None]:
    """Make a UsageError of what goes wrong with an index, a setting or a file."""
    from scrapy_simhash.index import StoreError

    try:
        yield
    except (StoreError, ValueError) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        # A pipe that nobody reads any more has no name, and is no mistake of the user's.
        if error.filename is None:
            raise
        raise UsageError(f"{error.filename}: {error.strerror or error}") from None


def watched(index: Index, label: str) -> Iterator[Entry]:
    """Yield the entries of an index, and show how far the reading is."""
    with progress(label, len(index)) as bar:
        for entry in index:
            bar.update()
            yield entry


def log_paths(options: argparse.Namespace, settings: BaseSettings) -> list[str]:
    """Return the dedup logs that are meant, none if there is none."""
    if options.log:
        return list(options.log)
    path = settings.get("SIMHASH_LOG")
    return [str(path)] if path and Path(path).is_file() else []


def log_lines(
    paths: Sequence[str], spared: Callable[[SparedLine], object] = lambda _: None
) -> Iterator[LogLine]:
    """Yield the lines of dedup logs, and show how far the reading is.

    Args:
        paths: of the logs.
        spared: called with each line of a request that was spared.
    """
    from scrapy_simhash.report.dedup_log import log_files, read_log

    with usage_errors():
        total = sum(file.stat().st_size for file in log_files(paths))
        with progress("reading the log", total, "B") as bar:
            yield from read_log(paths, spared=spared, passed=bar.update)


def recipe_of(identity: str, settings: BaseSettings) -> Recipe | None:
    """Return the recipe with an identity: that of the settings, or a named one; None if unknown."""
    from itertools import product

    from scrapy_simhash.extraction.extractor import EXTRACTORS
    from scrapy_simhash.fingerprint.recipe import RECIPES, named_recipe

    with contextlib.suppress(UsageError):
        own = chosen_recipe(None, settings)
        if own.identity == identity:
            return own
    for name, extractor in product(RECIPES, EXTRACTORS):
        recipe = named_recipe(name, extractor=extractor)
        if recipe.identity == identity:
            return recipe
    return None


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
