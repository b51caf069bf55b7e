"""The sections of the report, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from scrapy_simhash.report import charts
from scrapy_simhash.report.clusters import Cluster
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.figures import HOSTS, PAIRS, WALL_COPIES, Figures, original_host
from scrapy_simhash.report.marked import marked
from scrapy_simhash.report.words import (
    address,
    clipped,
    count,
    duration,
    host,
    moment,
    percent,
    size,
    table,
)

_MATRIX = 12
#: How much of the colour a cell of the matrix has at most: the number on it must be readable.
DARKEST = 0.5
# So much of a host's pages repeats another host's before it is called its mirror.
_MIRROR = 0.5
_EXCERPT = 1200  # characters of a text that is shown as it is

Cell = str | tuple[float, str]


def heading(figures: Figures) -> str:
    """Return the title, the totals, and what a reader has to know about them."""
    names = ", ".join(dict.fromkeys(escape(path.name) for path in figures.files))
    if not figures.judged:
        return (
            f"<header><h1>Near-duplicates</h1><p>{names}: the log is empty, nothing was judged."
            f"</p>{_unreadable(figures)}</header>"
        )
    assert figures.first is not None
    assert figures.last is not None
    what = [
        count(number, name)
        for name in ("page", "item")
        if (number := sum(n for (of, _), n in figures.counts.items() if of == name))
    ]
    number, rest = figures.hosts.rest(0)
    _, _, _, _, total, repeated_bytes, seconds, repeated_seconds = rest
    repeated = figures.count("duplicate")
    kept = figures.count("unique", "revisit")
    cards = [
        ("judged", count(figures.judged), f"on {count(number, 'host')}"),
        ("kept", count(kept), _revisits(figures)),
        ("near-duplicates", count(repeated), _actions(figures)),
        ("of all judged", percent(repeated, figures.judged), "are near-duplicates"),
        ("in near-duplicates", size(repeated_bytes), f"of {size(total)}"),
        ("downloading them", duration(repeated_seconds), f"of {duration(seconds)}"),
        ("not compared", count(figures.count("skipped")), "why: at the end of the page"),
    ]
    shown = "".join(
        f"<div><dt>{name}</dt><dd><b>{value}</b> <small>{note}</small></dd></div>"
        for name, value, note in cards
    )
    dry = figures.actions["flag"]
    note = (
        "<p class=note><b>Dry run:</b> near-duplicates were flagged and delivered. The figures say "
        "what would have been dropped.</p>"
        if dry and dry == repeated
        else ""
    )
    return (
        f"<header><h1>Near-duplicates</h1><p>{' and '.join(what)}, {moment(figures.first)} to "
        f"{moment(figures.last)} UTC, from {names}</p>{note}{_unreadable(figures)}"
        f'<dl class="cards">{shown}</dl></header>'
    )


def _unreadable(figures: Figures) -> str:
    if not figures.unreadable:
        return ""
    lines = count(figures.unreadable, "line")
    return f"<p class=note>{lines} of the log could not be read and do not count.</p>"


def _revisits(figures: Figures) -> str:
    revisits = figures.count("revisit")
    return f"{count(revisits)} of them seen before" if revisits else "nothing like them was known"


def _actions(figures: Figures) -> str:
    said = {"drop": "dropped", "follow": "followed, items dropped", "flag": "only flagged"}
    return ", ".join(
        f"{count(figures.actions[action])} {words}"
        for action, words in said.items()
        if figures.actions[action]
    ) or "nothing was repeated"  # fmt: skip


def over_time(figures: Figures) -> str:
    """Return the chart over time."""
    return charts.over_time(figures.timeline.runs())


def distances(figures: Figures) -> str:
    """Return the histogram of the distances."""
    if not figures.distances:
        return _nothing("No near-duplicates: there is no distance to show.")
    ks = [k for k, _ in figures.k.most_common()]
    others = (
        f"<p>Not all was judged with the same largest distance: k was "
        f"{', '.join(map(str, sorted(ks)[:10]))}; the most usual is drawn.</p>"
        if len(ks) > 1
        else ""
    )
    return (
        charts.by_distance(figures.distances, ks[0]) + others + "<p>Copies of a page are near 0. "
        "Bars that grow towards k may be unrelated pages: look at the clusters with the largest "
        "distances, or measure with <code>scrapy simhash tune</code>.</p>"
    )


def hosts(figures: Figures) -> str:
    """Return the table of the hosts with most near-duplicates."""
    shown = figures.hosts.largest(HOSTS, by=2)
    rows = [_host_row(host(name), numbers) for name, numbers in shown]
    number, rest = figures.hosts.rest(HOSTS, by=2)
    if number:
        rows.append(_host_row(f"<i>{count(number, 'other host')}</i>", rest))
    heads = (
        "host", "#judged", "#kept", "#near-duplicates", "#share", "", "#bytes in them",
        "#seconds for them",
    )  # fmt: skip
    return (
        "<p>A near-duplicate is downloaded before it is known for one. What dropping saves is all "
        "that comes after: parsing and storing its bytes, and following its links. The seconds "
        "are those of downloads that a crawl without such pages would not have made.</p>"
        + table("Hosts, those with most near-duplicates first", heads, rows, sortable=True)
    )


def _host_row(name: str, numbers: Sequence[float]) -> list[Cell]:
    judged, kept, repeated, _, _, repeated_bytes, _, repeated_seconds = numbers
    return [
        name,
        (judged, count(judged)),
        (kept, count(kept)),
        (repeated, count(repeated)),
        (repeated / judged if judged else 0, percent(repeated, judged)),
        charts.share(repeated, judged),
        (repeated_bytes, size(repeated_bytes)),
        (repeated_seconds, duration(repeated_seconds)),
    ]


def mirrors(figures: Figures) -> str:
    """Return which hosts repeat which, as a table and as a matrix."""
    pairs = figures.pairs.largest(len(figures.pairs))
    between = [(a, b, row[0]) for (a, b), row in pairs if a != b and a and b]
    if not between:
        return _nothing("No page repeats one of another host.")
    judged = {name: numbers[0] for name, numbers in figures.hosts.largest(len(figures.hosts))}
    rows: list[list[Cell]] = []
    for copy, original, number in between[:PAIRS]:
        whole = max(judged.get(copy, number), number)
        mirror = " <b>mirror?</b>" if number >= _MIRROR * whole else ""
        rows.append(
            [
                host(copy) + mirror,
                host(original),
                (number, count(number)),
                (number / whole, percent(number, whole)),
                charts.share(number, whole),
            ]
        )
    heads = ("host", "repeats pages of", "#pages", "#share of its pages", "")
    left = len(between) - len(rows)
    caption = "Hosts whose pages repeat those of another" + (
        f" ({count(left)} more pairs are smaller)" if left > 0 else ""
    )
    return table(caption, heads, rows, sortable=True) + _matrix(pairs)


def _matrix(pairs: Sequence[tuple[tuple[str, str], list[float]]]) -> str:
    weights: dict[str, float] = {}
    cells: dict[tuple[str, str], float] = {}
    for (copy, original), (number,) in pairs:
        cells[copy, original] = number
        if copy != original:
            for name in (copy, original):
                weights[name] = weights.get(name, 0) + number
    names = sorted(weights, key=lambda name: -weights[name])[:_MATRIX]
    names.sort()
    most = max((n for (a, b), n in cells.items() if a in names and b in names), default=1)
    heads = [
        "pages of",
        *(f'#<abbr title="{escape(n)}">{i}</abbr>' for i, n in enumerate(names, 1)),
    ]
    rows: list[list[Cell]] = []
    for number, copy in enumerate(names, 1):
        row: list[Cell] = [f"{number} {host(copy)}"]
        for original in names:
            value = cells.get((copy, original), 0)
            heat = f"{DARKEST * (value / most) ** 0.5:.2f}" if value else "0"
            row.append((value, f'<span class="heat" style="--heat:{heat}">{count(value)}</span>'))
        rows.append(row)
    caption = "Pages of the host in the row that repeat one of the host in the column"
    return f'<div class="matrix">{table(caption, heads, rows)}</div>'


def walls(figures: Figures) -> str:
    """Return originals that have very many copies on their own host."""
    if not figures.walls:
        return _nothing(f"No page has {WALL_COPIES} or more copies on its own host.")
    judged = {name: numbers[0] for name, numbers in figures.hosts.largest(len(figures.hosts))}
    found = []
    for wall in figures.walls:
        name = original_host(wall.key)
        number = wall.on(name)
        text = wall.original.text if wall.original else ""
        found.append(
            f'<article class="cluster"><h3>{address(wall.key)}</h3>'
            f"<p>{count(number, 'copy')} on its host, which are "
            f"{percent(number, max(number, judged.get(name, 0)))} of it. The page says:</p>"
            f"<blockquote>{escape(clipped(text, 300)) or '(no text in the log)'}</blockquote>"
            "</article>"
        )
    return (
        "<p>One page that a host gives at very many addresses is seldom content: a log-in or "
        "consent wall, an error with status 200, an empty search. Where it is, the pages behind it "
        "were not seen.</p>" + "".join(found)
    )


def clusters(figures: Figures) -> str:
    """Return the largest clusters, with pages of each side by side."""
    if not figures.clusters:
        return _nothing("No near-duplicates: there is no cluster to show.")
    k = figures.k.most_common(1)[0][0]
    return (
        "<p>On the left the original, on the right pages that repeat it, the most doubtful first: "
        "<del>only in the original</del>, <ins>only in the copy</ins>. The log has the beginnings "
        "and the ends of texts; for more of what is between them, see SIMHASH_LOG_TEXT.</p>"
        + "".join(_cluster(cluster, k) for cluster in figures.clusters)
    )


def _cluster(cluster: Cluster, k: int) -> str:
    original = cluster.original
    span = f"{cluster.nearest}" if cluster.nearest == cluster.farthest else (
        f"{cluster.nearest} to {cluster.farthest}"
    )  # fmt: skip
    number, _ = cluster.hosts.rest(0)
    title = f"{count(cluster.copies, 'copy')} of {address(cluster.key)}"
    before = original.text if original else ""
    shown = cluster.shown()
    differing = [copy for copy in shown if before and copy.text not in ("", before)]
    same = [copy for copy in shown if before and copy.text == before]
    others = [copy for copy in shown if copy not in differing and copy not in same]
    said = next((copy.text for copy in others if copy.text), "")
    return (
        f'<article class="cluster"><h3>{title}</h3>'
        f"<p>On {count(number, 'host')}, {span} of at most {k} bits apart."
        f"{'' if original else ' The original is not in this log.'}</p>"
        f"{''.join(_pair(before, copy) for copy in differing)}"
        f"{_listed('The excerpts of these are the same as that of the original:', same, before)}"
        f"{_listed('There is nothing to compare these with:', others, said)}</article>"
    )


def _pair(before: str, copy: LogLine) -> str:
    left, right = marked(before, copy.text)
    return (
        f'<h4>{_named(copy)}</h4><div class="pair"><div><h5>original</h5><p>{left}</p></div>'
        f"<div><h5>copy</h5><p>{right}</p></div></div>"
    )


def _listed(title: str, copies: Sequence[LogLine], text: str) -> str:
    if not copies:
        return ""
    pages = "".join(f"<li>{_named(copy)}</li>" for copy in copies)
    quote = f"<blockquote>{escape(clipped(text, _EXCERPT))}</blockquote>" if text else ""
    return f"<h4>{title}</h4><ul>{pages}</ul>{quote}"


def _named(copy: LogLine) -> str:
    return f"{count(copy.distance or 0, 'bit')}: {address(copy.url)}"


def skipped(figures: Figures) -> str:
    """Return why pages and items were not compared."""
    reasons = figures.reasons.largest(20)
    if not reasons:
        return _nothing("All was compared.")
    rows: list[list[Cell]] = [
        [f"<code>{escape(clipped(name, 40))}</code>", (row[0], count(row[0]))]
        for name, row in reasons
    ]
    return (
        "<p>Let through as they were. The README says what each reason means, under Stats.</p>"
        + table("Reasons", ("reason", "#number"), rows)
    )


def _nothing(text: str) -> str:
    return f'<p class="nothing">{text}</p>'
