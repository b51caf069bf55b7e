"""The report: one HTML file that needs nothing beside it.

Strangers wrote the addresses and pages. The template escapes whatever comes from the
log, and a content security policy allows nothing but the file's own style.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass
class HtmlReport:
    """A crawl of a log.

    Attributes:
        logs: the paths of the log.
        name: of the crawl; empty if the log is.
        bits: the width of its fingerprints.
    """

    table: LogTable
    logs: Sequence[str]
    name: str
    bits: int = 256

    def groups(self) -> list[Group]:
        """Return the drops in groups, 1,000 at most, which take a few megabytes."""
        pages = sum(self.table.counts(self.name, "verdict").values())
        many = min(MANY, most_hidden(pages))
        return groups_of([*self.table.drops(self.name, many, 1000)], many)

    def overview(self) -> dict[str, Any]:
        """Return the tables of the first screen, each as names with counts, the five greatest."""
        of_drops = partial(
            self.table.counts,
            self.name,
            verdict="duplicate",
            most=5,
        )
        return {
            "The pages with most copies": of_drops("original"),
            "Drops by reason": of_drops("reason"),
            "Drops by form of the address": dict(
                self.table.signatures(self.name).most_common(5)
            ),
            "Drops by host": of_drops("host"),
        }

    def html(self) -> str:
        crawls = {each.name: each for each in self.table.crawls()}
        counts = partial(self.table.counts, self.name)
        changes = self.table.changes([*counts("run")], most=20)
        template = _environment().get_template("report.html")
        return template.render(
            logs=self.logs,
            crawl=crawls.pop(self.name, None),
            others=[*crawls],
            unreadable=self.table.unreadable,
            counts=counts,
            overview=self.overview(),
            groups=self.groups(),
            bits=self.bits,
            changed=[*changes.values()],
            reasons=REASONS,
        )


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
