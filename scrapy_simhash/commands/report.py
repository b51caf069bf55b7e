"""Show what a crawl kept and dropped, from its dedup log.

    scrapy crawl news -s SIMHASH_ACTION=flag -s SIMHASH_LOG=dedup.jsonl
    scrapy simhash report dedup.jsonl
    scrapy simhash report dedup.jsonl --distance 32

A LOG is what a crawl writes with SIMHASH_LOG, or beside the file of an index. The report
is one HTML file that needs no network: an overview, the drops in groups with what
differs, first those that people should look at, and what has changed since earlier runs.
If the logs have several crawls, it is about the last one, and names the others. With
--distance, the command prints what that distance would have kept and dropped, as far as
the log knows, and writes no report.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from scrapy_simhash.commands.output import say, whole_file
from scrapy_simhash.commands.selection import log_lines, log_paths
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.html_report import HtmlReport
from scrapy_simhash.report.log_table import LogTable
from scrapy_simhash.report.words import count, percent
from scrapy_simhash.settings import FilterSettings

# Reasons to keep a page for which the distance decided, or the share of it that short texts have.
_BY_DISTANCE = ("short", "far")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logs", nargs="*", metavar="LOG", help="dedup log")
    default = "simhash-report.html"
    says = "where the report goes (%(default)s)"
    parser.add_argument("-o", "--output", metavar="FILE", default=default, help=says)
    parser.add_argument("--distance", type=int, metavar="K", help="what another distance would do")
    parser.add_argument("--crawl", metavar="NAME", help="a crawl of the log, not the last one")


def run(options: argparse.Namespace, settings: BaseSettings) -> None:
    logs = log_paths(options.logs, settings)
    table = LogTable(log_lines(logs))
    crawl = _crawl_name(table, options.crawl)
    if options.distance is not None:
        say(_at_distance(table, crawl, options.distance))
        return
    bits = FilterSettings.from_settings(settings).recipe.bits
    with whole_file(options.output, *logs) as file:
        report = HtmlReport(table, [str(log) for log in logs], crawl, bits)
        file.write(report.html().encode("utf-8", "replace"))
    verdicts = table.counts(crawl, "verdict")
    judged = sum(verdicts.values())
    copies = verdicts.get("duplicate", 0)
    share = f"{count(copies, 'near-duplicate')} ({percent(copies, judged)})"
    say([f"{count(judged)} judged, {share}: {Path(options.output).absolute().as_uri()}"])


def _crawl_name(table: LogTable, name: str | None) -> str:
    """Return the name of the crawl that is asked for, or of the last one."""
    crawls = [crawl.name for crawl in table.crawls()]
    if name is not None and name not in crawls:
        named = "; ".join(map(repr, crawls)) or "no crawl"
        raise UsageError(f"there is no crawl {name!r} in the log; it has {named}")
    return name or (crawls[-1] if crawls else "")


def _at_distance(table: LogTable, crawl: str, k: int) -> Iterator[str]:
    """Yield lines on the drops of a crawl with another k, and on what its log does not know."""
    old_k = max(table.counts(crawl, "k"), default=0)
    drops = [drop.line for drop in table.drops(crawl, 0)]
    near = table.kept_near(crawl)
    farther = [line for line in drops if (line.distance or 0) > k]
    nearer = [line for line in near if k > old_k and line.reason in _BY_DISTANCE]
    share = percent(len(farther), len(drops))
    yield f"{crawl}: with SIMHASH_DISTANCE = {k} in place of {old_k}"
    yield f"{count(len(farther))} of {count(len(drops), 'drop')} would be kept ({share})"
    yield from _listed(farther)
    yield f"{count(len(nearer))} of {count(len(near), 'kept page')} near another may be dropped"
    yield from _listed(nearer)
    if k > old_k:
        yield f"The log does not know which pages are between {old_k} and {k} bits apart"
    yield (
        "The log does not know what a page that is kept would hide in its turn, and which drops "
        'are near a second original: crawl with SIMHASH_ACTION = "flag" to be sure'
    )


def _listed(lines: Sequence[LogLine]) -> Iterator[str]:
    farthest = sorted(lines, key=lambda line: -(line.distance or 0))[:20]
    for line in farthest:
        yield f"  {line.distance:>3} bits  {line.url}"
        yield f"      from  {line.original or line.near}"
    if more := len(lines) - len(farthest):
        yield f"  and {count(more)} more"
