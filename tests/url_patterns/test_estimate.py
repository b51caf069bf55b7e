import pytest

from scrapy_simhash.url_patterns.estimate import Estimate, lower_bound

PATTERN = "a.test/?b=*"


@pytest.mark.parametrize(
    ("number", "looks", "pattern", "lost", "at_most"),
    [
        (0, 0, "", 0, 0),
        (7, 0, "", 0, 7),  # without a look, all may be lost
        (1000, 50, "", 0, 3 * 19),  # without a wrong one, the bound is three weights
        (1000, 50, PATTERN, 19, 4.74 * 19),
        (10, 0, PATTERN, 10, 10),  # no more than were spared
    ],
)
def test_what_is_lost_at_most_follows_from_the_looks(number, looks, pattern, lost, at_most):
    estimate = Estimate()
    for _ in range(number):
        estimate.spare(PATTERN, 100)
    for _ in range(looks):
        estimate.explore(0.05)
    if pattern:
        estimate.add_wrong(pattern, 0.05)
    assert estimate.wrong == bool(pattern)
    assert (estimate.lost, estimate.at_most) == pytest.approx((lost, at_most), rel=0.02)


def test_the_bound_is_that_of_wilson():
    bounds = {(0, 0): 0.0, (9, 9): 0.7009, (73, 73): 0.95, (50, 100): 0.4038, (0, 10): 0.0}
    for counts, bound in bounds.items():
        assert lower_bound(*counts) == pytest.approx(bound, abs=2e-4)
