"""Draws results with matplotlib, which the extra ``evaluation`` installs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import groupby
from typing import Any

from scrapy_simhash.offline.evaluation import Result
from scrapy_simhash.offline.evaluation.scores import Score

_PANEL = (4.4, 3.6)  # inches
_LEAST = 0.5  # where a logarithmic axis of whole numbers begins
_DUPLICATES, _OTHERS = "#1b6ca8", "#d1603d"


def draw(results: Sequence[Result], file_format: str = "svg") -> bytes:
    """Draw a row of panels for each set, and return the file's content.

    The first panel shows precision against recall over all distances, with a mark at k. The
    others show, for each method that has a distance, how many labelled duplicates and how many
    other pairs are how far apart.

    Args:
        results: as :func:`.evaluate` returns them, of any number of sets.
        file_format: ``svg`` or ``png``.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    rows = [list(row) for _, row in groupby(results, key=lambda result: result.dataset)]
    measured = [[result for result in row if result.distance is not None] for row in rows]
    columns = 1 + max(map(len, measured))
    size = (_PANEL[0] * columns, _PANEL[1] * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(rows), columns, squeeze=False)
    for row, with_distance, axes in zip(rows, measured, panels, strict=True):
        _draw_curves(axes[0], row)
        for result, panel in zip(with_distance, axes[1:], strict=False):
            _draw_histograms(panel, result)
        for panel in axes[1 + len(with_distance) :]:
            panel.set_axis_off()
    content = BytesIO()
    figure.savefig(content, format=file_format, dpi=120)
    return content.getvalue()


def _draw_curves(panel: Any, results: Sequence[Result]) -> None:
    marked = []
    for number, result in enumerate(results):
        colour = f"C{number % 10}"
        curve = [point for score in result.judgement.curve if (point := _point(score))]
        if curve:
            # Where lines cover each other, that of the first is seen.
            panel.plot(*zip(*curve, strict=True), color=colour, zorder=2.5 - number / 100)
        if point := _point(result.judgement.score):
            marked.append(point)
            k = "" if result.distance is None else f", k = {result.distance}"
            panel.plot(
                *point,
                color=colour,
                marker="osD^vP*X"[number % 8],
                # Hollow and of different sizes, so that those in one place are all seen.
                markersize=5 + 2 * (len(results) - number),
                markerfacecolor="none",
                linestyle="",
                label=result.name + k,
                zorder=3,
            )
    panel.set_xlim(_limits(recall for recall, _ in marked))
    panel.set_ylim(_limits(precision for _, precision in marked))
    panel.set(xlabel="recall", ylabel="precision", title=results[0].dataset)
    panel.grid(alpha=0.3)
    if marked:
        panel.legend(loc="lower left", fontsize="small", markerscale=0.6)


def _draw_histograms(panel: Any, result: Result) -> None:
    judgement, distance = result.judgement, result.distance
    assert distance is not None
    edges = range(len(judgement.others))
    highest = max(judgement.others[:-1] + judgement.duplicates[:-1])
    panel.set_ylim(_LEAST, 10 * max(1, highest))
    panel.set_yscale("log")
    for label, colour, counts in (
        ("other pairs", _OTHERS, judgement.others),
        ("duplicates", _DUPLICATES, judgement.duplicates),
    ):
        # The last number counts pairs that have no distance.
        style = {"baseline": _LEAST, "fill": True, "color": colour, "alpha": 0.6}
        panel.stairs(counts[:-1], edges, label=label, **style)
    panel.axvline(distance + 1, color="black", linestyle="--", linewidth=1, label="k")
    # With some room, or the bar at distance 0 is lost in the frame.
    panel.set_xlim(-len(judgement.others) / 40, len(judgement.others) - 1)
    panel.set(xlabel="distance in bits", ylabel="pairs", title=f"{result.dataset}, {result.name}")
    panel.legend(loc="upper right", fontsize="small")


def _point(score: Score) -> tuple[float, float] | None:
    if score.recall is None or score.precision is None:
        return None
    return score.recall, score.precision


def _limits(shares: Iterable[float]) -> tuple[float, float]:
    """Return the ends of an axis that shows these values, and the best one, with some room."""
    least = min([*shares, 0.95])
    room = (1 - least) / 8
    return max(-room, least - 4 * room), 1 + room
