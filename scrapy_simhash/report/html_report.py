"""The report: one HTML file that needs nothing beside it.

Addresses and pages are what strangers wrote. The template escapes whatever comes from the log, and
a content security policy allows nothing but the file's own style and script.
"""

import re
import shlex
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from scrapy_simhash.printable import printable
from scrapy_simhash.report import words
from scrapy_simhash.report.difference import Difference, Shown, differences
from scrapy_simhash.report.log_table import Drop, LogTable, PageChange
from scrapy_simhash.rule.rule import REASONS

#: The changes of each kind, and the address patterns, that are shown at most.
CHANGED, PATTERNS = 30, 20
# Drops that are shown, and characters of the table of all: a report stays below some 2 MB.
_DOUBTFUL, _DROPS, _DROPS_SIZE = 500, 2000, 600_000
# Pairs of each address pattern, differences of a pair and of a row, columns of a difference.
_PAIRS, _DIFFERENCES, _IN_ROW, _COLUMNS = 3, 12, 3, 120
_WEB_ADDRESS = re.compile(r"https?://[^\s\[]\S{0,2000}")


class Row(NamedTuple):
    """A drop in the table of all, with some of its differences."""

    drop: Drop
    differs: list[Difference]


class Group(NamedTuple):
    """Doubtful drops of one address pattern, and the regular expression of their addresses."""

    pattern: str
    expression: str
    drops: list[Drop]


def render(
    table: LogTable, logs: Sequence[str], crawl: str, missing: Sequence[PageChange] = ()
) -> str:
    """Return the report of a crawl as an HTML document; ``logs`` are the paths of its log."""
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    for name in ("count", "size", "moment", "percent", "clipped"):
        environment.filters[name] = getattr(words, name)
    environment.filters["shell"] = shlex.quote
    environment.tests["web_address"] = _WEB_ADDRESS.fullmatch
    script = files(__package__).joinpath("report.js").read_text("utf-8")
    crawls = table.crawls()
    verdicts = table.counts(crawl, "verdict")
    changes = table.counts(crawl, "change")
    runs = [int(run) for run in table.counts(crawl, "run")]
    return environment.get_template("report.html").render(
        logs=", ".join(logs),
        log=" ".join(f"--log {shlex.quote(log)}" for log in logs),
        paths=shlex.join(logs),
        crawl=next((each for each in crawls if each.name == crawl), None),
        others=[each for each in crawls if each.name != crawl],
        start=table.starts.get(crawl),
        unreadable=table.unreadable,
        verdicts=verdicts,
        dropped=verdicts.get("duplicate", 0),
        is_dry={*table.counts(crawl, "action")} == {"flag"},
        skipped=", ".join(
            f"{words.count(number)} {name}"
            for name, number in table.counts(crawl, "reason").items()
            if name not in REASONS
        ),
        groups=_groups(table.drops(crawl, _DOUBTFUL, doubtful=True)),
        doubtful=table.counts(crawl, "doubtful").get(1, 0),
        changes=changes,
        has_earlier={*changes} - {"new"} or missing,
        changed=[*table.changes(runs, CHANGED).values(), *missing],
        patterns=table.patterns(crawl, PATTERNS),
        rows=_rows(table.drops(crawl, _DROPS)),
        reasons=REASONS,
        differences=_differences,
        pairs=_PAIRS,
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


def _plain(value: object) -> object:
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value, "\n\t") if is_text else value


def _differences(before: Shown, after: Shown, most: int = _DIFFERENCES) -> list[Difference]:
    return differences(before, after, _COLUMNS)[:most]


def _rows(drops: Iterable[Drop]) -> list[Row]:
    """Return the drops that the table has, with some of what differs."""
    rows, length = [], 0
    for drop in drops:
        differs = []
        if drop.original is not None:
            differs = _differences(drop.original.shown, drop.line.shown, _IN_ROW)
        length += len(drop.line.url) + len(drop.line.original or "")
        length += sum(len(part) for difference in differs for part in difference)
        if length > _DROPS_SIZE:
            break
        rows.append(Row(drop, differs))
    return rows


def _groups(drops: Iterable[Drop]) -> list[Group]:
    """Return drops by their address patterns, the patterns with most drops first."""
    by_pattern = [(_pattern_of(line.original or "", line.url), line, page) for line, page in drops]
    by_pattern.sort(key=lambda each: each[0])
    groups = []
    for (pattern, expression), members in groupby(by_pattern, key=lambda each: each[0]):
        groups.append(Group(pattern, expression, [Drop(*each[1:]) for each in members]))
    return sorted(groups, key=lambda group: -len(group.drops))[:PATTERNS]


def _pattern_of(original: str, url: str) -> tuple[str, str]:
    """Return the form of two addresses, and an expression that finds the second one.

    A star stands where the two differ in a part of their path, or in a parameter, which the
    expression leaves out.
    """
    try:
        first, last = urlsplit(original), urlsplit(url)
    except ValueError:
        return url, _escaped(url)
    paths = first.path.split("/")[1:], last.path.split("/")[1:]
    parts = ["**"]
    if len(paths[0]) == len(paths[1]):
        parts = [a if a == b else "*" for a, b in zip(*paths, strict=True)]
    parameters = set(first.query.split("&"))
    query = "&".join(
        part if part in parameters else f"{part.partition('=')[0]}=*"
        for part in last.query.split("&")
        if part
    )
    expressions = {"*": "[^/?]*", "**": ".*"}
    path = "".join(f"/{expressions.get(part, _escaped(part))}" for part in parts)
    expression = f"://{_escaped(last.netloc)}{path}"
    return f"{last.netloc}/{'/'.join(parts)}" + f"?{query}" * bool(query), expression


def _escaped(text: str) -> str:
    """Return an expression for a text; a hyphen stands for itself."""
    return re.escape(text).replace(r"\-", "-")
