"""The report: one HTML file that needs nothing beside it.

Strangers wrote the addresses and pages. The template escapes whatever comes from the
log, and a content security policy allows nothing but the file's own style.
"""

import re
import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from scrapy_simhash.printable import printable
from scrapy_simhash.report import words
from scrapy_simhash.report.groups import Group, groups_of
from scrapy_simhash.report.log_table import LogTable
from scrapy_simhash.report.signatures import MANY, most_hidden
from scrapy_simhash.rule.rule import REASONS

# A longer address is shown without a link.
_WEB_ADDRESS = re.compile(r"https?://[^\s\[]\S{0,400}")


def html_report(
    table: LogTable, crawl: str, logs: Sequence[str], bits: int = 256
) -> str:
    """Return the report on a crawl of some logs, whose fingerprints have ``bits`` bits."""
    crawls = {each.name: each for each in table.crawls()}
    counts = partial(table.counts, crawl)
    changes = table.changes([*counts("run")], most=20)
    template = _environment().get_template("report.html")
    return template.render(
        logs=logs,
        crawl=crawls.pop(crawl, None),
        others=[*crawls],
        unreadable=table.unreadable,
        counts=counts,
        overview=overview(table, crawl),
        groups=groups(table, crawl),
        bits=bits,
        changed=[*changes.values()],
        reasons=REASONS,
    )


def overview(table: LogTable, crawl: str) -> dict[str, Any]:
    """Return the tables of the first screen, each as names with counts, the five greatest."""
    of_drops = partial(table.counts, crawl, verdict="duplicate", most=5)
    signatures = table.signatures(crawl)
    return {
        "The pages with most copies": of_drops("original"),
        "Drops by reason": of_drops("reason"),
        "Drops by form of the address": dict(signatures.most_common(5)),
        "Drops by host": of_drops("host"),
    }


def groups(table: LogTable, crawl: str) -> list[Group]:
    """Return the drops in groups, 1,000 at most, which take a few megabytes."""
    pages = sum(table.counts(crawl, "verdict").values())
    many = min(MANY, most_hidden(pages))
    return groups_of([*table.drops(crawl, many, 1000)], many)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable_value,
    )
    for name in ("count", "moment", "percent", "clipped"):
        environment.filters[name] = getattr(words, name)
    environment.filters["shell"] = shlex.quote
    environment.tests["web_address"] = _WEB_ADDRESS.fullmatch
    return environment


def _printable_value(value: object) -> object:
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value, "\n\t") if is_text else value
