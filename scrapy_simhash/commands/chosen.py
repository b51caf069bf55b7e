"""The things that an operator names: an index, dedup logs, a recipe, pages and hosts."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from scrapy_simhash.commands.output import progress
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.keys import page_key
from scrapy_simhash.report.dedup_log import Line, log_files, read_lines
from scrapy_simhash.settings import INDEX_OF_JOB, FilterSettings, named_url, url_of_file

NO_RUN = 'there is no such run; "scrapy simhash runs" lists them'
_OPTIONS: dict[str, dict[str, Any]] = {
    "index": {"metavar": "URL", "help": "the index: a URL, a file, or a job's folder"},
    "json": {"action": "store_true", "help": "print the result as JSON"},
    "log": {"action": "append", "metavar": "FILE", "help": "a dedup log (may be repeated)"},
    "recipe": {"metavar": "NAME", "help": "the recipe, instead of the project's"},
}


def add_shared_options(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        parser.add_argument(f"--{name}", **_OPTIONS[name])


def chosen_recipe(name: str | None, settings: BaseSettings) -> Recipe:
    """Return the recipe of the settings, or the one that is named.

    Settings of the project belong to the project's recipe; those of the command line (``-s``)
    change the named recipe too.
    """
    if name is not None:
        given = SETTINGS_PRIORITIES["cmdline"]
        own = {key: settings[key] for key in settings if (settings.getpriority(key) or 0) >= given}
        settings = BaseSettings(own | {"SIMHASH_RECIPE": name})
    return FilterSettings.from_settings(settings).recipe


def index_url(options: argparse.Namespace, settings: BaseSettings) -> str:
    """Return the URL of the index that is named; none is a UsageError."""
    url: str = options.index or FilterSettings.from_settings(settings).index_url
    # With a colon in its first part, it may be a URL with a password that lacks a slash.
    if options.index and ":" not in url.partition("/")[0]:
        url = url_of_file(Path(url) / INDEX_OF_JOB if Path(url).is_dir() else Path(url))
    url, store = named_url(url, settings), store_of(url)
    if not store.lasting and not options.index:
        raise UsageError(
            "name the index with --index URL, or that of a job with -s JOBDIR=FOLDER, because one "
            "in memory ends with its crawl"
        )
    if store.patient and store.patient.partition("=")[0] not in url:
        # A crawl does not wait for a slow Redis; an operator does.
        url += f"{'&' if '?' in url else '?'}{store.patient}"
    return url


def chosen_index(options: argparse.Namespace, settings: BaseSettings) -> closing[Index]:
    """Open the index that is named, which must be there, until the end of a block."""
    return closing(open_existing(index_url(options, settings)))


def log_paths(given: Sequence[str] | None, settings: BaseSettings) -> list[str | Path]:
    """Return the dedup logs that are given, or that of the settings; none is a UsageError."""
    if given:
        return list(given)
    path = FilterSettings.from_settings(settings).log
    if path is None or not path.is_file():
        raise UsageError("name a dedup log, which a crawl writes with -s SIMHASH_LOG=dedup.jsonl")
    return [path]


def log_lines(paths: Sequence[str | Path]) -> Iterator[Line | None]:
    """Yield the lines of dedup logs, and show how far the reading is.

    Files of which no line is one of a dedup log are a UsageError, at their end.
    """
    total = sum(file.stat().st_size for file in log_files(paths))
    is_log = not total
    with progress("reading the log", total, "B") as bar:
        for line in read_lines(paths, bar.update):
            is_log = is_log or line is not None
            yield line
    if not is_log:
        names = ", ".join(Path(path).name for path in paths)
        raise UsageError(f"{names}: no line of it is one of a dedup log")


def keys_of(page: str) -> set[str]:
    """Return the keys that may be meant: the text, and the canonical form of an address.

    An address may lack its scheme, as browsers show it.
    """
    keys = {page}
    for url in [page] if "://" in page else [page, f"http://{page}", f"https://{page}"]:
        with suppress(ValueError):
            keys |= {url, page_key(url)}
    return keys
