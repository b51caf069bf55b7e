"""Fingerprints, blocks and pages that the tests of the index make without a text."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.fingerprint.blocks import Slices
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.values import Arrival, IndexSpec, Outcome
from scrapy_simhash.rule.ruling import Page, Ruling

SLICES = Slices()
BANDS = 24
# Width and distance of the recipes.
WIDTHS = [(64, 3), (128, 22), (256, 48)]


def spec(bits: int = 64, distance: int = 3, **changed: Any) -> IndexSpec:
    blocks = SLICES.count if bits == 64 else BANDS
    return IndexSpec(
        **{"recipe": "test", "bits": bits, "distance": distance, "blocks": blocks, "clock": Clock()}
        | changed
    )


def fp(value: int, bits: int = 64, *, text: object = 0) -> Fingerprint:
    """Return a fingerprint; wide ones of one text share all their blocks."""
    if bits == 64:
        return Fingerprint(value, bits, SLICES.of(value, None))
    return Fingerprint(value, bits, random.Random(f"{text}").randbytes(4 * BANDS))


def blocked(value: int, blocks: Iterable[int]) -> Fingerprint:
    """Return a fingerprint of 256 bits with these block values."""
    return Fingerprint(value, 256, np.array(list(blocks), "<u4").tobytes())


def flipped(value: int, positions: Iterable[int]) -> int:
    for position in positions:
        value ^= 1 << position
    return value


def page(key: str, value: int = 0, **given: Any) -> Arrival:
    """Return a page of 64 bits that claims."""
    return Arrival(key, fp(value), **given)


def values(count: int, seed: int = 0, bits: int = 64) -> list[int]:
    """Return fingerprints that are not near each other."""
    numbers = random.Random(seed)
    return [numbers.getrandbits(bits) for _ in range(count)]


def same_facts(page: Page, other: Page, distance: int) -> Ruling:
    """Judge pages with the same facts to be copies."""
    same = page.facts == other.facts
    return Ruling(same, "facts" if same else "other facts")


class Clock:
    """The time of day, until a test sets it."""

    now: float | None = None

    def __call__(self) -> float:
        return time.time() if self.now is None else self.now


def at(index: Index, now: float | None) -> Index:
    """Set the clock of a crawler; None lets it go."""
    index.spec.clock.now = now  # type: ignore[attr-defined]
    return index


ORIGINAL, DUPLICATE, REVISIT = Outcome.ORIGINAL, Outcome.DUPLICATE, Outcome.REVISIT


class Over(Breaker, Index):
    """An Breaker that the contract's tests can look into: an operator's acts go to its store."""

    def query(self, *args: Any, **kwargs: Any) -> Any:
        found = self._opened().query(*args, **kwargs)
        self.flooded = self._opened().flooded
        return found

    def check(self) -> Any:
        return self._opened().check()

    def put(self, entries: Any) -> int:
        return self._opened().put(entries)

    def gone(self, keys: Any) -> int:
        return self._opened().gone(keys)

    def entries_of(self, keys: Any) -> Any:
        return self._opened().entries_of(keys)

    def begin_run(self, resumed: int | None = None) -> Any:
        return self._opened().begin_run(resumed)

    def end_run(self, *, finished: bool) -> None:
        self._opened().end_run(finished=finished)

    def runs(self) -> Any:
        return self._opened().runs()

    def expire(self, keep: int, most: int) -> int:
        return self._opened().expire(keep, most)

    def clear(self) -> None:
        self._opened().clear()

    def census(self) -> Any:
        return self._opened().census()

    def __iter__(self) -> Any:
        return iter(self._opened())
