"""Options of several subcommands: an index, dedup logs, a recipe, pages by address and host."""

import re
from argparse import Namespace
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from scrapy.exceptions import UsageError

from scrapy_simhash.commands.output import progress
from scrapy_simhash.core.workers import Workers
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.keys import host_of, page_key
from scrapy_simhash.offline.analyses import analyse_all
from scrapy_simhash.offline.saved_pages import (
    Analysed,
    PageReader,
    SavedPage,
    page_files,
)
from scrapy_simhash.report.dedup_log import LogLine, aside, read_lines
from scrapy_simhash.settings import (
    INDEX_OF_JOB,
    SPIDER,
    FilterSettings,
    log_beside,
    named_url,
    url_of_file,
)

NO_RUN = 'there is no such run; "scrapy simhash stats" lists them'
_NO_LOG = "name a dedup log, which a crawl writes with -s SIMHASH_LOG=dedup.jsonl"
_OPTIONS: dict[str, dict[str, Any]] = {
    "index": {"metavar": "URL", "help": "the index: a URL, a file, or a job's folder"},
    "json": {"action": "store_true", "help": "print the result as JSON"},
    "log": {
        "action": "append",
        "metavar": "FILE",
        "help": "a dedup log (may be repeated)",
    },
    "recipe": {
        # Another way to write -s SIMHASH_RECIPE=NAME.
        "dest": "set",
        "action": "append",
        "type": "SIMHASH_RECIPE={}".format,
        "default": [],
        "metavar": "NAME",
        "help": "the recipe, instead of the project's",
    },
    "host": {
        "action": "append",
        "default": [],
        "metavar": "HOST",
        "help": "pages of this host, with any port unless one is given (may be repeated)",
    },
}
_PORT = re.compile(r":\d+$")


def shared_options(*names: str) -> dict[str, Any]:
    return {f"--{name}": _OPTIONS[name] for name in names}


class Selection(NamedTuple):
    """Pages that have one of some keys, and one of some hosts; without either, all pages."""

    keys: frozenset[str]
    hosts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, pages: Sequence[str], hosts: Sequence[str] = ()) -> "Selection":
        """Select pages by their addresses or keys, and by hosts; no host is a UsageError."""
        if wrong := [host for host in hosts if not host or "/" in host]:
            raise UsageError(
                f"--host {wrong[0]}: it must be a host, such as www.example.com"
            )
        keys = set(pages)
        # An address may lack its scheme, as browsers show it.
        for page, scheme in product(pages, ("", "http://", "https://")):
            url = scheme + page
            with suppress(ValueError):
                keys |= {url, page_key(url)}
        return cls(frozenset(keys), frozenset(host.lower() for host in hosts))

    def __bool__(self) -> bool:
        return bool(self.keys or self.hosts)

    def has(self, key: str, url: str | None = None) -> bool:
        """Return whether a page is selected, by its key, or by the address that it was asked by."""
        if self.keys and key not in self.keys and url not in self.keys:
            return False
        if not self.hosts:
            return True
        # The key of any request but GET has its method and digest before the address.
        host = host_of(url or key.rpartition(" ")[2])
        return host in self.hosts or _PORT.sub("", host) in self.hosts


@contextmanager
def reading(paths: Iterable[Path], settings: FilterSettings) -> Iterator[PageReader]:
    """Return a reader of saved pages that shows how much of them it has read.

    It knows the fields that the project's feeds have.
    """
    fields = settings.item_text_field, settings.item_html_field, settings.item_key_field
    total = sum(file.stat().st_size for path in paths for file in page_files(path))
    with progress("reading", total) as bar:
        yield PageReader(settings.recipe, *fields, bar.update)


def analysed(
    pages: Iterable[SavedPage], settings: FilterSettings, excerpt_length: int = 0
) -> closing[Generator[Analysed, None, None]]:
    """Analyse saved pages as a crawl does, until the end of a block."""
    workers = Workers(
        settings.recipe,
        processes=settings.processes,
        timeout=settings.timeout,
        excerpt_length=excerpt_length,
        largest=settings.max_body_size,
    )
    return closing(analyse_all(pages, workers))


def chosen_settings(options: Namespace) -> FilterSettings:
    return FilterSettings.from_settings(options.settings)


def index_url(options: Namespace, place: str | None = None) -> str:
    """Return the URL of an index in a place, or that an option names, or else the settings.

    Each may name it by its SQLite file or the folder of a job. An index in memory is a
    UsageError, and one that has the name of any spider.
    """
    url = place
    if url is None:
        url = options.index or chosen_settings(options).index_url
    # With a colon in its first part, it may be a URL with a password that lacks a
    # slash.
    if ":" not in url.partition("/")[0]:
        path = Path(url)
        url = url_of_file(path / INDEX_OF_JOB if path.is_dir() else path)
    store = store_of(url)
    url = named_url(url, options.settings)
    if SPIDER in url:
        raise UsageError(
            f"each spider has its own index: name one, with --index and no {SPIDER}"
        )
    if not store.lasting:
        raise UsageError(
            "name the index with --index URL, or that of a job with -s JOBDIR=FOLDER, because one "
            "in memory ends with its crawl"
        )
    if store.patience_option and store.patience_option.partition("=")[0] not in url:
        # A crawl does not wait for a slow Redis; an operator does.
        url += f"{'&' if '?' in url else '?'}{store.patience_option}"
    return url


def chosen_index(options: Namespace) -> closing[Index]:
    """Open the index that is named, which must be there, until the end of a block."""
    return closing(open_existing(index_url(options)))


def log_paths(options: Namespace) -> list[Path]:
    """Return the dedup logs that are given, or else the one beside an index, or of the settings.

    A missing log is a UsageError.
    """
    if options.log:
        return [*dict.fromkeys(map(Path, options.log))]
    path = chosen_settings(options).log
    if options.index is not None:
        path = log_beside(index_url(options)) or path
    if path is None or not path.is_file():
        raise UsageError(_NO_LOG)
    return [file for file in (aside(path), path) if file.is_file()]


def log_lines(paths: Sequence[Path]) -> Iterator[LogLine | None]:
    """Yield the lines of dedup logs, and show how far the reading is.

    Other files are a UsageError, at their end.
    """
    total = sum(path.stat().st_size for path in paths)
    is_log = not total
    with progress("reading the log", total) as bar:
        for line in read_lines(paths, bar.update):
            is_log |= line is not None
            yield line
    if not is_log:
        names = ", ".join(path.name for path in paths)
        raise UsageError(f"{names}: not a dedup log")
