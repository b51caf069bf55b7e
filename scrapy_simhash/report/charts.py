"""Bars as inline SVG.

Everything along the x axis is in percent, and labels are HTML, so that a chart fills any width and
its labels keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from scrapy_simhash.report.timeline import Run
from scrapy_simhash.report.words import count, duration, moment, table

_HEIGHT = 200
_GAP = 2.5  # percent, between two runs
_NAMES = ("kept", "near-duplicates", "skipped")
_CLASSES = ("kept", "repeated", "skipped")
_LABELS = 5

Label = tuple[float, str]


def over_time(runs: Sequence[Run]) -> str:
    """Return what was judged when: stacked bars, with a break between runs."""
    bars = [(run, number, counts) for run in runs for number, counts in enumerate(run.bars)]
    top = _top(max(sum(counts) for _, _, counts in bars))
    width = (100 - _GAP * (len(runs) - 1)) / len(bars)
    shapes, labels, left = [], [], 0.0
    every = max(1, -(-len(bars) // _LABELS))
    for place, (run, number, counts) in enumerate(bars):
        begun = run.start + number * run.width
        if number == 0 and place:
            shapes.append(f'<line class="break" x1="{left + _GAP / 2:.3f}%" '
                          f'x2="{left + _GAP / 2:.3f}%" y1="0" y2="{_HEIGHT}"/>')  # fmt: skip
            left += _GAP
        if number == 0 or (len(runs) == 1 and place % every == 0):
            labels.append((left, moment(begun, day=number == 0, seconds=run.width < 60)))
        said = f"{moment(begun)}: " + ", ".join(
            f"{count(n)} {name}" for n, name in zip(counts, _NAMES, strict=True)
        )
        y = float(_HEIGHT)
        parts = []
        for n, kind in zip(counts, _CLASSES, strict=True):
            high = _HEIGHT * n / top
            y -= high
            if n:
                parts.append(_bar(kind, left, width, y, high))
        shapes.append(f"<g><title>{said}</title>{''.join(parts)}</g>")
        left += width
    sums = [sum(column) for column in zip(*(counts for _, _, counts in bars), strict=True)]
    summary = "Bars over time: " + ", ".join(
        f"{count(n)} {name}" for n, name in zip(sums, _NAMES, strict=True)
    )
    rows: list[list[str | tuple[float, str]]] = [
        [moment(run.start + number * run.width), *((n, count(n)) for n in counts)]
        for run, number, counts in bars
    ]
    heads = ("from (UTC)", *(f"#{name}" for name in _NAMES))
    return _figure(
        f"Each bar is {duration(bars[0][0].width)}. Times are UTC."
        + (" Breaks stand for times when nothing ran." if len(runs) > 1 else ""),
        _plot("".join(shapes), _marks(top), labels, summary),
        table("What was judged when", heads, rows),
        legend=True,
    )


def by_distance(distances: dict[int, int], k: int) -> str:
    """Return how many near-duplicates are how far from their original, with k drawn in."""
    farthest = max(k, *distances)
    columns = farthest + 2
    width = 100 / columns
    # By logarithm, or the few that are far would not be seen beside the many copies at 0.
    top = 10 ** max(1, len(str(max(distances.values()) - 1)))
    marks = [(_height(10**n, top), count(10**n)) for n in range(len(str(top)))]
    shapes = []
    for distance, number in sorted(distances.items()):
        high = _HEIGHT * _height(number, top)
        bar = _bar("repeated", distance * width, width, _HEIGHT - high, high)
        said = f"{count(distance, 'bit')}: {count(number, 'near-duplicate')}"
        shapes.append(f"<g><title>{said}</title>{bar}</g>")
    edge = (k + 1) * width
    shapes.append(
        f'<line class="k" x1="{edge:.3f}%" x2="{edge:.3f}%" y1="0" y2="{_HEIGHT}"/>'
        f'<text class="k" x="{edge:.3f}%" dx="-6" y="14" text-anchor="end">k = {k}</text>'
    )
    step = _step(farthest / 4)
    labels = [(100 * (n + 0.5) / columns, str(n)) for n in range(0, farthest + 1, step)]
    total = sum(distances.values())
    summary = (
        f"Bars by distance: {count(total, 'near-duplicate')} at {min(distances)} to "
        f"{max(distances)} bits; pages up to k = {k} bits apart count as near-duplicates"
    )
    rows: list[list[str | tuple[float, str]]] = [
        [str(distance), (number, count(number))] for distance, number in sorted(distances.items())
    ]
    return _figure(
        "Near-duplicates by the distance to their original, in bits; the scale is logarithmic.",
        _plot("".join(shapes), marks, labels, summary, centred=True),
        table("Near-duplicates by distance", ("distance, bits", "#near-duplicates"), rows),
    )


def share(part: float, whole: float) -> str:
    """Return a small bar that shows a share; the number beside it says the same."""
    full = 100 * part / whole if whole else 0
    return (
        '<svg class="share" aria-hidden="true"><rect class="rail" width="100%" height="100%"/>'
        f'<rect class="repeated" width="{full:.1f}%" height="100%"/></svg>'
    )


def _bar(kind: str, left: float, width: float, y: float, high: float) -> str:
    # A little narrower than its place, so that neighbours are told apart.
    return (
        f'<rect class="{kind}" x="{left + 0.06 * width:.3f}%" width="{0.88 * width:.3f}%" '
        f'y="{y:.1f}" height="{high:.1f}"/>'
    )


def _plot(
    shapes: str,
    marks: Sequence[Label],
    labels: Iterable[Label],
    summary: str,
    *,
    centred: bool = False,
) -> str:
    lines = "".join(
        f'<line class="grid" x1="0" x2="100%" y1="{_HEIGHT * (1 - high):.1f}" '
        f'y2="{_HEIGHT * (1 - high):.1f}"/>'
        for high in (0.0, *(high for high, _ in marks))
    )
    y_labels = "".join(
        f'<span style="bottom:{100 * high:.2f}%">{text}</span>' for high, text in marks
    )
    x_labels = "".join(
        f'<span class="{_side(left, centred)}" style="left:{left:.2f}%">{text}</span>'
        for left, text in labels
    )
    return (
        f'<div class="plot"><div class="y" aria-hidden="true">{y_labels}</div>'
        f'<svg role="img" height="{_HEIGHT}" aria-label="{escape(summary)}">{lines}{shapes}</svg>'
        f'<div class="x" aria-hidden="true">{x_labels}</div></div>'
    )


def _side(left: float, centred: bool) -> str:
    # Near the right edge a label stands to the left of its mark.
    return "centred" if centred else "left" if left < 85 else "right"


def _marks(top: int) -> list[Label]:
    return [(n / top, count(n)) for n in range(0, top + 1, _step(top / 4))]


def _height(number: int, top: int) -> float:
    """Return how high a bar is on a logarithmic axis, 1 not being nothing."""
    return (math.log10(number) + 0.3) / (math.log10(top) + 0.3)


def _figure(caption: str, plot: str, numbers: str, *, legend: bool = False) -> str:
    keys = "".join(
        f'<li><svg class="key" aria-hidden="true"><rect class="{kind}" width="100%" height="100%"/>'
        f"</svg>{name}</li>"
        for kind, name in zip(_CLASSES, _NAMES, strict=True)
    )
    return (
        f"<figure>{f'<ul class=legend>{keys}</ul>' if legend else ''}{plot}"
        f"<figcaption>{caption}</figcaption>"
        f'<details class="numbers"><summary>The numbers</summary>{numbers}</details></figure>'
    )


def _step(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20 ... that is no smaller."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def _top(most: int) -> int:
    """Return where an axis ends that has room for a number, at one of its marks."""
    step = _step(most / 4)
    return max(1, -(-most // step) * step)
