"""`scrapy simhash report`: the dedup log as a page to look at."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import check_writable, progress, write_file
from scrapy_simhash.commands.stores import usage_errors
from scrapy_simhash.report.words import count, percent

SUMMARY = "Show what a crawl kept and dropped, from its dedup log"

DESCRIPTION = """\
A LOG is what a crawl writes with the setting SIMHASH_LOG; rotated files beside it
(LOG.1, LOG.2 ...) are read too. Without LOG, the command reads the project's. The
report is one HTML file that needs no network: the doubtful drops with what differs,
pages that the rule kept though their texts are near, numbers over time, by distance
and by host, mirrors, pages that look like walls, and the largest clusters.

    scrapy crawl news -s SIMHASH_ACTION=flag -s SIMHASH_LOG=dedup.jsonl
    scrapy simhash report dedup.jsonl

To see more of what differs, log more of each page with SIMHASH_LOG_TEXT.

exit status: 0, done (also for an empty log); 2, something given cannot be used;
130, interrupted.
"""

_DEFAULT = "simhash-report.html"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("logs", nargs="*", metavar="LOG", help="dedup log")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"where the report goes (default: {_DEFAULT})"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the figures as JSON, and write the report only with -o",
    )


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    """Read the logs, write the report, and say where it is."""
    from scrapy_simhash.report.dedup_log import log_files
    from scrapy_simhash.report.figures import plain, read_figures
    from scrapy_simhash.report.page import render

    logs = options.logs or ([settings.get("SIMHASH_LOG")] if settings.get("SIMHASH_LOG") else [])
    if not logs:
        raise UsageError("name a dedup log, which a crawl writes with -s SIMHASH_LOG=dedup.jsonl")
    output = options.output or (None if options.json else _DEFAULT)
    if output:
        check_writable(output)
    with usage_errors():
        files = log_files(logs)
        if output and Path(output).resolve() in files:
            raise UsageError(f"-o {output}: it is the log itself")
        # The log is read twice.
        total = 2 * sum(file.stat().st_size for file in files)
        with progress("reading", total, "B") as bar:
            figures = read_figures(logs, bar.update)
    if figures.unreadable and not figures.judged:
        raise UsageError(f"{', '.join(map(str, logs))}: no line of it is one of a dedup log")
    if output:
        write_file(output, render(figures).encode("utf-8", "replace"))
    if options.json:
        sys.stdout.write(json.dumps(plain(figures), indent=1) + "\n")
        return
    repeated = figures.count("duplicate")
    sys.stdout.write(
        f"{count(figures.judged)} judged, {count(repeated, 'near-duplicate')} "
        f"({percent(repeated, figures.judged)}): {Path(str(output)).absolute().as_uri()}\n"
        if figures.judged
        else f"the log is empty, and so is the report: {output}\n"
    )
