"""Show what a crawl kept and dropped, from its dedup log.

A LOG is what a crawl writes with the setting SIMHASH_LOG; rotated files beside it
(LOG.1, LOG.2 ...) are read too. Without LOG, the command reads the project's. The
report is one HTML file that needs no network: the doubtful drops with what differs,
pages that the rule kept though their texts are near, address patterns, numbers over
time and by host, mirrors, pages that look like walls, and the largest clusters.

    scrapy crawl news -s SIMHASH_ACTION=flag -s SIMHASH_LOG=dedup.jsonl
    scrapy simhash report dedup.jsonl

To see more of what differs, log more of each page with SIMHASH_LOG_TEXT.
"""

import argparse
from functools import partial
from pathlib import Path

from scrapy.settings import BaseSettings

from scrapy_simhash.commands.chosen import log_lines, log_paths
from scrapy_simhash.commands.output import say, whole_file
from scrapy_simhash.report.dedup_log import log_files
from scrapy_simhash.report.figures import read_figures
from scrapy_simhash.report.page import render
from scrapy_simhash.report.words import count, percent


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logs", nargs="*", metavar="LOG", help="dedup log")
    default, says = "simhash-report.html", "where the report goes (%(default)s)"
    parser.add_argument("-o", "--output", metavar="FILE", default=default, help=says)


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    logs = log_paths(options.logs, settings)
    names = ", ".join(Path(log).name for log in logs)
    with whole_file(options.output, *log_files(logs)) as report:
        figures = read_figures(partial(log_lines, logs))
        report.write(render(figures, names).encode("utf-8", "replace"))
    repeated, judged = figures.counts["duplicate"], figures.judged
    share = f"{count(repeated, 'near-duplicate')} ({percent(repeated, judged)})"
    say([f"{count(judged)} judged, {share}: {Path(options.output).absolute().as_uri()}"])
