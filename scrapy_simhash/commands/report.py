"""Show what a crawl kept and dropped, from its dedup log.

    scrapy crawl news -s SIMHASH_ACTION=flag -s SIMHASH_LOG=dedup.jsonl
    scrapy simhash report dedup.jsonl
    scrapy simhash report dedup.jsonl --index sqlite:///pages.sqlite

A LOG is what a crawl writes with SIMHASH_LOG. The report is one HTML file that needs no
network: the doubtful drops, what has changed since earlier runs, and all drops with what
differs. If the logs have several crawls, it is about the last one, and names the others.
With --index, it names pages that are missing.
"""

import argparse
from itertools import islice
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import say, whole_file
from scrapy_simhash.commands.selection import (
    add_shared_options,
    chosen_index,
    log_lines,
    log_paths,
    missing_pages,
)
from scrapy_simhash.report.html_report import SHOWN, render
from scrapy_simhash.report.log_table import LogTable, PageChange
from scrapy_simhash.report.words import count, percent


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logs", nargs="*", metavar="LOG", help="dedup log")
    default, says = "simhash-report.html", "where the report goes (%(default)s), or -"
    parser.add_argument("-o", "--output", metavar="FILE", default=default, help=says)
    parser.add_argument("--crawl", metavar="NAME", help="a crawl of the log, not the last one")
    add_shared_options(parser, "index")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    logs, missing = log_paths(options.logs, settings, options.index), list[PageChange]()
    with whole_file(options.output, *map(Path, logs)) as file:
        table = LogTable(log_lines(logs))
        crawl = _chosen(table, options.crawl)
        if options.index:
            with chosen_index(options, settings) as index:
                number = max(map(int, table.counts(crawl, "run")), default=0)
                missing = [*islice(missing_pages(index, index.runs(), number), SHOWN)]
        report = render(table, [*map(str, logs)], crawl, missing)
        file.write(report.encode("utf-8", "replace"))
    verdicts = table.counts(crawl, "verdict")
    dropped, judged = verdicts.get("duplicate", 0), sum(verdicts.values())
    share = f"{count(dropped, 'near-duplicate')} ({percent(dropped, judged)})"
    is_file = options.output != "-"
    place = f": {Path(options.output).absolute().as_uri()}" if is_file else ""
    say([f"{count(judged)} judged, {share}{place}"], aside=not is_file)


def _chosen(table: LogTable, name: str | None) -> str:
    """Return the name of the crawl that is asked for, or of the last one."""
    crawls = [crawl.name for crawl in table.crawls()]
    if name is not None and name not in crawls:
        named = "; ".join(map(repr, crawls)) or "no crawl"
        raise UsageError(f"there is no crawl {name!r} in the log; it has {named}")
    return name or (crawls[-1] if crawls else "")
