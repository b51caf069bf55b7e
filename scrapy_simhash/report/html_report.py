"""The report: one HTML file that needs nothing beside it.

Strangers wrote the addresses and pages. The template escapes whatever comes from the log, and a
content security policy allows nothing but the file's own style.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from scrapy_simhash.printable import printable
from scrapy_simhash.report import words
from scrapy_simhash.report.groups import Group, groups_of
from scrapy_simhash.report.log_table import LogTable
from scrapy_simhash.report.signatures import MANY, most_hidden
from scrapy_simhash.rule.rule import REASONS

_WEB_ADDRESS = re.compile(r"https?://[^\s\[]\S{0,2000}")


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

    @cached_property
    def groups(self) -> list[Group]:
        """The drops in groups: 2,000, or some million characters, so that it stays below 3 MB."""
        pages = sum(self.table.counts(self.name, "verdict").values())
        many = min(MANY, most_hidden(pages))
        shown: list[Group] = []
        length = 0
        for group in groups_of([*self.table.drops(self.name, many, 2000)], many):
            length += _shown_length(group)
            if length > 1_000_000 and shown:
                break
            shown.append(group)
        return shown

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
            "Drops by form of the address": dict(self.table.signatures(self.name).most_common(5)),
            "Drops by host": of_drops("host"),
        }

    def html(self) -> str:
        counts = partial(self.table.counts, self.name)
        crawls = {each.name: each for each in self.table.crawls()}
        changes = self.table.changes([int(run) for run in counts("run")], most=20)
        return (
            _environment()
            .get_template("report.html")
            .render(
                logs=", ".join(self.logs),
                log=" ".join(f"--log {shlex.quote(log)}" for log in self.logs),
                paths=shlex.join(self.logs),
                crawl=crawls.pop(self.name, None),
                others=[*crawls],
                unreadable=self.table.unreadable,
                verdicts=counts("verdict"),
                is_dry={*counts("action")} == {"flag"},
                skipped=[*counts("reason", "skipped").items()],
                overview=self.overview(),
                groups=self.groups,
                similarity=partial(words.similarity, bits=self.bits),
                doubtful=counts("doubtful").get(1, 0),
                changes=counts("change"),
                changed=[*changes.values()],
                reasons=REASONS,
            )
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


def _shown_length(group: Group) -> int:
    """Return about how many characters a group takes."""
    # Each address is shown and linked; the lines to copy have it twice.
    length = sum(2 * len(line.url) for line in group.lines)
    for copies in group.copies:
        length += 4 * len(copies.original)
        length += sum(len("".join(difference)) for difference in copies.differs)
    return length
