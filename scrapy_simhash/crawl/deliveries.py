"""A page's delivery: what its callback yields, and how that fares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ClaimedItem(NamedTuple):
    """An item that became an original, on its way through the pipelines after ours."""

    key: str
    item: Any


@dataclass(eq=False)
class Delivery:
    """The delivery of a response that a spider gets.

    Attributes:
        key: the page in progress, or None if nobody waits for its delivery.
        drops_items: whether its requests go on alone.
        unchanged: whether only what changed is wanted, and the page did not.
        has_ended: whether its callback has ended.
        items: the number of its items that have not ended. A later pipeline may make another object
            of an item, or none, so only their number is sure.
        held: the number of those that are in our pipeline.
        claimed: those that have passed our pipeline and became originals.
    """

    key: str | None = None
    drops_items: bool = False
    unchanged: bool = False
    has_ended: bool = False
    items: int = 0
    held: int = 0
    claimed: list[ClaimedItem] = field(default_factory=list)
