"""`scrapy simhash SUBCOMMAND`: each subcommand is a module of this package.

The docstring of such a module is its help: a line that says what it does, and an
explanation with an example. Its ``OPTIONS`` are the arguments, each with what argparse
has to know of it; its ``run(options)`` does the work, and returns the exit status if
that is not 0. The options have the ``settings`` of the project.

Scrapy imports this module for every command that it runs, so the subcommands are
imported only when one of them is asked for.
"""

import argparse
import os
import signal
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.project import inside_project

from scrapy_simhash.offline.interrupts import ending_by_interrupt

SUBCOMMANDS = (
    "compare",
    "explain",
    "stats",
    "changes",
    "patterns",
    "report",
    "forget",
    "requeue",
    "import",
    "dedupe",
    "fingerprint",
)

_EXIT_STATUS = """\
exit status: 0, the answer is yes, or the work is done; 1, the answer is no, or there is nothing;
2, an argument, a file or a store cannot be used; 130, interrupted.
"""

_NO_ADDON = """
This project does not load the add-on. In settings.py, replace an empty ADDONS = {} by this line:
ADDONS = {"scrapy_simhash.Addon": 500}
"""


class SimhashCommand(ScrapyCommand):
    """The entry point ``simhash`` of the group ``scrapy.commands``."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "SUBCOMMAND ..."

    def short_desc(self) -> str:
        return "See, move and undo what near-duplicate detection did, and measure it"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser
        # People write Scrapy's own options behind the name of a subcommand. Scrapy
        # reads them where there is no subcommand, too.
        scrapy_options = argparse.ArgumentParser(add_help=False)
        super().add_options(scrapy_options)
        parser.set_defaults(**vars(scrapy_options.parse_args([])))
        subparsers = parser.add_subparsers(
            title="subcommands",
            dest="subcommand",
            metavar="SUBCOMMAND",
            prog="scrapy simhash",
        )
        try:
            for name in SUBCOMMANDS:
                module = _load(name)
                subparser = subparsers.add_parser(
                    name,
                    help=(module.__doc__ or name).split("\n")[0].rstrip("."),
                    description=module.__doc__,
                    epilog=_EXIT_STATUS,
                    formatter_class=argparse.RawDescriptionHelpFormatter,
                    # "patterns --log" would be "ambiguous" between two options of
                    # Scrapy's.
                    allow_abbrev=False,
                )
                for flags, keywords in module.OPTIONS.items():
                    subparser.add_argument(*flags.split(), **keywords)
                super().add_options(subparser)
        except KeyboardInterrupt:
            sys.stderr.write("scrapy simhash: interrupted\n")
            sys.exit(128 + signal.SIGINT)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy_simhash.index.store import StoreError

        try:
            with ending_by_interrupt():
                self._run(args, opts)
        except BrokenPipeError:
            # Whoever read the output has seen enough; nothing more can be flushed at
            # exit.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            self.exitcode = 128 + signal.SIGPIPE
        except (KeyboardInterrupt, EOFError):
            self._end(opts, 128 + signal.SIGINT, "interrupted")
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            self._end(opts, 2, f"error: {where}{error.strerror or error}")
        except (UsageError, StoreError, ValueError) as error:
            # Settings, URLs and files that cannot be used raise ValueError with one
            # line.
            self._end(opts, 2, f"error: {error}")

    def _run(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy_simhash.settings import refuse_unknown

        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}")
        assert self.settings is not None
        refuse_unknown(self.settings)
        if opts.subcommand is None:
            self._parser.print_help()
            names = ("ADDONS", "DOWNLOADER_MIDDLEWARES")
            placed = str([*map(self.settings.getdict, names)])
            if inside_project() and "scrapy_simhash" not in placed:
                sys.stdout.write(_NO_ADDON)
        else:
            opts.settings = self.settings
            self.exitcode = _load(opts.subcommand).run(opts) or 0

    def _end(
        self,
        opts: argparse.Namespace,
        exitcode: int,
        message: str,
    ) -> None:
        from scrapy_simhash.commands.output import shown

        name = " ".join(filter(None, ("scrapy simhash", opts.subcommand)))
        sys.stderr.write(f"{name}: {shown(message)}\n")
        self.exitcode = exitcode


def _load(name: str) -> Any:
    return import_module(f"{__name__}.{name}{'_' * iskeyword(name)}")
