"""Running subcommands as Scrapy does."""

import argparse
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from scrapy.settings import Settings

from scrapy_simhash.commands import SimhashCommand
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.values import Entry
from tests.index.promises.made import spec


def scrapy(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Scrapy's own command in a folder."""
    command = [sys.executable, "-m", "scrapy", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def python(code: str, *arguments: object) -> str:
    """Run a program that ends well, and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def simhash(*arguments: object, settings: dict[str, Any] | None = None) -> int:
    """Run a subcommand and return its exit status."""
    command = SimhashCommand()
    command.settings = Settings(settings)
    parser = argparse.ArgumentParser(usage=f"scrapy simhash {command.syntax()}")
    command.add_options(parser)
    options, rest = parser.parse_known_args([str(argument) for argument in arguments])
    command.process_options(rest, options)
    command.run(rest, options)
    return command.exitcode


def printed(
    capsys: Any, *arguments: object, settings: dict[str, Any] | None = None, status: int = 0
) -> str:
    """Run a subcommand that does its work, and return what it prints."""
    assert simhash(*arguments, settings=settings) == status
    out: str = capsys.readouterr().out
    return out


def refused(capsys: Any, *arguments: object, settings: dict[str, Any] | None = None) -> str:
    """Run a subcommand that cannot do its work, and return the one line that it says."""
    assert simhash(*arguments, settings=settings) == 2
    error: str = capsys.readouterr().err
    assert error.startswith("scrapy simhash ")
    assert error.count("\n") == 1
    return error


def filled(path: Path, entries: Iterable[Entry], **changed: Any) -> str:
    """Put entries into an index, and return its URL."""
    url = f"sqlite:///{path}"
    with closing(open_index(url, spec(**changed))) as index:
        index.put(entries)
    return url


def entries_in(url: str) -> list[Entry]:
    """Return all entries of an index."""
    with closing(open_existing(url)) as index:
        return list(index)
