"""Show what a crawl kept and dropped, from its dedup log.

    scrapy crawl news -s SIMHASH_ACTION=flag -s SIMHASH_LOG=dedup.jsonl
    scrapy simhash report dedup.jsonl

A LOG is what a crawl writes with SIMHASH_LOG, or beside the file of an index. The
report is one HTML file that needs no network: an overview, the drops in groups with
what differs, first those that people should look at, and what has changed since earlier
runs. If the logs have several crawls, it is about the last one, and names the others.
"""

from argparse import Namespace
from pathlib import Path

from scrapy.exceptions import UsageError

from scrapy_simhash.commands.output import say, whole_file
from scrapy_simhash.commands.selection import (
    chosen_settings,
    log_lines,
    log_paths,
    shared_options,
)
from scrapy_simhash.report.html_report import html_report
from scrapy_simhash.report.log_table import LogTable
from scrapy_simhash.report.words import count, percent

OPTIONS = {
    "log": {"nargs": "*", "metavar": "LOG", "help": "dedup log"},
    "-o --output": {
        "metavar": "FILE",
        "default": "simhash-report.html",
        "help": "where the report goes (%(default)s)",
    },
    "--crawl": {"metavar": "NAME", "help": "a crawl of the log, not the last one"},
    **shared_options("index"),
}


def run(options: Namespace) -> None:
    logs = log_paths(options)
    table = LogTable(log_lines(logs))
    crawl = _crawl_name(table, options.crawl)
    bits = chosen_settings(options).recipe.bits
    with whole_file(options.output, *logs) as file:
        html = html_report(table, crawl, [*map(str, logs)], bits)
        file.write(html.encode("utf-8", "replace"))
    verdicts = table.counts(crawl, "verdict")
    judged = sum(verdicts.values())
    copies = verdicts.get("duplicate", 0)
    say(
        f"{count(judged)} judged, {count(copies, 'near-duplicate')} "
        f"({percent(copies, judged)}): {Path(options.output).absolute().as_uri()}"
    )


def _crawl_name(table: LogTable, name: str | None) -> str:
    """Return the name of the crawl that is asked for, or of the last one."""
    crawls = [crawl.name for crawl in table.crawls()]
    if name is not None and name not in crawls:
        named = "; ".join(map(repr, crawls)) or "no crawl"
        raise UsageError(f"there is no crawl {name!r} in the log; it has {named}")
    return name or (crawls[-1] if crawls else "")
