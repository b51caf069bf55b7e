"""Bars for the report's template: numbers in, percentages of a drawing out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapy_simhash.report.timeline import Run
from scrapy_simhash.report.words import count, duration, moment

# Classes of the parts of a bar, as the style sheet names them.
_PARTS = ("kept", "repeated", "skipped")

_GAP = 2.5  # percent, between two runs
_BANDS = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """A column of the chart over time.

    Attributes:
        begun: when it begins, in words.
        numbers: of kept, near-duplicates and skipped.
        left: percent of the chart's width.
        width: likewise.
        parts: for each number that is not 0 its class, and percent of the chart's height from
            the upper edge and of its own: (class, top, height).
        starts_run: whether a pause is before it.
    """

    begun: str
    numbers: tuple[int, ...]
    left: float
    width: float
    parts: tuple[tuple[str, float, float], ...]
    starts_run: bool


@dataclass(frozen=True, slots=True)
class TimeChart:
    """Stacked bars over time.

    Attributes:
        bars: in their order.
        top: the number at the upper edge.
        caption: what a bar is.
        begun: when the first bar begins, in words.
        ended: when the last one ends.
    """

    bars: tuple[Bar, ...]
    top: int
    caption: str
    begun: str
    ended: str


@dataclass(frozen=True, slots=True)
class DistanceBar:
    """A row of the chart of distances.

    Attributes:
        name: the distances, in words.
        number: of near-duplicates.
        percent: of the longest bar.
    """

    name: str
    number: int
    percent: float


def time_chart(runs: Sequence[Run]) -> TimeChart | None:
    """Return what was judged when, with a gap for each pause; None if there is nothing."""
    columns = [(run, number) for run in runs for number in range(len(run.bars))]
    if not columns:
        return None
    top = _round_up(max(sum(run.bars[number]) for run, number in columns))
    width = (100 - _GAP * (len(runs) - 1)) / len(columns)
    bars, left = [], 0.0
    for place, (run, number) in enumerate(columns):
        starts_run = number == 0 and place > 0
        left += _GAP * starts_run
        edge, parts = 100.0, []
        for kind, counted in zip(_PARTS, run.bars[number], strict=True):
            edge -= 100 * counted / top
            parts += [(kind, edge, 100 * counted / top)] * bool(counted)
        begun = moment(run.start + number * run.width)
        bars.append(Bar(begun, tuple(run.bars[number]), left, width, tuple(parts), starts_run))
        left += width
    pauses = " A dotted line is a pause in which nothing was judged." * (len(runs) > 1)
    last = runs[-1]
    return TimeChart(
        bars=tuple(bars),
        top=top,
        caption=f"Each column is {duration(last.width)}. Times are UTC.{pauses}",
        begun=bars[0].begun,
        ended=moment(last.start + last.width * len(last.bars)),
    )


def distance_bars(distances: Mapping[int, int], k: int) -> list[DistanceBar]:
    """Return how many near-duplicates are how far from their originals, in bands of bits."""
    if not distances:
        return []
    width = max(1, -(-max(k, *distances) // _BANDS))
    sums = {0: distances.get(0, 0)}
    for first in range(1, max(k, *distances) + 1, width):
        last = min(first + width - 1, max(k, *distances))
        sums[first] = sum(distances.get(bits, 0) for bits in range(first, last + 1))
    most = max(sums.values())
    return [
        DistanceBar(_band(first, width, max(k, *distances)), number, 100 * number / most)
        for first, number in sums.items()
    ]


def _band(first: int, width: int, farthest: int) -> str:
    last = min(first + width - 1, farthest)
    if first == 0:
        return "0 bits: the same text"
    return count(first, "bit") if first == last else f"{first} to {last} bits"


def _round_up(number: int) -> int:
    """Return the next number with one digit that is not 0, such as 1, 2, 20 or 500."""
    power = int(10 ** (len(str(number)) - 1))
    return max(1, -(-number // power) * power)
