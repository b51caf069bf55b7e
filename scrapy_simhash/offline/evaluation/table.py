"""Results as text for people, and as plain values for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from scrapy_simhash.offline.evaluation import Result
from scrapy_simhash.offline.evaluation.scores import Score

_UNKNOWN = "–"
_SCORES = ("precision", "recall", "F1", "found", "missed", "false")


def tables(results: Sequence[Result]) -> str:
    """Return a table of quality, one of cost, and one of kinds where the labels name any."""
    quality = [
        (r.dataset, r.name, r.distance, *_scores(r.judgement.score), *_best(r)) for r in results
    ]
    cost = [
        (
            *(r.dataset, r.name, r.documents, sum(r.skipped.values()), r.exact, r.bytes_per_page),
            *(_milliseconds(r.extraction_ms), _milliseconds(r.fingerprint_ms)),
            *([_share(layout.kept) for layout in r.layouts] or [None, None]),
        )
        for r in results
    ]
    kinds = [
        (r.dataset, r.name, kind, label, m.matched, m.pairs, _share(m.matched / m.pairs))
        for r in results
        for label, counts in (
            ("duplicate", r.judgement.kinds),
            ("negative", r.judgement.negatives),
        )
        for kind, m in counts.items()
    ]
    parts = [
        aligned(("set", "method", "k", *_SCORES, "best F1", "at k"), quality),
        aligned(
            (
                *("set", "method", "pages", "skipped", "exact", "bytes", "extract ms"),
                *("fingerprint ms", "kept", "kept at 1M"),
            ),
            cost,
        ),
    ]
    if kinds:
        head = ("set", "method", "kind", "label", "matched", "of", "share")
        parts.append(aligned(head, kinds, left=4))
    return "\n\n".join(parts)


def distance_table(result: Result) -> str:
    """Return the scores at each distance."""
    rows = [(k, *_scores(score)) for k, score in enumerate(result.judgement.curve)]
    return f"{result.dataset}, {result.name}\n{aligned(('k', *_SCORES), rows, left=0)}"


def wrong_pairs(result: Result) -> str:
    """Return the pairs that were judged wrongly, as far as the result names them."""
    judgement = result.judgement
    missed = judgement.score.labelled - judgement.score.found
    lines = []
    for what, count, pairs in (
        ("false", judgement.score.false, judgement.false),
        ("missed", missed, judgement.missed),
    ):
        if pairs:
            lines.append(f"{result.dataset}, {result.name}: {len(pairs)} of {count} {what} pairs")
            rows = [(p.a, p.b, p.kind, "/".join(map(_cell, p.notes)), p.distance) for p in pairs]
            lines.append(aligned(("a", "b", "kind", "a/b is", "distance"), rows, left=4))
    return "\n".join(lines)


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
            values |= {"precision": value.precision, "recall": value.recall, "f1": value.f1}
        return values
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def _scores(score: Score) -> tuple[str | int | None, ...]:
    missed = score.labelled - score.found
    shares = (_share(score.precision), _share(score.recall), _share(score.f1))
    return (*shares, score.found, missed, score.false)


def _best(result: Result) -> tuple[str | None, str | None]:
    """Return the best F1 over all distances, and the distances that reach it."""
    if result.distance is None:
        return None, None
    curve = [score.f1 or 0.0 for score in result.judgement.curve]
    best = [k for k, f1 in enumerate(curve) if f1 == max(curve)]
    return _share(max(curve)), f"{best[0]}" if len(best) == 1 else f"{best[0]}-{best[-1]}"


def _share(value: float | None) -> str | None:
    # Rounded down: 1.0000 is for what is without any fault.
    return None if value is None else f"{int(value * 10_000) / 10_000:.4f}"


def _milliseconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _cell(value: object) -> str:
    return _UNKNOWN if value is None else str(value)
