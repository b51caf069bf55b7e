"""The report: one HTML file that needs nothing beside it.

Addresses and pages are what strangers wrote. The template escapes whatever comes from the log, and
a content security policy allows nothing but the file's own style.
"""

import re

from jinja2 import Environment, PackageLoader, StrictUndefined

from scrapy_simhash.report import words
from scrapy_simhash.report.difference import sides
from scrapy_simhash.report.figures import HOSTS, MIRRORS, PATTERNS, Figures
from scrapy_simhash.report.patterns import first_of
from scrapy_simhash.rule.rule import REASONS

_WEB_ADDRESS = re.compile(r"https?://[^\s\[]\S{0,2000}")


def render(figures: Figures, log: str) -> str:
    """Return the report of a log's figures as an HTML document."""
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("count", "size", "duration", "moment", "percent", "clipped"):
        environment.filters[name] = getattr(words, name)
    environment.tests["web_address"] = _WEB_ADDRESS.fullmatch
    return environment.get_template("report.html").render(
        figures=figures,
        log=log,
        host_limit=HOSTS,
        mirrors=_mirrors(figures),
        patterns=first_of(figures.patterns, PATTERNS),
        rule=REASONS,
        sides=sides,
    )


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
