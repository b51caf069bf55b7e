"""The report: one HTML file that needs nothing beside it.

Addresses and pages are what strangers wrote. The template escapes whatever comes from the log, and
a content security policy allows nothing but the file's own style.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from scrapy_simhash.fingerprint.rule import REASONS
from scrapy_simhash.report import words
from scrapy_simhash.report.charts import distance_bars
from scrapy_simhash.report.clusters import Cluster, Extremes
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.difference import Piece, differences
from scrapy_simhash.report.figures import (
    HOSTS,
    MIRRORS,
    PATTERNS,
    Figures,
)

_COMPARED = 6000  # characters of a text that are compared
_LONGEST_LINK = 2000

# Why a page was not compared, in words.
SKIPPED = {
    "empty": "it has no text",
    "too_short": "its text is too short",
    "opted_out": "its request asked for it",
    "status": "its status was not 200",
    "not_html": "it is no HTML page",
    "too_large": "it is larger than SIMHASH_MAX_BODY_SIZE",
    "timeout": "its analysis took longer than SIMHASH_TIMEOUT",
    "slow_host": "analyses of this host's pages took too long before",
    "extractor_error": "the extractor failed",
    "unavailable": "the index could not be reached",
}


class Comparison(NamedTuple):
    """Two pages side by side.

    Attributes:
        page: the page that was judged.
        left: pieces of the text of the page that it is near to; empty if it is not in the log.
        right: pieces of the page's own text.
        same: whether the two texts in the log are equal.
    """

    page: LogLine
    left: list[Piece]
    right: list[Piece]
    same: bool


class Mirror(NamedTuple):
    """Two hosts whose pages repeat each other.

    Attributes:
        first: the host with more of the repeating pages.
        second: the other host.
        forth: pages of the first that repeat one of the second.
        back: pages of the second that repeat one of the first.
        share: of the first host's pages, that repeat the second's.
    """

    first: str
    second: str
    forth: float
    back: float
    share: float


def render(figures: Figures) -> str:
    """Return the report of a log's figures as an HTML document."""
    host_count, totals = figures.hosts.rest(0)
    walls, templates = _walls_and_templates(figures)
    other_host_count, other_hosts = figures.hosts.rest(HOSTS, by=2)
    return _template().render(
        figures=figures,
        k=figures.k,
        names=list(dict.fromkeys(path.name for path in figures.files)),
        hosts=figures.hosts.largest(HOSTS, by=2),
        host_count=host_count,
        other_hosts=other_hosts,
        other_host_count=other_host_count,
        totals=totals,
        stretches=figures.timeline.stretches(),
        distances=distance_bars(figures.distances, figures.k),
        doubtful=[
            ("Far from their originals",
             "Two thirds of the distance, or more, lie between these texts and their originals.",
             _comparisons(figures, figures.far)),
            ("Under other headings",
             "The headings of these pages differ from those of their originals. Each page says why "
             "it was dropped all the same.",
             _comparisons(figures, figures.unlike)),
        ],
        templates=[_of_cluster(cluster) for cluster in templates],
        told_apart=_comparisons(figures, figures.told_apart),
        mirrors=_mirrors(figures),
        patterns=figures.patterns.first(PATTERNS),
        # Bytes of a copy, in the mean.
        copy_size=totals[5] / (totals[2] or 1),
        walls=[(wall, figures.originals.of(wall.key)[1]) for wall in walls],
        clusters=[_of_cluster(cluster) for cluster in figures.clusters
                  if cluster.identical < cluster.copies],
        identical=[cluster for cluster in figures.clusters
                   if cluster.identical == cluster.copies],
        reasons=figures.reasons.largest(20),
        skipped=SKIPPED,
        rule=REASONS,
    )  # fmt: skip


@cache
def _template() -> Template:
    environment = Environment(
        loader=FunctionLoader(_part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("count", "size", "duration", "moment", "percent", "clipped"):
        environment.filters[name] = getattr(words, name)
    environment.tests["web_address"] = _is_web_address
    return environment.get_template("report.html")


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _is_web_address(key: str) -> bool:
    try:
        return len(key) < _LONGEST_LINK and urlsplit(key).scheme in ("http", "https")
    except ValueError:
        return False


def _comparisons(figures: Figures, extremes: Extremes) -> list[Comparison]:
    return [_compared(line, figures.texts.get(other, "")) for other, line in extremes.lines()]


def _of_cluster(cluster: Cluster) -> tuple[Cluster, list[Comparison]]:
    text = cluster.original.text if cluster.original else ""
    return cluster, [_compared(copy, text) for copy in cluster.shown()]


def _compared(page: LogLine, text: str) -> Comparison:
    left, right = differences(text[:_COMPARED], page.text[:_COMPARED]).sides()
    return Comparison(page, left if text else [], right, bool(text) and text == page.text)


def _walls_and_templates(figures: Figures) -> tuple[list[Cluster], list[Cluster]]:
    """Divide originals with many copies on their host by whether most of the copies are equal."""
    walls = [wall for wall in figures.walls if 2 * wall.identical >= wall.copies]
    return walls, [wall for wall in figures.walls if wall not in walls]


def _mirrors(figures: Figures) -> list[Mirror]:
    pages: dict[tuple[str, str], float] = {
        pair: row[0]
        for pair, row in figures.pairs.largest(len(figures.pairs))
        if all(pair) and pair[0] != pair[1]
    }
    found = []
    for (first, second), forth in pages.items():
        back = pages.get((second, first), 0.0)
        if (back, second) < (forth, first):
            judged = max(figures.hosts.of(first)[0], forth)
            found.append(Mirror(first, second, forth, back, forth / judged))
    return sorted(found, key=lambda mirror: -mirror.forth - mirror.back)[:MIRRORS]
