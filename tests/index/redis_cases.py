"""What the tests of the index in Redis have in common."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import (
    Index,
    Outcome,
    StoreUnavailable,
)

PATIENCE = 1.5


def fp(value: int) -> Fingerprint:
    return Fingerprint(value, 64)


def values(count: int, seed: int = 0) -> list[int]:
    """Return fingerprints that are not near each other."""
    return [random.Random(seed * 10_000 + number).getrandbits(64) for number in range(count)]


def keep(index: Index, value: int, key: str = "") -> Outcome:
    """Claim, and confirm what is kept."""
    key = key or str(value)
    outcome = index.claim(key, fp(value), request=key).outcome
    if outcome is Outcome.ORIGINAL:
        index.confirm([key])
    return outcome


def fails_soon(call: Callable[[], Any], match: str | None = None) -> None:
    """Check that a call says that the store is away before a crawl stalls."""
    start = time.monotonic()
    with pytest.raises(StoreUnavailable, match=match):
        call()
    assert time.monotonic() - start < PATIENCE
