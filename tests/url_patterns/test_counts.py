from __future__ import annotations

import pytest

from scrapy_simhash.url_patterns.counts import Counts, lower_bound
from scrapy_simhash.url_patterns.table import pack, unpack


@pytest.mark.parametrize(
    ("successes", "trials", "bound"),
    [(0, 0, 0.0), (9, 9, 0.7009), (73, 73, 0.95), (50, 100, 0.4038), (0, 10, 0.0)],
)
def test_the_bound_is_that_of_wilson(successes: int, trials: int, bound: float) -> None:
    assert lower_bound(successes, trials) == pytest.approx(bound, abs=2e-4)


def test_counts_survive_as_one_number() -> None:
    counts = Counts(5, 4, 3, 2, 1, 10**13)
    assert unpack(pack(counts)) == counts
    assert unpack(pack(Counts())) == Counts()


def test_what_is_negative_counts_as_nothing() -> None:
    assert unpack(pack(Counts(distinct=-1, bytes=-5))) == Counts()


def test_large_counts_stay_within_their_field() -> None:
    assert unpack(pack(Counts(duplicates=1 << 30))) == Counts(duplicates=(1 << 24) - 1)
