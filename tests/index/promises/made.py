"""Tests of an index make fingerprints, blocks and pages with these, without a text."""

import random
from collections.abc import Iterable
from typing import Any

import numpy as np

from scrapy_simhash.fingerprint.blocks import Slices
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.lookups import Lookups
from scrapy_simhash.index.values import Arrival, Entry, IndexSpec, Match, Outcome, Report
from scrapy_simhash.rule.ruling import Page, Ruling

SLICES = Slices()
BANDS = 24
# Width and distance of the recipes.
WIDTHS = [(64, 3), (128, 22), (256, 48)]
# Seconds of a lease.
LEASE = 60
# A value that is far from 0.
FAR = 2**40 - 1
ORIGINAL, DUPLICATE, REVISIT = "unique", "duplicate", "revisit"


def spec(bits: int = 64, distance: int = 3, **changed: Any) -> IndexSpec:
    blocks = SLICES.count if bits == 64 else BANDS
    given: dict[str, Any] = {"recipe": "test", "bits": bits, "distance": distance}
    given["reach"] = distance
    return IndexSpec(**given | {"blocks": blocks} | changed)


def fp(value: int, bits: int = 64, *, text: object = 0) -> Fingerprint:
    """Return a fingerprint; wide ones of one text share all their blocks."""
    if bits == 64:
        return Fingerprint(value, bits, SLICES.of(value, None))
    return Fingerprint(value, bits, random.Random(f"{text}").randbytes(4 * BANDS))


def blocked(value: int, blocks: Iterable[int]) -> Fingerprint:
    return Fingerprint(value, 256, np.array(list(blocks), "<u4").tobytes())


def flipped(value: int, positions: Iterable[int]) -> int:
    for position in positions:
        value ^= 1 << position
    return value


def page(key: str, value: int = 0, **given: Any) -> Arrival:
    return Arrival(key, fp(value), **given)


def values(count: int, seed: int = 0, bits: int = 64) -> list[int]:
    """Return fingerprints that are not near each other."""
    numbers = random.Random(seed)
    return [numbers.getrandbits(bits) for _ in range(count)]


def same_facts(page: Page, other: Page, _: int) -> Ruling:
    """Judge pages with the same facts to be copies."""
    same = page.facts == other.facts
    return Ruling(same, "facts" if same else "other facts")


def same_page(facts: bytes, others: bytes, distance: int) -> bool:
    """Take pages at an even distance for the same whose facts begin with the same byte."""
    return facts[:1] == others[:1] and distance % 2 == 0


def keep(index: Index, value: int, key: str = "") -> Outcome:
    """Claim, and confirm what is kept."""
    key = key or str(value)
    outcome = index.claim(page(key, value)).outcome
    if outcome == ORIGINAL:
        index.confirm([key])
    return outcome


def release(index: Index, *keys: str) -> None:
    """Tell that pages have failed."""
    index.report(Report(failed=keys))


def renew(index: Index, *keys: str) -> None:
    """Tell that pages are in progress still, and that the crawler lives."""
    index.report(Report(renewed=keys))


def at(index: Index, now: float | None) -> Index:
    """Set the clock of a crawler; None lets it go."""
    index.now = index._store.time if now is None else lambda: float(now)
    return index


def query(index: Index, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
    """Return every entry within reach, nearest first, then oldest; nothing is written."""
    found = index._store.find(Lookups([Arrival("", fingerprint, scope)], index.spec))
    records = index._records(found.entries)
    near = [(d, at) for d, at in found.near.get(0, ()) if d <= index.spec.reach]
    return [records[at].match(distance) for distance, at in near if at in records]


def by_scope(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries, those of each scope in their order, which is all that an index promises."""
    return sorted(entries, key=lambda entry: entry.scope)
