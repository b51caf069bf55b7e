"""Results as text for people, and as plain values for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from scrapy_simhash.offline.evaluation.scores import Result, Score

_UNKNOWN = "–"
_QUALITY = (
    *("set", "recipe", "k", "pages", "skipped", "precision", "recall", "like-headed"),
    *("found", "missed", "false", "dropped", "wrong/1000", "shuffled"),
)


def tables(results: Sequence[Result]) -> str:
    """Return a table of quality, and one of kinds where the labels name any."""
    quality = [
        (
            *(r.dataset, r.name, r.distance, r.documents, sum(r.skipped.values())),
            *map(_share, (r.score.precision, r.score.recall, r.like_headed.recall)),
            *(r.score.found, r.score.labelled - r.score.found, r.score.false),
            *(int(r.file_order.dropped), f"{r.file_order.wrong_per_thousand:.2f}"),
            f"{r.shuffled.wrong_per_thousand:.2f}",
        )
        for r in results
    ]
    kinds = [
        (r.dataset, r.name, kind, label, m.matched, m.pairs, _share(m.matched / m.pairs))
        for r in results
        for label, counts in (("duplicate", r.kinds), ("negative", r.negatives))
        for kind, m in counts.items()
    ]
    parts = [aligned(_QUALITY, quality)]
    if kinds:
        head = ("set", "recipe", "kind", "label", "copies", "of", "share")
        parts.append(aligned(head, kinds, left=4))
    return "\n\n".join(parts)


def wrong_pairs(result: Result) -> str:
    """Return the pairs that were judged wrongly, as far as the result names them."""
    parts = []
    for what, pairs in (
        ("wrong drops", result.wrong_drops),
        ("false pairs", result.false),
        ("missed pairs", result.missed),
    ):
        if pairs:
            rows = [(p.a, p.b, p.kind, p.reason, p.distance) for p in pairs]
            table = aligned(("a", "b", "kind", "reason", "distance"), rows, left=4)
            parts.append(f"{result.dataset}, {result.name}: {what}\n{table}")
    return "\n".join(parts)


def aligned(head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 2) -> str:
    """Return a table whose first so many columns stand to the left, the others to the right."""
    cells = [tuple(head), *(tuple(_cell(value) for value in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def plain(value: Any) -> Any:
    """Return results, or any part of them, as the values that JSON knows."""
    if is_dataclass(value):
        values = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        if isinstance(value, Score):
            values |= {"precision": value.precision, "recall": value.recall}
        return values
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def _share(value: float | None) -> str | None:
    # Rounded down: 1.0000 is for what is without any fault.
    return None if value is None else f"{int(value * 10_000) / 10_000:.4f}"


def _cell(value: object) -> str:
    return _UNKNOWN if value is None else str(value)
