"""The report: one HTML file that needs nothing beside it.

Addresses and pages are what strangers wrote. The template escapes whatever comes from the log, and
a content security policy allows nothing but the file's own style and script.
"""

import math
import re
import shlex
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from scrapy_simhash.printable import printable
from scrapy_simhash.report import words
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.difference import own_lines, sides
from scrapy_simhash.report.figures import HOSTS, MIRRORS, PATTERNS, Figures
from scrapy_simhash.report.patterns import first_of
from scrapy_simhash.rule.rule import REASONS

_WEB_ADDRESS = re.compile(r"https?://[^\s\[]\S{0,2000}")
#: Reasons for which a page was let through because the filter could not do its work.
_FAILURES = ("timeout", "slow_host", "extractor_error", "unavailable")
# Characters of the addresses in the table of all drops; a report stays below some 2 MB.
_ROWS_SIZE = 600_000


class Group(NamedTuple):
    """Pairs for which one sentence of the rule decided.

    Attributes:
        why: the sentence.
        pairs: lines of pages that differ from the other ones, with the lines of these.
        same: lines of pages that differ in nothing that the log has.
        without: lines for which the log does not have both texts.
    """

    why: str
    pairs: list[tuple[LogLine, LogLine]]
    same: list[LogLine]
    without: list[LogLine]


def render(figures: Figures, *logs: str) -> str:
    """Return the report of the figures of logs, which are paths, as an HTML document."""
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    for name in ("count", "size", "duration", "moment", "percent", "clipped"):
        environment.filters[name] = getattr(words, name)
    environment.filters["shell"] = shlex.quote
    environment.tests["web_address"] = _WEB_ADDRESS.fullmatch
    script = files(__package__).joinpath("report.js").read_text("utf-8")
    return environment.get_template("report.html").render(
        figures=figures,
        logs=", ".join(logs),
        log=" ".join(f"--log {shlex.quote(log)}" for log in logs),
        paths=shlex.join(logs),
        bound=_bound,
        title=_title(figures, ", ".join(logs)),
        host_limit=HOSTS,
        mirrors=_mirrors(figures),
        patterns=first_of(figures.patterns, PATTERNS),
        failures=sum(figures.reasons[reason] for reason in _FAILURES),
        groups=lambda lines: _groups(lines, figures.pages),
        rows=_rows(figures),
        rule=REASONS,
        sides=sides,
        own=lambda one, other: own_lines(one.shown.details, other.shown.details),
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


def _plain(value: object) -> object:
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value, "\n\t") if is_text else value


def _bound(number: int) -> float:
    """Return the largest share of wrong drops among which so many can be right by chance (5%)."""
    return 1.0 - math.pow(0.05, 1 / number)


def _title(figures: Figures, log: str) -> str:
    """Return the names of the crawls, or else of the log, and the days."""
    spiders = ", ".join(sorted({start.spider for start in figures.starts})) or log
    if not figures.judged:
        return spiders
    first, last = (words.moment(time)[:10] for time in (figures.first, figures.last))
    return f"{spiders}, {first}" if first == last else f"{spiders}, {first} to {last}"


def _groups(lines: Iterable[tuple[str, LogLine]], pages: dict[str, LogLine]) -> list[Group]:
    """Return lines by the sentence that decided, those whose texts are the same apart."""
    groups: dict[str, Group] = {}
    for _, line in lines:
        why = REASONS.get(line.reason or "", "")
        group = groups.setdefault(why, Group(why, [], [], []))
        other = pages.get(line.original or line.near or "")
        if not other or not line.text:
            group.without.append(line)
        elif (other.text, other.details) == (line.text, line.details):
            group.same.append(line)
        else:
            group.pairs.append((line, other))
    return [*groups.values()]


def _rows(figures: Figures) -> list[LogLine]:
    """Return the drops that the table has, the farthest from their originals first."""
    rows, size = [], 0
    for _, line in figures.rows.lines():
        size += len(line.url) + len(line.original or "")
        if size > _ROWS_SIZE:
            break
        rows.append(line)
    return rows


def _mirrors(figures: Figures) -> list[tuple[str, str, float, float, float]]:
    """Return the pairs of hosts whose pages repeat each other most.

    For each: the host with more of the repeating pages, the other one, the pages of the first that
    repeat the second, those of the second that repeat the first, and the share of the former in
    all pages of the first.
    """
    repeats = figures.pairs.largest()
    pages = {pair: row[0] for pair, row in repeats if all(pair) and pair[0] != pair[1]}
    found = []
    for (first, second), forth in pages.items():
        back = pages.get((second, first), 0.0)
        if (back, second) < (forth, first):
            judged = max(figures.hosts.of(first)[0], forth)
            found.append((first, second, forth, back, forth / judged))
    return sorted(found, key=lambda mirror: -mirror[2] - mirror[3])[:MIRRORS]
