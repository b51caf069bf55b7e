"""The report: one HTML file that needs nothing beside it.

Addresses and pages are what strangers wrote. The template escapes whatever comes from the log, and
a content security policy allows nothing but the file's own style and script.
"""

import re
import shlex
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import partial
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

#: Address patterns, differences of a pair, and changes of each kind that are shown at most.
SHOWN = 20
# Pairs of an address pattern, and differences of a row of all drops.
_FEW = 3
# Drops that are shown, and characters of their table: a report stays below some 3 MB.
_DROPS, _DROPS_SIZE = 2000, 1_000_000
_WEB_ADDRESS = re.compile(r"https?://[^\s\[]\S{0,2000}")


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
    for name in ("count", "moment", "percent", "clipped"):
        environment.filters[name] = getattr(words, name)
    environment.filters["shell"] = shlex.quote
    environment.tests["web_address"] = _WEB_ADDRESS.fullmatch
    script = files(__package__).joinpath("report.js").read_text("utf-8")
    counts = partial(table.counts, crawl)
    crawls = {each.name: each for each in table.crawls()}
    drops = table.drops(crawl, _DROPS)
    runs = [int(run) for run in counts("run")]
    return environment.get_template("report.html").render(
        logs=", ".join(logs),
        log=" ".join(f"--log {shlex.quote(log)}" for log in logs),
        paths=shlex.join(logs),
        crawl=crawls.pop(crawl, None),
        others=[*crawls],
        unreadable=table.unreadable,
        verdicts=counts("verdict"),
        is_dry={*counts("action")} == {"flag"},
        skipped=[each for each in counts("reason").items() if each[0] not in REASONS],
        groups=_groups([drop for drop in drops if drop.line.doubtful]),
        doubtful=counts("doubtful").get(1, 0),
        changes=counts("change"),
        changed=[*table.changes(runs, SHOWN).values(), *missing],
        rows=[*_rows(drops)],
        reasons=REASONS,
        differences=_differences,
        pairs=_FEW,
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


def _plain(value: object) -> object:
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value, "\n\t") if is_text else value


def _differences(before: Shown, after: Shown, most: int = SHOWN) -> list[Difference]:
    return differences(before, after)[:most]


def _rows(drops: Sequence[Drop]) -> Iterator[tuple[Drop, list[Difference]]]:
    """Yield drops with some of what differs, as many as the table takes."""
    length = 0
    for drop in drops:
        line, original = drop
        differs = _differences(original.shown, line.shown, _FEW) if original else []
        # Each address is shown, linked, and part of a line to copy.
        length += 3 * (len(line.url) + len(line.original or ""))
        length += sum(len(part) for difference in differs for part in difference)
        if length > _DROPS_SIZE:
            return
        yield drop, differs


def _groups(drops: Sequence[Drop]) -> list[Group]:
    """Return drops by their address patterns, the patterns with most drops first."""
    by_pattern = [(_pattern_of(drop.line.original or "", drop.line.url), drop) for drop in drops]
    by_pattern.sort(key=lambda each: each[0])
    groups = [
        Group(pattern, expression, [drop for _, drop in members])
        for (pattern, expression), members in groupby(by_pattern, key=lambda each: each[0])
    ]
    return sorted(groups, key=lambda group: -len(group.drops))[:SHOWN]


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
