from __future__ import annotations

import pytest

from scrapy_simhash.url_patterns.counts import lower_bound


@pytest.mark.parametrize(
    ("successes", "trials", "bound"),
    [(0, 0, 0.0), (9, 9, 0.7009), (73, 73, 0.95), (50, 100, 0.4038), (0, 10, 0.0)],
)
def test_the_bound_is_that_of_wilson(successes: int, trials: int, bound: float) -> None:
    assert lower_bound(successes, trials) == pytest.approx(bound, abs=2e-4)
