"""Whether a stored index fits what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_simhash.fingerprint.blocks import Layout
from scrapy_simhash.index.base import StoreDamaged, StoreMismatch


def agreed_layout(
    where: str,
    stored: Mapping[str, str],
    *,
    instead: str,
    recipe: str,
    bits: int,
    distance: int,
    layout: Layout | None,
) -> Layout:
    """Return the stored layout, if the index can be used as asked.

    Args:
        where: what the store is called in messages.
        stored: its header, with ``recipe`` and ``layout``.
        instead: what else to use when it does not fit.
        recipe: identity of the recipe that makes the fingerprints.
        bits: width of the fingerprints.
        distance: k.
        layout: what the stored one must be; None if it may be any.

    Raises:
        StoreMismatch: it does not fit.
        StoreDamaged: the header is not one.
    """
    try:
        used, made_by = Layout.parse(stored["layout"]), stored["recipe"]
    except (KeyError, ValueError) as error:
        raise StoreDamaged(f"{where} has a damaged header: {error}") from error
    for what, there, asked in (
        ("recipe", made_by, recipe),
        ("bits", used.bits, bits),
        ("layout", used, layout or used),
    ):
        if there != asked:
            raise StoreMismatch(
                f"{where} was made with the {what} {there}, not {asked}: "
                f"use the same {what} or {instead}, or delete this one to start anew"
            )
    if distance > used.distance:
        raise StoreMismatch(
            f"{where} was made for distance {used.distance}, not {distance}: use a smaller "
            f"distance or {instead}, or delete this one to start anew"
        )
    return used
