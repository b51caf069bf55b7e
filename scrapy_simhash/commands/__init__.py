"""`scrapy simhash SUBCOMMAND`: each subcommand is a module of this package.

Scrapy imports this one for every command that it runs, so the subcommands are imported when one
of them is asked for, and what takes long to import when it runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any, ClassVar, Protocol

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable

SUBCOMMANDS = (
    "compare",
    "explain",
    "stats",
    "dedupe",
    "plan",
    "export",
    "import",
    "forget",
    "requeue",
    "patterns",
    "report",
    "evaluate",
    "tune",
)

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class Subcommand(Protocol):
    """A module of a subcommand defines these.

    Attributes:
        SUMMARY: one line.
        DESCRIPTION: says what it does, with an example; shown as it is.
    """

    SUMMARY: str
    DESCRIPTION: str

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, options: argparse.Namespace, settings: BaseSettings) -> int | None:
        """Do it; return the exit status, if it is not 0.

        Raises:
            UsageError: one line about what was given and cannot be used.
        """


class SimhashCommand(ScrapyCommand):
    """The entry point ``simhash`` of the group ``scrapy.commands``."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:  # noqa: D102
        return "SUBCOMMAND ..."

    def short_desc(self) -> str:  # noqa: D102
        return "See, move and undo what near-duplicate detection did, and measure it"

    def long_desc(self) -> str:  # noqa: D102
        return f'{self.short_desc()}. Use "scrapy simhash SUBCOMMAND -h" for more about one.'

    def add_options(self, parser: argparse.ArgumentParser) -> None:  # noqa: D102
        # Scrapy's own options belong to each subcommand, behind whose name people write them.
        subparsers = parser.add_subparsers(
            title="subcommands",
            dest="subcommand",
            metavar="SUBCOMMAND",
            prog="scrapy simhash",
            required=True,
        )
        for name in SUBCOMMANDS:
            module = _load(name)
            subparser = subparsers.add_parser(
                name,
                help=module.SUMMARY,
                description=f"{module.SUMMARY}.\n\n{module.DESCRIPTION}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            module.add_options(subparser)
            super().add_options(subparser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: D102
        assert self.settings is not None
        try:
            if args:
                raise UsageError(f"unrecognized arguments: {' '.join(args)}")
            # Before the work, which may take hours.
            if isinstance(file := getattr(opts, "json", None), str) and file != "-":
                check_writable(file)
            self.exitcode = _load(opts.subcommand).run(opts, self.settings) or 0
        except UsageError as error:
            self._end(2, f"scrapy simhash {opts.subcommand}: error: {error}")
        except KeyboardInterrupt:
            self._end(_INTERRUPTED, f"scrapy simhash {opts.subcommand}: interrupted")
        except BrokenPipeError:
            # Whoever read the output has seen enough; nothing more can be flushed at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.exitcode = 1

    def _end(self, exitcode: int, message: str) -> None:
        sys.stderr.write(message + "\n")
        self.exitcode = exitcode


def _load(name: str) -> Subcommand:
    module: Any = import_module(f"{__name__}.{name}{'_' * iskeyword(name)}")
    return module  # type: ignore[no-any-return]
