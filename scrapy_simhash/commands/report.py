"""Show what a crawl kept and dropped, from its dedup log.

A LOG is what a crawl writes with the setting SIMHASH_LOG; rotated files beside it
(LOG.1, LOG.2 ...) are read too. Without LOG, the command reads the project's. The
report is one HTML file that needs no network: the doubtful drops with what differs,
pages that the rule kept though their texts are near, address patterns, numbers over
time and by host, mirrors, pages that look like walls, the largest clusters, and a table
of the drops. A FILE that ends in .csv or .json gets all drops, one a row.

    scrapy crawl news -s SIMHASH_ACTION=flag -s SIMHASH_LOG=dedup.jsonl
    scrapy simhash report dedup.jsonl
    scrapy simhash report dedup.jsonl -o drops.csv
    scrapy simhash report dedup.jsonl --index sqlite:///pages.sqlite

With --index, the report names pages that are missing since earlier runs, too.
To see more of what differs, log more of each page with SIMHASH_LOG_TEXT.
"""

import argparse
import csv
import json
from collections.abc import Iterable
from functools import partial
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import say, whole_file
from scrapy_simhash.commands.selection import (
    add_shared_options,
    chosen_index,
    log_lines,
    log_paths,
)
from scrapy_simhash.index.contract import Index
from scrapy_simhash.report.changes import PageChange
from scrapy_simhash.report.dedup_log import Line, LogLine, log_files
from scrapy_simhash.report.figures import CHANGED, Figures, read_figures
from scrapy_simhash.report.html import render
from scrapy_simhash.report.words import count, percent

_COLUMNS = ("time", "url", "original", "distance", "reason", "action", "host", "bytes", "pattern")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logs", nargs="*", metavar="LOG", help="dedup log")
    default, says = "simhash-report.html", "where the report goes (%(default)s)"
    parser.add_argument("-o", "--output", metavar="FILE", default=default, help=says)
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    logs = log_paths(options.logs, settings)
    if (suffix := Path(options.output).suffix) in (".csv", ".json"):
        with whole_file(options.output, *log_files(logs)) as file:
            number = _write_drops(file, log_lines(logs), suffix)
        say([f"{count(number, 'drop')}: {Path(options.output).absolute().as_uri()}"])
        return
    with whole_file(options.output, *log_files(logs)) as report:
        figures = read_figures(partial(log_lines, logs))
        if options.index:
            with chosen_index(options, settings) as index:
                _add_missing(figures, index)
        report.write(render(figures, *map(str, logs)).encode("utf-8", "replace"))
    repeated, judged = figures.counts["duplicate"], figures.judged
    share = f"{count(repeated, 'near-duplicate')} ({percent(repeated, judged)})"
    say([f"{count(judged)} judged, {share}: {Path(options.output).absolute().as_uri()}"])


def _add_missing(figures: Figures, index: Index) -> None:
    """Add the pages of earlier runs that the last run has not seen, if it is finished."""
    begun = {run.number: run.begun for run in index.runs() if run.number <= figures.run}
    if any(run.number == figures.run and run.finished for run in index.runs()):
        figures.changes["missing"] = index.missing_count(figures.run)
        figures.changed += [
            PageChange("missing", one.key, one.key, last_seen=begun.get(one.run))
            for one in islice(index.missing(figures.run), CHANGED)
        ]


def _write_drops(file: IO[bytes], lines: Iterable[Line | None], suffix: str) -> int:
    """Write the near-duplicates of a log as CSV, or as an array of JSON; return their number."""
    drops = (line for line in lines if isinstance(line, LogLine) and line.verdict == "duplicate")
    rows = ({name: getattr(line, name) for name in _COLUMNS} for line in drops)
    text, number = TextIOWrapper(file, "utf-8", "replace", newline=""), 0
    table = csv.DictWriter(text, _COLUMNS)
    if suffix == ".csv":
        table.writeheader()
    for number, row in enumerate(rows, 1):
        if suffix == ".csv":
            table.writerow(row)
        else:
            text.write(("[" if number == 1 else ",\n") + json.dumps(row))
    text.write("" if suffix == ".csv" else "]\n" if number else "[]\n")
    text.detach()
    return number
